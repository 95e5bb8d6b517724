//! Steps: the verb with its main thing, everything else beside it.

use std::path::{Component, PathBuf};
use std::time::Duration;

use super::{Bind, Fields};
use crate::scenario::keys;
use crate::scenario::model::*;
use crate::scenario::sentence;
use crate::scenario::shapes::{DIALOG, TARGET, USE, WAIT, Want};
use crate::scenario::verbs::{MODIFIERS, Row, VERBS, row_for};
use crate::scenario::yaml::{Entry, Kind, Node, Scalar};
use crate::text::{Span, Spanned, nearest, visible};

const NO: [&str; 8] = ["yes", "no", "on", "off", "true", "false", "y", "n"];

impl Bind<'_> {
    pub fn steps(&mut self, node: &Node) -> Vec<Step> {
        let nested = self.list(node, "steps: [ { click: Sign in } ]", |b, n| {
            Some(b.step(n))
        });
        nested.into_iter().flatten().collect()
    }

    fn step(&mut self, node: &Node) -> Vec<Step> {
        match &node.kind {
            Kind::Scalar(scalar) => self.sentences(scalar, node.span),
            Kind::Map(entries) => match self.verb(node, entries) {
                Some(row) if row.verb == Verb::Do => self.do_step(node, entries, row),
                Some(row) => self.verb_step(node, entries, row).into_iter().collect(),
                None => Vec::new(),
            },
            Kind::List(_) => {
                self.wrong(node, "a step", "click: Sign in");
                Vec::new()
            }
        }
    }

    /// The one verb of a step, or the reason why there is none.
    fn verb(&mut self, node: &Node, entries: &[Entry]) -> Option<&'static Row> {
        let mut rows: Vec<(&Entry, &'static Row)> = entries
            .iter()
            .filter_map(|e| Some((e, row_for(&e.key)?)))
            .collect();
        if rows.len() > 1 {
            rows.retain(|(_, r)| r.verb != Verb::Expect);
        }
        match rows.as_slice() {
            [(_, row)] => Some(row),
            [] => {
                self.no_verb(node, entries);
                None
            }
            [(first, a), (second, b), ..] => {
                let problem = crate::text::Problem::error(self.say(&format!(
                    "`{}` and `{}` are two actions in one step",
                    a.key, b.key
                )))
                .at(self.source, second.key.span)
                .label("the second action")
                .also(first.key.span, "the first action")
                .help("start each step with `- ` at the same indentation");
                self.problems.push(problem);
                None
            }
        }
    }

    fn no_verb(&mut self, node: &Node, entries: &[Entry]) {
        let Some(first) = entries.first() else {
            self.wrong(node, "a step", "click: Sign in");
            return;
        };
        let key = visible(&first.key);
        let beside = VERBS
            .iter()
            .find(|r| r.beside.iter().any(|k| k.name == first.key.value));
        let modifier = MODIFIERS.iter().any(|k| k.name == first.key.value);
        if beside.is_some() || modifier {
            let example = beside.map_or("click: Save", |r| r.example);
            self.error(
                first.key.span,
                &format!("`{key}` is no step of its own: it stands beside a verb"),
                format!("indent it under the verb it belongs to, without `- `, as in {example}"),
            );
            return;
        }
        let verbs: Vec<_> = VERBS.iter().map(|r| r.key).collect();
        if first.key.contains(' ') && nearest(&first.key, verbs.iter().copied()).is_none() {
            let text = match &first.value.kind {
                Kind::Scalar(s) => format!("{}: {}", first.key.value, s.text),
                _ => first.key.value.clone(),
            };
            self.error(
                first.key.span,
                "a sentence with `: ` in it is read as key and value",
                format!(
                    "quote it: - {}",
                    super::super::written::double_quoted(text.trim())
                ),
            );
            return;
        }
        let known: Vec<&str> = verbs.clone();
        let help = match nearest(&first.key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the verbs are {}", verbs.join(", ")),
        };
        self.error(
            first.key.span,
            &format!("unknown key `{key}`: a step begins with a verb"),
            help,
        );
    }

    fn verb_step(&mut self, node: &Node, entries: &[Entry], row: &'static Row) -> Option<Step> {
        let fields = Fields {
            entries,
            span: node.span,
        };
        self.check_keys(entries, row);
        let main = fields.get(row.key)?;
        if self.is_nothing(main) {
            self.error(
                fields.entry(row.key).map_or(node.span, |e| e.key.span),
                &format!("`{}` says nothing", row.key),
                format!("write it behind the verb, as in {}; what belongs to it stands beside it, at the same indentation as the verb", row.example),
            );
            return None;
        }
        let act = self.at(row.key, |b| b.act(row.verb, main, fields));
        // Modifiers are bound even where the act failed, for their problems.
        let step = self.modifiers(fields, row);
        let mut step = Step { act: act?, ..step };
        step.written = step.key();
        Some(step)
    }

    fn is_nothing(&self, node: &Node) -> bool {
        matches!(&node.kind, Kind::Scalar(s) if s.plain && s.text.is_empty())
    }

    fn check_keys(&mut self, entries: &[Entry], row: &'static Row) {
        let known: Vec<_> = row.keys().collect();
        for entry in entries
            .iter()
            .filter(|e| !known.contains(&e.key.value.as_str()))
        {
            let key = entry.key.value.as_str();
            if key == "write" {
                let may: Vec<_> = VERBS.iter().filter(|r| r.writes).map(|r| r.key).collect();
                self.error(entry.key.span, &format!("`write` can't stand beside `{}`", row.key), format!("it goes with {} and sentences; for other requests use the top-level `writes`", may.join(", ")));
            } else if let Some(home) = VERBS
                .iter()
                .find(|r| r.beside.iter().any(|k| k.name == key))
            {
                self.error(
                    entry.key.span,
                    &format!("`{key}` can't stand beside `{}`", row.key),
                    format!("it goes with `{}`: {}", home.key, home.example),
                );
            } else if MODIFIERS.iter().any(|m| m.name == key) {
                self.error(
                    entry.key.span,
                    &format!("`{key}` can't stand beside `{}`, which only reads", row.key),
                    "put it on the step that acts",
                );
            } else {
                self.unknown_key(entry, &known);
            }
        }
    }

    // ---- sentences -------------------------------------------------------------------------

    fn sentences(&mut self, scalar: &Scalar, span: Span) -> Vec<Step> {
        self.sentence_text(scalar, span)
            .map(|text| self.parse_sentence(&text, span))
            .unwrap_or_default()
    }

    /// The words of a sentence; a comment that may have swallowed some of them is an error.
    pub fn sentence_text(&mut self, scalar: &Scalar, span: Span) -> Option<String> {
        if let Some(comment) = scalar.swallowed {
            let rest = &self.source.text[comment.start..comment.end];
            let whole = format!("{} {rest}", scalar.text);
            self.error(
                comment,
                "a comment stands behind the sentence",
                format!("if it belongs to the sentence, quote it: {}; if not, put it in a line of its own", super::super::written::double_quoted(&whole)),
            );
            return None;
        }
        let node = Node {
            kind: Kind::Scalar(scalar.clone()),
            span,
        };
        self.text(&node, "a sentence").map(|t| t.value)
    }

    fn parse_sentence(&mut self, text: &str, span: Span) -> Vec<Step> {
        match sentence::parse(text, self.lexicon, &self.credentials, span) {
            Ok(parts) => parts
                .into_iter()
                .map(|p| self.sentence_step(p, span))
                .collect(),
            Err(e) => {
                self.error(span, &e.to_string(), e.help(self.lexicon));
                Vec::new()
            }
        }
    }

    fn sentence_step(&mut self, part: sentence::Part, span: Span) -> Step {
        Step {
            written: part.text.clone(),
            sentence: Some(part.text),
            ..Step::bare(part.act, span)
        }
    }

    fn do_step(&mut self, node: &Node, entries: &[Entry], row: &'static Row) -> Vec<Step> {
        let fields = Fields {
            entries,
            span: node.span,
        };
        self.check_keys(entries, row);
        let Some(main) = fields.get("do") else {
            return Vec::new();
        };
        let text = self.at("do", |b| match &main.kind {
            Kind::Scalar(s) => b.sentence_text(s, main.span),
            _ => b.text(main, "a sentence").map(|t| t.value),
        });
        let modifiers = self.modifiers(fields, row);
        let Some(text) = text else { return Vec::new() };
        let parts = match sentence::parse(&text, self.lexicon, &self.credentials, main.span) {
            Ok(parts) => parts,
            Err(e) => {
                self.error(main.span, &e.to_string(), e.help(self.lexicon));
                return Vec::new();
            }
        };
        if parts.len() > 1 && entries.len() > 1 {
            self.error(
                main.span,
                "two actions in one sentence can't share what stands beside it",
                "write one step for each action",
            );
            return Vec::new();
        }
        parts
            .into_iter()
            .map(|part| {
                let scope = modifiers.scope.clone();
                let key = Step {
                    scope,
                    ..Step::bare(part.act.clone(), node.span)
                }
                .scope_key(&part.text);
                Step {
                    act: part.act,
                    written: key,
                    sentence: Some(part.text),
                    ..modifiers.clone()
                }
            })
            .collect()
    }

    // ---- modifiers -------------------------------------------------------------------------

    fn modifiers(&mut self, fields: Fields<'_>, row: &'static Row) -> Step {
        let mut step = Step::bare(Act::Wait(WaitFor::Seconds(Duration::ZERO)), fields.span);
        for entry in fields
            .entries
            .iter()
            .filter(|e| row.takes(&e.key) && e.key.value != row.key)
        {
            let node = &entry.value;
            self.at(entry.key.value.as_str(), |b| {
                match entry.key.value.as_str() {
                    "write" => step.write = b.write(node),
                    "optional" => step.optional = b.boolean(node).unwrap_or_default(),
                    "timeout" => step.timeout = b.duration(node),
                    "note" => step.note = b.text(node, "text").map(|t| t.value),
                    "picture" => {
                        step.picture = b
                            .word(node, &["keep", "drop"])
                            .map(|i| [Picture::Keep, Picture::Drop][i])
                    }
                    "within" => step.scope.within = b.many(node, Self::target),
                    "nth" => step.scope.nth = b.number(node, &Want::Count(1, u64::from(u32::MAX))),
                    "dialog" => step.dialog = b.dialog(node),
                    "opens" => step.opens_tab = b.word(node, &["tab"]).is_some(),
                    "download" => {
                        step.download = b
                            .text(node, "a file name, with * for what varies")
                            .map(|t| t.value)
                    }
                    "expect" => step.expect = b.expectations(node),
                    _ => {}
                }
            });
        }
        step
    }

    fn write(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node, "what the step changes, in words,")?;
        if NO.contains(&text.to_lowercase().as_str()) {
            self.error(node.span, &format!("`write: {}` doesn't say what changes", text.value), "say it for the one who confirms: `write: creates README.md in demo`; leave it away if nothing changes");
            return None;
        }
        Some(text)
    }

    fn dialog(&mut self, node: &Node) -> Option<DialogAnswer> {
        if !matches!(node.kind, Kind::Map(_)) {
            return self
                .word(node, &["accept", "dismiss"])
                .map(|i| [DialogAnswer::Accept(None), DialogAnswer::Dismiss][i].clone());
        }
        let text = self.map(node, &DIALOG)?.get("accept")?;
        let text = self.at("accept", |b| b.value(text, "text"))?;
        Some(DialogAnswer::Accept(Some(text.value)))
    }

    // ---- acts ------------------------------------------------------------------------------

    fn act(&mut self, verb: Verb, main: &Node, fields: Fields<'_>) -> Option<Act> {
        Some(match verb {
            Verb::Goto => Act::Goto(self.address(main)?),
            Verb::Click => Act::Click(self.target(main)?),
            Verb::Fill => {
                let value = self.fill_value(fields);
                Act::Fill {
                    target: self.target(main)?,
                    value: value?,
                }
            }
            Verb::Form => Act::Form(self.form(main)?),
            Verb::Select => {
                let target = self.beside_target(fields, "in");
                Act::Select {
                    option: self.text(main, "an option")?.value,
                    target: target?,
                }
            }
            Verb::Check => Act::Check {
                target: self.target(main)?,
                on: true,
            },
            Verb::Uncheck => Act::Check {
                target: self.target(main)?,
                on: false,
            },
            Verb::Press => {
                let target = self.beside_target(fields, "in");
                Act::Press {
                    keys: self.keys(main)?,
                    target: target?,
                }
            }
            Verb::Hover => Act::Hover(self.target(main)?),
            Verb::Scroll => {
                let target = self.beside_target(fields, "in");
                Act::Scroll {
                    to: self.scroll_to(main)?,
                    target: target?,
                }
            }
            Verb::Drag => {
                let to = self.beside_target(fields, "to");
                let target = self.target(main)?;
                let Some(to) = to? else {
                    self.missing(fields.span, "to", "{ drag: Card 1, to: Done }");
                    return None;
                };
                Act::Drag { target, to }
            }
            Verb::Upload => {
                let target = self.beside_target(fields, "in");
                Act::Upload {
                    file: self.suite_path(main)?,
                    target: target?,
                }
            }
            Verb::Submit => Act::Submit(self.target(main)?),
            Verb::Login => Act::Login(self.credential_name(main)?),
            Verb::Wait => Act::Wait(self.wait(main)?),
            Verb::WaitForUser => {
                Act::WaitForUser(self.text(main, "what the person is asked to do")?.value)
            }
            Verb::Expect => Act::Expect(Some(self.expectations(main)).filter(|e| !e.is_empty())?),
            Verb::Extract => Act::Extract(self.extract(main)?),
            Verb::Use => self.use_flow(main)?,
            Verb::Plan => Act::Plan(match &main.kind {
                Kind::Scalar(s) => self.sentence_text(s, main.span)?,
                _ => self.text(main, "a goal")?.value,
            }),
            Verb::Do => return None,
        })
    }

    /// `Ok(None)` is a key that isn't there; `None` one that is wrong.
    fn beside_target(&mut self, fields: Fields<'_>, key: &'static str) -> Option<Option<Target>> {
        match fields.get(key) {
            None => Some(None),
            Some(node) => self.at(key, |b| b.target(node)).map(Some),
        }
    }

    fn fill_value(&mut self, fields: Fields<'_>) -> Option<Value> {
        match (fields.get("with"), fields.get("credential")) {
            (Some(node), None) => self
                .at("with", |b| b.value(node, "the text to type"))
                .map(|v| Value::Text(v.value)),
            (None, Some(node)) => self.at("credential", |b| b.credential_field(node)),
            (Some(_), Some(_)) => {
                self.error(
                    fields.span,
                    "`with` and `credential` stand beside one `fill`",
                    "keep one of them",
                );
                None
            }
            (None, None) => {
                self.error(fields.entry("fill").map_or(fields.span, |e| e.key.span), "`fill` doesn't say with what", "add `with: text` or `credential: name.password` at the same indentation as `fill`");
                None
            }
        }
    }

    fn credential_field(&mut self, node: &Node) -> Option<Value> {
        let text = self.text(node, "name.field of a credential")?;
        let Some((name, field)) = text
            .split_once('.')
            .filter(|(n, f)| !n.is_empty() && !f.is_empty())
        else {
            self.wrong(
                node,
                "name.field of a credential",
                "code-host-user.password",
            );
            return None;
        };
        self.known_credential(name, node.span)?;
        Some(Value::Credential {
            name: name.to_string(),
            field: field.to_string(),
        })
    }

    fn credential_name(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "the name of a credential")?.value;
        self.known_credential(&name, node.span)?;
        Some(name)
    }

    fn known_credential(&mut self, name: &str, span: Span) -> Option<()> {
        if self.credentials.iter().any(|c| c == name) {
            return Some(());
        }
        let help = match nearest(name, self.credentials.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("list it at the top: credentials: [{name}]"),
        };
        self.error(
            span,
            &format!(
                "the credential `{}` is not listed in this file",
                visible(name)
            ),
            help,
        );
        None
    }

    fn form(&mut self, node: &Node) -> Option<Vec<(Target, FormValue)>> {
        let entries = self.entries(
            node,
            "a map of controls and values",
            "form: { Passenger: Ada, With bicycle: true }",
        )?;
        if entries.is_empty() {
            self.wrong(node, "at least one control", "form: { Passenger: Ada }");
            return None;
        }
        let mut lines = Vec::new();
        for entry in entries {
            let line = self.at(entry.key.value.as_str(), |b| {
                let target = b.target_text(&entry.key, entry.key.span);
                let value = match &entry.value.kind {
                    Kind::Scalar(s) if s.plain && s.text == "true" => Some(FormValue::Bool(true)),
                    Kind::Scalar(s) if s.plain && s.text == "false" => Some(FormValue::Bool(false)),
                    Kind::Map(inner) if inner.iter().any(|e| e.key.value == "credential") => {
                        b.form_credential(&entry.value)
                    }
                    _ => b
                        .value(&entry.value, "the value of a control")
                        .map(|v| FormValue::Value(Value::Text(v.value))),
                };
                target.zip(value)
            });
            lines.extend(line);
        }
        Some(lines)
    }

    fn form_credential(&mut self, node: &Node) -> Option<FormValue> {
        let fields = self.map(node, &crate::scenario::shapes::CREDENTIAL_VALUE)?;
        self.at("credential", |b| {
            b.credential_field(fields.get("credential")?)
        })
        .map(FormValue::Value)
    }

    fn keys(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "a key")?;
        match keys::check(&text) {
            Ok(()) => Some(text.value),
            Err(unknown) => {
                let help = match keys::nearest_key(&unknown) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "for example: Enter, Escape, Tab, ArrowDown, Control+A".to_string(),
                };
                self.error(
                    node.span,
                    &format!("`{}` is no key", visible(&unknown)),
                    help,
                );
                None
            }
        }
    }

    fn scroll_to(&mut self, node: &Node) -> Option<ScrollTo> {
        if let Kind::Scalar(s) = &node.kind
            && let Some(to) = direction(&s.text)
        {
            return Some(to);
        }
        self.target(node).map(ScrollTo::Target)
    }

    /// A path inside the suite, so that a scenario can't hand over any other file.
    pub fn suite_path(&mut self, node: &Node) -> Option<PathBuf> {
        let text = self.text(node, "a path within the suite")?;
        let path = PathBuf::from(&text.value);
        if path
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
            && !text.contains('\\')
        {
            return Some(path);
        }
        self.error(
            node.span,
            "the path leads out of the suite",
            "write it from the suite's folder, with `/`, as in fixtures/a.pdf",
        );
        None
    }

    fn wait(&mut self, node: &Node) -> Option<WaitFor> {
        if !matches!(node.kind, Kind::Map(_)) {
            return self.target(node).map(WaitFor::Target);
        }
        let fields = self.map(node, &WAIT)?;
        let ways: Vec<&str> = ["gone", "url", "seconds"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let named = TARGET.names().any(|k| fields.get(k).is_some());
        match (ways.as_slice(), named) {
            ([], true) => self.target_fields(fields).map(WaitFor::Target),
            ([way], false) => {
                let node = fields.get(way)?;
                self.at(*way, |b| match *way {
                    "gone" => b.target(node).map(WaitFor::Gone),
                    "url" => b
                        .text(node, "an address, with * for what varies")
                        .map(|t| WaitFor::Url(t.value)),
                    _ => b.seconds(node),
                })
            }
            _ => {
                self.error(
                    node.span,
                    "a wait has exactly one condition: a target, `gone`, `url` or `seconds`",
                    WAIT.example,
                );
                None
            }
        }
    }

    fn seconds(&mut self, node: &Node) -> Option<WaitFor> {
        let number = match &node.kind {
            Kind::Scalar(s) => s
                .text
                .parse::<f64>()
                .ok()
                .filter(|n| (0.0..=600.0).contains(n)),
            _ => None,
        };
        let Some(number) = number else {
            self.wrong(node, "a number of seconds from 0 to 600", "{ seconds: 2 }");
            return None;
        };
        self.warn(
            node.span,
            "a fixed wait is slow where the page is fast and short where it is slow",
            "wait for what should appear, be gone, or for the address",
        );
        Some(WaitFor::Seconds(Duration::from_secs_f64(number)))
    }

    fn use_flow(&mut self, node: &Node) -> Option<Act> {
        if !matches!(node.kind, Kind::Map(_)) {
            let flow = self.text(node, "the name of a flow")?.value;
            return Some(Act::Use {
                flow,
                vars: Default::default(),
            });
        }
        let fields = self.map(node, &USE)?;
        let flow = self
            .at("flow", |b| {
                b.text(fields.get("flow")?, "the name of a flow")
            })?
            .value;
        let vars = match fields.get("vars") {
            Some(node) => self
                .at("vars", |b| b.vars(node))
                .into_iter()
                .map(|(k, v)| (k, v.value))
                .collect(),
            None => Default::default(),
        };
        Some(Act::Use { flow, vars })
    }
}

pub(in crate::scenario) fn direction(word: &str) -> Option<ScrollTo> {
    Some(match word {
        "down" => ScrollTo::Down,
        "up" => ScrollTo::Up,
        "left" => ScrollTo::Left,
        "right" => ScrollTo::Right,
        "top" => ScrollTo::Top,
        "bottom" => ScrollTo::Bottom,
        _ => return None,
    })
}

impl Step {
    /// An act with nothing beside it.
    pub fn bare(act: Act, span: Span) -> Self {
        Self {
            act,
            span,
            written: String::new(),
            scope: Scope::default(),
            write: None,
            optional: false,
            timeout: None,
            note: None,
            picture: None,
            dialog: None,
            opens_tab: false,
            download: None,
            expect: Vec::new(),
            sentence: None,
        }
    }
}
