//! Lexicons: the words a language has for verbs, roles and the like. Data, so that another
//! language needs no code: `lexicon/<language>.yaml` in a suite adds one or extends one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::roles;
use super::yaml::{self, Entry, Kind, Node};
use crate::text::fold::fold_case;
use crate::text::{Problem, Source, Span, nearest};

/// The shapes a sentence can have; each is one verb with its slots.
pub static FORMS: &[(&str, &[&str])] = &[
    ("goto", &["address"]),
    ("click", &["target"]),
    ("fill", &["target", "value"]),
    ("select", &["option"]),
    ("check", &["target"]),
    ("uncheck", &["target"]),
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
    pub patterns: Vec<Pattern>,
    pub say: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub struct Lexicons {
    all: Vec<Lexicon>,
}

const SHIPPED: [(&str, &str); 2] = [
    ("en", include_str!("lexicon/en.yaml")),
    ("it", include_str!("lexicon/it.yaml")),
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
        let (lexicon, problems) = match read(source, language) {
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

fn words(text: &str) -> Vec<String> {
    fold_case(text)
        .split(' ')
        .filter(|w| !w.is_empty())
        .map(str::to_string)
        .collect()
}

fn read(source: &Arc<Source>, language: &str) -> Result<(Lexicon, Vec<Problem>), Box<Problem>> {
    let (root, problems) = yaml::read(source)?;
    let mut reader = Reader { source, problems };
    let mut lexicon = Lexicon {
        language: language.to_string(),
        ..Lexicon::default()
    };
    for entry in reader.map(&root).to_vec() {
        let node = &entry.value;
        match entry.key.value.as_str() {
            "articles" => lexicon.articles = reader.texts(node),
            "elisions" => lexicon.elisions = reader.texts(node),
            "fillers" => lexicon.fillers = reader.texts(node),
            "joiners" => lexicon.joiners = reader.phrases(node),
            "credential" => lexicon.credential = reader.phrases(node),
            "exactly" => lexicon.exactly = reader.phrases(node),
            "roles" => {
                lexicon.roles = reader.meanings(node, |w| {
                    ["text", "css", "testid"].contains(&w) || roles::role(w).is_some()
                })
            }
            "directions" => lexicon.directions = reader.meanings(node, super::bind_direction),
            "forms" => lexicon.patterns = reader.forms(node),
            "say" => {
                lexicon.say = reader
                    .map(node)
                    .iter()
                    .filter_map(|e| Some((e.key.value.clone(), scalar(&e.value)?)))
                    .collect()
            }
            other => reader.unknown(&entry, other, SECTIONS.iter().copied()),
        }
    }
    // Longer phrases first, so that `text box` isn't read as `text` and a rest.
    lexicon.joiners.sort_by_key(|w| std::cmp::Reverse(w.len()));
    Ok((lexicon, reader.problems))
}

fn scalar(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Scalar(s) => Some(s.text.clone()),
        _ => None,
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn error(&mut self, span: Span, message: String, help: String) {
        self.problems
            .push(Problem::error(message).at(self.source, span).help(help));
    }

    fn unknown<'c>(
        &mut self,
        entry: &Entry,
        word: &str,
        known: impl Iterator<Item = &'c str> + Clone,
    ) {
        let help = match nearest(word, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.error(entry.key.span, format!("unknown key `{word}`"), help);
    }

    fn map<'t>(&mut self, node: &'t Node) -> &'t [Entry] {
        match &node.kind {
            Kind::Map(entries) => entries,
            _ => {
                self.error(
                    node.span,
                    format!("a map is wanted here, not {}", node.found()),
                    "for example: articles: [the, a]".into(),
                );
                &[]
            }
        }
    }

    fn texts(&mut self, node: &Node) -> Vec<String> {
        let Kind::List(items) = &node.kind else {
            self.error(
                node.span,
                format!("a list is wanted here, not {}", node.found()),
                "for example: [the, a]".into(),
            );
            return Vec::new();
        };
        items
            .iter()
            .filter_map(scalar)
            .map(|t| fold_case(&t).replace('’', "'"))
            .collect()
    }

    fn phrases(&mut self, node: &Node) -> Vec<Vec<String>> {
        self.texts(node).iter().map(|t| words(t)).collect()
    }

    fn meanings(
        &mut self,
        node: &Node,
        known: impl Fn(&str) -> bool,
    ) -> Vec<(Vec<String>, String)> {
        let mut all = Vec::new();
        for entry in self.map(node) {
            match scalar(&entry.value).filter(|m| known(m)) {
                Some(meaning) => all.push((words(&entry.key), meaning)),
                None => self.error(
                    entry.value.span,
                    format!("{} means nothing here", entry.value.found()),
                    "write one of the words of the language, such as button or down".into(),
                ),
            }
        }
        all
    }

    fn forms(&mut self, node: &Node) -> Vec<Pattern> {
        let mut all = Vec::new();
        for entry in self.map(node) {
            let Some((form, needed)) = FORMS.iter().find(|(name, _)| *name == entry.key.value)
            else {
                self.unknown(entry, &entry.key, FORMS.iter().map(|(n, _)| *n));
                continue;
            };
            let Kind::List(items) = &entry.value.kind else {
                self.error(
                    entry.value.span,
                    format!("a list is wanted here, not {}", entry.value.found()),
                    "for example: [\"click {target}\"]".into(),
                );
                continue;
            };
            for item in items {
                match scalar(item).map(|text| pattern(form, needed, &text)) {
                    Some(Ok(pattern)) => all.push(pattern),
                    Some(Err(why)) => self.error(
                        item.span,
                        why,
                        format!("slots are {{{}}}", SLOTS.join("}, {")),
                    ),
                    None => self.error(
                        item.span,
                        format!("a pattern is wanted here, not {}", item.found()),
                        "for example: \"click {target}\"".into(),
                    ),
                }
            }
        }
        all
    }
}

fn pattern(form: &'static str, needed: &[&str], text: &str) -> Result<Pattern, String> {
    let mut parts = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(slot) => match SLOTS.iter().find(|s| **s == slot) {
                Some(slot) if matches!(parts.last(), Some(Part::Slot(_))) => {
                    return Err(format!(
                        "nothing stands between `{{{slot}}}` and the slot before it"
                    ));
                }
                Some(slot) => parts.push(Part::Slot(slot)),
                None => return Err(format!("unknown slot `{{{slot}}}`")),
            },
            None => parts.push(Part::Words(
                word.split('|')
                    .map(|w| fold_case(w).trim_end_matches(':').to_string())
                    .collect(),
            )),
        }
    }
    if !matches!(parts.first(), Some(Part::Words(_))) {
        return Err("a pattern begins with a word".into());
    }
    match needed
        .iter()
        .find(|n| !parts.iter().any(|p| matches!(p, Part::Slot(s) if s == *n)))
    {
        Some(missing) => Err(format!("`{form}` needs the slot `{{{missing}}}`")),
        None => Ok(Pattern {
            form,
            parts,
            written: text.to_string(),
        }),
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
            let (lexicon, problems) = read(&source, language).unwrap();
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
