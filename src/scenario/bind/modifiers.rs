//! What may stand beside a verb.

use std::time::Duration;

use super::{Bind, Fields};
use crate::scenario::model::*;
use crate::scenario::shapes::{DIALOG, Want};
use crate::scenario::verbs::Row;
use crate::scenario::yaml::{Kind, Node};
use crate::text::Spanned;

/// Words that say whether, where it is asked what.
const NO: [&str; 8] = ["yes", "no", "on", "off", "true", "false", "y", "n"];

impl Bind<'_> {
    pub(super) fn modifiers(&mut self, fields: Fields<'_>, row: &'static Row) -> Step {
        let mut step = Step::bare(Act::Wait(WaitFor::Seconds(Duration::ZERO)), fields.span);
        for entry in fields
            .entries
            .iter()
            .filter(|e| row.takes(&e.key) && e.key.value != row.key)
        {
            let node = &entry.value;
            self.at(entry.key.value.as_str(), |b| {
                match entry.key.value.as_str() {
                    "write" => step.write = b.write(node),
                    "optional" => step.optional = b.boolean(node).unwrap_or_default(),
                    "timeout" => step.timeout = b.duration(node),
                    "note" => step.note = b.text(node, "text").map(|t| t.value),
                    "picture" => {
                        step.picture = b
                            .word(node, &["keep", "drop"])
                            .map(|i| [Picture::Keep, Picture::Drop][i])
                    }
                    "within" => step.scope.within = b.many(node, Self::target),
                    "nth" => step.scope.nth = b.number(node, &Want::Count(1, u64::from(u32::MAX))),
                    "dialog" => step.dialog = b.dialog(node),
                    "opens" => step.opens_tab = b.word(node, &["tab"]).is_some(),
                    "download" => {
                        step.download = b
                            .text(node, "a file name, with * for what varies")
                            .map(|t| t.value)
                    }
                    "expect" => step.expect = b.expectations(node),
                    _ => {}
                }
            });
        }
        step
    }

    fn write(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node, "what the step changes, in words,")?;
        if NO.contains(&text.to_lowercase().as_str()) {
            self.error(node.span, &format!("`write: {}` doesn't say what changes", text.value), "say it for the one who confirms: `write: creates README.md in demo`; leave it away if nothing changes");
            return None;
        }
        Some(text)
    }

    fn dialog(&mut self, node: &Node) -> Option<DialogAnswer> {
        if !matches!(node.kind, Kind::Map(_)) {
            return self
                .word(node, &["accept", "dismiss"])
                .map(|i| [DialogAnswer::Accept(None), DialogAnswer::Dismiss][i].clone());
        }
        let text = self.map(node, &DIALOG)?.get("accept")?;
        let text = self.at("accept", |b| b.value(text, "text"))?;
        Some(DialogAnswer::Accept(Some(text.value)))
    }
}
