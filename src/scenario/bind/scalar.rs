//! Single values: text as written, numbers, durations, words, patterns.

use std::time::Duration;

use super::Bind;
use crate::scenario::model::Pattern;
use crate::scenario::shapes::Want;
use crate::scenario::yaml::{Kind, Node};
use crate::scenario::{vars, written};
use crate::text::{Spanned, nearest};

impl Bind<'_> {
    /// Text that says something, as written.
    pub fn text(&mut self, node: &Node, wanted: &str) -> Option<Spanned<String>> {
        let text = self.value(node, wanted)?;
        if text.trim().is_empty() {
            self.error(
                node.span,
                &format!("{wanted} is wanted here, not an empty text"),
                "write it out, or leave the key away",
            );
            return None;
        }
        Some(text)
    }

    /// Text as written; `""` is meant, nothing at all is not.
    pub fn value(&mut self, node: &Node, wanted: &str) -> Option<Spanned<String>> {
        let Kind::Scalar(scalar) = &node.kind else {
            self.wrong(node, wanted, "text, in quotes if it has special characters");
            return None;
        };
        if scalar.is_null() {
            let help = match scalar.text.as_str() {
                "" => "write the text behind it, `\"\"` for an empty one; lines that belong to it must be indented further than it".to_string(),
                text => format!("if the text is meant, put it in quotes: \"{text}\""),
            };
            let found = node.found();
            self.error(
                node.span,
                &format!("{wanted} is wanted here, not {found}"),
                help,
            );
            return None;
        }
        if let Some(comment) = scalar.swallowed
            && !self.source.text[comment.start..].starts_with("# ")
        {
            self.warn(
                comment,
                "this is a comment and not part of the text",
                format!(
                    "if it belongs to the text, quote it: {}",
                    written::flow_text(&format!(
                        "{} {}",
                        scalar.text,
                        &self.source.text[comment.start..comment.end]
                    ))
                ),
            );
        }
        Some(Spanned::new(scalar.text.clone(), node.span))
    }

    pub fn boolean(&mut self, node: &Node) -> Option<bool> {
        match &node.kind {
            Kind::Scalar(s) if s.plain && s.text == "true" => Some(true),
            Kind::Scalar(s) if s.plain && s.text == "false" => Some(false),
            _ => {
                self.wrong(node, "true or false", "true");
                None
            }
        }
    }

    pub fn count(&mut self, node: &Node, low: u64, high: u64) -> Option<u64> {
        let number = match &node.kind {
            Kind::Scalar(s) if s.plain && s.text.bytes().all(|b| b.is_ascii_digit()) => {
                s.text.parse::<u64>().ok()
            }
            _ => None,
        };
        match number {
            Some(n) if (low..=high).contains(&n) => Some(n),
            _ => {
                let wanted = if high >= u64::from(u32::MAX) {
                    format!("a whole number from {low}")
                } else {
                    format!("a whole number from {low} to {high}")
                };
                self.wrong(node, &wanted, &low.max(1).to_string());
                None
            }
        }
    }

    pub fn number<T: TryFrom<u64>>(&mut self, node: &Node, want: &Want) -> Option<T> {
        let (low, high) = match want {
            Want::Count(low, high) => (*low, *high),
            _ => (0, u64::MAX),
        };
        self.count(node, low, high)
            .and_then(|n| T::try_from(n).ok())
    }

    pub fn duration(&mut self, node: &Node) -> Option<Duration> {
        let found = match &node.kind {
            Kind::Scalar(s) => duration(&s.text),
            _ => None,
        };
        if found.is_none() {
            self.wrong(node, "a duration", "5s, 500ms or 2m");
        }
        found
    }

    /// One of the words, by its place in the list.
    pub fn word(&mut self, node: &Node, words: &[&'static str]) -> Option<usize> {
        let text = match &node.kind {
            Kind::Scalar(s) => s.text.as_str(),
            _ => "",
        };
        let place = words.iter().position(|w| *w == text);
        if place.is_none() {
            let found = node.found();
            let help = nearest(text, words.iter().copied()).map_or_else(
                || format!("for example: {}", words[0]),
                |near| format!("did you mean `{near}`?"),
            );
            self.error(
                node.span,
                &format!("{} is wanted here, not {found}", words.join(" or ")),
                help,
            );
        }
        place
    }

    /// Text is literal, `/…/` a pattern, which is tried out here.
    pub fn pattern(&mut self, node: &Node) -> Option<Pattern> {
        let text = self.text(node, "text or a /pattern/")?;
        match pattern(&text) {
            Ok(pattern) => Some(pattern),
            Err(Unfit { message, help }) => {
                self.error(node.span, &message, help);
                None
            }
        }
    }
}

/// Why a pattern can't be used, and what to do about it.
pub struct Unfit {
    pub message: String,
    pub help: &'static str,
}

/// Text is literal, `/…/` a regular expression that needs at least one character.
pub fn pattern(text: &str) -> Result<Pattern, Unfit> {
    let inner = text
        .strip_prefix('/')
        .and_then(|t| t.strip_suffix('/'))
        .filter(|t| !t.is_empty());
    let Some(inner) = inner else {
        return Ok(Pattern::Literal(text.to_owned()));
    };
    // A variable in a pattern stands for literal text; any word does for the trial.
    let trial = vars::blank(inner);
    match regex::Regex::new(&trial) {
        Ok(found) if found.is_match("") => Err(Unfit {
            message: "this pattern also fits nothing at all".into(),
            help: "write a pattern that needs at least one character",
        }),
        Ok(_) => Ok(Pattern::Regex(inner.to_owned())),
        Err(e) => {
            let reason = e.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            Err(Unfit {
                message: format!("this pattern can't be read: {reason}"),
                help: "between the slashes stands a regular expression; without slashes the text is literal",
            })
        }
    }
}

/// `5s`, `1.5s`, `500ms`, `2m`.
pub fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|d| *d <= Duration::from_secs(24 * 3600))
}
