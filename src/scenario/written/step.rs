//! Steps as one line.

use std::fmt;

use super::act::{act, expectation};
use super::{Out, bare, duration, flow, many, target, text};
use crate::scenario::model::*;

impl Step {
    /// Verb, what belongs to it, and the scope: what decides how it is resolved, and so the key of
    /// its lock entry. Layout, captions and checks of the step don't change it.
    pub fn key(&self) -> String {
        let mut map = act(&self.act);
        map.extend(scope(&self.scope));
        one_line(map)
    }

    /// The same for a sentence.
    pub fn scope_key(&self, sentence: &str) -> String {
        let scope = scope(&self.scope);
        if scope.is_empty() {
            return sentence.to_string();
        }
        let mut map = vec![("do".to_string(), text(sentence))];
        map.extend(scope);
        one_line(map)
    }

    fn out(&self) -> Vec<(String, Out)> {
        let mut map = match (&self.sentence, &self.act) {
            (Some(sentence), _) => vec![("do".to_string(), text(sentence))],
            (None, act_) => act(act_),
        };
        map.extend(scope(&self.scope));
        map.extend(
            self.write
                .as_ref()
                .map(|w| ("write".into(), text(&w.value))),
        );
        if self.optional {
            map.push(("optional".into(), bare(true)));
        }
        map.extend(self.timeout.map(|t| ("timeout".into(), bare(duration(t)))));
        map.extend(self.note.as_ref().map(|n| ("note".into(), text(n))));
        map.extend(self.picture.map(|p| {
            (
                "picture".into(),
                bare(match p {
                    Picture::Keep => "keep",
                    Picture::Drop => "drop",
                }),
            )
        }));
        map.extend(self.dialog.as_ref().map(|d| {
            (
                "dialog".into(),
                match d {
                    DialogAnswer::Accept(None) => bare("accept"),
                    DialogAnswer::Accept(Some(t)) => Out::Map(vec![("accept".into(), text(t))]),
                    DialogAnswer::Dismiss => bare("dismiss"),
                },
            )
        }));
        if self.opens_tab {
            map.push(("opens".into(), bare("tab")));
        }
        map.extend(self.download.as_ref().map(|d| ("download".into(), text(d))));
        if !self.expect.is_empty() {
            map.push((
                "expect".into(),
                many(self.expect.iter().map(expectation).collect()),
            ));
        }
        map
    }
}

/// The step as one line of the language: `click: Sign in`, `{ fill: Passenger, with: Ada }`, or a
/// bare sentence.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = self.out();
        match (map.as_slice(), &self.sentence) {
            ([(_, out)], Some(_)) => f.write_str(&flow(out)),
            _ => f.write_str(&one_line(map)),
        }
    }
}

fn one_line(map: Vec<(String, Out)>) -> String {
    match map.as_slice() {
        [(key, value)] => format!("{key}: {}", flow(value)),
        _ => flow(&Out::Map(map)),
    }
}

fn scope(scope: &Scope) -> Vec<(String, Out)> {
    let mut map = Vec::new();
    if !scope.within.is_empty() {
        map.push((
            "within".to_string(),
            many(scope.within.iter().map(target).collect()),
        ));
    }
    map.extend(scope.nth.map(|n| ("nth".to_string(), bare(n))));
    map
}
