//! Did it do anything? Comparing reads, blind to what changes by itself (R43).

use std::collections::{BTreeMap, HashSet};

use crate::page::{Observation, Tri};
use crate::resolve::describe;
use crate::text::cut;
use crate::text::fold::fold;

use super::session::Broker;
use super::types::BrokerError;

/// The page before an action.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    url: String,
    lines: BTreeMap<String, u32>,
    documents: u64,
    happenings: usize,
}

/// What a page says, as lines whose order doesn't matter: each named element with its states, each
/// line of text.
fn lines(observation: &Observation) -> BTreeMap<String, u32> {
    let mut lines = BTreeMap::new();
    let mut add = |line: String| *lines.entry(line).or_default() += 1;
    for (id, node) in observation.nodes() {
        let s = &node.states;
        let mut line = describe(&node.role, &cut(&node.name, 200));
        let mut state = |word: &str| {
            line.push(' ');
            line.push_str(word);
        };
        for (tri, word) in [(s.checked, "checked"), (s.pressed, "pressed")] {
            match tri {
                Some(Tri::True) => state(word),
                Some(Tri::Mixed) => state("mixed"),
                _ => {}
            }
        }
        for (on, word) in [
            (s.expanded == Some(true), "expanded"),
            (s.selected == Some(true), "selected"),
            (s.disabled, "disabled"),
            (s.invalid, "invalid"),
            (!node.reachable, "unreachable"),
        ] {
            if on {
                state(word);
            }
        }
        if let Some(value) = &s.value {
            state(&format!("= {}", cut(value, 200)));
        }
        if observation
            .documents
            .get(id.document as usize)
            .and_then(|d| d.focus)
            == Some(id.node)
        {
            state("focused");
        }
        add(line);
    }
    for document in &observation.documents {
        for line in document.text.lines() {
            let line = fold(line);
            if !line.is_empty() {
                add(format!("text \"{}\"", cut(&line, 200)));
            }
        }
    }
    lines
}

/// A line as clocks and counters leave it alone.
fn steady(line: &str) -> String {
    line.chars()
        .map(|c| if c.is_ascii_digit() { '#' } else { c })
        .collect()
}

fn changed(before: &BTreeMap<String, u32>, after: &BTreeMap<String, u32>) -> Vec<(bool, String)> {
    let came = after
        .iter()
        .filter(|(line, n)| before.get(*line).is_none_or(|b| b < n))
        .map(|(line, _)| (true, line.clone()));
    let went = before
        .iter()
        .filter(|(line, n)| after.get(*line).is_none_or(|a| a < n))
        .map(|(line, _)| (false, line.clone()));
    came.chain(went).collect()
}

impl Broker {
    /// What the page is before an action; what differs from the read before it changed by itself.
    pub fn effect_mark(&mut self) -> Mark {
        let (url, lines) = match &self.last {
            Some(observation) => (observation.url.clone(), lines(observation)),
            None => Default::default(),
        };
        let state = self.watch.state();
        Mark {
            url,
            lines,
            documents: state.documents,
            happenings: state.happenings.len(),
        }
    }

    /// Learns what changes without an action: a second read of an untouched page.
    pub async fn learn_volatile(&mut self) -> Result<(), BrokerError> {
        let Some(before) = self.last.clone() else {
            return Ok(());
        };
        let after = self.look().await?;
        let by_itself: HashSet<String> = changed(&lines(&before), &lines(&after))
            .into_iter()
            .map(|(_, line)| steady(&line))
            .collect();
        self.volatile.extend(by_itself);
        Ok(())
    }

    /// What has changed since the mark, apart from what changes by itself; one line for people.
    pub async fn effect_since(&mut self, mark: &Mark) -> Result<Option<String>, BrokerError> {
        let after = self.look().await?;
        Ok(self.effect_in(mark, &after))
    }

    /// As [`Broker::effect_since`], on a read that is there already.
    pub fn effect_in(&self, mark: &Mark, after: &Observation) -> Option<String> {
        if after.url != mark.url {
            return Some(format!(
                "address changed to {}",
                crate::page::shown_address(&after.url)
            ));
        }
        {
            let state = self.watch.state();
            if state.documents != mark.documents {
                return Some("a new document came".into());
            }
            if state.happenings.len() > mark.happenings {
                return Some("a dialog, tab or download came".into());
            }
        }
        let changes = changed(&mark.lines, &lines(after));
        let mine = changes.into_iter().find(|(_, line)| {
            !self.volatile.contains(&steady(line)) && !line.ends_with(" focused")
        });
        mine.map(|(came, line)| format!("{line} {}", if came { "appeared" } else { "went away" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Document, Node};

    fn page(text: &str, name: &str) -> Observation {
        let node = Node {
            role: "button".into(),
            name: name.into(),
            reachable: true,
            ..Node::default()
        };
        Observation {
            documents: vec![Document {
                text: text.into(),
                nodes: vec![node],
                ..Document::default()
            }],
            ..Observation::default()
        }
    }

    #[test]
    fn a_clock_is_told_apart_from_an_effect() {
        let (a, b, c) = (
            page("10:01:01\nidle", "Save"),
            page("10:01:02\nidle", "Save"),
            page("10:01:03\nsaved", "Save"),
        );
        let volatile: HashSet<String> = changed(&lines(&a), &lines(&b))
            .into_iter()
            .map(|(_, l)| steady(&l))
            .collect();
        let mine: Vec<String> = changed(&lines(&b), &lines(&c))
            .into_iter()
            .map(|(_, l)| l)
            .filter(|l| !volatile.contains(&steady(l)))
            .collect();
        assert_eq!(mine, ["text \"saved\"", "text \"idle\""]);
    }

    #[test]
    fn nothing_changed_is_nothing() {
        assert!(changed(&lines(&page("x", "y")), &lines(&page("x", "y"))).is_empty());
    }
}
