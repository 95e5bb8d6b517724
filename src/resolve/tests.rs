//! The resolver over observations made by hand: no browser, no clock.

mod ladder;
mod misses;
mod properties;
mod scopes;

use crate::page::{Document, Hint, HintKind, Node, Observation, Rect, States};
use crate::scenario::{Scope, Target, Verb, parse_target};

use super::{Miss, Pick, Query, resolve};

/// A page under construction; each element lies in the one named as its parent.
#[derive(Default)]
pub struct Page {
    nodes: Vec<Node>,
    text: String,
}

impl Page {
    pub fn add(&mut self, parent: Option<u32>, role: &str, name: &str) -> u32 {
        let interactive = super::fit::PRESSABLE
            .iter()
            .chain(super::fit::TEXT_FIELDS)
            .any(|r| *r == role)
            || matches!(role, "combobox" | "listbox" | "slider");
        self.nodes.push(Node {
            parent,
            role: role.into(),
            name: name.into(),
            rect: Some(Rect {
                width: 10.0,
                height: 10.0,
                ..Rect::default()
            }),
            tag: "div".into(),
            interactive,
            reachable: true,
            text: self.text.len()..self.text.len(),
            ..Node::default()
        });
        self.nodes.len() as u32 - 1
    }

    pub fn top(&mut self, role: &str, name: &str) -> u32 {
        self.add(None, role, name)
    }

    /// Rendered text inside an element and all around it.
    pub fn says(&mut self, node: u32, words: &str) {
        let start = self.text.len();
        self.text.push_str(words);
        let end = self.text.len();
        self.text.push('\n');
        let mut at = Some(node);
        while let Some(i) = at {
            let range = &mut self.nodes[i as usize].text;
            *range = if range.start >= range.end {
                start..end
            } else {
                range.start..end
            };
            at = self.nodes[i as usize].parent;
        }
    }

    pub fn node(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    pub fn hint(&mut self, at: u32, kind: HintKind, text: &str) {
        self.node(at).hints.push(Hint {
            kind,
            text: text.into(),
        });
    }

    pub fn states(&mut self, at: u32, states: States) {
        self.node(at).states = states;
    }

    pub fn read(self) -> Observation {
        Observation {
            generation: 1,
            documents: vec![Document {
                text: self.text,
                nodes: self.nodes,
                ..Document::default()
            }],
            ..Observation::default()
        }
    }
}

pub fn target(written: &str) -> Target {
    parse_target(written).expect("a target")
}

/// What a step would ask: `near` allowed or not.
pub fn ask(page: &Observation, verb: Verb, written: &str, near: bool) -> Result<Pick, Miss> {
    ask_in(page, verb, written, &[], None, near, false)
}

pub fn ask_in(
    page: &Observation,
    verb: Verb,
    written: &str,
    within: &[&str],
    nth: Option<usize>,
    near: bool,
    sentence: bool,
) -> Result<Pick, Miss> {
    let scope = Scope {
        within: within.iter().map(|w| target(w)).collect(),
        nth,
    };
    resolve(
        page,
        &Query {
            target: &target(written),
            verb,
            scope: &scope,
            near,
            sentence,
        },
    )
}
