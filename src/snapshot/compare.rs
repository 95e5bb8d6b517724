//! Comparing the compared form: masks first, then what is volatile, then line ends; never pictures.
//!
//! The phases have a fixed order, so that the order in which patterns are listed has no influence.

use regex::Regex;
use similar::TextDiff;

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

/// The compared form of a text. Patterns were checked when the scenario was read.
pub fn normalise(text: &str, volatile: &[Pattern]) -> String {
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
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
pub fn compare(approved: Option<&str>, now: &str, volatile: &[Pattern]) -> Compared {
    let Some(approved) = approved else {
        return Compared::Missing;
    };
    let (old, new) = (normalise(approved, volatile), normalise(now, volatile));
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

/// Patterns of `volatile` that fit nowhere in a text: probably spelt for another page (case 089).
pub fn idle<'p>(text: &str, volatile: &'p [Pattern]) -> Vec<&'p Pattern> {
    let fits = |pattern: &Pattern| match pattern {
        Pattern::Literal(literal) => text.contains(literal.as_str()),
        Pattern::Regex(pattern) => Regex::new(pattern).is_ok_and(|r| r.is_match(text)),
    };
    volatile.iter().filter(|p| !fits(p)).collect()
}
