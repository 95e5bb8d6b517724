//! Extraction.

use super::Bind;
use crate::scenario::model::{Extract, Extractor};
use crate::scenario::shapes::{EXTRACTOR, Want};
use crate::scenario::yaml::{Kind, Node};

impl Bind<'_> {
    pub fn extract(&mut self, node: &Node) -> Option<Extract> {
        let entries = self.entries(node, "a map of names and selectors", "{ title: h1 }")?;
        if entries.is_empty() {
            self.wrong(node, "at least one name", "{ title: h1 }");
        }
        let mut fields = Vec::new();
        for entry in entries {
            let found = self.at(entry.key.value.as_str(), |b| b.extractor(&entry.value));
            fields.extend(found.map(|f| (entry.key.clone(), f)));
        }
        Some(Extract { fields })
    }

    fn extractor(&mut self, node: &Node) -> Option<Extractor> {
        if !matches!(node.kind, Kind::Map(_)) {
            let css = self.text(node, "a selector, or a map")?.value;
            return Some(Extractor::Css { css, attr: None });
        }
        let fields = self.map(node, &EXTRACTOR)?;
        let ways: Vec<&str> = ["css", "each", "prompt"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let [way] = ways.as_slice() else {
            self.error(
                node.span,
                "exactly one of `css`, `each` and `prompt` is wanted",
                EXTRACTOR.example,
            );
            return None;
        };
        for (key, home) in [
            ("attr", "css"),
            ("fields", "each"),
            ("next", "each"),
            ("pages", "each"),
        ] {
            if home != *way
                && let Some(entry) = fields.entry(key)
            {
                self.error(
                    entry.key.span,
                    &format!("`{key}` goes with `{home}`"),
                    EXTRACTOR.example,
                );
            }
        }
        let text = self.at(*way, |b| b.text(fields.get(way)?, "text"))?.value;
        Some(match *way {
            "css" => Extractor::Css {
                css: text,
                attr: match fields.get("attr") {
                    Some(node) => Some(
                        self.at("attr", |b| b.text(node, "the name of an attribute"))?
                            .value,
                    ),
                    None => None,
                },
            },
            "each" => {
                let Some(inner) = fields.get("fields") else {
                    self.missing(node.span, "fields", EXTRACTOR.example);
                    return None;
                };
                let inner = self.at("fields", |b| b.extract(inner))?;
                Extractor::Each {
                    each: text,
                    fields: inner
                        .fields
                        .into_iter()
                        .map(|(k, v)| (k.value, v))
                        .collect(),
                    next: fields
                        .get("next")
                        .and_then(|n| self.at("next", |b| b.target(n))),
                    pages: fields.get("pages").and_then(|n| {
                        self.at("pages", |b| {
                            b.number(n, &Want::Count(1, u64::from(u32::MAX)))
                        })
                    }),
                }
            }
            _ => Extractor::Prompt(text),
        })
    }
}
