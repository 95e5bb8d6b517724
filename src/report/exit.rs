//! Exit codes and what a status means to other programs: one table, read by every writer.
//!
//! The table is that of the language document ("Statuses, exits, JUnit").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Status;

/// Every scenario passed (or ended as its `ends` says).
pub const PASSED: i32 = 0;
/// A step failed, the end state was not met, the agent got stuck, a rate was too low.
pub const FAILED: i32 = 1;
/// A scenario or the command line is wrong, or nothing was selected.
pub const USAGE: i32 = 2;
/// Browser, driver, vault, model, output or tear-down failed.
pub const ENVIRONMENT: i32 = 3;
/// A write or a host was not allowed, or consent was denied.
pub const REFUSED: i32 = 4;
/// A secret was found in something the run wrote.
pub const LEAK: i32 = 5;
/// A snapshot or a lock waits for approval.
pub const PENDING: i32 = 6;
/// Stopped by SIGINT.
pub const INTERRUPTED: i32 = 130;
/// Stopped by SIGTERM.
pub const TERMINATED: i32 = 143;
/// Stopped by SIGHUP: the terminal went away.
pub const HUNG_UP: i32 = 129;

/// Gravest first; with several reasons the first of these that occurred is the exit code.
pub const GRAVITY: [i32; 10] = [
    LEAK,
    INTERRUPTED,
    TERMINATED,
    HUNG_UP,
    USAGE,
    ENVIRONMENT,
    REFUSED,
    FAILED,
    PENDING,
    PASSED,
];

/// What people count: the colour of a line, the heading of a filter, the element in JUnit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Failed,
    Error,
    Refused,
    Leak,
    Pending,
    NotFinished,
    Passed,
    Skipped,
}

impl Class {
    pub const ALL: [Self; 8] = [
        Self::Failed,
        Self::Error,
        Self::Refused,
        Self::Leak,
        Self::Pending,
        Self::NotFinished,
        Self::Passed,
        Self::Skipped,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Leak => "leak",
            Self::Pending => "pending",
            Self::NotFinished => "not finished",
            Self::Passed => "passed",
            Self::Skipped => "skipped",
        }
    }

    /// The same as one word, for attributes and style classes.
    pub fn key(self) -> &'static str {
        match self {
            Self::NotFinished => "not-finished",
            other => other.word(),
        }
    }
}

/// How a status is said, counted and exited with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    pub word: &'static str,
    pub class: Class,
    /// `NotFinished` stands for 130 here; [`of_run`] makes it that of the signal.
    pub exit: i32,
}

pub fn meaning(status: Status) -> Meaning {
    let (word, class, exit) = match status {
        Status::Passed => ("passed", Class::Passed, PASSED),
        Status::Failed => ("failed", Class::Failed, FAILED),
        Status::Stuck => ("stuck", Class::Failed, FAILED),
        Status::OutOfBudget => ("out of budget", Class::Failed, FAILED),
        Status::NotCompleted => ("not completed", Class::Failed, FAILED),
        Status::Disagreed => ("disagreed", Class::Failed, FAILED),
        Status::Invalid => ("invalid", Class::Error, USAGE),
        Status::Environment => ("environment", Class::Error, ENVIRONMENT),
        Status::Refused => ("refused", Class::Refused, REFUSED),
        Status::Leak => ("leak", Class::Leak, LEAK),
        Status::Pending => ("pending", Class::Pending, PENDING),
        Status::NotFinished => ("not finished", Class::NotFinished, INTERRUPTED),
        Status::Skipped => ("skipped", Class::Skipped, PASSED),
    };
    Meaning { word, class, exit }
}

/// The gravest of several exit codes; a code nobody documented counts as an environment error.
pub fn gravest(codes: impl IntoIterator<Item = i32>) -> i32 {
    let rank = |code: i32| GRAVITY.iter().position(|known| *known == code);
    codes
        .into_iter()
        .map(|code| rank(code).map_or(ENVIRONMENT, |_| code))
        .min_by_key(|code| rank(*code))
        .unwrap_or(PASSED)
}

/// The exit code of a run: from its scenarios' statuses, the verdicts about the run itself, and
/// what the run recorded (a rate gate, a flaky gate, a signal). The recorded code can make the
/// result graver, never milder.
pub fn of_run(
    statuses: impl IntoIterator<Item = Status>,
    own: Option<Status>,
    interrupted: Option<&str>,
    recorded: Option<i32>,
) -> i32 {
    let stopped = interrupted.map(|signal| {
        let signal = signal.to_ascii_uppercase();
        if signal.contains("TERM") {
            TERMINATED
        } else if signal.contains("HUP") {
            HUNG_UP
        } else {
            INTERRUPTED
        }
    });
    let mut none = true;
    let mut codes: Vec<i32> = statuses
        .into_iter()
        .inspect(|_| none = false)
        .map(|status| match (status, stopped) {
            (Status::NotFinished, Some(code)) => code,
            _ => meaning(status).exit,
        })
        .collect();
    if none {
        codes.push(USAGE);
    }
    codes.extend(own.map(|status| meaning(status).exit));
    codes.extend(stopped);
    codes.extend(recorded);
    gravest(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_code_wins_in_the_documented_order() {
        let order = [5, 130, 2, 3, 4, 1, 6, 0];
        for pair in order.windows(2) {
            assert_eq!(gravest([pair[1], pair[0]]), pair[0]);
        }
        assert_eq!(gravest([143, 2]), 143);
        assert_eq!(gravest([101, 1]), ENVIRONMENT);
    }

    #[test]
    fn nothing_selected_is_a_usage_error() {
        assert_eq!(of_run([], None, None, None), USAGE);
    }

    #[test]
    fn a_recorded_code_never_hides_a_failure() {
        assert_eq!(of_run([Status::Failed], None, None, Some(0)), FAILED);
        assert_eq!(of_run([Status::Passed], None, None, Some(1)), FAILED);
        assert_eq!(
            of_run([Status::Passed], Some(Status::Leak), None, Some(0)),
            LEAK
        );
    }

    #[test]
    fn an_unfinished_scenario_exits_by_the_signal() {
        let run = |signal| of_run([Status::NotFinished, Status::Failed], None, signal, None);
        assert_eq!(run(Some("SIGTERM")), TERMINATED);
        assert_eq!(run(Some("SIGHUP")), HUNG_UP);
        assert_eq!(run(Some("SIGINT")), INTERRUPTED);
        assert_eq!(run(None), INTERRUPTED);
    }
}
