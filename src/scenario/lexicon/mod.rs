//! Lexicons: the words a language has for verbs, roles and the like. Data, so that another
//! language needs no code: `lexicon/<language>.yaml` in a suite adds one or extends one.

mod reader;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::text::{Problem, Source};

/// The shapes a sentence can have; each is one verb with its slots.
pub static FORMS: &[(&str, &[&str])] = &[
    ("goto", &["address"]),
    ("click", &["target"]),
    ("fill", &["target", "value"]),
    ("select", &["option"]),
    ("check", &["target"]),
    ("uncheck", &["target"]),
    ("clear", &["target"]),
    ("empty", &["target"]),
    ("press", &["keys"]),
    ("hover", &["target"]),
    ("scroll", &["direction"]),
    ("scroll_to", &["target"]),
    ("drag", &["target", "to"]),
    ("upload", &["file"]),
    ("submit", &["target"]),
    ("login", &[]),
    ("wait", &["target"]),
    ("gone", &["target"]),
    ("wait_url", &["text"]),
    ("seconds", &["seconds"]),
    ("wait_for_user", &["text"]),
    ("see", &["text"]),
    ("not_see", &["text"]),
    ("url", &["text"]),
    ("title", &["text"]),
    ("use", &["flow"]),
    ("plan", &["text"]),
];

static SLOTS: &[&str] = &[
    "address",
    "target",
    "value",
    "option",
    "keys",
    "direction",
    "to",
    "file",
    "credential",
    "text",
    "seconds",
    "flow",
];

static SECTIONS: &[&str] = &[
    "articles",
    "elisions",
    "joiners",
    "credential",
    "exactly",
    "fillers",
    "roles",
    "directions",
    "keys",
    "inside",
    "linking",
    "forms",
    "say",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Folded; any of them.
    Words(Vec<String>),
    Slot(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub form: &'static str,
    pub parts: Vec<Part>,
    pub written: String,
}

#[derive(Debug, Clone, Default)]
pub struct Lexicon {
    pub language: String,
    pub articles: Vec<String>,
    pub elisions: Vec<String>,
    /// Word sequences.
    pub joiners: Vec<Vec<String>>,
    pub credential: Vec<Vec<String>>,
    pub exactly: Vec<Vec<String>>,
    pub fillers: Vec<String>,
    /// Word sequence and the role it means.
    pub roles: Vec<(Vec<String>, String)>,
    pub directions: Vec<(Vec<String>, String)>,
    /// Words for keys, beside the keys' own names.
    pub keys: Vec<(Vec<String>, String)>,
    /// Words before the place a target lies in: "Remove in the row Anchor".
    pub inside: Vec<String>,
    /// Words between a place and its name: "the row of Anchor".
    pub linking: Vec<String>,
    pub patterns: Vec<Pattern>,
    pub say: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub struct Lexicons {
    all: Vec<Lexicon>,
}

const SHIPPED: [(&str, &str); 2] = [
    ("en", include_str!("en.yaml")),
    ("it", include_str!("it.yaml")),
];

impl Default for Lexicons {
    /// English and Italian.
    fn default() -> Self {
        let mut all = Self { all: Vec::new() };
        for (language, text) in SHIPPED {
            let source = Arc::new(Source {
                path: format!("{language}.yaml").into(),
                text: text.into(),
            });
            // That the shipped files have no problem is held by a test.
            all.add(&source, language);
        }
        all
    }
}

impl Lexicons {
    pub fn get(&self, language: &str) -> Option<&Lexicon> {
        self.all.iter().find(|l| l.language == language)
    }

    pub fn english(&self) -> &Lexicon {
        &self.all[0]
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|l| l.language.as_str())
    }

    /// Adds a language, or what the file says before what is there already.
    pub fn add(&mut self, source: &Arc<Source>, language: &str) -> Vec<Problem> {
        let (lexicon, problems) = match reader::read(source, language) {
            Ok(read) => read,
            Err(problem) => return vec![*problem],
        };
        match self.all.iter_mut().find(|l| l.language == language) {
            Some(old) => old.extend(lexicon),
            None => self.all.push(lexicon),
        }
        problems
    }
}

impl Lexicon {
    fn extend(&mut self, new: Lexicon) {
        fn before<T>(old: &mut Vec<T>, mut new: Vec<T>) {
            std::mem::swap(old, &mut new);
            old.extend(new);
        }
        before(&mut self.articles, new.articles);
        before(&mut self.elisions, new.elisions);
        before(&mut self.joiners, new.joiners);
        before(&mut self.credential, new.credential);
        before(&mut self.exactly, new.exactly);
        before(&mut self.fillers, new.fillers);
        before(&mut self.roles, new.roles);
        before(&mut self.directions, new.directions);
        before(&mut self.keys, new.keys);
        before(&mut self.inside, new.inside);
        before(&mut self.linking, new.linking);
        before(&mut self.patterns, new.patterns);
        self.say.extend(new.say);
    }

    /// The word to say for a role: the lexicon's first, or the role itself.
    pub fn role_word(&self, role: &str) -> String {
        self.roles
            .iter()
            .find(|(_, r)| r == role)
            .map_or_else(|| role.to_string(), |(w, _)| w.join(" "))
    }

    /// The first words sentences begin with, for messages.
    pub fn verbs(&self) -> Vec<&str> {
        let mut verbs = Vec::new();
        for pattern in &self.patterns {
            if let Some(Part::Words(words)) = pattern.parts.first() {
                for word in words {
                    if !verbs.contains(&word.as_str()) && !self.articles.contains(word) {
                        verbs.push(word.as_str());
                    }
                }
            }
        }
        verbs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_lexicons_have_no_problem_and_every_form() {
        for (language, text) in SHIPPED {
            let source = Arc::new(Source {
                path: "x.yaml".into(),
                text: text.into(),
            });
            let (lexicon, problems) = reader::read(&source, language).unwrap();
            assert_eq!(problems, []);
            for (form, _) in FORMS {
                assert!(
                    lexicon.patterns.iter().any(|p| p.form == *form),
                    "{language} {form}"
                );
            }
        }
    }
}
