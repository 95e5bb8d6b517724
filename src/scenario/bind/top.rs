//! The keys at the top of a file: hosts, writes, budget, mask, …

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Bind, Fields};
use crate::scenario::emulation;
use crate::scenario::model::*;
use crate::scenario::reasons::REASONS;
use crate::scenario::shapes::{BUDGET, ENDS, MASK, STATUSES, TUTORIAL, VIEWPORT, Want};
use crate::scenario::yaml::{Kind, Node};
use crate::text::{Span, Spanned, nearest, visible};

const FULL: Want = Want::Count(1, u32::MAX as u64);

impl Bind<'_> {
    pub fn credential_names(&mut self, node: &Node) -> Vec<Spanned<String>> {
        self.list(node, "credentials: [code-host-user]", |b, item| {
            let name = b.text(item, "the name of a credential")?;
            let good = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
            if !good {
                b.error(item.span, &format!("`{}` is no name of a credential", visible(&name)), "names have small letters, digits and `-` only; values never stand in a scenario");
                return None;
            }
            Some(name)
        })
    }

    pub fn vars(&mut self, node: &Node) -> BTreeMap<String, Spanned<String>> {
        let mut vars = BTreeMap::new();
        let entries = self
            .entries(node, "a map of names and values", "vars: { repo: demo }")
            .unwrap_or_default();
        for entry in entries {
            let name = entry.key.value.as_str();
            if !crate::scenario::vars::is_name(name) {
                self.error(entry.key.span, &format!("`{}` can't be the name of a variable", visible(name)), "names have letters, digits, `-` and `_`, begin with a letter, and are not `run` or `port`");
                continue;
            }
            let value = self.at(name, |b| b.value(&entry.value, "a value"));
            vars.extend(value.map(|v| (name.to_string(), v)));
        }
        vars
    }

    pub fn second_look(&mut self, node: &Node) -> Option<SecondLook> {
        match &node.kind {
            Kind::Scalar(s) if s.text == "reload" => Some(SecondLook::Reload),
            Kind::Scalar(s) => match super::duration(&s.text) {
                Some(d) => Some(SecondLook::After(d)),
                None => {
                    self.wrong(node, "a duration or `reload`", "500ms");
                    None
                }
            },
            _ => {
                self.wrong(node, "a duration or `reload`", "500ms");
                None
            }
        }
    }

    pub fn ends(&mut self, node: &Node) -> Option<Ends> {
        let mut ends = Ends {
            span: Some(node.span),
            ..Ends::default()
        };
        match &node.kind {
            Kind::Map(_) => {
                let fields = self.map(node, &ENDS)?;
                ends.status = self
                    .at("status", |b| b.word(fields.get("status")?, STATUSES))
                    .map(|i| EndStatus::ALL[i])?;
                if let Some(node) = fields.get("reason") {
                    ends.reason = Some(self.at("reason", |b| b.reason(node))?);
                }
                if let Some(node) = fields.get("step") {
                    ends.step = Some(self.at("step", |b| b.number(node, &FULL))?);
                }
            }
            _ => ends.status = self.word(node, STATUSES).map(|i| EndStatus::ALL[i])?,
        }
        if ends.status == EndStatus::Failed && ends.reason.is_none() {
            self.error(
                node.span,
                "`failed` needs a reason, or any failure would do",
                format!("for example: ends: {}", ENDS.example),
            );
            return None;
        }
        Some(ends)
    }

    /// A hint only: a word this list lacks must not make a sound scenario unusable.
    fn reason(&mut self, node: &Node) -> Option<String> {
        let reason = self.text(node, "a reason")?.value;
        if !REASONS.contains(&reason.as_str()) {
            let help = match nearest(&reason, REASONS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "for example: not_found, login_rejected or undeclared_write".to_owned(),
            };
            let message = format!("no failure has the reason `{}`", visible(&reason));
            self.warn(node.span, &message, help);
        }
        Some(reason)
    }

    pub fn budget(&mut self, node: &Node) -> Option<Budget> {
        let fields = self.map(node, &BUDGET)?;
        Some(Budget {
            actions: self.counted(fields, "actions", 1),
            time: fields
                .get("time")
                .and_then(|n| self.at("time", |b| b.duration(n))),
            model_calls: self.counted(fields, "model_calls", 0),
            tokens: self.counted(fields, "tokens", 0),
        })
    }

    fn counted<T: TryFrom<u64>>(
        &mut self,
        fields: Fields<'_>,
        key: &'static str,
        low: u64,
    ) -> Option<T> {
        let node = fields.get(key)?;
        self.at(key, |b| {
            b.number(node, &Want::Count(low, u64::from(u32::MAX)))
        })
    }

    pub fn masks(&mut self, node: &Node) -> Vec<Mask> {
        self.list(node, MASK.example, |b, item| {
            let fields = b.map(item, &MASK)?;
            let name = b
                .at("as", |b| {
                    b.text(fields.get("as")?, "the word that stands in its place")
                })?
                .value;
            let what = match (fields.get("text"), fields.get("target")) {
                (Some(node), None) => b.at("text", |b| b.pattern(node)).map(MaskWhat::Text)?,
                (None, Some(node)) => b.at("target", |b| b.target(node)).map(MaskWhat::Target)?,
                _ => {
                    b.error(
                        item.span,
                        "a mask covers either a `text` or a `target`",
                        MASK.example,
                    );
                    return None;
                }
            };
            Some(Mask {
                what,
                name,
                span: item.span,
            })
        })
    }

    pub fn locale(&mut self, node: &Node) -> Option<String> {
        let tag = self.text(node, "a language tag")?;
        if !emulation::is_locale(&tag) {
            self.wrong(node, "a language tag", "en-GB");
            return None;
        }
        Some(tag.value)
    }

    pub fn time_zone(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "the name of a time zone")?;
        if !emulation::is_time_zone(&name) {
            let near = emulation::nearest_time_zone(&name);
            let help = near.map_or_else(
                || "for example: Europe/Rome, UTC or +05:30".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("there is no time zone `{}`", visible(&name));
            self.error(node.span, &message, help);
            return None;
        }
        Some(name.value)
    }

    pub fn viewport(&mut self, node: &Node) -> Option<Viewport> {
        if let Kind::Map(_) = node.kind {
            let fields = self.map(node, &VIEWPORT)?;
            let side = Want::Count(u64::from(*SIDE.start()), u64::from(*SIDE.end()));
            let width = self.at("width", |b| b.number(fields.get("width")?, &side));
            let height = self.at("height", |b| b.number(fields.get("height")?, &side));
            return Some(Viewport {
                width: width?,
                height: height?,
            });
        }
        let found = match &node.kind {
            Kind::Scalar(s) => parse_viewport(&s.text),
            _ => None,
        };
        if found.is_none() {
            self.wrong(node, "a size from 200x200 to 8000x8000", "1280x800");
        }
        found
    }

    /// `None` where no tutorial is wished, or where the wish is wrong and was reported.
    pub fn tutorial(&mut self, node: &Node) -> Option<TutorialWish> {
        if !matches!(node.kind, Kind::Map(_)) {
            if !matches!(&node.kind, Kind::Scalar(s) if s.plain && (s.text == "true" || s.text == "false"))
            {
                self.wrong(node, "true, false or a map", TUTORIAL.example);
                return None;
            }
            return self.boolean(node)?.then(TutorialWish::default);
        }
        let fields = self.map(node, &TUTORIAL)?;
        Some(TutorialWish {
            title: fields
                .get("title")
                .and_then(|n| self.at("title", |b| b.text(n, "a title")))
                .map(|t| t.value),
            model_prose: fields
                .get("prose")
                .and_then(|n| self.at("prose", |b| b.word(n, &["rules", "model"])))
                == Some(1),
            pictures: fields
                .get("pictures")
                .and_then(|n| self.at("pictures", |b| b.number(n, &Want::Count(3, 7)))),
        })
    }

    pub fn network(&mut self, node: &Node) -> Option<NetworkMode> {
        self.word(node, &["inspect", "tunnel"])
            .map(|i| [NetworkMode::Inspect, NetworkMode::Tunnel][i])
    }
}

/// Pixels a window may be wide or high.
const SIDE: RangeInclusive<u32> = 200..=8000;

/// `1280x800`, from 200x200 to 8000x8000.
pub fn parse_viewport(text: &str) -> Option<Viewport> {
    let (width, height) = text.split_once(['x', '×'])?;
    let side = |text: &str| text.trim().parse().ok().filter(|n| SIDE.contains(n));
    Some(Viewport {
        width: side(width)?,
        height: side(height)?,
    })
}

/// Where a problem about a whole file stands.
pub fn top_of(node: &Node) -> Span {
    Span {
        start: node.span.start,
        end: node.span.start,
    }
}
