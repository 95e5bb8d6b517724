//! Whole files: scenarios and fixtures.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Bind, Fields};
use crate::scenario::lexicon::{Lexicon, Lexicons};
use crate::scenario::model::*;
use crate::scenario::shapes::SCENARIO;
use crate::scenario::yaml::{self, Kind, MOST_PROBLEMS, Node};
use crate::text::{Level, Problem, Source, Span, Spanned, nearest};

/// Reads one scenario file. The scenario is there unless there is an error; the problems may be
/// warnings only.
pub fn parse_scenario(
    source: Arc<Source>,
    id: &str,
    lexicons: &Lexicons,
) -> (Option<Scenario>, Vec<Problem>) {
    only_sound(read_scenario(source, id, lexicons))
}

/// As [`parse_scenario`], but with what could be read in spite of errors, for further checks.
pub fn read_scenario(
    source: Arc<Source>,
    id: &str,
    lexicons: &Lexicons,
) -> (Option<Scenario>, Vec<Problem>) {
    bound(&source, lexicons, |bind, root| bind.scenario(root, id))
}

/// Reads one file of `fixtures/`.
pub fn parse_fixture(
    source: Arc<Source>,
    name: &str,
    lexicons: &Lexicons,
) -> (Option<Fixture>, Vec<Problem>) {
    only_sound(read_fixture(source, name, lexicons))
}

/// As [`parse_fixture`], but with what could be read in spite of errors, for further checks.
pub fn read_fixture(
    source: Arc<Source>,
    name: &str,
    lexicons: &Lexicons,
) -> (Option<Fixture>, Vec<Problem>) {
    bound(&source, lexicons, |bind, root| bind.fixture(root, name))
}

/// What a file's words are bound to, with every problem of the file.
fn bound<T>(
    source: &Arc<Source>,
    lexicons: &Lexicons,
    bind_root: impl FnOnce(&mut Bind<'_>, &Node) -> Option<T>,
) -> (Option<T>, Vec<Problem>) {
    let (root, duplicates) = match yaml::read(source) {
        Ok(read) => read,
        Err(problem) => return (None, vec![*problem]),
    };
    let (lexicon, language) = language(source, &root, lexicons);
    let mut bind = Bind::new(source, lexicon);
    bind.problems = duplicates;
    bind.problems.extend(language);
    let whole = bind_root(&mut bind, &root);
    (whole, sorted(bind.problems))
}

/// In the order of the file, and no more than a person reads.
fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|p| p.place.as_ref().map(|(_, span)| span.start));
    let is_error = |p: &Problem| p.level == Level::Error;
    if problems.len() > MOST_PROBLEMS && problems.iter().any(is_error) {
        problems.retain(is_error);
    }
    if problems.len() > MOST_PROBLEMS {
        let last = problems[MOST_PROBLEMS].clone();
        let more = problems.len() - MOST_PROBLEMS;
        problems.truncate(MOST_PROBLEMS);
        let message = format!("and at least {more} more like these in this file");
        problems.push(Problem {
            level: last.level,
            place: last.place,
            ..Problem::error(message)
        });
    }
    problems
}

/// Nothing comes out of a file with an error in it.
fn only_sound<T>((made, problems): (Option<T>, Vec<Problem>)) -> (Option<T>, Vec<Problem>) {
    let sound = problems.iter().all(|p| p.level == Level::Warning);
    (made.filter(|_| sound), problems)
}

/// The lexicon a file names; English where it names none or an unknown one.
fn language<'l>(
    source: &Arc<Source>,
    root: &Node,
    lexicons: &'l Lexicons,
) -> (&'l Lexicon, Option<Problem>) {
    let english = lexicons.english();
    let Kind::Map(entries) = &root.kind else {
        return (english, None);
    };
    let Some(entry) = entries.iter().find(|e| e.key.value == "language") else {
        return (english, None);
    };
    let Kind::Scalar(name) = &entry.value.kind else {
        return (english, None);
    };
    match lexicons.get(&name.text) {
        Some(lexicon) => (lexicon, None),
        None if name.is_null() => (english, None),
        None => {
            let help = match nearest(&name.text, lexicons.names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "there are {}; add lexicon/{}.yaml to the suite for another",
                    lexicons.names().collect::<Vec<_>>().join(", "),
                    name.text
                ),
            };
            let problem = Problem::error(format!("language: there is no lexicon `{}`", name.text))
                .at(source, entry.value.span)
                .help(help);
            (english, Some(problem))
        }
    }
}

impl Bind<'_> {
    pub(super) fn field<T>(
        &mut self,
        fields: Fields<'_>,
        key: &'static str,
        f: impl FnOnce(&mut Self, &Node) -> T,
    ) -> Option<T> {
        let node = fields.get(key)?;
        Some(self.at(key, |b| f(b, node)))
    }

    pub(super) fn flag(&mut self, fields: Fields<'_>, key: &'static str) -> bool {
        self.field(fields, key, Self::boolean)
            .flatten()
            .unwrap_or_default()
    }

    pub(super) fn short_text(
        &mut self,
        fields: Fields<'_>,
        key: &'static str,
    ) -> Option<Spanned<String>> {
        self.field(fields, key, |b, n| b.text(n, "text")).flatten()
    }

    fn scenario(&mut self, root: &Node, id: &str) -> Option<Scenario> {
        let Kind::Map(entries) = &root.kind else {
            self.wrong(
                root,
                "a map with `start`, `steps` or `goal`, and `expect`",
                "start: http://code.test/",
            );
            return None;
        };
        // A missing `start` must not hide what else is wrong.
        self.map(root, &SCENARIO);
        let fields = Fields {
            entries,
            span: root.span,
        };
        let credentials = self
            .field(fields, "credentials", Self::credential_names)
            .unwrap_or_default();
        self.credentials = credentials.iter().map(|c| c.value.clone()).collect();
        let goal = fields.get("goal").and_then(|node| {
            self.at("goal", |b| match &node.kind {
                Kind::Scalar(s) => b
                    .sentence_text(s, node.span)
                    .map(|t| Spanned::new(t, node.span)),
                _ => b.text(node, "a sentence"),
            })
        });
        let steps = self.field(fields, "steps", Self::steps).unwrap_or_default();
        self.wholeness(root, fields);
        let scenario = Scenario {
            id: id.to_string(),
            source: self.source.clone(),
            name: self
                .short_text(fields, "name")
                .unwrap_or_else(|| Spanned::new(id.to_string(), Span::default())),
            tags: self
                .field(fields, "tags", |b, n| b.texts(n, "tags: [smoke]"))
                .unwrap_or_default(),
            language: self
                .short_text(fields, "language")
                .unwrap_or_else(|| Spanned::new("en".into(), Span::default())),
            fixtures: self
                .field(fields, "fixtures", |b, n| {
                    b.texts(n, "fixtures: [code-host-site]")
                })
                .unwrap_or_default(),
            credentials,
            vars: self.field(fields, "vars", Self::vars).unwrap_or_default(),
            hosts: self.field(fields, "hosts", Self::hosts).unwrap_or_default(),
            start: self
                .field(fields, "start", Self::start)
                .flatten()
                .unwrap_or_default(),
            goal,
            steps,
            writes: self
                .field(fields, "writes", Self::writes)
                .unwrap_or_default(),
            safe_requests: self
                .field(fields, "safe_requests", Self::safe_requests)
                .unwrap_or_default(),
            expect: self
                .field(fields, "expect", Self::expectations)
                .unwrap_or_default(),
            extract: self.field(fields, "extract", Self::extract).flatten(),
            second_look: self
                .field(fields, "second_look", Self::second_look)
                .flatten(),
            ends: self
                .field(fields, "ends", Self::ends)
                .flatten()
                .unwrap_or_default(),
            budget: self
                .field(fields, "budget", Self::budget)
                .flatten()
                .unwrap_or_default(),
            mask: self.field(fields, "mask", Self::masks).unwrap_or_default(),
            volatile: self
                .field(fields, "volatile", |b, n| {
                    b.list(n, "volatile: [ /\\d+ minutes ago/ ]", Self::pattern)
                })
                .unwrap_or_default(),
            viewport: self.field(fields, "viewport", Self::viewport).flatten(),
            locale: self.field(fields, "locale", Self::locale).flatten(),
            time_zone: self.field(fields, "time_zone", Self::time_zone).flatten(),
            network: self.field(fields, "network", Self::network).flatten(),
            serial: self.flag(fields, "serial"),
            tutorial: self.field(fields, "tutorial", Self::tutorial).flatten(),
        };
        self.names_of_data(&scenario);
        Some(scenario)
    }

    /// A scenario needs something to do and something to check.
    fn wholeness(&mut self, root: &Node, fields: Fields<'_>) {
        let has = |key| fields.get(key).is_some();
        if !has("goal") && !has("steps") {
            self.missing(root.span, "steps", "steps: [ { click: Sign in } ], or a goal: one sentence that says what is to be reached");
        }
        if let Some(node) = fields.get("steps")
            && matches!(&node.kind, Kind::List(items) if items.is_empty())
        {
            self.at("steps", |b| {
                b.wrong(node, "at least one step", "steps: [ { click: Sign in } ]")
            });
        }
        if !has("expect") && !has("extract") && !has("ends") {
            self.missing(root.span, "expect", "expect: [ { see: Welcome } ]; without it nothing tells whether the goal was reached");
        }
    }

    /// Extracted names share one file; the same name twice would lose one.
    fn names_of_data(&mut self, scenario: &Scenario) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        let in_steps = scenario.steps.iter().filter_map(|s| match &s.act {
            Act::Extract(e) => Some(e),
            _ => None,
        });
        for (name, _) in in_steps.chain(&scenario.extract).flat_map(|e| &e.fields) {
            match seen.get(name.value.as_str()) {
                Some(first) => {
                    let problem = Problem::error(format!("`{}` is extracted twice", name.value))
                        .at(self.source, name.span)
                        .label("the second one")
                        .also(*first, "the first one")
                        .help(
                            "both would go to the same place in data.json: give one another name",
                        );
                    self.problems.push(problem);
                }
                None => {
                    seen.insert(&name.value, name.span);
                }
            }
        }
    }
}
