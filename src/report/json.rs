//! `report.json`: the run as data, with a published schema (`schema.json` beside this file).
//!
//! Field order is that of the types, scenarios stand in plan order: equal events, equal bytes.

use serde_json::Value;

use super::model::RunReport;
use crate::event::Event;

pub fn render(events: &[Event]) -> Vec<u8> {
    of(&RunReport::fold(events))
}

/// JSON Schema of `report.json`, made from the types that are written.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(RunReport);
    schema.insert("title".to_owned(), "Rehearsal run report".into());
    schema.to_value()
}

pub(super) fn of(run: &RunReport) -> Vec<u8> {
    // Maps have text keys and numbers are finite or null, so writing into memory cannot fail.
    let text = serde_json::to_string_pretty(run).expect("a report serialises into memory");
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        match c {
            // Such characters stand only inside strings; escaped they cannot steer a terminal or
            // turn a viewer's line around, and a parser reads the same text.
            '\u{7f}'..='\u{9f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{2028}'
            | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('\n');
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// As much of JSON Schema as the published one uses; unknown keywords fail the test.
    fn valid(schema: &Value, root: &Value, value: &Value, at: &str) {
        let Some(schema) = schema.as_object() else {
            assert_eq!(schema, &Value::Bool(true), "{at}");
            return;
        };
        for (key, rule) in schema {
            match key.as_str() {
                "$ref" => {
                    let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    valid(root.pointer(path).unwrap(), root, value, at);
                }
                "type" => {
                    let one = |name: &Value| match name.as_str().unwrap() {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "boolean" => value.is_boolean(),
                        "null" => value.is_null(),
                        "number" => value.is_number(),
                        "integer" => value.is_i64() || value.is_u64(),
                        other => panic!("type {other}"),
                    };
                    let fits = rule
                        .as_array()
                        .map_or_else(|| one(rule), |all| all.iter().any(one));
                    assert!(fits, "{at}: {value} is no {rule}");
                }
                "properties" => {
                    let Some(object) = value.as_object() else {
                        continue;
                    };
                    for (name, inner) in object {
                        let schema = rule.get(name);
                        let schema =
                            schema.unwrap_or_else(|| panic!("{at}: {name} is not in the schema"));
                        valid(schema, root, inner, &format!("{at}/{name}"));
                    }
                }
                "additionalProperties" => {
                    for (name, inner) in value.as_object().unwrap() {
                        valid(rule, root, inner, &format!("{at}/{name}"));
                    }
                }
                "required" => {
                    for name in rule.as_array().unwrap() {
                        assert!(
                            value.get(name.as_str().unwrap()).is_some(),
                            "{at}: no {name}"
                        );
                    }
                }
                "items" => {
                    for (n, inner) in value.as_array().into_iter().flatten().enumerate() {
                        valid(rule, root, inner, &format!("{at}/{n}"));
                    }
                }
                "enum" => assert!(rule.as_array().unwrap().contains(value), "{at}: {value}"),
                "const" => assert_eq!(rule, value, "{at}"),
                "anyOf" | "oneOf" => {
                    let fits = |schema: &&Value| {
                        let (schema, root, value) =
                            ((*schema).clone(), root.clone(), value.clone());
                        std::panic::catch_unwind(move || valid(&schema, &root, &value, "")).is_ok()
                    };
                    assert!(
                        rule.as_array().unwrap().iter().any(|s| fits(&s)),
                        "{at}: {value}"
                    );
                }
                "minimum" => assert!(value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap())),
                "maximum" => assert!(value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap())),
                "minItems" => assert!(
                    value
                        .as_array()
                        .is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap())
                ),
                "maxItems" => assert!(
                    value
                        .as_array()
                        .is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap())
                ),
                "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
                other => panic!("{at}: keyword {other}"),
            }
        }
    }

    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/schema.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap();
        assert!(
            made == published,
            "run this test once with UPDATE_SCHEMA=1 and commit the file"
        );
    }

    #[test]
    fn a_report_of_every_kind_of_ending_keeps_the_schema() {
        let schema = schema();
        for events in [sample::journal(), sample::large(2), Vec::new()] {
            let value: Value = serde_json::from_slice(&render(&events)).unwrap();
            valid(&schema, &schema, &value, "");
        }
    }

    #[test]
    fn the_schema_check_can_fail() {
        let schema = schema();
        let mut value: Value = serde_json::from_slice(&render(&sample::journal())).unwrap();
        value["scenarios"][0]["status"] = "splendid".into();
        let caught = std::panic::catch_unwind(|| valid(&schema, &schema, &value, ""));
        assert!(caught.is_err());
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_run() {
        let events = sample::journal();
        let text = render(&events);
        let read: RunReport = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, RunReport::fold(&events));
        let text = String::from_utf8(text).unwrap();
        assert!(
            !text
                .chars()
                .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}')
        );
    }
}
