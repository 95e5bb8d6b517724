//! The JSON Schema of the format (draft 2020-12), made from the tables that also bind it.

use serde_json::{Map, Value, json};

use super::roles::ROLES;
use super::shapes::{self, Key, Shape, Want};
use super::verbs::{MODIFIERS, VERBS};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Schema of a scenario file.
pub fn schema() -> Value {
    document("A rehearsal scenario", &shapes::SCENARIO)
}

/// Schema of a file in `fixtures/`.
pub fn fixture_schema() -> Value {
    document("A rehearsal fixture", &shapes::FIXTURE)
}

fn document(title: &str, shape: &'static Shape) -> Value {
    let mut defs = Defs::default();
    let mut root = defs.shape(shape);
    if shape.name == shapes::SCENARIO.name {
        root["anyOf"] = json!([{ "required": ["steps"] }, { "required": ["goal"] }]);
    }
    let mut out = json!({ "$schema": DRAFT, "title": title });
    if let (Some(out), Value::Object(root)) = (out.as_object_mut(), root) {
        out.extend(root);
        out.insert("$defs".into(), Value::Object(defs.done));
    }
    out
}

#[derive(Default)]
struct Defs {
    done: Map<String, Value>,
}

impl Defs {
    fn shape(&mut self, shape: &'static Shape) -> Value {
        self.object(
            shape.keys.iter(),
            shape
                .keys
                .iter()
                .filter(|k| k.required)
                .map(|k| k.name)
                .collect(),
        )
    }

    fn object<'k>(&mut self, keys: impl Iterator<Item = &'k Key>, required: Vec<&str>) -> Value {
        let mut properties = Map::new();
        for key in keys {
            let mut value = self.want(&key.want);
            value["description"] = key.help.into();
            properties.insert(key.name.into(), value);
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    fn reference(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.done.contains_key(name) {
            // Holds the place, so that a shape may refer to itself.
            self.done.insert(name.into(), Value::Null);
            let made = make(self);
            self.done.insert(name.into(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn want(&mut self, want: &Want) -> Value {
        // A plain scalar keeps its source text where text is asked for, so an editor must not
        // complain about `with: 02142` or `click: true`.
        let scalar = json!({ "type": ["string", "number", "boolean"] });
        match want {
            Want::Text | Want::Value | Want::Glob => scalar,
            Want::Address | Want::Pattern => json!({ "type": "string" }),
            Want::Bool => json!({ "type": "boolean" }),
            Want::Count(low, high) if *high >= u64::from(u32::MAX) => {
                json!({ "type": "integer", "minimum": low })
            }
            Want::Count(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
            Want::Seconds => json!({ "type": "number", "minimum": 0, "maximum": 600 }),
            Want::Duration => {
                json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m)$" })
            }
            Want::Words(words) => json!({ "enum": words }),
            Want::List(inner) => json!({ "type": "array", "items": self.want(inner) }),
            Want::Many(inner) => {
                let one = self.want(inner);
                json!({ "anyOf": [one, { "type": "array", "items": one }] })
            }
            Want::Free(inner) => {
                json!({ "type": "object", "additionalProperties": self.want(inner) })
            }
            Want::Map(shape) => self.map(shape),
            Want::Either(all) => {
                let all: Vec<_> = all.iter().map(|w| self.want(w)).collect();
                json!({ "anyOf": all })
            }
            Want::Target => {
                let map = self.map(&shapes::TARGET);
                json!({ "anyOf": [scalar, map] })
            }
            Want::Step => self.reference("step", Self::step),
            Want::Expect => self.map(&shapes::EXPECT),
            Want::Extract => {
                let inner = self.map(&shapes::EXTRACTOR);
                json!({ "type": "object", "additionalProperties": { "anyOf": [{ "type": "string" }, inner] } })
            }
        }
    }

    fn map(&mut self, shape: &Shape) -> Value {
        let Some(shape) = shapes::ALL.iter().find(|s| s.name == shape.name) else {
            return json!({ "type": "object" });
        };
        self.reference(shape.name, |defs| {
            let mut value = defs.shape(shape);
            if let Some(role) = value.pointer_mut("/properties/role") {
                role["enum"] = json!(ROLES);
                role["type"] = "string".into();
            }
            value
        })
    }

    /// A sentence, or one map for each verb.
    fn step(&mut self) -> Value {
        let mut all = vec![json!({ "type": "string", "description": "a sentence" })];
        for row in VERBS {
            let main = Key {
                name: row.key,
                want: row.main,
                required: true,
                help: row.help,
            };
            let beside = row.beside.iter().chain(
                MODIFIERS
                    .iter()
                    .filter(|m| row.takes(m.name) && m.name != row.key),
            );
            let mut required = vec![row.key];
            required.extend(row.beside.iter().filter(|k| k.required).map(|k| k.name));
            let mut value = self.object(std::iter::once(&main).chain(beside), required);
            value["description"] = row.help.into();
            value["examples"] = json!([row.example]);
            all.push(value);
        }
        json!({ "anyOf": all })
    }
}
