//! Expectation lines.

use super::{Bind, Fields};
use crate::scenario::model::{DataExpect, ElementExpect, ExpectLine, Expectation, Target};
use crate::scenario::shapes::{DATA, ELEMENT, EXPECT, Want};
use crate::scenario::yaml::{Kind, Node};

const LINES: [&str; 8] = [
    "url",
    "title",
    "see",
    "not_see",
    "element",
    "no_element",
    "data",
    "download",
];
const STATES: [&str; 9] = [
    "contains", "nth", "value", "checked", "disabled", "expanded", "selected", "pressed", "count",
];

impl Bind<'_> {
    pub fn expectations(&mut self, node: &Node) -> Vec<Expectation> {
        match &node.kind {
            Kind::List(items) if items.is_empty() => {
                self.wrong(node, "at least one line", "expect: [ { see: Saved } ]");
                Vec::new()
            }
            _ => self.many(node, Self::expectation),
        }
    }

    fn expectation(&mut self, node: &Node) -> Option<Expectation> {
        let fields = self.map(node, &EXPECT)?;
        let lines: Vec<&str> = LINES
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        let key = match lines.as_slice() {
            [one] => *one,
            // An unknown key is the reason, and was named.
            [] if fields.has_unknown(&EXPECT) => return None,
            [] => {
                self.error(
                    node.span,
                    &format!(
                        "this line says nothing to check: one of {} is wanted",
                        LINES.join(", ")
                    ),
                    EXPECT.example,
                );
                return None;
            }
            several => {
                let listed: Vec<_> = several.iter().map(|k| format!("`{k}`")).collect();
                self.error(
                    node.span,
                    &format!("{} in one line", listed.join(" and ")),
                    "make it a list: one line each, with `- ` before it",
                );
                return None;
            }
        };
        let within = match fields.get("within") {
            Some(node) => self.at("within", |b| b.many(node, Self::target)),
            None => Vec::new(),
        };
        let beside: Vec<&str> = STATES
            .into_iter()
            .filter(|k| fields.get(k).is_some())
            .collect();
        if let [state, ..] = beside.as_slice()
            && !key.ends_with("element")
            && let Some(entry) = fields.entry(state)
        {
            self.error(
                entry.key.span,
                &format!("`{state}` goes with `element`, not with `{key}`"),
                ELEMENT.example,
            );
            return None;
        }
        let value = fields.get(key)?;
        let line = self.at(key, |b| b.line(key, value, fields))?;
        Some(Expectation {
            line,
            within,
            span: node.span,
        })
    }

    fn line(&mut self, key: &str, node: &Node, fields: Fields<'_>) -> Option<ExpectLine> {
        Some(match key {
            "url" => ExpectLine::Url(self.text(node, "an address, with * for what varies")?.value),
            "title" => ExpectLine::Title(self.text(node, "a title, with * for what varies")?.value),
            "see" => ExpectLine::See(self.text(node, "text")?.value),
            "not_see" => ExpectLine::NotSee(self.text(node, "text")?.value),
            "download" => ExpectLine::Download(
                self.text(node, "a file name, with * for what varies")?
                    .value,
            ),
            "element" => ExpectLine::Element(self.element(node, fields)?),
            "no_element" => ExpectLine::NoElement(self.element(node, fields)?),
            _ => ExpectLine::Data(self.data(node)?),
        })
    }

    /// States stand beside `element:` or inside its map.
    fn element(&mut self, node: &Node, beside: Fields<'_>) -> Option<ElementExpect> {
        let (target, inside) = match &node.kind {
            Kind::Map(_) => {
                let fields = self.map(node, &ELEMENT)?;
                (self.target_fields(fields)?, Some(fields))
            }
            _ => (self.target(node)?, None),
        };
        let mut element = ElementExpect::of(target);
        for fields in inside.into_iter().chain([beside]) {
            for state in STATES {
                if let Some(node) = fields.get(state) {
                    self.at(state, |b| b.state(&mut element, state, node));
                }
            }
        }
        Some(element)
    }

    fn state(&mut self, element: &mut ElementExpect, state: &str, node: &Node) {
        match state {
            "contains" => element.contains = self.boolean(node).unwrap_or_default(),
            "nth" => element.nth = self.number(node, &Want::Count(1, u64::from(u32::MAX))),
            "value" => element.value = self.value(node, "text").map(|v| v.value),
            "checked" => element.checked = self.boolean(node),
            "disabled" => element.disabled = self.boolean(node),
            "expanded" => element.expanded = self.boolean(node),
            "selected" => element.selected = self.boolean(node),
            "pressed" => element.pressed = self.boolean(node),
            _ => element.count = self.number(node, &Want::Count(0, u64::from(u32::MAX))),
        }
    }

    fn data(&mut self, node: &Node) -> Option<Vec<(String, DataExpect)>> {
        let entries = self.entries(
            node,
            "a map of names",
            "{ orders: { count: 45 }, \"orders[0].id\": \"1001\" }",
        )?;
        let mut lines = Vec::new();
        for entry in entries {
            let line = self.at(entry.key.value.as_str(), |b| match &entry.value.kind {
                Kind::Map(_) => {
                    let fields = b.map(&entry.value, &DATA)?;
                    let node = fields.get("count")?;
                    b.at("count", |b| b.number(node, &Want::Count(0, u64::MAX)))
                        .map(DataExpect::Count)
                }
                _ => b
                    .value(&entry.value, "text, or { count: 45 }")
                    .map(|v| DataExpect::Is(v.value)),
            });
            lines.extend(line.map(|l| (entry.key.value.clone(), l)));
        }
        Some(lines)
    }
}

impl ElementExpect {
    /// There is such a control; nothing is said about its state.
    pub fn of(target: Target) -> Self {
        Self {
            target,
            contains: false,
            nth: None,
            value: None,
            checked: None,
            disabled: None,
            expanded: None,
            selected: None,
            pressed: None,
            count: None,
        }
    }
}
