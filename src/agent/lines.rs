//! A control in one short line: role, name, the states that matter, and where it stands if that
//! is needed to tell it from another.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::candidates::{Candidate, Found, Ids};
use super::prompt::{one_line, quote};
use crate::page::observation::{Node, Observation, Tri};

pub(super) fn describe(page: &Observation, shown: &[Found], ids: &mut Ids) -> Vec<Candidate> {
    let places = places(page, shown);
    let lines = shown.iter().zip(places);
    lines
        .map(|(found, place)| {
            let id = ids.give();
            let mut line = format!("{id} {}", role_word(&found.node.role));
            if found.hinted {
                line.push_str(" hint");
            }
            if !found.name.is_empty() {
                let _ = write!(line, " {}", quote(&found.name, 80));
            }
            states(found.node, &mut line);
            if let Some(place) = place {
                let _ = write!(line, " {place}");
            }
            Candidate {
                id,
                node: found.id,
                role: found.node.role.clone(),
                name: found.name.clone(),
                line,
                options: found.node.states.options.clone(),
                secret: found.node.input_type.as_deref() == Some("password"),
            }
        })
        .collect()
}

/// Roles come from the page; anything but a plain word is shown as no role.
fn role_word(role: &str) -> &str {
    let plain =
        !role.is_empty() && role.len() <= 24 && role.bytes().all(|b| b.is_ascii_lowercase());
    if plain { role } else { "generic" }
}

fn states(node: &Node, line: &mut String) {
    let s = &node.states;
    let mut word = |on: bool, word: &str| {
        if on {
            line.push(' ');
            line.push_str(word);
        }
    };
    word(s.disabled, "disabled");
    word(s.checked == Some(Tri::True), "checked");
    word(s.checked == Some(Tri::Mixed), "half-checked");
    word(s.pressed == Some(Tri::True), "pressed");
    word(s.expanded == Some(true), "expanded");
    word(s.expanded == Some(false), "collapsed");
    word(s.selected == Some(true), "selected");
    word(s.read_only, "read-only");
    word(s.invalid, "invalid");
    word(node.input_type.as_deref() == Some("password"), "password");
    if let Some(value) = s.value.as_deref().filter(|v| !v.trim().is_empty()) {
        let _ = write!(line, " value {}", quote(value, 40));
    }
    if !s.options.is_empty() {
        let shown: Vec<String> = s.options.iter().take(8).map(|o| quote(o, 30)).collect();
        let more = if s.options.len() > 8 { ", …" } else { "" };
        let _ = write!(line, " options {}{more}", shown.join(", "));
    }
}

/// What tells equal controls apart: the nearest place only one of them lies in, else its number.
fn places(page: &Observation, shown: &[Found]) -> Vec<Option<String>> {
    let mut groups: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (i, found) in shown.iter().enumerate() {
        groups
            .entry((&found.node.role, &found.name))
            .or_default()
            .push(i);
    }
    let mut out = vec![None; shown.len()];
    for group in groups.into_values().filter(|g| g.len() > 1) {
        let around: Vec<Vec<String>> = group.iter().map(|i| around(page, &shown[*i])).collect();
        let mut in_order = group.clone();
        in_order.sort_by_key(|i| shown[*i].order);
        for (nth, i) in group.iter().enumerate() {
            let others = || around.iter().enumerate().filter(|(j, _)| *j != nth);
            let own = around[nth]
                .iter()
                .find(|place| others().all(|(_, theirs)| !theirs.contains(place)));
            let number = in_order.iter().position(|j| j == i).unwrap_or_default() + 1;
            out[*i] = Some(match own {
                Some(place) => format!("in {place}"),
                None => format!("number {number} of {}", group.len()),
            });
        }
    }
    out
}

/// The named places a control lies in, innermost first.
fn around(page: &Observation, found: &Found) -> Vec<String> {
    page.ancestors(found.id)
        .filter(|(_, node)| is_place(&node.role))
        .filter_map(|(id, node)| {
            let name = one_line(&node.name);
            let name = match name.is_empty() && is_item(&node.role) {
                true => one_line(page.text_of(id)),
                false => name,
            };
            let bare = matches!(
                node.role.as_str(),
                "main" | "navigation" | "banner" | "contentinfo" | "dialog"
            );
            match name.is_empty() {
                true if bare => Some(node.role.clone()),
                true => None,
                false => Some(format!("{} {}", role_word(&node.role), quote(&name, 40))),
            }
        })
        .collect()
}

fn is_item(role: &str) -> bool {
    matches!(role, "row" | "listitem" | "article" | "treeitem")
}

fn is_place(role: &str) -> bool {
    is_item(role)
        || matches!(
            role,
            "dialog"
                | "alertdialog"
                | "form"
                | "region"
                | "navigation"
                | "main"
                | "banner"
                | "contentinfo"
                | "complementary"
                | "search"
                | "group"
                | "table"
                | "grid"
                | "list"
                | "tabpanel"
                | "toolbar"
                | "menu"
                | "radiogroup"
                | "iframe"
                | "frame"
                | "Iframe"
        )
}
