//! From a sentence to one act: the lexicon's patterns give verb, target phrase and value.
//!
//! The grammar decides the verb, never the page and never a model. What it names in quotation
//! marks is explicit; other phrases are left for rules, lock or model to find on the page.

mod build;
mod matching;
mod tokens;

use super::lexicon::Lexicon;
use super::model::{Act, Target};
use crate::text::{Span, nearest, visible};
use tokens::Token;

/// One action of a sentence, with the words that said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub act: Act,
    /// The place its target lies in, if it says one.
    pub within: Vec<Target>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SentenceError {
    #[error("`{}` begins with no verb I know", visible(.sentence))]
    UnknownVerb {
        sentence: String,
        nearest: Option<String>,
    },
    #[error("the verb of `{}` is known, but not the rest", visible(.sentence))]
    UnknownForm {
        sentence: String,
        forms: Vec<String>,
    },
    #[error("`{}` doesn't say which credential", visible(.said))]
    Credential { said: String, known: Vec<String> },
    #[error("a quotation mark of the sentence is not closed")]
    Unclosed,
    #[error("the sentence is too long: {0} words, and 80 are the limit")]
    TooLong(usize),
}

impl SentenceError {
    /// How to mend it.
    pub fn help(&self, lexicon: &Lexicon) -> String {
        match self {
            Self::UnknownVerb { nearest: Some(near), .. } => format!("did you mean `{near}`? Known are {}", lexicon.verbs().join(", ")),
            Self::UnknownVerb { nearest: None, .. } => format!("a sentence begins with one of {}", lexicon.verbs().join(", ")),
            Self::UnknownForm { forms, .. } => format!("known forms: {}", forms.join("; ")),
            Self::Credential { known, .. } if known.is_empty() => "list one at the top (`credentials: [code-host-user]`) or, if a control has that name, write `click: …`".into(),
            Self::Credential { known, .. } => format!("name it: {}; or, if a control has that name, write `click: …`", known.join(", ")),
            Self::Unclosed => "close it, or write the name without quotation marks".into(),
            Self::TooLong(_) => "write several steps, or `plan:` with a goal".into(),
        }
    }
}

const LONGEST: usize = 80;

/// The actions of a sentence, in order; more than one where the grammar splits it.
pub fn parse(
    text: &str,
    lexicon: &Lexicon,
    credentials: &[String],
    span: Span,
) -> Result<Vec<Part>, SentenceError> {
    let tokens = tokens::split(text, lexicon)?;
    if tokens.len() > LONGEST {
        return Err(SentenceError::TooLong(tokens.len()));
    }
    let grammar = Grammar {
        text,
        lexicon,
        credentials,
        span,
    };
    grammar.actions(&tokens)
}

struct Grammar<'a> {
    text: &'a str,
    lexicon: &'a Lexicon,
    credentials: &'a [String],
    span: Span,
}

impl Grammar<'_> {
    /// Splits at the first joiner with an action on both sides; else the whole is one action.
    fn actions(&self, tokens: &[Token]) -> Result<Vec<Part>, SentenceError> {
        for (end, start) in self.joints(tokens) {
            let (left, right) = (&tokens[..end], &tokens[start..]);
            if let Ok(first) = self.action(left)
                && self.begins_with_verb(right)
                && let Ok(rest) = self.actions(right)
            {
                return Ok(std::iter::once(first).chain(rest).collect());
            }
        }
        Ok(vec![self.action(tokens)?])
    }

    /// Where the sentence may be split: (end of the left part, start of the right part).
    fn joints(&self, tokens: &[Token]) -> Vec<(usize, usize)> {
        let mut joints = Vec::new();
        for at in 1..tokens.len() {
            let joiner = self
                .lexicon
                .joiners
                .iter()
                .find(|words| tokens::begins(&tokens[at..], words));
            let next = joiner.map_or(at, |words| at + words.len());
            if next < tokens.len() && (joiner.is_some() || tokens[at - 1].comma) {
                joints.push((at, next));
            }
        }
        joints
    }

    fn begins_with_verb(&self, tokens: &[Token]) -> bool {
        tokens.len() > 1 || self.action(tokens).is_ok()
    }

    fn action(&self, tokens: &[Token]) -> Result<Part, SentenceError> {
        let said = tokens::slice(self.text, tokens);
        match matching::best(self, tokens) {
            Some(found) => {
                let (act, within) = build::act(self, &found, said)?;
                Ok(Part {
                    act,
                    within,
                    text: said.to_string(),
                })
            }
            None => Err(self.unknown(tokens, said)),
        }
    }

    fn unknown(&self, tokens: &[Token], said: &str) -> SentenceError {
        let first = tokens.first().map(|t| t.word.as_str()).unwrap_or_default();
        let forms: Vec<String> = self
            .lexicon
            .patterns
            .iter()
            .filter(|p| matches!(p.parts.first(), Some(super::lexicon::Part::Words(w)) if w.iter().any(|w| w == first)))
            .map(|p| p.written.clone())
            .collect();
        let sentence = crate::text::cut(said, 60);
        if forms.is_empty() {
            let nearest = nearest(first, self.lexicon.verbs()).map(str::to_string);
            SentenceError::UnknownVerb { sentence, nearest }
        } else {
            SentenceError::UnknownForm { sentence, forms }
        }
    }
}
