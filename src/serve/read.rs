//! A page as a caller may see it: text, controls, a masked picture. No HTML, no cookies, no selectors (R32).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::broker::Shot;
use crate::page::{Node, Observation, States, Tri, shown_address};
use crate::resolve::place_of;

use super::act::write_id;

/// Characters of text, and controls, in one answer.
const TEXT: usize = 60_000;
const CONTROLS: usize = 2_000;

pub fn page(observation: &Observation) -> Map<String, Value> {
    let text: Vec<&str> = observation
        .documents
        .iter()
        .map(|d| d.text.as_str())
        .collect();
    let controls: Vec<Value> = observation
        .nodes()
        .filter(|(_, node)| node.interactive && node.reachable)
        .take(CONTROLS)
        .map(|(id, node)| {
            let mut control = control(node);
            control.insert("id".into(), json!(write_id(id)));
            if let Some(place) = place_of(observation, id) {
                control.insert("place".into(), json!(place));
            }
            Value::Object(control)
        })
        .collect();
    let mut page = address(observation);
    page.insert(
        "text".into(),
        json!(crate::text::cut(&text.join("\n"), TEXT)),
    );
    page.insert("candidates".into(), Value::Array(controls));
    let unread: Vec<&str> = observation.unread.iter().map(|u| u.what.as_str()).collect();
    page.insert("unread".into(), json!(unread));
    page
}

/// Where the page is, without the values of its query.
pub fn address(observation: &Observation) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("url".into(), json!(shown_address(&observation.url)));
    map.insert("title".into(), json!(observation.title));
    map
}

fn control(node: &Node) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("role".into(), json!(node.role));
    map.insert("name".into(), json!(node.name));
    let states = states(&node.states);
    if !states.is_empty() {
        map.insert("states".into(), Value::Object(states));
    }
    if let Some(value) = &node.states.value {
        map.insert("value".into(), json!(value));
    }
    if !node.states.options.is_empty() {
        map.insert("options".into(), json!(node.states.options));
    }
    map
}

/// Only what is set.
fn states(states: &States) -> Map<String, Value> {
    let mut map = Map::new();
    let tri = |state: Tri| match state {
        Tri::True => json!(true),
        Tri::False => json!(false),
        Tri::Mixed => json!("mixed"),
    };
    for (name, state) in [("checked", states.checked), ("pressed", states.pressed)] {
        if let Some(state) = state {
            map.insert(name.into(), tri(state));
        }
    }
    for (name, state) in [("expanded", states.expanded), ("selected", states.selected)] {
        if let Some(state) = state {
            map.insert(name.into(), json!(state));
        }
    }
    for (name, on) in [
        ("disabled", states.disabled),
        ("read_only", states.read_only),
        ("required", states.required),
        ("invalid", states.invalid),
        ("busy", states.busy),
    ] {
        if on {
            map.insert(name.into(), json!(true));
        }
    }
    map
}

pub fn picture(shot: &Shot) -> Value {
    match shot {
        Shot::Withheld { why } => json!({ "withheld": why }),
        Shot::Taken {
            png,
            width,
            height,
            redactions,
            ..
        } => json!({
            "png": BASE64_STANDARD.encode(png),
            "width": width,
            "height": height,
            "redactions": redactions.len(),
        }),
    }
}
