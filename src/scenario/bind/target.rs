//! Targets, as text or as a map.

use super::{Bind, Fields};
use crate::scenario::model::{By, Target};
use crate::scenario::roles;
use crate::scenario::shapes::TARGET;
use crate::scenario::target::{parse_by, unknown_role};
use crate::scenario::yaml::{Kind, Node};
use crate::text::Span;

impl Bind<'_> {
    pub fn target(&mut self, node: &Node) -> Option<Target> {
        match &node.kind {
            Kind::Map(_) => {
                let fields = self.map(node, &TARGET)?;
                self.target_fields(fields)
            }
            Kind::Scalar(_) => {
                let text = self.text(node, "the name of a control")?;
                self.target_text(&text, node.span)
            }
            Kind::List(_) => {
                self.wrong(node, "a target", "button \"Sign in\"");
                None
            }
        }
    }

    pub fn target_text(&mut self, text: &str, span: Span) -> Option<Target> {
        match parse_by(text) {
            Ok(by) => Some(Target { by, span }),
            Err(e) => {
                self.error(span, &e.to_string(), e.help());
                None
            }
        }
    }

    /// A target out of the keys of a map that may hold others too.
    pub fn target_fields(&mut self, fields: Fields<'_>) -> Option<Target> {
        let ways: Vec<&str> = ["text", "testid", "css"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let named = fields.get("role").is_some() || fields.get("name").is_some();
        if ways.len() + usize::from(named) != 1 {
            self.error(
                fields.span,
                "a target is named in exactly one way: by role and name, `text`, `testid` or `css`",
                TARGET.example,
            );
            return None;
        }
        let by = match ways.first() {
            None => By::Name {
                role: match fields.get("role") {
                    Some(node) => Some(self.at("role", |b| b.role(node))?),
                    None => None,
                },
                name: match fields.get("name") {
                    Some(node) => Some(
                        self.at("name", |b| b.text(node, "the name of a control"))?
                            .value,
                    ),
                    None => None,
                },
                exact: match fields.get("exact") {
                    Some(node) => self.at("exact", |b| b.boolean(node))?,
                    None => false,
                },
            },
            Some(way) => {
                if let Some(exact) = fields.entry("exact") {
                    self.error(exact.key.span, "`exact` goes with a name", TARGET.example);
                }
                let node = fields.get(way)?;
                let text = self.at(*way, |b| b.text(node, "text"))?.value;
                match *way {
                    "text" => By::Text(text),
                    "testid" => By::TestId(text),
                    _ => {
                        self.warn(
                            node.span,
                            "a `css` target breaks when the page is rebuilt",
                            "name the control as a person would: button \"Sign in\"",
                        );
                        By::Css(text)
                    }
                }
            }
        };
        Some(Target {
            by,
            span: fields.span,
        })
    }

    fn role(&mut self, node: &Node) -> Option<String> {
        let word = self.text(node, "a role")?;
        match roles::role(&word) {
            Some(role) => Some(role.to_string()),
            None => {
                let e = unknown_role(&word);
                self.error(node.span, &e.to_string(), e.help());
                None
            }
        }
    }
}
