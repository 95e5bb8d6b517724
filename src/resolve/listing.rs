//! A page's targets in the language's syntax, grouped by region, twins marked: what `look` prints.

use std::collections::BTreeMap;

use crate::page::{Node, NodeId, Observation, Tri};
use crate::text::fold::fold;

use super::explain::{describe, is_place, unread_words};

/// One line per target that a step or an `expect` line could name.
pub fn listing(observation: &Observation) -> String {
    let mut twins: BTreeMap<(String, String), u32> = BTreeMap::new();
    for (_, node) in observation.nodes().filter(|(_, n)| worth_listing(n)) {
        *twins
            .entry((node.role.clone(), fold(&node.name)))
            .or_default() += 1;
    }
    let mut out = String::new();
    let mut place_now: Option<String> = None;
    for (id, node) in observation.nodes().filter(|(_, n)| worth_listing(n)) {
        let place = region_of(observation, id);
        if place_now.as_ref() != Some(&place) {
            out.push_str(&format!(
                "{}{place}\n",
                if out.is_empty() { "" } else { "\n" }
            ));
            place_now = Some(place);
        }
        let count = twins
            .get(&(node.role.clone(), fold(&node.name)))
            .copied()
            .unwrap_or(1);
        out.push_str(&format!(
            "  {}{}\n",
            describe(&node.role, &node.name),
            remarks(observation, id, node, count)
        ));
    }
    for unread in &observation.unread {
        out.push_str(&format!("\n# {}\n", unread_words(unread)));
    }
    out
}

fn worth_listing(node: &Node) -> bool {
    node.reachable
        && (node.interactive
            || matches!(
                node.role.as_str(),
                "heading" | "alert" | "status" | "dialog"
            ))
}

/// The nearest landmark, dialog or frame, as a `within:` would name it.
fn region_of(observation: &Observation, id: NodeId) -> String {
    observation
        .ancestors(id)
        .find(|(_, n)| {
            is_place(n)
                && matches!(
                    n.role.as_str(),
                    "dialog"
                        | "alertdialog"
                        | "navigation"
                        | "banner"
                        | "main"
                        | "contentinfo"
                        | "complementary"
                        | "region"
                        | "form"
                        | "search"
                        | "iframe"
                        | "table"
                        | "grid"
                )
        })
        .map_or_else(
            || "# page".to_owned(),
            |(_, n)| format!("# within: {}", describe(&n.role, &n.name)),
        )
}

fn remarks(observation: &Observation, id: NodeId, node: &Node, count: u32) -> String {
    let mut remarks = Vec::new();
    if count > 1 {
        let at = observation
            .nodes()
            .filter(|(other, n)| {
                *other <= id
                    && worth_listing(n)
                    && n.role == node.role
                    && fold(&n.name) == fold(&node.name)
            })
            .count();
        remarks.push(format!(
            "{at} of {count} of this name: add `within:` or `nth: {at}`"
        ));
    }
    if node.name.is_empty() {
        let test_id = node.test_id.as_ref().map(|t| format!("{{ testid: {t} }}"));
        let hint = node
            .hints
            .first()
            .map(|h| format!("its tooltip says \"{}\"", h.text));
        remarks.push(format!(
            "no accessible name{}",
            test_id
                .or(hint)
                .map(|w| format!("; {w}"))
                .unwrap_or_default()
        ));
    }
    let states = &node.states;
    if states.disabled {
        remarks.push(
            states
                .disabled_by
                .as_ref()
                .map_or("disabled".to_owned(), |by| format!("disabled by {by}")),
        );
    }
    match states.checked.or(states.pressed) {
        Some(Tri::True) => remarks.push("on".into()),
        Some(Tri::Mixed) => remarks.push("partly on".into()),
        _ => {}
    }
    if let Some(value) = states.value.as_ref().filter(|v| !v.is_empty()) {
        remarks.push(format!("holds \"{}\"", crate::text::cut(value, 40)));
    }
    if !states.options.is_empty() {
        let shown: Vec<&str> = states.options.iter().take(6).map(String::as_str).collect();
        let more = states.options.len().saturating_sub(shown.len());
        remarks.push(format!(
            "options: {}{}",
            shown.join(", "),
            if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            }
        ));
    }
    if remarks.is_empty() {
        String::new()
    } else {
        format!("   # {}", remarks.join("; "))
    }
}
