//! Introduction, conclusion, and how far a partial run got: sentences by rules.

use super::actions::credential_of;
use super::found;
use super::history::History;
use super::model::{Stopped, Words, tame};
use crate::event::Status;

const PROSE: usize = 400;

pub fn title(history: &History) -> String {
    let started = history.started.as_ref();
    let wished = started.and_then(|s| s.tutorial_title.as_deref());
    let title = wished
        .or(started.map(|s| s.name.as_str()))
        .unwrap_or_default();
    match tame(title, 160) {
        title if title.is_empty() => "Untitled workflow".to_owned(),
        title => title,
    }
}

/// Which account was used: of the last login that worked, fixtures included.
pub fn account(history: &History) -> Option<String> {
    let logins = history
        .tries
        .iter()
        .rev()
        .filter(|t| t.started.verb == "login" && t.passed());
    logins.filter_map(credential_of).next()
}

/// How sign-in happened (R65); a journal without an end still tells it from its steps.
pub fn signed_in_by(history: &History) -> Option<String> {
    if let Some(finished) = &history.finished {
        return finished.signed_in_by.clone();
    }
    let worked = |verb: &str| {
        history
            .tries
            .iter()
            .any(|t| t.started.verb == verb && t.passed())
    };
    if worked("login") {
        Some("credential".into())
    } else if worked("wait_for_user") {
        Some("human".into())
    } else {
        None
    }
}

pub fn introduction(history: &History) -> Vec<Words> {
    let mut lines = Vec::new();
    let Some(started) = &history.started else {
        return lines;
    };
    if let Some(goal) = started
        .goal
        .as_deref()
        .map(|g| tame(g, PROSE))
        .filter(|g| !g.is_empty())
    {
        lines.push(Words::of(sentence(&goal)));
    }
    let mut start = Words::of("You start at ").address(&started.start).say(".");
    let account = account(history);
    start = match (signed_in_by(history).as_deref(), &account) {
        (Some("credential"), Some(name)) => start
            .say(" You sign in with the ")
            .control(name)
            .say(" account."),
        (Some("credential"), None) => start.say(" You sign in with a stored account."),
        (Some("human"), _) => start.say(" A person signs in by hand."),
        (Some("already signed in"), Some(name)) => start
            .say(" You are already signed in with the ")
            .control(name)
            .say(" account."),
        (Some("already signed in"), None) => start.say(" You are already signed in."),
        _ => start,
    };
    lines.push(start);
    lines
}

/// What the page shows at the end, by the findings that held.
pub fn conclusion(history: &History) -> Vec<Words> {
    let mut lines: Vec<Words> = Vec::new();
    let held = history.findings.iter().filter(|f| f.holds);
    lines.extend(held.filter_map(found::words));
    for (name, rows) in &history.extracted {
        let words = Words::of("You have read ").control(name);
        lines.push(match rows {
            Some(1) => words.say(" (1 row)."),
            Some(rows) => words.say(format!(" ({rows} rows).")),
            None => words.say("."),
        });
    }
    lines
}

/// Why there is no more to tell (R57); `None` when the run got to its end.
pub fn stopped(history: &History) -> Option<Stopped> {
    let Some(finished) = &history.finished else {
        let open = history.tries.iter().rev().find(|t| t.finished.is_none());
        return Some(Stopped {
            place: open.map(|t| t.started.step.clone()),
            doing: open.map(|t| tame(&t.started.says, PROSE)),
            why: "The run was cut off before it could finish.".into(),
            as_expected: false,
        });
    };
    if finished.status == Status::Passed {
        return None;
    }
    let failed = history
        .tries
        .iter()
        .rev()
        .find(|t| match &finished.failed_step {
            Some(place) => t.started.step == *place,
            // The planner's turns that led nowhere are no reason by themselves.
            None => t.finished.is_none(),
        });
    let place = finished
        .failed_step
        .clone()
        .or_else(|| failed.map(|t| t.started.step.clone()));
    Some(Stopped {
        place,
        doing: failed.map(|t| tame(&t.started.says, PROSE)),
        why: sentence(&match tame(&finished.message, PROSE) {
            message if message.is_empty() => tame(&finished.reason.replace('_', " "), PROSE),
            message => message,
        }),
        as_expected: finished.as_expected,
    })
}

impl Stopped {
    /// "This run stopped at step 4: Click button “Sign in”. No button is named so."
    pub fn words(&self) -> Words {
        let lead = if self.as_expected {
            "As this scenario expects, the run stopped"
        } else {
            "This run stopped"
        };
        let lead = match (&self.place, &self.doing) {
            (Some(place), Some(doing)) => format!("{lead} at step {place}: {doing}. "),
            (Some(place), None) => format!("{lead} at step {place}. "),
            (None, _) => format!("{lead} before its end was reached. "),
        };
        coded(Words::of(lead), &self.why)
    }
}

/// Messages put what was written in a scenario between backticks.
fn coded(mut words: Words, text: &str) -> Words {
    for (i, piece) in text.split('`').enumerate() {
        words = match i % 2 {
            1 if !piece.is_empty() => words.address(piece),
            _ => words.say(piece),
        };
    }
    words
}

/// Begins large, ends with a stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => return String::new(),
    };
    if !out.ends_with(['.', '!', '?', '…']) {
        out.push('.');
    }
    out
}
