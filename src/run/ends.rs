//! Whether a scenario ended as its `ends` says, and what is said where it did not.

use crate::event::Status;
use crate::scenario::{EndStatus, Ends};

/// Whether `ends` is met (`completed` unless written). `step` as events name it.
pub fn met(ends: &Ends, status: Status, reason: &str, step: Option<&str>) -> bool {
    let wanted = match ends.status {
        EndStatus::Completed => Status::Passed,
        EndStatus::Stuck => Status::Stuck,
        EndStatus::OutOfBudget => Status::OutOfBudget,
        EndStatus::Failed => Status::Failed,
        EndStatus::NotCompleted => Status::NotCompleted,
        EndStatus::Disagreed => Status::Disagreed,
        EndStatus::Refused => Status::Refused,
    };
    status == wanted
        && ends.reason.as_deref().is_none_or(|r| r == reason)
        && ends.step.is_none_or(|n| belongs(step, n))
}

/// Whether a place is that step or one inside it: a step that uses a flow fails where the flow does.
fn belongs(place: Option<&str>, step: usize) -> bool {
    place.and_then(|p| p.split('.').next()) == Some(step.to_string().as_str())
}

/// Reason and message of an end that is not the wanted one. A failure keeps its own reason, and says
/// what was wanted only where something was written.
pub fn unmet(ends: &Ends, status: Status, reason: String, message: String) -> (String, String) {
    let wanted = wanted(ends);
    match status {
        Status::Passed => (
            "ends_unmet".to_owned(),
            format!("it completed, although `ends` wants it {wanted}"),
        ),
        _ if ends.status == EndStatus::Completed => (reason, message),
        _ => {
            let message = message.trim_end_matches('.');
            let message = format!("{message}; `ends` wants it {wanted}");
            (reason, message)
        }
    }
}

/// `failed (login_rejected) at step 2`
fn wanted(ends: &Ends) -> String {
    let mut words = ends.status.word().replace('_', " ");
    if let Some(reason) = &ends.reason {
        words += &format!(" ({reason})");
    }
    if let Some(step) = ends.step {
        words += &format!(" at step {step}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUSES: [Status; 13] = [
        Status::Passed,
        Status::Failed,
        Status::Stuck,
        Status::OutOfBudget,
        Status::NotCompleted,
        Status::Disagreed,
        Status::Invalid,
        Status::Environment,
        Status::Refused,
        Status::Leak,
        Status::Pending,
        Status::NotFinished,
        Status::Skipped,
    ];

    fn ends(status: EndStatus, reason: Option<&str>, step: Option<usize>) -> Ends {
        Ends {
            status,
            reason: reason.map(str::to_owned),
            step,
            span: None,
        }
    }

    #[test]
    fn each_status_is_met_by_its_own_end_and_by_no_other() {
        let own = [
            Status::Passed,
            Status::Stuck,
            Status::OutOfBudget,
            Status::Failed,
            Status::NotCompleted,
            Status::Disagreed,
            Status::Refused,
        ];
        for (wanted, own) in EndStatus::ALL.into_iter().zip(own) {
            for status in STATUSES {
                let met = met(&ends(wanted, None, None), status, "why", Some("2"));
                assert_eq!(met, status == own, "{wanted:?} and {status:?}");
            }
        }
    }

    #[test]
    fn a_reason_and_a_step_that_are_written_must_be_those() {
        let wanted = ends(EndStatus::Failed, Some("login_rejected"), Some(2));
        let so = |reason, step| met(&wanted, Status::Failed, reason, step);
        assert!(so("login_rejected", Some("2")));
        assert!(!so("not_found", Some("2")));
        assert!(!so("login_rejected", Some("3")));
        assert!(!so("login_rejected", Some("22")));
        assert!(!so("login_rejected", Some("p2")));
        assert!(!so("login_rejected", Some("signed-in.2")));
        assert!(!so("login_rejected", None));
        // Inside the flow, or the plan, that the step stands for.
        assert!(so("login_rejected", Some("2.1")));
        assert!(so("login_rejected", Some("2.p4")));
    }

    #[test]
    fn an_unwanted_end_says_what_was_wanted() {
        let wanted = ends(EndStatus::Failed, Some("login_rejected"), Some(2));
        let (reason, message) = unmet(&wanted, Status::Passed, "completed".into(), String::new());
        assert_eq!(reason, "ends_unmet");
        assert_eq!(
            message,
            "it completed, although `ends` wants it failed (login_rejected) at step 2"
        );
        let (reason, message) = unmet(
            &ends(EndStatus::Stuck, None, None),
            Status::Failed,
            "not_found".into(),
            "No button is named so.".into(),
        );
        assert_eq!(reason, "not_found");
        assert_eq!(message, "No button is named so; `ends` wants it stuck");
        // Nothing was written: the failure speaks for itself.
        let usual = Ends::default();
        let (_, message) = unmet(&usual, Status::Failed, "not_found".into(), "None.".into());
        assert_eq!(message, "None.");
    }
}
