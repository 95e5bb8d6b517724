//! From the tree to the authored types, collecting every problem of a file on the way.
//!
//! A method that returns `None` has reported why; its caller goes on with the rest of the file.

mod expect;
mod extract;
mod file;
mod step;
mod target;
mod top;

use std::sync::Arc;
use std::time::Duration;

use super::lexicon::Lexicon;
use super::model::Pattern;
use super::shapes::{Shape, Want};
use super::yaml::{Entry, Kind, Node};
use crate::text::{Problem, Source, Span, Spanned, nearest, visible};

pub use file::{parse_fixture, parse_scenario};
pub(super) use file::{read_fixture, read_scenario};
pub(super) use step::direction;
pub use top::parse_viewport;

pub(super) struct Bind<'a> {
    pub source: &'a Arc<Source>,
    pub lexicon: &'a Lexicon,
    /// Names the file lists; sentences and `login` refer to them.
    pub credentials: Vec<String>,
    pub problems: Vec<Problem>,
    path: Vec<String>,
}

/// The keys of one map, already checked against its shape.
#[derive(Clone, Copy)]
pub(super) struct Fields<'t> {
    entries: &'t [Entry],
    pub span: Span,
}

impl<'t> Fields<'t> {
    pub fn get(&self, name: &str) -> Option<&'t Node> {
        self.entry(name).map(|e| &e.value)
    }

    pub fn has_unknown(&self, shape: &Shape) -> bool {
        self.entries.iter().any(|e| !shape.has(&e.key))
    }

    pub fn entry(&self, name: &str) -> Option<&'t Entry> {
        self.entries.iter().find(|e| e.key.value == name)
    }
}

impl<'a> Bind<'a> {
    pub fn new(source: &'a Arc<Source>, lexicon: &'a Lexicon) -> Self {
        Self {
            source,
            lexicon,
            credentials: Vec::new(),
            problems: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Runs `f` one level deeper in the path that messages show.
    pub fn at<T>(&mut self, segment: impl Into<String>, f: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment.into());
        let out = f(self);
        self.path.pop();
        out
    }

    /// `steps[2].expect`, or nothing at the top.
    pub fn path(&self) -> String {
        let mut out = String::new();
        for part in &self.path {
            if !out.is_empty() && !part.starts_with('[') {
                out.push('.');
            }
            out.push_str(part);
        }
        out
    }

    /// `steps[2].expect: message`
    pub fn say(&self, message: &str) -> String {
        match self.path().as_str() {
            "" => message.to_string(),
            path => format!("{path}: {message}"),
        }
    }

    pub fn error(&mut self, span: Span, message: &str, help: impl Into<String>) {
        let problem = Problem::error(self.say(message))
            .at(self.source, span)
            .help(help);
        self.problems.push(problem);
    }

    pub fn warn(&mut self, span: Span, message: &str, help: impl Into<String>) {
        let problem = Problem::warning(self.say(message))
            .at(self.source, span)
            .help(help);
        self.problems.push(problem);
    }

    /// Found, wanted, and a correct example.
    pub fn wrong(&mut self, node: &Node, wanted: &str, example: &str) {
        let found = node.found();
        let problem = Problem::error(self.say(&format!("{wanted} is wanted here, not {found}")))
            .at(self.source, node.span)
            .label(format!("found {found}"))
            .help(format!("for example: {example}"));
        self.problems.push(problem);
    }

    pub fn missing(&mut self, span: Span, key: &str, example: &str) {
        let line = crate::text::line_col(&self.source.text, span.start).0;
        let here = first_line(&self.source.text, span);
        let problem = Problem::error(self.say(&format!("`{key}` is missing")))
            .at(self.source, here)
            .label(format!("the map that starts in line {line}"))
            .help(format!("add it: {example}"));
        self.problems.push(problem);
    }

    pub fn unknown_key(&mut self, entry: &Entry, known: &[&'static str]) {
        let key = visible(&entry.key);
        let help = match nearest(&entry.key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        let problem = Problem::error(self.say(&format!("unknown key `{key}`")))
            .at(self.source, entry.key.span)
            .label("not known here")
            .help(help);
        self.problems.push(problem);
    }

    // ---- maps and lists --------------------------------------------------------------------

    /// The fields of a map of this shape; unknown and missing keys are reported.
    pub fn map<'t>(&mut self, node: &'t Node, shape: &Shape) -> Option<Fields<'t>> {
        let Kind::Map(entries) = &node.kind else {
            self.wrong(
                node,
                &format!("a map with {}", listed(shape)),
                shape.example,
            );
            return None;
        };
        let known: Vec<_> = shape.names().collect();
        for entry in entries.iter().filter(|e| !shape.has(&e.key)) {
            self.unknown_key(entry, &known);
        }
        let mut complete = true;
        for key in shape.keys.iter().filter(|k| k.required) {
            if !entries.iter().any(|e| e.key.value == key.name) {
                self.missing(node.span, key.name, shape.example);
                complete = false;
            }
        }
        complete.then_some(Fields {
            entries,
            span: node.span,
        })
    }

    pub fn entries<'t>(
        &mut self,
        node: &'t Node,
        wanted: &str,
        example: &str,
    ) -> Option<&'t [Entry]> {
        match &node.kind {
            Kind::Map(entries) => Some(entries),
            _ => {
                self.wrong(node, wanted, example);
                None
            }
        }
    }

    pub fn list<T>(
        &mut self,
        node: &Node,
        example: &str,
        mut f: impl FnMut(&mut Self, &Node) -> Option<T>,
    ) -> Vec<T> {
        match &node.kind {
            Kind::List(items) => items
                .iter()
                .enumerate()
                .filter_map(|(i, item)| self.at(format!("[{}]", i + 1), |b| f(b, item)))
                .collect(),
            _ => {
                self.wrong(node, "a list", example);
                Vec::new()
            }
        }
    }

    /// One, or a list of them.
    pub fn many<T>(
        &mut self,
        node: &Node,
        mut f: impl FnMut(&mut Self, &Node) -> Option<T>,
    ) -> Vec<T> {
        match &node.kind {
            Kind::List(_) => self.list(node, "", f),
            _ => f(self, node).into_iter().collect(),
        }
    }

    pub fn texts(&mut self, node: &Node, example: &str) -> Vec<Spanned<String>> {
        self.list(node, example, |b, n| b.text(n, "text"))
    }

    // ---- scalars ---------------------------------------------------------------------------

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
                    super::written::flow_text(&format!(
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
        let inner = text
            .strip_prefix('/')
            .and_then(|t| t.strip_suffix('/'))
            .filter(|t| !t.is_empty());
        let Some(inner) = inner else {
            return Some(Pattern::Literal(text.value));
        };
        // A variable in a pattern stands for literal text; any word does for the trial.
        let trial = super::vars::blank(inner);
        match regex::Regex::new(&trial) {
            Ok(found) if found.is_match("") => {
                self.error(
                    node.span,
                    "this pattern also fits nothing at all",
                    "write a pattern that needs at least one character",
                );
                None
            }
            Ok(_) => Some(Pattern::Regex(inner.to_string())),
            Err(e) => {
                let reason = e.to_string();
                let reason = reason
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ");
                self.error(node.span, &format!("this pattern can't be read: {reason}"), "between the slashes stands a regular expression; without slashes the text is literal");
                None
            }
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

fn listed(shape: &Shape) -> String {
    let names: Vec<_> = shape.names().take(4).map(|n| format!("`{n}`")).collect();
    let more = if shape.keys.len() > 4 { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

fn first_line(text: &str, span: Span) -> Span {
    let end = text[span.start..]
        .find('\n')
        .map_or(text.len(), |i| span.start + i);
    Span {
        start: span.start,
        end: end.min(span.end),
    }
}
