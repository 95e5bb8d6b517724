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
            BrokerError::Missed(miss) => return Self::miss(miss),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::REASONS;

    /// Ends a scenario never comes to by itself, or that no `ends` can ask for: the machine's
    /// faults, what stands before a run, and turns of the planner that end nothing.
    const OTHERS: &[&str] = &[
        "already_sent",
        "browser_lost",
        "driver_error",
        "ends_unmet",
        "internal_error",
        "interrupted",
        "model_unavailable",
        "no_lock",
        "no_model",
        "not_started",
        "output",
        "refuted",
        "repeated",
        "unanswered",
        "unfolded",
    ];

    #[test]
    fn every_reason_a_scenario_can_end_with_may_stand_in_ends() {
        assert!(REASONS.is_sorted());
        let literal = regex::Regex::new(
            r#"(?:Fault::failed\(\s*|Status::\w+,\s*|reason: |NavFailure::\w+(?:\(_\))? => )"([a-z_]+)""#,
        )
        .expect("a pattern");
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files: Vec<_> = std::fs::read_dir(src.join("run"))
            .expect("the room")
            .map(|entry| entry.expect("a file").path())
            .filter(|path| path.extension().is_some_and(|e| e == "rs"))
            .collect();
        files.push(src.join("broker/going.rs"));
        let mut found = 0;
        for path in files {
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for reason in literal.captures_iter(code).map(|c| c[1].to_owned()) {
                let known = REASONS.contains(&reason.as_str()) || OTHERS.contains(&reason.as_str());
                assert!(known, "{}: {reason}", path.display());
                found += 1;
            }
        }
        assert!(found > 40, "{found}: the sources are no longer read");
    }
}
