//! One call's action: a sentence, a step of the language, or a primitive on an offered element.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::broker::Primitive;
use crate::page::NodeId;
use crate::scenario::{Act, Lexicons, Step, Value};

use super::refusal::Refusal;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActBody {
    /// `Click Sign in`
    sentence: Option<String>,
    /// `{"click": "button \"Sign in\""}`
    step: Option<Json>,
    /// A primitive's word, for the element `id` of the last read.
    primitive: Option<Word>,
    id: Option<String>,
    text: Option<String>,
    option: Option<String>,
    keys: Option<String>,
    on: Option<bool>,
    language: Option<String>,
    pub approval: Option<Approval>,
}

/// Several actions under one consent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchBody {
    pub actions: Vec<ActBody>,
    pub approval: Option<Approval>,
}

/// Consent that was given, as the caller presents it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    pub id: String,
    pub token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Click,
    Fill,
    Select,
    Check,
    Press,
    Hover,
    ScrollTo,
    Submit,
}

/// What is asked for, before the page is looked at.
#[derive(Debug, Clone)]
pub enum Call {
    Step(Box<Step>),
    Node { id: NodeId, primitive: Primitive },
}

impl ActBody {
    pub fn call(&self, credentials: &[String], lexicons: &Lexicons) -> Result<Call, Refusal> {
        let language = self.language.as_deref().unwrap_or("en");
        match (&self.sentence, &self.step, self.primitive) {
            (Some(sentence), None, None) => {
                let step =
                    super::opening::step_of(&json!(sentence), language, credentials, lexicons)?;
                offered(step)
            }
            (None, Some(step @ Json::Object(_)), None) => {
                let step = super::opening::step_of(step, language, credentials, lexicons)?;
                offered(step)
            }
            (None, None, Some(word)) => self.primitive(word),
            _ => Err(Refusal::malformed(
                "send one of `sentence`, `step` (a map) or `primitive` with `id`",
            )),
        }
    }

    fn primitive(&self, word: Word) -> Result<Call, Refusal> {
        let id = self.id.as_deref().and_then(read_id);
        let id = id.ok_or_else(|| Refusal::malformed("`id` must be one of the last read's ids"))?;
        let needs = |what: &Option<String>, name: &str| {
            what.clone()
                .ok_or_else(|| Refusal::malformed(format!("this primitive needs `{name}`")))
        };
        let primitive = match word {
            Word::Click => Primitive::Click,
            Word::Fill => Primitive::Fill {
                text: needs(&self.text, "text")?,
            },
            Word::Select => Primitive::Select {
                option: needs(&self.option, "option")?,
            },
            Word::Check => Primitive::Check {
                on: self.on.unwrap_or(true),
            },
            Word::Press => Primitive::Press {
                keys: needs(&self.keys, "keys")?,
            },
            Word::Hover => Primitive::Hover,
            Word::ScrollTo => Primitive::ScrollTo,
            Word::Submit => Primitive::Submit,
        };
        Ok(Call::Node { id, primitive })
    }
}

/// Steps a caller may ask for. Consent is never part of a call, and neither are this machine's files.
fn offered(step: Step) -> Result<Call, Refusal> {
    if step.write.is_some() || step.download.is_some() {
        return Err(Refusal::malformed(
            "a call can't allow its own writes or downloads; send it plainly, a person is asked",
        ));
    }
    // Filling one by hand would leave it standing in the page between two calls.
    let by_hand = match &step.act {
        Act::Fill { value, .. } => Some(value),
        Act::Sentence(phrase) => phrase.value.as_ref(),
        _ => None,
    };
    if matches!(by_hand, Some(Value::Credential { .. })) {
        return Err(Refusal::malformed("to use a credential, call `login`"));
    }
    match &step.act {
        Act::Click(_)
        | Act::Goto(_)
        | Act::Fill { .. }
        | Act::Select {
            target: Some(_), ..
        }
        | Act::Check { .. }
        | Act::Press {
            target: Some(_), ..
        }
        | Act::Hover(_)
        | Act::Scroll { .. }
        | Act::Submit(_)
        | Act::Wait(_)
        | Act::Expect(_)
        | Act::Sentence(_) => Ok(Call::Step(Box::new(step))),
        Act::Login(_) => Err(Refusal::malformed("to sign in, call `login`")),
        Act::Press { .. } | Act::Select { .. } => Err(Refusal::malformed(
            "say which control: `press: Enter` needs `in`, and so does `select`",
        )),
        _ => Err(Refusal::malformed(
            "this step is not offered here; scenarios and recipes have it",
        )),
    }
}

/// Ids are bound to their observation: `n7.0.12` is worth nothing after the next read.
pub fn write_id(id: NodeId) -> String {
    format!("n{}.{}.{}", id.generation, id.document, id.node)
}

pub fn read_id(text: &str) -> Option<NodeId> {
    let mut parts = text.strip_prefix('n')?.splitn(3, '.');
    let mut next = || parts.next()?.parse().ok();
    Some(NodeId {
        generation: next()?,
        document: next()?,
        node: next()?,
    })
}
