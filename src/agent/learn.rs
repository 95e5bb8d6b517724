//! What an endpoint turned out not to know.
//!
//! Servers differ in a handful of fields. Each difference shows in the server's own error, and
//! leads to one changed request; what went through is remembered for the session.

use serde_json::Value;

use super::error::ModelFailure;

/// How the shape of the answer is asked for; each step down asks less of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Schema,
    JsonObject,
    Plain,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Schema, Self::JsonObject, Self::Plain];

    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => "json_schema",
            Self::JsonObject => "json_object",
            Self::Plain => "plain text",
        }
    }

    fn lower(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::Plain),
            Self::Plain => None,
        }
    }
}

/// What this endpoint and model are known to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learnt {
    pub mode: Mode,
    pub new_token_field: bool,
    pub temperature: bool,
    pub pictures: bool,
}

/// A request that avoids what the server has just refused, if the refusal is understood.
/// Every change goes one way, so there are only a few of them.
pub(super) fn adapt(failure: &ModelFailure, now: Learnt, body: &Value) -> Option<Learnt> {
    let ModelFailure::Status(bad) = failure else {
        return None;
    };
    if !matches!(bad.meant(), 400 | 422) {
        return None;
    }
    let unsupported = matches!(
        bad.code.as_deref(),
        Some("unsupported_parameter" | "unsupported_value")
    );
    let mut next = now;
    match bad.param.as_deref() {
        Some("max_tokens") if unsupported && !now.new_token_field => {
            next.new_token_field = true;
        }
        Some("temperature") if unsupported && body.get("temperature").is_some() => {
            next.temperature = false;
        }
        param if body.get("response_format").is_some() && about_format(param, &bad.start) => {
            next.mode = now.mode.lower()?;
        }
        _ if pictured(body) => next.pictures = false,
        _ => return None,
    }
    Some(next)
}

/// The words for a refused format differ from server to server.
fn about_format(param: Option<&str>, words: &str) -> bool {
    let said = format!("{} {words}", param.unwrap_or_default()).to_lowercase();
    let known = [
        "response_format",
        "json_object",
        "schema",
        "grammar",
        "additionalproperties",
    ];
    known.iter().any(|word| said.contains(word))
}

fn pictured(body: &Value) -> bool {
    let content = body.pointer("/messages/1/content");
    content.is_some_and(Value::is_array)
}
