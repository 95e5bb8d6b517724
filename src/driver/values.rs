//! BiDi's values: arguments as the protocol wants them, answers as plain JSON.

use serde_json::{Map, Value, json};

/// A string argument.
pub fn string(text: &str) -> Value {
    json!({"type": "string", "value": text})
}

pub fn number(number: f64) -> Value {
    if number.is_finite() {
        json!({"type": "number", "value": number})
    } else {
        json!({"type": "undefined"})
    }
}

pub fn boolean(value: bool) -> Value {
    json!({"type": "boolean", "value": value})
}

/// An element by its shared id, good in every sandbox of its document.
pub fn node(shared_id: &str) -> Value {
    json!({"sharedId": shared_id})
}

/// Plain JSON as an argument.
pub fn local(value: &Value) -> Value {
    match value {
        Value::Null => json!({"type": "null"}),
        Value::Bool(b) => boolean(*b),
        Value::Number(n) => json!({"type": "number", "value": n}),
        Value::String(s) => string(s),
        Value::Array(items) => {
            json!({"type": "array", "value": items.iter().map(local).collect::<Vec<_>>()})
        }
        Value::Object(map) => {
            let pairs: Vec<Value> = map.iter().map(|(k, v)| json!([k, local(v)])).collect();
            json!({"type": "object", "value": pairs})
        }
    }
}

/// An answer as plain JSON. Nodes become `{"sharedId": …}`, numbers JSON can't say (NaN,
/// Infinity, -0) become null or 0, functions and the like null.
pub fn plain(remote: &Value) -> Value {
    let value = remote.get("value");
    match remote.get("type").and_then(Value::as_str) {
        Some("string" | "boolean") => value.cloned().unwrap_or(Value::Null),
        Some("bigint" | "date") => value.cloned().unwrap_or(Value::Null),
        Some("number") => match value {
            Some(Value::Number(n)) => Value::Number(n.clone()),
            Some(Value::String(word)) if word == "-0" => json!(0),
            _ => Value::Null,
        },
        Some("array" | "set" | "htmlcollection" | "nodelist") => {
            Value::Array(items(value).iter().map(plain).collect())
        }
        Some("object" | "map") => {
            let mut map = Map::new();
            for pair in items(value) {
                let (Some(key), Some(value)) = (pair.get(0), pair.get(1)) else {
                    continue;
                };
                let key = key
                    .as_str()
                    .map(str::to_owned)
                    .or_else(|| plain(key).as_str().map(str::to_owned));
                if let Some(key) = key {
                    map.insert(key, plain(value));
                }
            }
            Value::Object(map)
        }
        Some("node") => json!({"sharedId": remote.get("sharedId").cloned().unwrap_or(Value::Null)}),
        _ => Value::Null,
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_goes_out_and_comes_back() {
        let given = json!({"a": [1, 2.5, "x", null, true], "b": {"c": "d"}});
        assert_eq!(plain(&local(&given)), given);
    }

    #[test]
    fn what_json_cannot_say_does_not_break_it() {
        assert_eq!(
            plain(&json!({"type": "number", "value": "NaN"})),
            Value::Null
        );
        assert_eq!(plain(&json!({"type": "number", "value": "-0"})), json!(0));
        assert_eq!(plain(&json!({"type": "undefined"})), Value::Null);
        assert_eq!(plain(&json!({"type": "object"})), json!({}));
        assert_eq!(
            plain(&json!({"type": "node", "sharedId": "f.1", "value": {}})),
            json!({"sharedId": "f.1"})
        );
        assert_eq!(number(f64::NAN), json!({"type": "undefined"}));
    }
}
