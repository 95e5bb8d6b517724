//! Reads a lexicon's file.

use std::sync::Arc;

use super::{FORMS, Lexicon, Part, Pattern, SECTIONS, SLOTS};
use crate::scenario::yaml::{self, Entry, Kind, Node};
use crate::scenario::{bind_direction, keys, roles};
use crate::text::fold::fold_case;
use crate::text::{Problem, Source, Span, nearest};

fn words(text: &str) -> Vec<String> {
    fold_case(text)
        .split(' ')
        .filter(|w| !w.is_empty())
        .map(str::to_string)
        .collect()
}

pub fn read(source: &Arc<Source>, language: &str) -> Result<(Lexicon, Vec<Problem>), Box<Problem>> {
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
            "directions" => lexicon.directions = reader.meanings(node, bind_direction),
            "keys" => lexicon.keys = reader.meanings(node, |w| keys::check(w).is_ok()),
            "inside" => lexicon.inside = reader.texts(node),
            "linking" => lexicon.linking = reader.texts(node),
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
                    "write one of the words of the language, such as button, down or Enter".into(),
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
