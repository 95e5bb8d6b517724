//! Whole files: scenarios and fixtures.

use std::sync::Arc;

use super::{Bind, Fields};
use crate::scenario::lexicon::{Lexicon, Lexicons};
use crate::scenario::model::*;
use crate::scenario::shapes::{FIXTURE, SCENARIO};
use crate::scenario::yaml::{self, Kind, Node};
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
    let (root, duplicates) = match yaml::read(&source) {
        Ok(read) => read,
        Err(problem) => return (None, vec![*problem]),
    };
    let (lexicon, language) = language(&source, &root, lexicons);
    let mut bind = Bind::new(&source, lexicon);
    bind.problems = duplicates;
    bind.problems.extend(language);
    let scenario = bind.scenario(&root, id);
    (scenario, sorted(bind.problems))
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
    let (root, duplicates) = match yaml::read(&source) {
        Ok(read) => read,
        Err(problem) => return (None, vec![*problem]),
    };
    let (lexicon, language) = language(&source, &root, lexicons);
    let mut bind = Bind::new(&source, lexicon);
    bind.problems = duplicates;
    bind.problems.extend(language);
    let fixture = bind.fixture(&root, name);
    (fixture, sorted(bind.problems))
}

/// In the order of the file.
fn sorted(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|p| p.place.as_ref().map(|(_, span)| span.start));
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
    fn field<T>(
        &mut self,
        fields: Fields<'_>,
        key: &'static str,
        f: impl FnOnce(&mut Self, &Node) -> T,
    ) -> Option<T> {
        let node = fields.get(key)?;
        Some(self.at(key, |b| f(b, node)))
    }

    fn flag(&mut self, fields: Fields<'_>, key: &'static str) -> bool {
        self.field(fields, key, Self::boolean)
            .flatten()
            .unwrap_or_default()
    }

    fn short_text(&mut self, fields: Fields<'_>, key: &'static str) -> Option<Spanned<String>> {
        self.field(fields, key, |b, n| b.text(n, "text")).flatten()
    }

    fn scenario(&mut self, root: &Node, id: &str) -> Option<Scenario> {
        let Kind::Map(entries) = &root.kind else {
            self.wrong(
                root,
                "a scenario: a map with `start`, `steps` or `goal`, and `expect`,",
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
            locale: self.short_text(fields, "locale").map(|t| t.value),
            time_zone: self.short_text(fields, "time_zone").map(|t| t.value),
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
        let mut seen: Vec<Spanned<String>> = Vec::new();
        let in_steps = scenario.steps.iter().filter_map(|s| match &s.act {
            Act::Extract(e) => Some(e),
            _ => None,
        });
        for (name, _) in in_steps.chain(&scenario.extract).flat_map(|e| &e.fields) {
            match seen.iter().find(|s| s.value == name.value) {
                Some(first) => {
                    let problem = Problem::error(format!("`{}` is extracted twice", name.value))
                        .at(self.source, name.span)
                        .label("the second one")
                        .also(first.span, "the first one")
                        .help(
                            "both would go to the same place in data.json: give one another name",
                        );
                    self.problems.push(problem);
                }
                None => seen.push(name.clone()),
            }
        }
    }

    fn fixture(&mut self, root: &Node, name: &str) -> Option<Fixture> {
        let fields = self.map(root, &FIXTURE)?;
        let server: Vec<&str> = ["command", "serve"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let kind = match (server.as_slice(), fields.get("steps")) {
            ([_], None) => {
                self.misplaced(
                    fields,
                    &["credentials", "vars", "language", "after", "keep"],
                    "a server",
                );
                FixtureKind::Server(self.server(fields)?)
            }
            ([], Some(_)) => {
                self.misplaced(fields, &["scope", "ready", "reset", "disposable"], "a flow");
                FixtureKind::Flow(self.flow(fields))
            }
            _ => {
                self.error(super::top::top_of(root), "a fixture is a server (`command` or `serve`) or a flow (`steps`), and exactly one of them", FIXTURE.example);
                return None;
            }
        };
        let scope = self
            .field(fields, "scope", |b, n| {
                b.word(n, &["scenario", "worker", "run"])
            })
            .flatten();
        let scope = scope.map_or(FixtureScope::default(), |i| {
            [
                FixtureScope::Scenario,
                FixtureScope::Worker,
                FixtureScope::Run,
            ][i]
        });
        Some(Fixture {
            name: name.to_string(),
            source: self.source.clone(),
            scope,
            kind,
        })
    }

    fn misplaced(&mut self, fields: Fields<'_>, keys: &[&str], kind: &str) {
        for entry in keys.iter().filter_map(|k| fields.entry(k)) {
            let key = entry.key.value.as_str();
            self.error(
                entry.key.span,
                &format!("`{key}` means nothing for {kind}"),
                "leave it away",
            );
        }
    }

    fn server(&mut self, fields: Fields<'_>) -> Option<Server> {
        let serves = match (fields.get("command"), fields.get("serve")) {
            (Some(node), _) => {
                let words = self.at("command", |b| {
                    b.list(node, FIXTURE.example, |b, n| b.value(n, "text"))
                });
                if words.is_empty() {
                    self.at("command", |b| {
                        b.wrong(node, "program and arguments", FIXTURE.example)
                    });
                }
                Serves::Command(words)
            }
            (None, Some(node)) => Serves::Folder(self.at("serve", |b| b.suite_path(node))?),
            (None, None) => return None,
        };
        let server = Server {
            serves,
            ready: self.field(fields, "ready", |b, n| b.start(n)).flatten(),
            hosts: self
                .field(fields, "hosts", Self::served_hosts)
                .unwrap_or_default(),
            reset: self.field(fields, "reset", Self::reset).flatten(),
            disposable: self.flag(fields, "disposable"),
        };
        self.only_port(&server);
        Some(server)
    }

    /// A server knows one variable, the port it is given.
    fn only_port(&mut self, server: &Server) {
        let words = match &server.serves {
            Serves::Command(words) => words.as_slice(),
            Serves::Folder(_) => &[],
        };
        let hosts = server.hosts.iter().map(|(_, at)| at);
        let all = words
            .iter()
            .chain(&server.ready)
            .chain(&server.reset)
            .chain(hosts);
        for text in all {
            for name in crate::scenario::vars::names(text).filter(|n| *n != "port") {
                self.error(
                    text.span,
                    &format!("unknown variable `$({})`", crate::text::visible(name)),
                    "a server knows $(port) only: the free port it is to listen on",
                );
            }
        }
    }

    fn served_hosts(&mut self, node: &Node) -> Vec<(Spanned<String>, Spanned<String>)> {
        let example = "hosts: { code.test: \"127.0.0.1:$(port)\" }";
        let entries = self
            .entries(node, "a map of host names and addresses", example)
            .unwrap_or_default();
        let mut hosts = Vec::new();
        for entry in entries {
            let name = entry.key.clone();
            let odd = name.contains(['/', '*', '@', ' ', ':'])
                || name.starts_with('.')
                || name.is_empty();
            if odd {
                self.error(
                    name.span,
                    &format!("`{}` is no host name", crate::text::visible(&name)),
                    example,
                );
                continue;
            }
            let at = self.at(name.value.as_str(), |b| b.text(&entry.value, "an address"));
            let Some(at) = at else { continue };
            let port = at.rsplit_once(':').map(|(_, p)| p);
            if at.contains('/') || !port.is_some_and(|p| p == "$(port)" || p.parse::<u16>().is_ok())
            {
                self.error(
                    at.span,
                    &format!("`{}` is no address with a port", crate::text::visible(&at)),
                    example,
                );
                continue;
            }
            hosts.push((name, at));
        }
        hosts
    }

    fn reset(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node, "METHOD and address")?;
        let good = text.split_once(' ').is_some_and(|(m, a)| {
            m.bytes().all(|b| b.is_ascii_uppercase())
                && (a.trim().starts_with("http://") || a.trim().starts_with("https://"))
        });
        if !good {
            self.wrong(
                node,
                "METHOD and address",
                "reset: POST http://127.0.0.1:$(port)/reset",
            );
            return None;
        }
        Some(text)
    }

    fn flow(&mut self, fields: Fields<'_>) -> Flow {
        let credentials = self
            .field(fields, "credentials", Self::credential_names)
            .unwrap_or_default();
        self.credentials = credentials.iter().map(|c| c.value.clone()).collect();
        let keep = self
            .field(fields, "keep", |b, n| b.word(n, &["session", "vault"]))
            .flatten();
        Flow {
            credentials,
            vars: self.field(fields, "vars", Self::vars).unwrap_or_default(),
            hosts: self.field(fields, "hosts", Self::hosts).unwrap_or_default(),
            steps: self.field(fields, "steps", Self::steps).unwrap_or_default(),
            after: self.field(fields, "after", Self::steps).unwrap_or_default(),
            keep: keep.map(|i| [Keep::Session, Keep::Vault][i]),
        }
    }
}
