//! The shapes of the answers, by hand: strict servers want every object closed and every field
//! required, which generated schemas lack.

use serde_json::{Value, json};

/// A named schema as `response_format` carries it.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    pub name: &'static str,
    pub body: Value,
}

impl Schema {
    pub fn response_format(&self) -> Value {
        json!({
            "type": "json_schema",
            "json_schema": { "name": self.name, "strict": true, "schema": self.body },
        })
    }
}

/// `{"id": …}`, one of `ids` or `none`.
pub fn choice<'a>(ids: impl Iterator<Item = &'a str>) -> Schema {
    let ids: Vec<&str> = ids.chain(std::iter::once("none")).collect();
    Schema {
        name: "choice",
        body: object(json!({ "id": { "type": "string", "enum": ids } })),
    }
}

/// One planner turn. The reason comes first: a model that has to say why chooses better.
pub fn decision<'a>(actions: &[&str], targets: impl Iterator<Item = &'a str>) -> Schema {
    let targets: Vec<Value> = targets.map(Value::from).chain([Value::Null]).collect();
    Schema {
        name: "decision",
        body: object(json!({
            "reason": { "type": "string" },
            "action": { "type": "string", "enum": actions },
            "target": { "type": ["string", "null"], "enum": targets },
            "value": { "type": ["string", "null"] },
        })),
    }
}

/// Closed, with every field required.
fn object(properties: Value) -> Value {
    let required: Vec<String> = properties
        .as_object()
        .map(|p| p.keys().cloned().collect())
        .unwrap_or_default();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every node that is an object schema, at whatever depth, is closed and complete.
    fn walk(node: &Value, objects: &mut usize) {
        if node.get("type") == Some(&Value::from("object")) {
            *objects += 1;
            assert_eq!(node["additionalProperties"], false, "{node}");
            let properties = node["properties"].as_object().expect("properties");
            let required = node["required"].as_array().expect("required");
            let names: Vec<Value> = properties.keys().map(|k| k.as_str().into()).collect();
            assert_eq!(&names, required);
        }
        match node {
            Value::Object(fields) => fields.values().for_each(|v| walk(v, objects)),
            Value::Array(items) => items.iter().for_each(|v| walk(v, objects)),
            _ => {}
        }
    }

    #[test]
    fn case_123_every_object_of_the_schemas_is_closed() {
        let mut objects = 0;
        let all = [
            choice(["e1"].into_iter()),
            decision(&["click", "done"], ["e1"].into_iter()),
        ];
        for schema in all {
            walk(&schema.response_format(), &mut objects);
        }
        assert_eq!(objects, 2);
    }

    #[test]
    fn what_may_be_absent_is_nullable() {
        let schema = decision(&["wait"], std::iter::empty()).body;
        assert_eq!(schema["properties"]["target"]["enum"], json!([null]));
        assert_eq!(
            schema["properties"]["value"]["type"],
            json!(["string", "null"])
        );
    }
}
