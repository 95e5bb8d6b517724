//! Introduction, conclusion, and how far a partial run got: sentences by rules.

use super::actions::credential_of;
use super::history::History;
use super::model::{Stopped, Words, tame};
use crate::event::{Finding, Status};

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
    lines.extend(held.filter_map(found));
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

/// One `expect` line in words. Data is for machines and is not told.
fn found(finding: &Finding) -> Option<Words> {
    let line = finding
        .line
        .trim()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .trim();
    let (key, rest) = line.split_once(':').unwrap_or(("", line));
    let rest = unquoted(rest.trim());
    let words = match key.trim() {
        "url" if rest.contains('*') => Words::of("The address has the form ").address(&rest),
        "url" => Words::of("The address is ").address(&rest),
        "title" => Words::of("The page is called ").value(&rest),
        "see" => Words::of("The page shows ").value(&rest),
        "not_see" => Words::of("The page no longer shows ").value(&rest),
        "element" => element("There is a ", &rest),
        "no_element" => element("There is no ", &rest),
        "download" => Words::of("The file ").value(&rest).say(" is downloaded"),
        "data" => return None,
        _ => Words::of("This holds: ").value(line),
    };
    Some(words.say("."))
}

/// `heading "demo"` → heading **demo**; anything else stays as written.
fn element(lead: &str, written: &str) -> Words {
    let target = written.split(" with ").next().unwrap_or(written);
    match target.split_once(" \"") {
        Some((role, name)) if role.chars().all(|c| c.is_ascii_alphabetic() || c == ' ') => {
            let lead = match lead {
                "There is a " if role.starts_with(['a', 'e', 'i', 'o', 'u']) => "There is an ",
                lead => lead,
            };
            Words::of(format!("{lead}{role} ")).control(name.trim_end().trim_end_matches('"'))
        }
        _ => Words::of(lead.trim_end_matches(" a").trim_end())
            .say(" ")
            .value(written),
    }
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let inner = inner.or_else(|| text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')));
    inner.unwrap_or(text).to_owned()
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
        let words = match (&self.place, &self.doing) {
            (Some(place), Some(doing)) => Words::of(format!("{lead} at step "))
                .say(place)
                .say(": ")
                .value(doing)
                .say(". "),
            (Some(place), None) => Words::of(format!("{lead} at step ")).say(place).say(". "),
            (None, _) => Words::of(format!("{lead} before its end was reached. ")),
        };
        words.say(&self.why)
    }
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
