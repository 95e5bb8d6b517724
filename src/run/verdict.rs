//! What an attempt came to, and the two ways it is cut off.

use std::time::Duration;

use crate::event::{Failure, ScenarioFinished, Status, What};

use super::attempt::{AttemptRun, Ended};
use super::failure::Fault;
use super::look::EndState;

impl AttemptRun<'_> {
    pub(super) fn verdict(&mut self, result: Result<EndState, (Option<String>, Fault)>) -> Ended {
        let (status, failure, step) = match result {
            Ok(EndState::Completed) => (Status::Passed, None, None),
            Ok(EndState::NotCompleted) => (
                Status::NotCompleted,
                Some(Failure {
                    reason: "not_completed".into(),
                    message: "the expected end state never held".into(),
                    ..Failure::default()
                }),
                None,
            ),
            Ok(EndState::Disagreed) => (
                Status::Disagreed,
                Some(Failure {
                    reason: "disagreed".into(),
                    message: "the end state held at the first look and no longer at the second"
                        .into(),
                    ..Failure::default()
                }),
                None,
            ),
            Err((step, fault)) => (fault.status, Some(*fault.failure), step),
        };
        let (reason, message) = match failure {
            None => ("completed".to_owned(), String::new()),
            Some(failure) => (failure.reason, failure.message),
        };
        let ends = &self.planned.scenario.ends;
        let as_expected = super::ends::met(ends, status, &reason, step.as_deref());
        let (reason, message) = match as_expected {
            true => (reason, message),
            false => super::ends::unmet(ends, status, reason, message),
        };
        self.say
            .say_durably(What::ScenarioFinished(ScenarioFinished {
                status,
                reason: reason.clone(),
                message,
                failed_step: step,
                as_expected,
                signed_in_by: self.signed_in_by.clone(),
                wrote: self.writes_sent > 0,
                ms: self.began.elapsed().as_millis() as u64,
                choosers: std::mem::take(&mut self.choosers),
                model_calls: self.model_calls,
                tokens: self.tokens,
                ms_by_part: {
                    let mut times = std::mem::take(&mut self.times);
                    times.extend(self.broker.times());
                    times
                },
            }));
        Ended {
            status,
            as_expected,
            wrote: self.writes_sent > 0 || self.write_begun,
            lost: reason == "browser_lost",
            lock: (as_expected && status == Status::Passed).then(|| self.lock.finished()),
            suggestions: Vec::new(),
        }
    }
}

/// The person or the machine asked for an end.
pub(super) fn interrupted() -> Fault {
    Fault::new(
        Status::NotFinished,
        "interrupted",
        "the run was interrupted",
    )
}

pub(super) fn out_of_time(limit: Duration) -> Fault {
    Fault::new(
        Status::OutOfBudget,
        crate::agent::Exit::Time.name(),
        format!("the scenario's time of {} s is used up", limit.as_secs()),
    )
    .help("give it more with `budget: { time: 300s }`")
}
