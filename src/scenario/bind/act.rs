//! The acts: a verb with its main thing and what belongs to it.

use std::path::{Component, PathBuf};
use std::time::Duration;

use super::{Bind, Fields};
use crate::scenario::keys;
use crate::scenario::model::*;
use crate::scenario::shapes::{TARGET, USE, WAIT};
use crate::scenario::yaml::{Kind, Node};
use crate::text::visible;

impl Bind<'_> {
    pub(super) fn act(&mut self, verb: Verb, main: &Node, fields: Fields<'_>) -> Option<Act> {
        Some(match verb {
            Verb::Goto => Act::Goto(self.address(main)?),
            Verb::Click => Act::Click(self.target(main)?),
            Verb::Fill => {
                let value = self.fill_value(fields);
                Act::Fill {
                    target: self.target(main)?,
                    value: value?,
                }
            }
            Verb::Form => Act::Form(self.form(main)?),
            Verb::Select => {
                let target = self.beside_target(fields, "in");
                Act::Select {
                    option: self.text(main, "an option")?.value,
                    target: target?,
                }
            }
            Verb::Check => Act::Check {
                target: self.target(main)?,
                on: true,
            },
            Verb::Uncheck => Act::Check {
                target: self.target(main)?,
                on: false,
            },
            Verb::Press => {
                let target = self.beside_target(fields, "in");
                Act::Press {
                    keys: self.keys(main)?,
                    target: target?,
                }
            }
            Verb::Hover => Act::Hover(self.target(main)?),
            Verb::Scroll => {
                let target = self.beside_target(fields, "in");
                Act::Scroll {
                    to: self.scroll_to(main)?,
                    target: target?,
                }
            }
            Verb::Drag => {
                let to = self.beside_target(fields, "to");
                let target = self.target(main)?;
                let Some(to) = to? else {
                    self.missing(fields.span, "to", "{ drag: Card 1, to: Done }");
                    return None;
                };
                Act::Drag { target, to }
            }
            Verb::Upload => {
                let target = self.beside_target(fields, "in");
                Act::Upload {
                    file: self.suite_path(main)?,
                    target: target?,
                }
            }
            Verb::Submit => Act::Submit(self.target(main)?),
            Verb::Login => Act::Login(self.credential_name(main)?),
            Verb::Wait => Act::Wait(self.wait(main)?),
            Verb::WaitForUser => {
                Act::WaitForUser(self.text(main, "what the person is asked to do")?.value)
            }
            Verb::Expect => Act::Expect(Some(self.expectations(main)).filter(|e| !e.is_empty())?),
            Verb::Extract => Act::Extract(self.extract(main)?),
            Verb::Use => self.use_flow(main)?,
            Verb::Plan => Act::Plan(match &main.kind {
                Kind::Scalar(s) => self.sentence_text(s, main.span)?,
                _ => self.text(main, "a goal")?.value,
            }),
            Verb::Do => return None,
        })
    }

    /// `Ok(None)` is a key that isn't there; `None` one that is wrong.
    fn beside_target(&mut self, fields: Fields<'_>, key: &'static str) -> Option<Option<Target>> {
        match fields.get(key) {
            None => Some(None),
            Some(node) => self.at(key, |b| b.target(node)).map(Some),
        }
    }

    fn keys(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "a key")?;
        match keys::check(&text) {
            Ok(()) => Some(text.value),
            Err(unknown) => {
                let help = match keys::nearest_key(&unknown) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "for example: Enter, Escape, Tab, ArrowDown, Control+A".to_string(),
                };
                self.error(
                    node.span,
                    &format!("`{}` is no key", visible(&unknown)),
                    help,
                );
                None
            }
        }
    }

    fn scroll_to(&mut self, node: &Node) -> Option<ScrollTo> {
        if let Kind::Scalar(s) = &node.kind
            && let Some(to) = direction(&s.text)
        {
            return Some(to);
        }
        self.target(node).map(ScrollTo::Target)
    }

    /// A path inside the suite, so that a scenario can't hand over any other file.
    pub fn suite_path(&mut self, node: &Node) -> Option<PathBuf> {
        let text = self.text(node, "a path within the suite")?;
        let path = PathBuf::from(&text.value);
        if path
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
            && !text.contains('\\')
        {
            return Some(path);
        }
        self.error(
            node.span,
            "the path leads out of the suite",
            "write it from the suite's folder, with `/`, as in fixtures/a.pdf",
        );
        None
    }

    fn wait(&mut self, node: &Node) -> Option<WaitFor> {
        if !matches!(node.kind, Kind::Map(_)) {
            return self.target(node).map(WaitFor::Target);
        }
        let fields = self.map(node, &WAIT)?;
        let ways: Vec<&str> = ["gone", "url", "seconds"]
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let named = TARGET.names().any(|k| fields.get(k).is_some());
        match (ways.as_slice(), named) {
            ([], true) => self.target_fields(fields).map(WaitFor::Target),
            ([way], false) => {
                let node = fields.get(way)?;
                self.at(*way, |b| match *way {
                    "gone" => b.target(node).map(WaitFor::Gone),
                    "url" => b
                        .text(node, "an address, with * for what varies")
                        .map(|t| WaitFor::Url(t.value)),
                    _ => b.seconds(node),
                })
            }
            _ => {
                self.error(
                    node.span,
                    "a wait has exactly one condition: a target, `gone`, `url` or `seconds`",
                    WAIT.example,
                );
                None
            }
        }
    }

    fn seconds(&mut self, node: &Node) -> Option<WaitFor> {
        let number = match &node.kind {
            Kind::Scalar(s) => s
                .text
                .parse::<f64>()
                .ok()
                .filter(|n| (0.0..=600.0).contains(n)),
            _ => None,
        };
        let Some(number) = number else {
            self.wrong(node, "a number of seconds from 0 to 600", "{ seconds: 2 }");
            return None;
        };
        self.warn(
            node.span,
            "a fixed wait is slow where the page is fast and short where it is slow",
            "wait for what should appear, be gone, or for the address",
        );
        Some(WaitFor::Seconds(Duration::from_secs_f64(number)))
    }

    fn use_flow(&mut self, node: &Node) -> Option<Act> {
        if !matches!(node.kind, Kind::Map(_)) {
            let flow = self.text(node, "the name of a flow")?.value;
            return Some(Act::Use {
                flow,
                vars: Default::default(),
            });
        }
        let fields = self.map(node, &USE)?;
        let flow = self
            .at("flow", |b| {
                b.text(fields.get("flow")?, "the name of a flow")
            })?
            .value;
        let vars = match fields.get("vars") {
            Some(node) => self
                .at("vars", |b| b.vars(node))
                .into_iter()
                .map(|(k, v)| (k, v.value))
                .collect(),
            None => Default::default(),
        };
        Some(Act::Use { flow, vars })
    }
}

pub(in crate::scenario) fn direction(word: &str) -> Option<ScrollTo> {
    Some(match word {
        "down" => ScrollTo::Down,
        "up" => ScrollTo::Up,
        "left" => ScrollTo::Left,
        "right" => ScrollTo::Right,
        "top" => ScrollTo::Top,
        "bottom" => ScrollTo::Bottom,
        _ => return None,
    })
}
