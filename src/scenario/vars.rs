//! `$(name)`: replaced after parsing, once. A value is never read again as YAML, as a variable or
//! as a pattern: in globs its special characters are escaped, in patterns quoted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::{Flow, Scenario};
use super::walk::{self, Place, Visit};
use crate::text::{Problem, Source, Span, Spanned, glob, nearest, visible};

/// What the command line and the run add to a scenario's own `vars`.
#[derive(Debug, Clone, Default)]
pub struct Vars {
    /// `$(run.id)`.
    pub run_id: String,
    /// `--var name=value`; each must be declared in `vars`.
    pub overrides: BTreeMap<String, String>,
}

pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && !["run", "port"].contains(&name)
}

/// The scenario with every `$(…)` replaced.
pub fn bind(scenario: &Scenario, vars: &Vars) -> Result<Scenario, Vec<Problem>> {
    let source = scenario.source.clone();
    let credentials = scenario
        .credentials
        .iter()
        .map(|c| c.value.clone())
        .collect();
    let mut binder = Binder::new(source, credentials, &vars.run_id);
    for name in vars
        .overrides
        .keys()
        .filter(|n| !scenario.vars.contains_key(*n))
    {
        binder.undeclared(name, scenario.vars.keys().map(String::as_str), "--var");
    }
    let mut bound = scenario.clone();
    bound.vars = binder.values(&scenario.vars, &vars.overrides);
    walk::scenario(&mut binder, &mut bound);
    binder.done(bound)
}

/// A flow with every `$(…)` replaced; `given` are the values of `use: { vars }`.
pub fn bind_flow(
    flow: &Flow,
    source: &Arc<Source>,
    given: &BTreeMap<String, String>,
    vars: &Vars,
) -> Result<Flow, Vec<Problem>> {
    let credentials = flow.credentials.iter().map(|c| c.value.clone()).collect();
    let mut binder = Binder::new(source.clone(), credentials, &vars.run_id);
    for name in given.keys().filter(|n| !flow.vars.contains_key(*n)) {
        binder.undeclared(name, flow.vars.keys().map(String::as_str), "`use`");
    }
    let mut bound = flow.clone();
    bound.vars = binder.values(&flow.vars, given);
    walk::flow(&mut binder, &mut bound);
    binder.done(bound)
}

/// A pattern with each variable replaced by a letter, to try out whether it can be read.
pub fn blank(pattern: &str) -> String {
    pieces(pattern)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.to_string(),
            Piece::Literal => "\\$\\(".to_string(),
            Piece::Name(_) => "x".to_string(),
            Piece::Broken(text) => text.to_string(),
        })
        .collect()
}

/// The names a text refers to.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        _ => None,
    })
}

struct Binder {
    source: Arc<Source>,
    credentials: Vec<String>,
    values: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Binder {
    fn new(source: Arc<Source>, credentials: Vec<String>, run_id: &str) -> Self {
        let values = BTreeMap::from([("run.id".to_string(), run_id.to_string())]);
        Self {
            source,
            credentials,
            values,
            problems: Vec::new(),
        }
    }

    /// The variables themselves, in which only `$(run.id)` may stand.
    fn values(
        &mut self,
        declared: &BTreeMap<String, Spanned<String>>,
        given: &BTreeMap<String, String>,
    ) -> BTreeMap<String, Spanned<String>> {
        let mut own = BTreeMap::new();
        for (name, written) in declared {
            let mut value = written.clone();
            match given.get(name) {
                // From outside: never read.
                Some(given) => value.value.clone_from(given),
                None => self.text(&mut value.value, Place::Text, written.span),
            }
            own.insert(name.clone(), value);
        }
        self.values
            .extend(own.iter().map(|(k, v)| (k.clone(), v.value.clone())));
        own
    }

    fn undeclared<'c>(
        &mut self,
        name: &str,
        known: impl Iterator<Item = &'c str> + Clone,
        by: &str,
    ) {
        let path = self.source.path.display();
        let problem = Problem::error(format!(
            "{by} names the variable `{}`, which {path} doesn't declare",
            visible(name)
        ));
        self.problems.push(problem.help(suggestion(name, known)));
    }

    fn done<T>(self, bound: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() {
            Ok(bound)
        } else {
            Err(self.problems)
        }
    }

    /// The value of a name, as it must stand in this place.
    fn lookup(&mut self, name: &str, place: Place, span: Span) -> Option<String> {
        if let Some(value) = self.values.get(name) {
            return Some(match place {
                Place::Text | Place::Named | Place::Selector => value.clone(),
                Place::Glob | Place::NamedGlob => glob::escape(value),
                Place::Pattern => regex::escape(value),
            });
        }
        let credential = name
            .split_once('.')
            .filter(|(c, f)| self.credentials.iter().any(|k| k == c) && !f.is_empty());
        if let Some((credential, field)) = credential {
            let (why, help) = match place {
                Place::Named | Place::NamedGlob => return Some(format!("‹{credential}.{field}›")),
                Place::Selector => (
                    "the page itself is searched for a `css` or `text`, and no value is handed to a page",
                    "name the control by role and name: `link \"…\"`, with `within:` where needed"
                        .to_owned(),
                ),
                _ => (
                    "a credential is referred to in targets and `expect` only",
                    format!("to type it, write `credential: {name}` instead of `with`"),
                ),
            };
            let problem = Problem::error(format!("`$({name})` can't stand here: {why}"))
                .at(&self.source, self.narrow(span, name))
                .help(help);
            self.problems.push(problem);
            return None;
        }
        let known: Vec<String> = self
            .values
            .keys()
            .cloned()
            .chain(self.credentials.iter().map(|c| format!("{c}.username")))
            .collect();
        let problem = Problem::error(format!("unknown variable `$({})`", visible(name)))
            .at(&self.source, self.narrow(span, name))
            .label("not declared")
            .help(suggestion(name, known.iter().map(String::as_str)));
        self.problems.push(problem);
        None
    }

    /// The reference itself, where it stands as such within the span.
    fn narrow(&self, span: Span, name: &str) -> Span {
        let wanted = format!("$({name})");
        let within = self.source.text.get(span.start..span.end);
        match within.and_then(|t| t.find(&wanted)) {
            Some(i) => Span {
                start: span.start + i,
                end: span.start + i + wanted.len(),
            },
            None => span,
        }
    }
}

fn suggestion<'c>(name: &str, known: impl Iterator<Item = &'c str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known = known.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() {
                "none".into()
            } else {
                known
            };
            format!(
                "known are {known}; declare it with `vars: {{ {name}: value }}`; `$$(` is a literal"
            )
        }
    }
}

impl Visit for Binder {
    fn text(&mut self, text: &mut String, place: Place, span: Span) {
        if !text.contains("$(") {
            return;
        }
        let mut out = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(t) => out.push_str(t),
                Piece::Literal if place == Place::Pattern => out.push_str("\\$\\("),
                Piece::Literal => out.push_str("$("),
                Piece::Name(name) => {
                    out.push_str(&self.lookup(name, place, span).unwrap_or_default())
                }
                Piece::Broken(t) => {
                    let problem = Problem::error("a `$(` is followed by no name and `)`")
                        .at(&self.source, span)
                        .help("a variable is written $(name); for the characters themselves write `$$(`");
                    self.problems.push(problem);
                    out.push_str(t);
                }
            }
        }
        *text = out;
    }
}

enum Piece<'t> {
    Text(&'t str),
    /// `$$(`
    Literal,
    Name(&'t str),
    /// `$(` and no name.
    Broken(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("$(") {
        if rest[..at].ends_with('$') {
            out.push(Piece::Text(&rest[..at - 1]));
            out.push(Piece::Literal);
            rest = &rest[at + 2..];
            continue;
        }
        out.push(Piece::Text(&rest[..at]));
        let name = rest[at + 2..].split_once(')').map(|(n, _)| n);
        let named = name.filter(|n| {
            n.starts_with(|c: char| c.is_ascii_alphabetic())
                && n.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        });
        match named {
            Some(name) => {
                out.push(Piece::Name(name));
                rest = &rest[at + name.len() + 3..];
            }
            None => {
                out.push(Piece::Broken("$("));
                rest = &rest[at + 2..];
            }
        }
    }
    out.push(Piece::Text(rest));
    out
}
