//! One read of a page: what a person or a screen reader would find there.
//!
//! Every string in here has passed the scrubber: where a page shows a registered secret, the
//! string holds its placeholder (`‹code-host-user.username›`).

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Names one element of one observation. Used after a later observation it is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId {
    /// The observation it belongs to.
    pub generation: u32,
    pub document: u32,
    pub node: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Observation {
    pub generation: u32,
    /// Address of the top document as the browser has it (query values cut only by sinks).
    pub url: String,
    pub title: String,
    /// Top document first, then frames in document order (only those with a context of their own;
    /// same-origin frames and open shadow roots lie inside their owner's nodes).
    pub documents: Vec<Document>,
    /// What could not be read, for error messages.
    pub unread: Vec<Unread>,
    /// What the read was asked to find beside the elements worth naming.
    pub sought: Vec<Sought>,
}

/// Elements a scenario names by what only the page itself can tell; they are listed whatever they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sought {
    Css(String),
    /// The innermost visible elements with just this text, lifted to the control they are part of.
    Text(String),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Document {
    /// BiDi browsing context.
    pub context: String,
    pub url: String,
    /// The frame element in its parent document.
    pub owner: Option<NodeId>,
    /// Rendered text in document order, one `\n` at block borders, white space collapsed.
    /// Text of cross-origin frames is in their own documents.
    pub text: String,
    /// Document order; a parent comes before its children.
    pub nodes: Vec<Node>,
    pub ready: bool,
    /// Index of the focused node.
    pub focus: Option<u32>,
    /// Nodes for each of [`Observation::sought`]; `None` for a selector the browser refuses.
    pub sought: Vec<Option<Vec<u32>>>,
}

/// An element worth naming: controls, headings, landmarks, dialogs, tables with rows and cells,
/// lists and items, images, status and alert regions, frames, and elements with a test id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Node {
    /// Index of the nearest ancestor that is also listed, in the same document.
    pub parent: Option<u32>,
    /// ARIA role, `generic` for none.
    pub role: String,
    /// Accessible name, unfolded.
    pub name: String,
    /// Where the name came from, and words that are no name but help an error: title, placeholder,
    /// `name` attribute, inner tooltip.
    pub hints: Vec<Hint>,
    pub states: States,
    /// Part of [`Document::text`] (bytes) that lies inside this element.
    pub text: Range<usize>,
    /// Layout box in CSS pixels of the owning context's viewport; `None` when it has no box.
    pub rect: Option<Rect>,
    /// Lower-case tag, and the `type` of an input.
    pub tag: String,
    pub input_type: Option<String>,
    pub test_id: Option<String>,
    /// `href` of links, resolved.
    pub href: Option<String>,
    /// Can be acted on: a control role, a listener-bearing tag, `tabindex`, contenteditable.
    pub interactive: bool,
    /// Inside the topmost modal dialog, or no modal is open. Others are not candidates.
    pub reachable: bool,
    /// Names of frame elements between the top document and this node, outermost first.
    pub frames: Vec<String>,
    /// Cell: column header text, row: position. From 1.
    pub column: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    pub kind: HintKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintKind {
    Title,
    Placeholder,
    NameAttribute,
    /// A tooltip of an element inside or a data attribute: names nothing, explains a miss.
    Tooltip,
    Description,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct States {
    pub checked: Option<Tri>,
    pub pressed: Option<Tri>,
    pub expanded: Option<bool>,
    pub selected: Option<bool>,
    pub disabled: bool,
    /// `fieldset "Cargo"`, "aria-disabled on toolbar".
    pub disabled_by: Option<String>,
    pub read_only: bool,
    pub required: bool,
    pub invalid: bool,
    pub busy: bool,
    pub modal: bool,
    pub level: Option<u8>,
    /// Value of a field; a password's or broker-filled field's is always `None`.
    pub value: Option<String>,
    /// Options of a native select, in order.
    pub options: Vec<String>,
    pub multiselectable: bool,
    pub has_popup: bool,
    pub multiline: bool,
    pub live: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tri {
    False,
    True,
    Mixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    pub kind: UnreadKind,
    /// "cast-box" for a shadow host, the address for a frame.
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreadKind {
    ClosedShadowRoot,
    FrameNotAllowed,
    FrameTooDeep,
    FrameStillLoading,
    TextCut,
    NodesCut,
}

impl Observation {
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        (id.generation == self.generation)
            .then(|| {
                self.documents
                    .get(id.document as usize)?
                    .nodes
                    .get(id.node as usize)
            })
            .flatten()
    }

    /// Elements the read was asked for, in document order. `None`: it was not asked, or the browser
    /// refuses the selector.
    pub fn found(&self, sought: &Sought) -> Option<Vec<NodeId>> {
        let at = self.sought.iter().position(|s| s == sought)?;
        let mut found = Vec::new();
        for (index, document) in self.documents.iter().enumerate() {
            found.extend(
                document
                    .sought
                    .get(at)?
                    .as_ref()?
                    .iter()
                    .map(|node| NodeId {
                        generation: self.generation,
                        document: index as u32,
                        node: *node,
                    }),
            );
        }
        Some(found)
    }

    /// Every node with its id, top document first.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.documents.iter().enumerate().flat_map(move |(d, doc)| {
            doc.nodes.iter().enumerate().map(move |(n, node)| {
                (
                    NodeId {
                        generation: self.generation,
                        document: d as u32,
                        node: n as u32,
                    },
                    node,
                )
            })
        })
    }

    /// Ancestors from the nearest up, across frame borders.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = (NodeId, &Node)> {
        let mut at = Some(id);
        std::iter::from_fn(move || {
            let here = at?;
            let document = self.documents.get(here.document as usize)?;
            let up = match document.nodes.get(here.node as usize)?.parent {
                Some(parent) => Some(NodeId {
                    node: parent,
                    ..here
                }),
                None => document.owner,
            };
            at = up;
            up.and_then(|id| Some((id, self.node(id)?)))
        })
    }

    /// Rendered text inside a node.
    pub fn text_of(&self, id: NodeId) -> &str {
        self.documents
            .get(id.document as usize)
            .and_then(|d| d.text.get(d.nodes.get(id.node as usize)?.text.clone()))
            .unwrap_or_default()
    }
}
