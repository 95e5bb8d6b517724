//! The static write gate: a scenario that would change something runs only when confirmed.
//!
//! Depends on the files and the command line alone; nothing is started to find out.

use std::collections::BTreeSet;

use crate::policy::{HostRule, WriteRule};

/// Whether the declared writes of a scenario may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// Nothing declared to be changed.
    NoWrites,
    /// By `--confirm-writes` or `--confirm <id>`.
    ByPerson,
    /// Only hosts of disposable fixtures that the run itself starts can be reached.
    Disposable,
    /// To be asked at a terminal before anything starts.
    Unconfirmed,
}

/// How grave it is to go on: kept apart so that `--dry` can print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gravity {
    Runs,
    Refused,
}

impl Confirmed {
    pub fn gravity(&self) -> Gravity {
        if *self == Self::Unconfirmed {
            Gravity::Refused
        } else {
            Gravity::Runs
        }
    }
}

/// `steps_write`: some step carries `write:`. `hosts`: every host the scenario lists (with `start`).
/// `disposable`: names served by disposable fixtures of the scenario.
pub fn confirmed(
    steps_write: bool,
    writes: &[WriteRule],
    hosts: &[HostRule],
    disposable: &BTreeSet<String>,
    by_person: bool,
) -> Confirmed {
    if !steps_write && writes.is_empty() {
        return Confirmed::NoWrites;
    }
    if by_person {
        return Confirmed::ByPerson;
    }
    // A step's `write:` names no host, so every listed host must be disposable; the entries of
    // `writes` name theirs, but the same hosts are all that can be reached anyway.
    if !disposable.is_empty() && hosts.iter().all(|rule| disposable.contains(&rule.host)) {
        return Confirmed::Disposable;
    }
    Confirmed::Unconfirmed
}
