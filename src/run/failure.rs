//! Why a step failed, from what the rooms below return.

use crate::broker::{BrokerError, Unfit};
use crate::event::{Failure, Rival, Status};
use crate::plan::PlannedStep;
use crate::resolve::{Miss, Near, describe};
use crate::text::{Problem, render};

/// A step's bad end.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub status: Status,
    pub failure: Box<Failure>,
}

impl Fault {
    pub fn new(status: Status, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            failure: Box::new(Failure {
                reason: reason.to_owned(),
                message: message.into(),
                ..Failure::default()
            }),
        }
    }

    /// A refusal says more than the failure it led to.
    pub(super) fn is_graver_than(&self, other: &Fault) -> bool {
        self.status == Status::Refused && other.status == Status::Failed
    }

    pub fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Status::Failed, reason, message)
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.failure.help = Some(help.into());
        self
    }

    pub fn seen(mut self, seen: impl IntoIterator<Item = String>) -> Self {
        self.failure.seen.extend(seen);
        self
    }

    pub fn miss(miss: &Miss) -> Self {
        let mut fault = Self::failed(miss.kind.word(), miss.message.clone());
        fault.failure.nearest = miss.nearest.iter().map(rival).collect();
        fault.failure.help.clone_from(&miss.help);
        fault
    }

    pub fn unfit(role: &str, name: &str, unfit: &Unfit) -> Self {
        let status = match unfit {
            Unfit::WrongOrigin { .. } => Status::Refused,
            _ => Status::Failed,
        };
        let message = format!("{}: {}", describe(role, name), unfit.message());
        let mut fault = Self::new(status, unfit.reason(), message);
        fault.failure.help = unfit.help();
        fault
    }

    /// With the source excerpt of the step.
    pub fn at(mut self, step: &PlannedStep) -> Self {
        if self.failure.excerpt.is_none() {
            let problem = Problem::error(&self.failure.message).at(&step.source, step.step.span);
            self.failure.excerpt = Some(render::problem(&problem, render::Style::Plain));
        }
        self
    }
}

impl From<BrokerError> for Fault {
    fn from(error: BrokerError) -> Self {
        let (status, reason) = match &error {
            BrokerError::Lost(_) => (Status::Environment, "browser_lost"),
            BrokerError::Hung { .. } => (Status::Failed, "page_hung"),
            BrokerError::NoAnswer { .. } => (Status::Failed, "timeout"),
            BrokerError::Stale => (Status::Failed, "re_rendered"),
            BrokerError::PageInterferes(_) => (Status::Failed, "page_interferes"),
            BrokerError::Other(_) => (Status::Environment, "driver_error"),
        };
        Self::new(status, reason, error.to_string())
    }
}

pub fn rival(near: &Near) -> Rival {
    Rival {
        role: near.role.clone(),
        name: near.name.clone(),
        score: near.score,
        place: near.place.clone(),
    }
}
