//! Comparing the compared form: masks first, then what is volatile, then line ends; never pictures.
//!
//! The phases have a fixed order, so that the order in which patterns are listed has no influence.

use regex::Regex;
use similar::TextDiff;

use super::Kind;
use crate::scenario::Pattern;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    Same,
    /// Unified diff of the compared forms.
    Differs {
        diff: String,
    },
    /// Nothing approved to compare with.
    Missing,
}

/// What of a file is compared. Patterns were checked when the scenario was read.
pub fn compared_form(kind: Kind, text: &str, volatile: &[Pattern]) -> String {
    normalise(&readable(kind, text), volatile)
}

/// A tutorial's words as a reader sees them, so that patterns meet the text they were written for, not
/// its escapes; a picture counts as one, its name and its description repeat the step's caption.
fn readable(kind: Kind, text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    match kind {
        Kind::Steps => text,
        Kind::Tutorial => {
            let line = |line: &str| match is_picture(line) {
                true => "[picture]\n".to_owned(),
                false => format!("{}\n", unescaped(line)),
            };
            text.lines().map(line).collect()
        }
    }
}

fn is_picture(line: &str) -> bool {
    line.starts_with("![") && line.contains("](pictures/") && line.trim_end().ends_with(".png)")
}

/// Undoes what Markdown needs to leave text alone: `\*`, `&lt;`, `&#64;`.
fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '&']) {
        out.push_str(&rest[..at]);
        let (c, length) = escape_at(&rest[at..]);
        out.push(c);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// The character an escape at the beginning stands for, and the escape's length; without an escape
/// the first character itself.
fn escape_at(text: &str) -> (char, usize) {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    if first == '\\' {
        return match chars.next().filter(char::is_ascii_punctuation) {
            Some(c) => (c, 2),
            None => (first, 1),
        };
    }
    let entity = text[1..].split_once(';').and_then(|(name, _)| {
        let c = match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            _ => char::from_u32(name.strip_prefix('#')?.parse().ok()?)?,
        };
        Some((c, name.len() + 2))
    });
    entity.unwrap_or((first, 1))
}

fn normalise(text: &str, volatile: &[Pattern]) -> String {
    let mut text = text.to_owned();
    let mut literals: Vec<&String> = volatile
        .iter()
        .filter_map(|p| {
            if let Pattern::Literal(l) = p {
                Some(l)
            } else {
                None
            }
        })
        .collect();
    // Longest first, and patterns in the order of their own text: the list's order must not matter.
    literals.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    for literal in literals.into_iter().filter(|l| !l.is_empty()) {
        text = text.replace(literal.as_str(), "‹…›");
    }
    let mut patterns: Vec<&String> = volatile
        .iter()
        .filter_map(|p| {
            if let Pattern::Regex(r) = p {
                Some(r)
            } else {
                None
            }
        })
        .collect();
    patterns.sort();
    for pattern in patterns {
        if let Ok(regex) = Regex::new(pattern) {
            text = regex.replace_all(&text, "‹…›").into_owned();
        }
    }
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|l| l.is_empty()) {
        lines.pop();
    }
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// Compares what a run made with what is approved.
pub fn compare(kind: Kind, approved: Option<&str>, now: &str, volatile: &[Pattern]) -> Compared {
    let Some(approved) = approved else {
        return Compared::Missing;
    };
    let (old, new) = (
        compared_form(kind, approved, volatile),
        compared_form(kind, now, volatile),
    );
    if old == new {
        return Compared::Same;
    }
    Compared::Differs {
        diff: diff(&old, &new),
    }
}

/// A unified diff; what nobody sees is written out, so that a difference can be found (case 095).
pub(super) fn diff(old: &str, new: &str) -> String {
    let shown = |text: &str| -> String {
        let lines = text.lines().map(crate::text::visible);
        lines.map(|line| format!("{line}\n")).collect()
    };
    let (old, new) = (shown(old), shown(new));
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(2)
        .header("approved", "this run")
        .to_string()
}

/// Patterns of `volatile` that fit nowhere in these texts: probably spelt for another page (case 089).
pub fn idle<'p>(kind: Kind, texts: &[&str], volatile: &'p [Pattern]) -> Vec<&'p Pattern> {
    let texts: Vec<String> = texts.iter().map(|text| readable(kind, text)).collect();
    let fits = |pattern: &Pattern| match pattern {
        Pattern::Literal(literal) => texts.iter().any(|t| t.contains(literal.as_str())),
        Pattern::Regex(pattern) => {
            Regex::new(pattern).is_ok_and(|r| texts.iter().any(|t| r.is_match(t)))
        }
    };
    volatile.iter().filter(|p| !fits(p)).collect()
}
