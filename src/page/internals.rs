//! What a custom element says of itself by `ElementInternals`: no script but its own can read that, so the
//! browser's accessibility tree is asked, and the reader takes the answer for attributes nobody wrote.

use serde_json::{Map, Value, json};

/// An `AXNode` of the DevTools protocol as ARIA attributes; `None`: it says nothing of its own.
pub fn attributes(node: &Value) -> Option<Value> {
    if node["ignored"] == true || node["role"]["type"] != "role" {
        return None;
    }
    let role = node["role"]["value"].as_str()?;
    if matches!(role, "generic" | "none") {
        return None;
    }
    let mut all = Map::new();
    let mut put = |name: &str, value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => return,
            other => other.to_string(),
        };
        if !text.is_empty() {
            all.insert(name.to_owned(), json!(text));
        }
    };
    put("role", &json!(role));
    put("aria-label", &node["name"]["value"]);
    put("aria-valuetext", &node["value"]["value"]);
    for property in node["properties"].as_array().into_iter().flatten() {
        let value = &property["value"]["value"];
        match property["name"].as_str().unwrap_or_default() {
            "checked" => put("aria-checked", value),
            "pressed" => put("aria-pressed", value),
            "expanded" => put("aria-expanded", value),
            "selected" => put("aria-selected", value),
            "disabled" => put("aria-disabled", value),
            "required" => put("aria-required", value),
            "readonly" => put("aria-readonly", value),
            "invalid" => put("aria-invalid", value),
            "level" => put("aria-level", value),
            "valuetext" => put("aria-valuetext", value),
            _ => {}
        }
    }
    Some(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r47_an_accessibility_node_as_attributes() {
        let node = json!({
            "ignored": false, "role": {"type": "role", "value": "switch"}, "name": {"type": "computedString", "value": "Night mode"},
            "properties": [
                {"name": "focusable", "value": {"type": "booleanOrUndefined", "value": true}},
                {"name": "checked", "value": {"type": "tristate", "value": "mixed"}},
                {"name": "disabled", "value": {"type": "boolean", "value": true}}
            ]
        });
        let said = json!({"role": "switch", "aria-label": "Night mode", "aria-checked": "mixed", "aria-disabled": "true"});
        assert_eq!(attributes(&node), Some(said));
        for (ignored, kind, role) in [
            (true, "role", "button"),
            (false, "role", "generic"),
            (false, "internalRole", "GenericContainer"),
        ] {
            let node = json!({"ignored": ignored, "role": {"type": kind, "value": role}});
            assert_eq!(attributes(&node), None, "{node}");
        }
    }
}
