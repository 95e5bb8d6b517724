//! What consent is bound to: the action, and the page as far as the action rests on it
//! (security.md 4.2, 4.3).

use sha2::{Digest, Sha256};
use url::Url;

use crate::page::acts::FormFacts;
use crate::page::{NodeId, Observation};
use crate::resolve::describe;
use crate::run::Meant;

use super::weigh::{destination, method};

/// Where an action stands in a batch, and which fields the actions before it set. The default: alone.
#[derive(Default)]
pub struct Place {
    /// From 1; 0 outside any batch.
    pub number: usize,
    pub of: usize,
    pub touched: Vec<Touched>,
}

/// A field that an earlier action of a batch sets: its value is not what a later one is bound to.
#[derive(Debug, Clone, PartialEq)]
pub struct Touched {
    form: [u8; 32],
    name: String,
    by: usize,
}

impl Touched {
    pub fn new(form: &FormFacts, name: String, by: usize) -> Self {
        let form = shape(form);
        Self { form, name, by }
    }

    pub fn same_field(&self, other: &Self) -> bool {
        (self.form, &self.name) == (other.form, &other.name)
    }

    pub fn is_in(&self, form: &FormFacts) -> bool {
        shape(form) == self.form && form.fields.iter().any(|f| f.name == self.name)
    }

    /// What its fields of that name hold (radio buttons share one), without giving it away.
    pub fn values(&self, form: &FormFacts) -> Vec<String> {
        let own = form.fields.iter().filter(|f| f.name == self.name);
        own.map(|f| format!("{} {}", f.filled, f.value)).collect()
    }
}

impl Place {
    /// The action that sets this field of the form.
    pub fn sets(&self, form: &FormFacts, name: &str) -> Option<usize> {
        let mut sets = self.touched.iter().rev().filter(|t| t.is_in(form));
        sets.find(|t| t.name == name).map(|t| t.by)
    }

    /// The form as it is bound: without the values that earlier actions set.
    fn bound_form(&self, form: &FormFacts) -> FormFacts {
        let mut bound = form.clone();
        for field in &mut bound.fields {
            if self.sets(form, &field.name).is_some() {
                field.filled = false;
                field.value.clear();
                field.shown.clear();
            }
        }
        bound
    }
}

/// What makes a form the same one whatever its fields hold.
fn shape(form: &FormFacts) -> [u8; 32] {
    let mut hash = Hash::new("form");
    for part in [&form.action, &form.method, &form.enctype, &form.target] {
        hash.add(part.as_deref().unwrap_or("\0"));
    }
    hash.add(&form.base);
    hash.add(&form.label);
    for field in &form.fields {
        hash.add(&field.name);
        hash.add(&field.r#type);
    }
    hash.end()
}

/// Length before each part, so that no two lists of parts run together.
pub struct Hash(Sha256);

impl Hash {
    pub fn new(what: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.add(what);
        hash
    }

    pub fn add(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
    }

    pub fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Verb, values, element and where it sends. Values are hashed, never kept.
pub fn action_digest(meant: &Meant, form: Option<&FormFacts>, place: &Place) -> [u8; 32] {
    let mut hash = Hash::new("action");
    hash.add(&format!("{} of {}", place.number, place.of));
    match meant {
        Meant::Node {
            primitive,
            role,
            name,
            ..
        } => {
            hash.add(&format!("{primitive:?}"));
            hash.add(role);
            hash.add(name);
        }
        Meant::Step(step) => hash.add(&format!("{:?}", step.act)),
    }
    if let Some(form) = form {
        hash.add(&method(form));
        hash.add(destination(form).as_ref().map_or("unknown", Url::as_str));
        hash.add(form.enctype.as_deref().unwrap_or(""));
    }
    hash.end()
}

/// The element, where it stands, the dialog around it and its form with the values in it
/// (security.md 4.3). Classes, styles, ids and everything outside form and dialog don't count.
pub fn target_digest(
    observation: &Observation,
    node: Option<NodeId>,
    form: Option<&FormFacts>,
    place: &Place,
) -> [u8; 32] {
    let mut hash = Hash::new("target");
    let Some((id, node)) = node.and_then(|id| Some((id, observation.node(id)?))) else {
        return hash.end();
    };
    for part in signature(observation, id) {
        hash.add(&part);
    }
    let own = form.and_then(|form| place.sets(form, form.submitter.name.as_deref()?));
    let mut states = node.states.clone();
    if own.is_some() {
        (states.value, states.checked, states.invalid) = (None, None, false);
    }
    hash.add(&format!("{states:?}"));
    let dialog = observation
        .ancestors(id)
        .find(|(_, up)| matches!(up.role.as_str(), "dialog" | "alertdialog"));
    if let Some((dialog, _)) = dialog {
        hash.add(observation.text_of(dialog));
    }
    if let Some(form) = form {
        hash.add(&format!("{:?}", place.bound_form(form)));
    }
    hash.end()
}

/// What makes an element the same one in the next read.
fn signature(observation: &Observation, id: NodeId) -> Vec<String> {
    let Some(node) = observation.node(id) else {
        return Vec::new();
    };
    let rounded = |n: f64| (n / 8.0).round() as i64;
    // Relative to what it stands in: scrolling moves both, a page that rearranges itself doesn't.
    let holder = observation.ancestors(id).find_map(|(_, up)| up.rect);
    let place = node.rect.map_or_else(String::new, |r| {
        let (x, y) = holder.map_or((0.0, 0.0), |h| (r.x - h.x, r.y - h.y));
        format!(
            "{} {} {} {}",
            rounded(x),
            rounded(y),
            rounded(r.width),
            rounded(r.height)
        )
    });
    let mut parts = vec![
        id.document.to_string(),
        node.role.clone(),
        node.name.clone(),
        node.tag.clone(),
        node.input_type.clone().unwrap_or_default(),
        node.href.clone().unwrap_or_default(),
        place,
    ];
    parts.extend(
        observation
            .ancestors(id)
            .filter(|(_, up)| !up.name.is_empty())
            .map(|(_, up)| describe(&up.role, &up.name)),
    );
    parts
}

/// The element of an earlier read in a later one; `None` when it is not there once.
pub fn same_element(before: &Observation, id: NodeId, after: &Observation) -> Option<NodeId> {
    let wanted = signature(before, id);
    let mut fits = after
        .nodes()
        .filter(|(other, _)| signature(after, *other) == wanted);
    match (fits.next(), fits.next()) {
        (Some((found, _)), None) => Some(found),
        _ => None,
    }
}
