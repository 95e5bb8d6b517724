//! What stands under a heading, where no element holds it together: as a reader of the page takes it,
//! up to the next heading of its level.

use crate::page::{Node, NodeId, Observation};
use crate::text::fold::fold_case;

use super::explain::is_place;

/// Under each heading of this name: the heading and all that follows it in its place.
pub(super) fn under(observation: &Observation, name: &str) -> Vec<Vec<NodeId>> {
    let named = headings(observation, name);
    named.map(|id| section(observation, id)).collect()
}

/// The same where a place has several such headings, so that none of them names the place.
pub(super) fn one_of_several(observation: &Observation, name: &str) -> Vec<NodeId> {
    headings(observation, name)
        .filter(|id| place_is_shared(observation, *id))
        .flat_map(|id| section(observation, id))
        .collect()
}

fn headings(observation: &Observation, name: &str) -> impl Iterator<Item = NodeId> {
    let wanted = fold_case(name);
    let named = move |n: &Node| n.role == "heading" && fold_case(&n.name) == wanted;
    observation
        .nodes()
        .filter(move |(_, n)| named(n))
        .map(|(id, _)| id)
}

fn level(node: &Node) -> u8 {
    node.states.level.unwrap_or(2)
}

fn place_of(observation: &Observation, id: NodeId) -> Option<NodeId> {
    let mut up = observation.ancestors(id);
    up.find(|(_, n)| is_place(n)).map(|(id, _)| id)
}

/// Whether its place is a page or holds another heading that is no smaller.
fn place_is_shared(observation: &Observation, id: NodeId) -> bool {
    let Some(own) = observation.node(id) else {
        return false;
    };
    let place = place_of(observation, id);
    place.is_none()
        || observation.nodes().any(|(other, n)| {
            other != id
                && n.role == "heading"
                && level(n) <= level(own)
                && place_of(observation, other) == place
        })
}

fn section(observation: &Observation, id: NodeId) -> Vec<NodeId> {
    let Some(own) = observation.node(id) else {
        return Vec::new();
    };
    let place = place_of(observation, id);
    let in_place = |at: NodeId| {
        at.document == id.document
            && (place.is_none() || observation.ancestors(at).any(|(up, _)| Some(up) == place))
    };
    // A page's own header and footer belong to no section of it.
    let apart = |at: NodeId| {
        let own_and_up = observation.node(at).map(|n| (at, n));
        own_and_up
            .into_iter()
            .chain(observation.ancestors(at))
            .take_while(|(up, _)| Some(*up) != place)
            .any(|(_, n)| matches!(n.role.as_str(), "banner" | "contentinfo" | "complementary"))
    };
    observation
        .nodes()
        .skip_while(|(at, _)| *at != id)
        .take_while(|(at, n)| {
            *at == id || in_place(*at) && !(n.role == "heading" && level(n) <= level(own))
        })
        .filter(|(at, _)| !apart(*at))
        .map(|(at, _)| at)
        .collect()
}
