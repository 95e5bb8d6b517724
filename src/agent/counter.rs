//! When a planner's loop must end. Pure: told what happened, it says what follows.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::page::observation::{Node, Observation};
use crate::scenario::model::Budget;

/// Failures in a row from which the prompt warns, and at which the loop ends.
pub const WARN_AT: u32 = 2;
pub const STOP_AT: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub actions: u32,
    pub time: Duration,
    pub model_calls: u32,
    pub tokens: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            actions: 30,
            time: Duration::from_secs(120),
            model_calls: 20,
            tokens: 50_000,
        }
    }
}

impl From<&Budget> for Limits {
    fn from(budget: &Budget) -> Self {
        let usual = Self::default();
        Self {
            actions: budget.actions.unwrap_or(usual.actions),
            time: budget.time.unwrap_or(usual.time),
            model_calls: budget.model_calls.unwrap_or(usual.model_calls),
            tokens: budget.tokens.unwrap_or(usual.tokens),
        }
    }
}

/// Why the loop ended although nobody said "done".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Four failures in a row.
    Stuck,
    Actions,
    Time,
    ModelCalls,
    Tokens,
}

impl Exit {
    /// Stable word for events, reports and `ends`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Actions => "out_of_actions",
            Self::Time => "out_of_time",
            Self::ModelCalls => "out_of_model_calls",
            Self::Tokens => "out_of_tokens",
        }
    }
}

/// What follows from a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    GoOn,
    /// The next prompt warns.
    Warn,
    Stop(Exit),
}

#[derive(Debug, Clone)]
pub struct Counter {
    limits: Limits,
    failures: u32,
    actions: u32,
    model_calls: u32,
    tokens: u64,
    tried: HashSet<(String, u64)>,
    refuted: bool,
}

impl Counter {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            failures: 0,
            actions: 0,
            model_calls: 0,
            tokens: 0,
            tried: HashSet::new(),
            refuted: false,
        }
    }

    /// Asked before each turn. `elapsed` since the loop began.
    pub fn before(&self, elapsed: Duration) -> Option<Exit> {
        if self.failures >= STOP_AT {
            return Some(Exit::Stuck);
        }
        if self.actions >= self.limits.actions {
            return Some(Exit::Actions);
        }
        if elapsed >= self.limits.time {
            return Some(Exit::Time);
        }
        if self.model_calls >= self.limits.model_calls {
            return Some(Exit::ModelCalls);
        }
        (self.tokens >= self.limits.tokens).then_some(Exit::Tokens)
    }

    /// What the model cost.
    pub fn spent(&mut self, calls: u32, tokens: u64) {
        self.model_calls = self.model_calls.saturating_add(calls);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Whether this very action was tried on this very page before: then it is a failure and
    /// need not be performed. `action` as [`Decision::says`](super::Decision), `page` from
    /// [`fingerprint`].
    pub fn repeats(&mut self, action: &str, page: u64) -> bool {
        !self.tried.insert((action.to_owned(), page))
    }

    pub fn succeeded(&mut self) -> Verdict {
        self.actions = self.actions.saturating_add(1);
        self.failures = 0;
        Verdict::GoOn
    }

    /// A failed action, one without effect, a repeated one, or an answer that could not be used.
    pub fn failed(&mut self) -> Verdict {
        self.actions = self.actions.saturating_add(1);
        self.failures = self.failures.saturating_add(1);
        match self.failures {
            STOP_AT.. => Verdict::Stop(Exit::Stuck),
            WARN_AT.. => Verdict::Warn,
            _ => Verdict::GoOn,
        }
    }

    /// "Done" that the page refuted: told to the model once, then a failure. `None`: it was the
    /// telling, which is no failed turn and must not be shown as one (R56).
    pub fn refuted(&mut self) -> Option<Verdict> {
        if self.refuted {
            return Some(self.failed());
        }
        self.refuted = true;
        None
    }

    /// In a row; for the prompt.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Number of the coming action, from 1.
    pub fn next_action(&self) -> u32 {
        self.actions + 1
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The state of a page as far as a repeated action goes: clocks, counts of seconds, percentages
/// and whatever is busy don't count, values and states of controls do.
pub fn fingerprint(page: &Observation) -> u64 {
    let mut hash = DefaultHasher::new();
    page.url.hash(&mut hash);
    steady(&page.title).hash(&mut hash);
    for document in &page.documents {
        document.url.hash(&mut hash);
        for (i, node) in document.nodes.iter().enumerate() {
            if counts(node) {
                i.hash(&mut hash);
                (&node.role, steady(&node.name), node.reachable).hash(&mut hash);
                state(node).hash(&mut hash);
            }
        }
        let ticking = document
            .nodes
            .iter()
            .filter(|n| !counts(n))
            .map(|n| n.text.clone());
        steady(&without(&document.text, ticking)).hash(&mut hash);
    }
    hash.finish()
}

fn counts(node: &Node) -> bool {
    !node.states.busy
        && !matches!(
            node.role.as_str(),
            "progressbar" | "timer" | "marquee" | "meter"
        )
}

fn state(node: &Node) -> String {
    let s = &node.states;
    format!(
        "{:?}{:?}{:?}{:?}{}{:?}{:?}",
        s.checked, s.pressed, s.expanded, s.selected, s.disabled, s.value, s.options
    )
}

/// `text` without the given parts.
fn without(text: &str, parts: impl Iterator<Item = std::ops::Range<usize>>) -> String {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|p| p.start);
    let (mut out, mut at) = (String::new(), 0);
    for part in parts {
        if part.start >= at {
            out.push_str(text.get(at..part.start).unwrap_or_default());
        }
        at = at.max(part.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Words without times of day, percentages and "… seconds ago". Other numbers stay: a counter
/// that went from 1 to 2 is another page.
fn steady(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |w: &str| w.bytes().next().is_some_and(|b| b.is_ascii_digit());
    let unit = |w: &str| {
        let w = w
            .trim_end_matches(|c: char| !c.is_alphanumeric())
            .to_ascii_lowercase();
        matches!(
            w.as_str(),
            "s" | "sec" | "secs" | "second" | "seconds" | "ms" | "min" | "minute" | "minutes"
        )
    };
    let clock = |w: &str| number(w) && (w.contains(':') || w.ends_with('%'));
    let mut kept = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let counted = number(word) && words.get(i + 1).is_some_and(|next| unit(next));
        if !clock(word) && !counted {
            kept.push(*word);
        }
    }
    kept.join(" ")
}
