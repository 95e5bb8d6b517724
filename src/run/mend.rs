//! Fields that a page wipes while it starts up (case 049): typed again, once, and said so.
//!
//! A field may take text before its script is ready; a late start-up then replaces or empties it.
//! Only fills into a young document are watched, only until the next step that is no fill: later a
//! field may be emptied for good reasons.

use std::time::Duration;

use tokio::time::Instant;

use crate::broker::Primitive;
use crate::event::What;
use crate::page::{Node, NodeId, Observation};
use crate::resolve::describe;
use crate::scenario::Expectation;

use super::attempt::AttemptRun;
use super::failure::Fault;
use super::look::{self, Facts};

/// How old a document may be for its start-up to be blamed.
const YOUNG: Duration = Duration::from_secs(5);
/// How often a waited-for line is set aside to look at the fields.
const SLICE: Duration = Duration::from_millis(200);

/// A text put into a field of a young document.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    role: String,
    name: String,
    frames: Vec<String>,
    before: Option<String>,
    text: String,
}

impl Filled {
    fn of(node: &Node, text: &str) -> Self {
        Self {
            role: node.role.clone(),
            name: node.name.clone(),
            frames: node.frames.clone(),
            before: node.states.value.clone(),
            text: text.to_owned(),
        }
    }

    fn is(&self, node: &Node) -> bool {
        node.role == self.role && node.name == self.name && node.frames == self.frames
    }

    /// The one field it went into, if that shows what it showed before it was filled, or nothing.
    fn wiped(&self, observation: &Observation) -> Option<NodeId> {
        let mut same = observation.nodes().filter(|(_, n)| self.is(n));
        let (id, node) = same.next()?;
        if same.next().is_some() || self.text.is_empty() {
            return None;
        }
        let value = node.states.value.as_deref()?;
        let as_before = self.before.as_deref() == Some(value) && value != self.text;
        (value.is_empty() || as_before).then_some(id)
    }
}

impl AttemptRun<'_> {
    /// Remembers a fill; any other action ends the watch over earlier ones.
    pub(super) fn filled(&mut self, primitive: &Primitive, node: &Node) {
        match primitive {
            Primitive::Fill { text } => {
                self.filled.retain(|f| !f.is(node));
                if self.broker.document_age() < YOUNG {
                    self.filled.push(Filled::of(node, text));
                }
            }
            Primitive::Hover | Primitive::ScrollTo | Primitive::Scroll { .. } => {}
            _ => self.filled.clear(),
        }
    }

    /// Types again what the page has wiped since.
    pub(super) async fn mend(&mut self) -> Result<(), Fault> {
        for filled in std::mem::take(&mut self.filled) {
            let Some(observation) = self.broker.last() else {
                return Ok(());
            };
            let Some(id) = filled.wiped(&observation) else {
                self.filled.push(filled);
                continue;
            };
            let primitive = Primitive::Fill {
                text: filled.text.clone(),
            };
            if let Ok(prepared) = self.broker.prepare(id, &primitive).await?
                && self.broker.perform(prepared, &primitive).await?.is_ok()
            {
                self.say.say(What::Note {
                    text: format!(
                        "typed again: the page had wiped {} while it started",
                        describe(&filled.role, &filled.name)
                    ),
                });
            }
            self.broker.settle().await?;
            self.broker.look().await?;
        }
        Ok(())
    }

    /// Waits for lines while a start-up may still wipe what was filled.
    pub(super) async fn mend_while_waiting(
        &mut self,
        lines: &[Expectation],
        within: Duration,
    ) -> Result<(), Fault> {
        let until = Instant::now() + within.min(YOUNG);
        while !self.filled.is_empty() && Instant::now() < until {
            let facts = Facts { data: &self.data };
            let (_, holds) = look::poll(&mut self.broker, lines, &facts, SLICE).await?;
            if holds {
                break;
            }
            self.mend().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Document, States};

    fn field(name: &str, value: &str) -> Node {
        Node {
            role: "textbox".into(),
            name: name.into(),
            states: States {
                value: Some(value.into()),
                ..States::default()
            },
            ..Node::default()
        }
    }

    fn page(nodes: Vec<Node>) -> Observation {
        Observation {
            documents: vec![Document {
                nodes,
                ..Document::default()
            }],
            ..Observation::default()
        }
    }

    #[test]
    fn case_049_a_field_that_shows_what_it_showed_before_was_wiped() {
        let filled = Filled::of(&field("Search", "all"), "north quay");
        assert!(filled.wiped(&page(vec![field("Search", "")])).is_some());
        assert!(filled.wiped(&page(vec![field("Search", "all")])).is_some());
        assert!(
            filled
                .wiped(&page(vec![field("Search", "north quay")]))
                .is_none()
        );
        assert!(
            filled
                .wiped(&page(vec![field("Search", "North Quay")]))
                .is_none()
        );
        assert!(filled.wiped(&page(vec![field("Other", "")])).is_none());
    }

    #[test]
    fn two_fields_of_a_name_are_left_alone() {
        let filled = Filled::of(&field("Search", ""), "north quay");
        let twins = vec![field("Search", ""), field("Search", "")];
        assert!(filled.wiped(&page(twins)).is_none());
    }

    #[test]
    fn a_field_that_was_emptied_on_purpose_stays_empty() {
        let filled = Filled::of(&field("Filter", "rope"), "");
        assert!(filled.wiped(&page(vec![field("Filter", "rope")])).is_none());
    }
}
