//! A caller's JSON, read once: no name twice, and errors that name places, never values (T10).

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// `what`: "the recipe", for the message.
pub fn read<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, String> {
    serde_json::from_slice::<Once>(bytes)
        .and_then(|_| serde_json::from_slice(bytes))
        .map_err(|e| unreadable(&e, what))
}

fn unreadable(error: &serde_json::Error, what: &str) -> String {
    let told = error.to_string();
    // Of serde's messages these quote names of keys only.
    let known = ["unknown field `", "missing field `", "duplicate field `"];
    match known.iter().any(|start| told.starts_with(start)) {
        true => crate::text::cut(&crate::text::visible(&told), 300),
        false => format!(
            "{what} does not have the right shape at line {}, column {}",
            error.line(),
            error.column()
        ),
    }
}

/// Any value in which no name stands twice: a map would silently keep the last.
struct Once;

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = Once;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Once, A::Error> {
        while list.next_element::<Once>()?.is_some() {}
        Ok(Once)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                map.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            map.next_value::<Once>()?;
            names.insert(name);
        }
        Ok(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_same_name_twice_is_an_error_at_every_level() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"extract":{"h":"h1","h":"p"}}"#,
            r#"{"steps":[{"fields":{"x":[{"y":1,"y":1}]}}]}"#,
        ] {
            let told = read::<Value>(text.as_bytes(), "the body").expect_err("an error");
            assert!(told.starts_with("duplicate field `"), "{told}");
        }
        let same = r#"{"a":{"a":1.5},"b":[{"a":null},{"a":"a"},true,-1]}"#;
        assert!(read::<Value>(same.as_bytes(), "the body").is_ok());
    }

    #[test]
    fn t10_errors_hold_no_value() {
        let told = read::<u8>(br#""hunter2-canary""#, "the body").expect_err("an error");
        assert_eq!(
            told,
            "the body does not have the right shape at line 1, column 16"
        );
    }
}
