//! From a server's reply to one checked object: the ladder.
//!
//! The order matters: why the reply ended is asked before what it says, so that a cut answer is
//! called cut and not "unterminated string", and is never acted upon.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Egress;
use super::error::AnswerError;
use super::json;
use super::prompt::{cut, one_line};

/// What of a chat completion is needed. Everything else of the reply is ignored, whatever its
/// type: servers differ in the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The reply held a first choice.
    pub choice: bool,
    pub finish: Finish,
    pub content: Option<String>,
    /// Text came in a reasoning field, which is never an answer.
    pub reasoning: bool,
    pub refusal: Option<String>,
    /// Arguments of the calls, as sent.
    pub calls: Vec<String>,
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    Length,
    Filtered,
    #[default]
    Other,
}

impl Reply {
    pub fn read(body: &Value) -> Self {
        let choice = body.pointer("/choices/0");
        let message = choice.and_then(|c| c.get("message"));
        let text = |name: &str| {
            let value = message?.get(name)?;
            text_of(value).filter(|t| !t.is_empty())
        };
        let usage = |name: &str| body.pointer("/usage")?.get(name)?.as_u64();
        let calls = message.and_then(|m| m.get("tool_calls"));
        Self {
            choice: message.is_some_and(Value::is_object),
            finish: match choice.and_then(|c| c.get("finish_reason")?.as_str()) {
                Some("stop" | "tool_calls" | "function_call") => Finish::Stop,
                Some("length" | "max_tokens") => Finish::Length,
                Some("content_filter") => Finish::Filtered,
                _ => Finish::Other,
            },
            content: text("content"),
            reasoning: text("reasoning_content")
                .or_else(|| text("reasoning"))
                .is_some(),
            refusal: text("refusal"),
            calls: calls
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|call| call.pointer("/function/arguments"))
                .map(|a| a.as_str().map_or_else(|| a.to_string(), str::to_owned))
                .collect(),
            prompt_tokens: usage("prompt_tokens"),
            completion_tokens: usage("completion_tokens"),
        }
    }

    /// With every known secret replaced by its placeholder.
    pub fn cleaned(self, egress: &dyn Egress) -> Self {
        let clean = |text: String| egress.clean(&text);
        Self {
            content: self.content.map(clean),
            refusal: self.refusal.map(clean),
            calls: self.calls.into_iter().map(clean).collect(),
            ..self
        }
    }

    /// What the log keeps: the content, or what stood in its place.
    pub fn raw(&self) -> String {
        match (&self.content, &self.refusal, self.calls.as_slice()) {
            (Some(content), _, _) => content.clone(),
            (None, Some(refusal), _) => format!("refusal: {refusal}"),
            (None, None, []) if self.reasoning => "(no content, only reasoning)".into(),
            (None, None, []) => "(no content)".into(),
            (None, None, calls) => format!("tool call: {}", calls.join("; ")),
        }
    }
}

/// Content is a string, or with some servers a list of text parts.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|p| p.get("text")?.as_str());
            Some(texts.collect::<String>())
        }
        _ => None,
    }
}

/// The one object of a reply that ended well. `limit` is the token limit that was sent.
pub fn object(reply: &Reply, limit: u32) -> Result<Map<String, Value>, AnswerError> {
    let text = content(reply, limit)?;
    json::only_object(text).and_then(unwrap_call)
}

/// The text that holds the answer, after why the reply ended was looked at.
pub fn content(reply: &Reply, limit: u32) -> Result<&str, AnswerError> {
    if !reply.choice {
        return Err(AnswerError::NoChoice);
    }
    let content = reply.content.as_deref().filter(|t| !t.trim().is_empty());
    match reply.finish {
        Finish::Length if content.is_none() && reply.calls.is_empty() => {
            return Err(AnswerError::Empty {
                tokens: reply.completion_tokens,
            });
        }
        Finish::Length => return Err(AnswerError::Truncated { limit }),
        Finish::Filtered => return Err(AnswerError::Filtered),
        Finish::Stop | Finish::Other => {}
    }
    if let Some(words) = &reply.refusal {
        return Err(AnswerError::Refused(cut(&one_line(words), 120)));
    }
    match (content, reply.calls.as_slice()) {
        (Some(text), []) => Ok(text),
        (Some(_), calls) => Err(AnswerError::Ambiguous(calls.len() + 1)),
        (None, [arguments]) => Ok(arguments),
        (None, []) if reply.reasoning => Err(AnswerError::EmptyWithReasoning),
        (None, []) => Err(AnswerError::Empty {
            tokens: reply.completion_tokens,
        }),
        (None, calls) => Err(AnswerError::Ambiguous(calls.len())),
    }
}

/// `{"name": …, "arguments": {…}}` is a tool call written as text: its arguments are the answer
/// and pass the same checks. The name decides nothing.
fn unwrap_call(object: Map<String, Value>) -> Result<Map<String, Value>, AnswerError> {
    let is_call = object.contains_key("arguments")
        && object
            .keys()
            .all(|k| matches!(k.as_str(), "arguments" | "name" | "type" | "id"));
    if !is_call {
        return Ok(object);
    }
    match &object["arguments"] {
        Value::Object(arguments) => Ok(arguments.clone()),
        Value::String(text) => json::only_object(text),
        _ => Err(AnswerError::WrongType("arguments")),
    }
}

/// Refuses every field that was not asked for: there is no place for selectors, addresses or
/// consent, and none is read by accident.
pub fn only_fields(object: &Map<String, Value>, known: &[&str]) -> Result<(), AnswerError> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(AnswerError::UnknownField(cut(key, 40))),
        None => Ok(()),
    }
}

pub fn text<'a>(
    object: &'a Map<String, Value>,
    name: &'static str,
) -> Result<&'a str, AnswerError> {
    optional_text(object, name)?.ok_or(AnswerError::MissingField(name))
}

/// `null`, an absent field and an empty text are the same: nothing said.
pub fn optional_text<'a>(
    object: &'a Map<String, Value>,
    name: &'static str,
) -> Result<Option<&'a str>, AnswerError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|t| !t.is_empty())),
        Some(_) => Err(AnswerError::WrongType(name)),
    }
}

/// One line, cut to what a report can show.
pub fn reason(text: &str) -> Result<String, AnswerError> {
    let text = text.trim();
    if text.contains([
        '\n', '\r', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}',
    ]) {
        return Err(AnswerError::ReasonNotOneLine);
    }
    Ok(cut(&one_line(text), 200))
}
