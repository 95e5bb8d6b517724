//! From the tree to the authored types, collecting every problem of a file on the way.
//!
//! A method that returns `None` has reported why; its caller goes on with the rest of the file.

mod act;
mod expect;
mod extract;
mod file;
mod fixture;
mod hosts;
mod modifiers;
mod scalar;
mod step;
mod target;
mod top;
mod value;

use std::sync::Arc;

use super::lexicon::Lexicon;
use super::shapes::Shape;
use super::yaml::{Entry, Kind, MOST_PROBLEMS, Node};
use crate::text::{Level, Problem, Source, Span, Spanned, nearest, visible};

pub(super) use act::direction;
pub use file::{parse_fixture, parse_scenario};
pub(super) use file::{read_fixture, read_scenario};
pub use scalar::{duration, pattern};
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

    /// Finding the right words for problems that nobody will see takes its time.
    fn seen_enough(&self) -> bool {
        let most = 2 * MOST_PROBLEMS;
        // An error must be among them, or dropping this one would make the file look sound.
        self.problems.len() > most
            && self.problems[..most]
                .iter()
                .any(|p| p.level == Level::Error)
    }

    pub fn missing(&mut self, span: Span, key: &str, example: &str) {
        if self.seen_enough() {
            return;
        }
        let line = crate::text::line_col(&self.source.text, span.start).0;
        let here = first_line(&self.source.text, span);
        let problem = Problem::error(self.say(&format!("`{key}` is missing")))
            .at(self.source, here)
            .label(format!("the map that starts in line {line}"))
            .help(format!("add it: {example}"));
        self.problems.push(problem);
    }

    pub fn unknown_key(&mut self, entry: &Entry, known: &[&'static str]) {
        if self.seen_enough() {
            return;
        }
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
            Kind::Map(entries) if entries.iter().any(|e| e.key.starts_with('-')) => {
                let key = entries
                    .first()
                    .map(|e| e.key.trim_start_matches('-'))
                    .unwrap_or_default();
                self.error(
                    node.span,
                    "a list is wanted here",
                    format!("a blank is missing behind the dash: - {key}: …"),
                );
                Vec::new()
            }
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
