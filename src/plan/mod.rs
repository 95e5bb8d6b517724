//! From scenarios to a plan: everything knowable is decided here, before a browser exists.
//!
//! Binding of variables, flows unfolded, hosts and writes understood, credentials named,
//! confirmations checked, snapshots read. `--dry` prints the [`Plan`] and stops.

mod build;
mod confirm;
mod dry;
mod shard;
#[cfg(test)]
mod tests;
mod unfold;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use build::{Wishes, build};
pub use confirm::{Confirmed, Gravity};
pub use dry::dry;
pub use shard::Shard;
pub use unfold::{PlannedStep, StepBy};

use crate::policy::{HostRule, SafeRequest, WriteRule};
use crate::scenario::{Fixture, Keep, Scenario, hide_in_expectations, hide_in_step};
use crate::snapshot::Approved;

/// What a run will do, in order.
#[derive(Debug)]
pub struct Plan {
    pub scenarios: Vec<Planned>,
    /// Server fixtures any of them needs, by name.
    pub servers: BTreeMap<String, Fixture>,
    /// Warnings worth showing once.
    pub warnings: Vec<crate::text::Problem>,
}

/// One scenario, ready to run or refused with the reason.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Bound: every `$(…)` replaced.
    pub scenario: Scenario,
    /// Flow fixtures whose signed-in state is kept, in the order written.
    pub keeps: Vec<(String, Keep)>,
    /// Flows of `fixtures:` that run after `start` is open, then `steps`, all unfolded.
    pub before: Vec<PlannedStep>,
    pub steps: Vec<PlannedStep>,
    /// Always run at the end, last flow first.
    pub after: Vec<PlannedStep>,
    /// Names of server fixtures, in the order written.
    pub servers: Vec<String>,
    /// Hosts of `start` and `hosts`; those of fixtures join when their ports are known.
    pub hosts: Vec<HostRule>,
    pub writes: Vec<WriteRule>,
    pub safe_requests: Vec<SafeRequest>,
    /// Credentials of the scenario and its flows.
    pub credentials: Vec<String>,
    /// What it would change, in the author's words.
    pub changes: Vec<String>,
    pub gate: Confirmed,
    pub approved: Arc<Approved>,
    /// SHA-256 of the bound scenario, hex: what a consent record names.
    pub digest: String,
    /// Lock keys of what a planner has to reach: the goal of a scenario without steps, every
    /// `plan:` step.
    pub goals: Vec<String>,
    /// One of them has no approved lock.
    pub needs_model: bool,
    /// The goal before `$(…)` is replaced: what its lock is found by.
    pub goal_written: Option<String>,
}

impl Planned {
    pub fn id(&self) -> &str {
        &self.scenario.id
    }

    /// As pages are read: values in targets and expectations as placeholders, so that placeholder
    /// meets placeholder however the author wrote it.
    pub fn hiding(&self, clean: impl Fn(&str) -> String) -> Self {
        let mut own = self.clone();
        let flows = [&mut own.before, &mut own.steps, &mut own.after];
        for step in flows.into_iter().flatten() {
            hide_in_step(&mut step.step, &clean);
        }
        hide_in_expectations(&mut own.scenario.expect, &clean);
        own
    }

    /// Which fields of which credentials the steps use; a login needs the password.
    pub fn credential_fields(&self) -> Vec<(String, String)> {
        self.every_step()
            .flat_map(|s| build::fields_in(&s.step))
            .collect()
    }

    /// The lock key of a goal as written, alone or as a `plan:` step.
    pub fn goal_key(&self, written: &str, step: Option<&PlannedStep>) -> String {
        build::goal_key(&self.hosts, written, step)
    }

    pub fn every_step(&self) -> impl Iterator<Item = &PlannedStep> {
        self.before.iter().chain(&self.steps).chain(&self.after)
    }
}
