//! JSON as strictly as an instruction deserves: no key twice, no NUL, and one object only.
//!
//! A reply decides what is clicked. Of two equal keys one reader takes the first and another the
//! last, so the log and the act could differ; such a reply is refused rather than read.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::AnswerError;
use super::prompt::{cut, one_line};

/// An answer is a few words; ten megabytes are an attack or a fault.
pub const ANSWER_LIMIT: usize = 64 * 1024;

/// A value in which no key occurs twice and no text holds a NUL.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::from(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(Value::from(v))
    }
    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        let number = Number::from_f64(v).ok_or_else(|| E::custom("a number that is none"))?;
        Ok(Value::Number(number))
    }
    fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
        if v.contains('\0') {
            return Err(E::custom("a NUL character"));
        }
        Ok(Value::String(v.to_owned()))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let Strict(value) = map.next_value()?;
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key {:?} twice",
                    cut(&key, 40)
                )));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

/// `text` as one strict value and nothing beside it.
pub fn strict_value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().map(|Strict(value)| value)
}

/// The only top-level object in `text`: alone, in one Markdown fence, or between words.
///
/// One documented clean-up and no repair: a leading thinking block is dropped, prose without
/// braces is passed over. Anything that begins like an object and does not end like one is an
/// error with its place.
pub fn only_object(text: &str) -> Result<Map<String, Value>, AnswerError> {
    if text.len() > ANSWER_LIMIT {
        return Err(AnswerError::TooLong(text.len()));
    }
    let text = without_thinking(text)?;
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find(['{', '}']).map(|i| at + i) {
        if text[open..].starts_with('}') {
            return Err(malformed(
                text,
                open,
                "a closing brace without an opening one".into(),
            ));
        }
        if text[at..open].trim_end().ends_with('[') {
            return Err(malformed(
                text,
                open,
                "a list stands where one object is wanted".into(),
            ));
        }
        let mut stream = serde_json::Deserializer::from_str(&text[open..]).into_iter::<Strict>();
        match stream.next() {
            Some(Ok(Strict(Value::Object(fields)))) => found.push(fields),
            Some(Err(e)) => {
                return Err(malformed(text, open + offset(&text[open..], &e), said(&e)));
            }
            _ => return Err(malformed(text, open, "no object".into())),
        }
        at = open + stream.byte_offset();
    }
    match found.len() {
        0 => Err(AnswerError::NoJson {
            start: cut(&one_line(text), 80),
        }),
        1 => Ok(found.remove(0)),
        n => Err(AnswerError::Ambiguous(n)),
    }
}

/// Drops one leading `<think>…</think>`; a block that never ends means there is no answer.
fn without_thinking(text: &str) -> Result<&str, AnswerError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.strip_prefix("<think>") {
        None => Ok(text),
        Some(rest) => match rest.split_once("</think>") {
            Some((_, answer)) => Ok(answer),
            None => Err(AnswerError::EmptyWithReasoning),
        },
    }
}

fn malformed(text: &str, at: usize, problem: String) -> AnswerError {
    let before = text.get(..at).unwrap_or(text);
    AnswerError::Malformed {
        line: before.matches('\n').count() + 1,
        column: before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1,
        problem,
    }
}

/// Byte offset of a serde_json error, whose columns count bytes from 1.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The error without serde_json's own " at line … column …".
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
