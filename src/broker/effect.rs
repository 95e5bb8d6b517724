//! Did it do anything? Comparing reads, blind to what changes by itself (R43).

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::page::{Observation, Tri, acts};
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
    slots: Vec<Slot>,
    documents: u64,
    happenings: usize,
    /// Requests that had left and were no mere reads.
    departed: u64,
}

/// What a page says, as lines whose order doesn't matter: each named element with its states, each
/// line of text.
fn lines(observation: &Observation) -> BTreeMap<String, u32> {
    let mut lines = BTreeMap::new();
    let mut add = |line: String| *lines.entry(line).or_default() += 1;
    for (_, node) in observation.nodes() {
        // Where the focus is does not count: every click moves it.
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

/// How long a change in place is watched to see whether it goes on by itself: a second hand moves
/// once a second.
const WATCH: Duration = Duration::from_millis(1200);
const WATCH_EVERY: Duration = Duration::from_millis(150);
/// More places than these don't tick; something happened.
const TICKING: usize = 8;

/// A place on the page whose words may change while the page keeps its shape.
#[derive(Debug, Clone, PartialEq)]
struct Slot {
    /// `button`, or `text` for a line of text.
    kind: String,
    words: String,
}

fn slots(observation: &Observation) -> Vec<Slot> {
    let nodes = observation.nodes().map(|(_, node)| Slot {
        kind: node.role.clone(),
        words: format!(
            "{}{}",
            cut(&fold(&node.name), 200),
            node.states
                .value
                .as_deref()
                .map(|v| format!(" = {v}"))
                .unwrap_or_default()
        ),
    });
    let texts = observation.documents.iter().flat_map(|d| {
        d.text.lines().map(|line| Slot {
            kind: "text".into(),
            words: cut(&fold(line), 200),
        })
    });
    nodes.chain(texts).collect()
}

/// The places whose words differ; `None`: the page has another shape.
fn in_place(before: &[Slot], after: &[Slot]) -> Option<Vec<usize>> {
    let same_shape =
        before.len() == after.len() && before.iter().zip(after).all(|(b, a)| b.kind == a.kind);
    same_shape.then(|| {
        let differs = |i: &usize| before[*i].words != after[*i].words;
        (0..before.len()).filter(differs).collect()
    })
}

/// A line as clocks, counters and random numbers leave it alone: a word with a digit in it is any
/// such word.
fn steady(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        if word.bytes().any(|b| b.is_ascii_digit()) {
            "#"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
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
        let slots = self.last.as_deref().map(slots).unwrap_or_default();
        let state = self.watch.state();
        Mark {
            url,
            lines,
            slots,
            documents: state.documents,
            happenings: state.happenings.len(),
            departed: self.departed,
        }
    }

    /// The step's click never came: its control was made anew between press and release, and the press
    /// itself came to nothing. Only then may it be done once more.
    pub async fn click_was_lost(&mut self, mark: &Mark) -> Result<bool, BrokerError> {
        let Some(context) = self.clicked.take() else {
            return Ok(false);
        };
        let realm = self.realm();
        let lost = self.unless_leaving(acts::click_lost(&realm, &context));
        if !matches!(lost.await, Some(Ok(true))) {
            return Ok(false);
        }
        self.drain_network();
        // In a tunnel nobody sees what the press may have sent.
        let sent = !self.proxy.sees_requests() || self.departed != mark.departed;
        Ok(!sent && self.effect_since(mark).await?.is_none())
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
    /// Words that changed in place are watched a while: if they go on changing, it was no effect.
    pub async fn effect_after(&mut self, mark: &Mark) -> Result<Option<String>, BrokerError> {
        let after = self.look().await?;
        let Some(effect) = self.effect_in(mark, &after) else {
            return Ok(None);
        };
        let now = slots(&after);
        let doubtful = after.url == mark.url
            && self.watch.state().documents == mark.documents
            && self.watch.state().happenings.len() == mark.happenings;
        let places = match in_place(&mark.slots, &now) {
            Some(places) if doubtful && !places.is_empty() && places.len() <= TICKING => places,
            _ => return Ok(Some(effect)),
        };
        let by_itself = self.watch_places(now, &places).await?;
        for place in &by_itself {
            for slots in [&mark.slots, &slots(&after)] {
                if let Some(slot) = slots.get(*place) {
                    let line = if slot.kind == "text" {
                        format!("text \"{}\"", slot.words)
                    } else {
                        describe(&slot.kind, &slot.words)
                    };
                    self.volatile.insert(steady(&line));
                }
            }
        }
        Ok((by_itself.len() < places.len()).then_some(effect))
    }

    /// Which of the places go on changing although nobody touches the page. Numbers that move once
    /// more tick; other words must move twice more, since "Saving" turns into "Saved" once.
    async fn watch_places(
        &mut self,
        first: Vec<Slot>,
        places: &[usize],
    ) -> Result<Vec<usize>, BrokerError> {
        let until = Instant::now() + WATCH;
        let mut moved: BTreeMap<usize, u32> = BTreeMap::new();
        let mut last = first;
        let ticks = |moved: &BTreeMap<usize, u32>| -> Vec<usize> {
            let mut ticking: Vec<usize> = moved
                .iter()
                .filter(|(_, n)| **n >= 2)
                .map(|(i, _)| *i)
                .collect();
            ticking.retain(|i| places.contains(i));
            ticking
        };
        while Instant::now() < until && ticks(&moved).len() < places.len() {
            sleep(WATCH_EVERY).await;
            let now = slots(&*self.look().await?);
            let Some(again) = in_place(&last, &now) else {
                return Ok(Vec::new());
            };
            for place in again.into_iter().filter(|i| places.contains(i)) {
                let number = steady(&last[place].words) == steady(&now[place].words);
                *moved.entry(place).or_default() += if number { 2 } else { 1 };
            }
            last = now;
        }
        Ok(ticks(&moved))
    }

    /// What has changed since the mark, apart from what is known to change by itself.
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
        let mine = changes
            .into_iter()
            .find(|(_, line)| !self.volatile.contains(&steady(line)));
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
    fn words_that_change_in_place_are_told_from_another_shape() {
        let (a, b) = (
            slots(&page("idle\n1", "Save")),
            slots(&page("idle\n2", "Save")),
        );
        assert_eq!(in_place(&a, &b), Some(vec![2]));
        let more = slots(&page("idle\n2\nsaved", "Save"));
        assert_eq!(in_place(&b, &more), None);
    }

    #[test]
    fn random_numbers_are_steady() {
        assert_eq!(steady("token k3j2-9 at 10:01"), steady("token x7-1 at 9:5"));
        assert_ne!(steady("token k3"), steady("token gone"));
    }

    #[test]
    fn r43_nothing_changed_is_nothing() {
        assert!(changed(&lines(&page("x", "y")), &lines(&page("x", "y"))).is_empty());
    }
}
