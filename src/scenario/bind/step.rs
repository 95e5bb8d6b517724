//! Steps: the verb with its main thing, everything else beside it.

use super::{Bind, Fields};
use crate::scenario::model::*;
use crate::scenario::sentence;
use crate::scenario::verbs::{MODIFIERS, Row, VERBS, row_for, row_of};
use crate::scenario::yaml::{Entry, Kind, Node, Scalar};
use crate::text::{Span, nearest, visible};

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
                    crate::scenario::written::double_quoted(text.trim())
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
                format!("if it belongs to the sentence, quote it: {}; if not, put it in a line of its own", crate::scenario::written::double_quoted(&whole)),
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
            scope: Scope {
                within: part.within,
                nth: None,
            },
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
        // `do` takes every modifier; the verb it turns out to be may not.
        for part in &parts {
            let own = row_of(part.act.verb());
            for entry in entries
                .iter()
                .filter(|e| e.key.value != "do" && row.takes(&e.key))
            {
                if !own.takes(&entry.key) {
                    self.error(
                        entry.key.span,
                        &format!(
                            "`{}` can't stand beside this sentence, which means `{}`",
                            entry.key.value, own.key
                        ),
                        "leave it away, or put it on the step it belongs to",
                    );
                }
            }
        }
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
                // The place a sentence says is in its words: the key holds what stands beside them.
                let key = Step {
                    scope: modifiers.scope.clone(),
                    ..Step::bare(part.act.clone(), node.span)
                }
                .scope_key(&part.text);
                let mut scope = modifiers.scope.clone();
                scope.within.extend(part.within);
                Step {
                    act: part.act,
                    scope,
                    written: key,
                    sentence: Some(part.text),
                    ..modifiers.clone()
                }
            })
            .collect()
    }
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
