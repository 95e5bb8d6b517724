//! What is covered beside passwords: controls that `mask:` names, and fields that show a registered
//! value (R18, R26, failures 067, 077, 080).
//!
//! The broker hides them in what it read, so that nothing above ever has their words, and keeps where
//! they are for the pictures.

use std::ops::Range;

use crate::page::{self, Node, NodeId, Observation, acts};
use crate::resolve;
use crate::scenario::{By, Target, Verb};
use crate::text::fold::fold;

use super::session::Broker;
use super::types::BrokerError;

/// Nodes of the latest read to cover, by document.
#[derive(Debug, Default)]
pub(super) struct Covers(Vec<Vec<(u32, String)>>);

impl Covers {
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    fn add(&mut self, id: NodeId, reason: &str) {
        let document = id.document as usize;
        if self.0.len() <= document {
            self.0.resize(document + 1, Vec::new());
        }
        if !self.0[document].iter().any(|(node, _)| *node == id.node) {
            self.0[document].push((id.node, reason.to_owned()));
        }
    }

    pub fn nodes(&self, document: usize) -> Vec<u32> {
        let all = self.0.get(document).into_iter().flatten();
        all.map(|(node, _)| *node).collect()
    }

    /// In the order of [`Covers::nodes`].
    pub fn reasons(&self, document: usize) -> impl Iterator<Item = &str> {
        let all = self.0.get(document).into_iter().flatten();
        all.map(|(_, reason)| reason.as_str())
    }
}

impl Broker {
    /// Hides what `mask:` names in a fresh read; says what pictures have to cover. `styled`: elements
    /// a style sheet writes a registered value into.
    pub(super) async fn hide_masked(
        &self,
        observation: &mut Observation,
        styled: &[NodeId],
    ) -> Result<Covers, BrokerError> {
        let mut covers = Covers::default();
        for id in styled {
            covers.add(*id, "style that shows a registered value");
        }
        for (id, node) in observation.nodes() {
            if shows_registered(node) {
                covers.add(id, "element that shows a registered value");
            }
        }
        for (target, word) in &self.masks {
            for id in self.masked_by(observation, target).await? {
                covers.add(id, &format!("masked as {word}"));
                hide(observation, id, word, is_named(target));
            }
        }
        Ok(covers)
    }

    async fn masked_by(
        &self,
        observation: &Observation,
        target: &Target,
    ) -> Result<Vec<NodeId>, BrokerError> {
        let By::Css(css) = &target.by else {
            return Ok(
                resolve::find_all(observation, target, Verb::Wait, &[], false).unwrap_or_default(),
            );
        };
        let mut all = Vec::new();
        for (index, document) in observation.documents.iter().enumerate() {
            let (realm, context) = (self.realm(), &document.context);
            let found = acts::query(&realm, context, observation.generation, index as u32, css);
            // A selector the browser refuses matches nothing; `check` has warned of it.
            all.extend(found.await?.unwrap_or_default().into_iter().map(|f| f.id));
        }
        Ok(all)
    }
}

/// A field draws its value, its placeholder or its label itself, and what a picture is called is
/// likely what it shows: no text of the page stands for either.
fn shows_registered(node: &Node) -> bool {
    let drawn = matches!(
        node.tag.as_str(),
        "input" | "textarea" | "select" | "img" | "svg" | "canvas"
    );
    let placeholder = |text: &str| text.contains('‹');
    drawn
        && (node.states.value.as_deref().is_some_and(placeholder)
            || placeholder(&node.name)
            || node.hints.iter().any(|h| placeholder(&h.text))
            || node.states.options.iter().any(|o| placeholder(o)))
}

/// The name stands in the scenario: it is what the author calls the control, not what is hidden.
fn is_named(target: &Target) -> bool {
    matches!(&target.by, By::Name { name: Some(_), .. })
}

fn hide(observation: &mut Observation, id: NodeId, word: &str, keeps_name: bool) {
    let placeholder = format!("‹{word}›");
    let Some(document) = observation.documents.get_mut(id.document as usize) else {
        return;
    };
    let Some(span) = document.nodes.get(id.node as usize).map(|n| n.text.clone()) else {
        // Not worth naming for the reader: its text can't be told from what is around it.
        return;
    };
    let words = fold(document.text.get(span.clone()).unwrap_or_default());
    let inside = |at: u32| {
        let mut up = Some(at);
        while let Some(node) = up {
            if node == id.node {
                return true;
            }
            up = document.nodes.get(node as usize).and_then(|n| n.parent);
        }
        false
    };
    let within: Vec<bool> = (0..document.nodes.len() as u32).map(inside).collect();
    for (at, node) in document.nodes.iter_mut().enumerate() {
        if within[at] {
            hide_node(node, &placeholder, keeps_name && at as u32 == id.node);
        } else if words.chars().count() >= 4 && fold(&node.name).contains(&words) {
            // A row or a dialog that takes its name from what it holds.
            node.name = fold(&node.name).replace(&words, &placeholder);
        }
    }
    if !span.is_empty() {
        page::replace_text(
            document,
            Vec::from([(trimmed(&document.text, span), placeholder)]),
        );
    }
}

fn hide_node(node: &mut Node, placeholder: &str, keeps_name: bool) {
    if !keeps_name && !node.name.is_empty() {
        node.name = placeholder.to_owned();
    }
    node.hints.clear();
    node.href = None;
    node.states.options.clear();
    if node.states.value.is_some() {
        node.states.value = Some(placeholder.to_owned());
    }
}

/// Without the line ends around it, so that lines stay lines.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = text.get(span.clone()).unwrap_or_default();
    let start = span.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Document, States};

    fn node(role: &str, name: &str, text: Range<usize>, parent: Option<u32>) -> Node {
        Node {
            role: role.into(),
            name: name.into(),
            text,
            parent,
            ..Node::default()
        }
    }

    #[test]
    fn case_077_what_is_in_a_masked_region_stands_nowhere_in_the_read() {
        let text = "Keys\nhk_live_1234\nDone";
        let mut observation = Observation {
            documents: vec![Document {
                text: text.into(),
                nodes: vec![
                    node("dialog", "Keys hk_live_1234", 0..text.len(), None),
                    node("region", "New key", 5..17, Some(0)),
                    node("code", "hk_live_1234", 5..17, Some(1)),
                    node("button", "Done", 18..22, Some(0)),
                ],
                ..Document::default()
            }],
            ..Observation::default()
        };
        let id = NodeId {
            generation: 0,
            document: 0,
            node: 1,
        };
        hide(&mut observation, id, "key", true);
        let document = &observation.documents[0];
        assert_eq!(document.text, "Keys\n‹key›\nDone");
        assert_eq!(document.nodes[1].name, "New key");
        assert_eq!(document.nodes[2].name, "‹key›");
        assert_eq!(document.nodes[0].name, "Keys ‹key›");
        let button = document.nodes[3].text.clone();
        assert_eq!(&document.text[button], "Done");
        assert!(!format!("{observation:?}").contains("hk_live"));
    }

    #[test]
    fn case_067_080_a_field_that_shows_a_registered_value_is_covered() {
        let mut field = node("textbox", "Copy", 0..0, None);
        field.tag = "input".into();
        assert!(!shows_registered(&field));
        field.states = States {
            value: Some("‹harbour.password›".into()),
            ..States::default()
        };
        assert!(shows_registered(&field));
        field.tag = "div".into();
        assert!(!shows_registered(&field), "its text is covered as text");
        let mut picture = node("image", "‹harbour.username›", 0..0, None);
        picture.tag = "img".into();
        assert!(shows_registered(&picture), "so its words are in it, likely");
    }
}
