//! What a tutorial is, before it is Markdown, JSON or HTML.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First field of `tutorial.json`.
pub const FORMAT: u32 = 1;

/// A tutorial of one attempt. Holds no time, no duration and no run id: equal events give equal
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tutorial {
    pub format: u32,
    pub title: String,
    pub introduction: Vec<Words>,
    pub steps: Vec<Step>,
    pub conclusion: Vec<Words>,
    /// The end state, or where the run stopped, if there is a picture of it and room for it.
    pub result: Option<Picture>,
    /// `credential`, `human`, `already signed in`; absent where nobody signed in.
    pub signed_in_by: Option<String>,
    /// The account, by the credential's name.
    pub account: Option<String>,
    /// Set when the run did not get to its end.
    pub stopped: Option<Stopped>,
    /// Hash of the tutorial as the rules made it; prose is kept while it is the same.
    pub pin: String,
    /// `rules` or `model`.
    pub prose: Prose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prose {
    Rules,
    Model,
}

impl Tutorial {
    pub fn partial(&self) -> bool {
        self.stopped.is_some()
    }

    /// Every picture the tutorial shows, in reading order.
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        self.steps
            .iter()
            .filter_map(|step| step.picture.as_ref())
            .chain(&self.result)
    }
}

/// One essential state of the workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    pub caption: Words,
    /// Text by the model; the rules need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Words>,
    /// What to do, in order; empty where the caption says it all.
    pub actions: Vec<Words>,
    pub picture: Option<Picture>,
    /// Places of the scenario's steps that are told here (`3`, `3.2`, `p4`).
    pub places: Vec<String>,
}

/// How far a run got and why it stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// Place of the failed step in the scenario.
    pub place: Option<String>,
    /// What the run was about to do.
    pub doing: Option<String>,
    pub why: String,
    /// The scenario says that it has to end this way.
    pub as_expected: bool,
}

/// Text with its parts told apart, so that each export can mark and escape them in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Words(pub Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Text(String),
    /// Name of a control or an account.
    Control(String),
    /// What was typed or chosen.
    Value(String),
    /// An address; never a link, because a page may have had a say in it.
    Address(String),
}

impl Part {
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Control(text) | Self::Value(text) | Self::Address(text) => {
                text
            }
        }
    }
}

impl Words {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn of(text: impl Into<String>) -> Self {
        Self::new().say(text)
    }

    pub fn say(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.0.last_mut() {
            Some(Part::Text(last)) => last.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.0.push(Part::Text(text)),
        }
        self
    }

    pub fn control(mut self, name: &str) -> Self {
        self.0.push(Part::Control(tame(name, NAME)));
        self
    }

    pub fn value(mut self, text: &str) -> Self {
        self.0.push(Part::Value(tame(text, NAME)));
        self
    }

    pub fn address(mut self, text: &str) -> Self {
        self.0.push(Part::Address(tame(text, ADDRESS)));
        self
    }

    pub fn join(mut self, other: Self) -> Self {
        for part in other.0 {
            match part {
                Part::Text(text) => self = self.say(text),
                part => self.0.push(part),
            }
        }
        self
    }

    /// With a full stop, unless a sentence ends there already.
    pub fn end(self) -> Self {
        match self
            .0
            .last()
            .map(|part| part.text().ends_with(['.', '!', '?', '…']))
        {
            Some(false) => self.say("."),
            _ => self,
        }
    }

    /// First letter small, to go on within a sentence.
    pub fn lower(mut self) -> Self {
        if let Some(Part::Text(text)) = self.0.first_mut() {
            let mut chars = text.chars();
            if let Some(first) = chars.next() {
                *text = first.to_lowercase().chain(chars).collect();
            }
        }
        self
    }

    /// The words without marks.
    pub fn plain(&self) -> String {
        self.0.iter().map(Part::text).collect()
    }
}

const NAME: usize = 80;
const ADDRESS: usize = 200;

/// Text of a page or an author on one line: no terminal sequences, no controls, nothing invisible, no
/// direction marks.
pub fn tame(text: &str, limit: usize) -> String {
    let seen: String = crate::text::without_sequences(text)
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !invisible(*c))
        .collect();
    let words: Vec<&str> = seen.split(' ').filter(|w| !w.is_empty()).collect();
    crate::text::cut(&words.join(" "), limit)
}

fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || (c as u32) & 0xfffe == 0xfffe
}

/// A picture the tutorial shows: which frame, and what is drawn on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// `pictures/01-sign-in.png`
    pub file: String,
    pub alt: String,
    /// The frame in the audit log, below the scenario's run folder.
    pub frame: String,
    /// SHA-256 of the frame's bytes, hex.
    pub hash: Option<String>,
    pub marks: Vec<Mark>,
    pub redactions: Vec<Covered>,
}

/// An outline with a number, and a dot where it was clicked; in pixels of the frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Number of the action within the step, from 1.
    pub number: u32,
    pub rect: [i32; 4],
    pub point: Option<[i32; 2]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    pub rect: [i32; 4],
    pub reason: String,
}
