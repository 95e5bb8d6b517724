//! One `expect` line that held, in words.

use super::model::Words;
use crate::event::Finding;

/// Data is for machines and is not told.
pub fn words(finding: &Finding) -> Option<Words> {
    let line = finding.line.trim();
    let line = line
        .strip_prefix('{')
        .and_then(|l| l.strip_suffix('}'))
        .unwrap_or(line)
        .trim();
    let (key, rest) = line.split_once(':').unwrap_or(("", line));
    let rest = unquoted(rest.trim());
    let words = match key.trim() {
        "url" if rest.contains('*') => Words::of("The address has the form ").address(&rest),
        "url" => Words::of("The address is ").address(&rest),
        "title" => Words::of("The page is called ").value(&rest),
        "see" => Words::of("The page shows ").value(&rest),
        "not_see" => Words::of("The page does not show ").value(&rest),
        "element" => element(&rest, true),
        "no_element" => element(&rest, false),
        "download" => Words::of("The file ").value(&rest).say(" is downloaded"),
        "data" => return None,
        _ => Words::of("This holds: ").value(line),
    };
    Some(words.end())
}

/// `textbox "Title", value: Ada, within: dialog "New"`, part by part.
fn element(written: &str, there: bool) -> Words {
    let Some((role, name, rest)) = target(written) else {
        return Words::of(if there { "There is " } else { "There is no " }).value(written);
    };
    let article = match (there, role.starts_with(['a', 'e', 'i', 'o'])) {
        (false, _) => "no",
        (true, true) => "an",
        (true, false) => "a",
    };
    let mut words = Words::of(format!("There is {article} {role} ")).control(&name);
    for (key, value) in conditions(rest) {
        words = match (key.as_str(), value.as_str()) {
            ("value", value) => words.say(" with the value ").value(value),
            ("checked", "true") => {
                words
                    .say(", which is ")
                    .say(if role == "radio" { "chosen" } else { "ticked" })
            }
            ("checked", "false") => {
                words
                    .say(", which is not ")
                    .say(if role == "radio" { "chosen" } else { "ticked" })
            }
            ("disabled", "true") => words.say(", which is disabled"),
            ("disabled", "false") => words.say(", which is enabled"),
            ("within", place) => match target(place) {
                Some((role, name, _)) => words.say(format!(" in the {role} ")).control(&name),
                None => words.say(" in the ").say(super::model::tame(place, 80)),
            },
            (key, value) => words.say(format!(" ({key}: ")).value(value).say(")"),
        };
    }
    words
}

/// Role, name and what follows; a quotation mark in a name is written `\"`.
fn target(written: &str) -> Option<(&str, String, &str)> {
    let (role, quoted) = written.split_once(" \"")?;
    if role.is_empty() || !role.chars().all(|c| c.is_ascii_alphabetic() || c == ' ') {
        return None;
    }
    let mut name = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            '"' => return Some((role, name, &quoted[at + 1..])),
            c => name.push(c),
        }
    }
    None
}

/// `, value: a, b, checked: true`: a piece without a key belongs to the value before it.
fn conditions(rest: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for piece in rest.split(", ").filter(|p| !p.trim().is_empty()) {
        let key = piece.split_once(": ").filter(|(key, _)| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        });
        match (key, all.last_mut()) {
            (Some((key, value)), _) => all.push((key.to_owned(), unquoted(value))),
            (None, Some((_, last))) => *last = format!("{last}, {piece}"),
            (None, None) => {}
        }
    }
    all
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let inner = inner.or_else(|| text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')));
    inner.unwrap_or(text).to_owned()
}
