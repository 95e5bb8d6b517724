//! Fits the patterns of a lexicon on the tokens of a sentence.

use super::Grammar;
use super::tokens::{Token, slice};
use crate::scenario::keys;
use crate::scenario::lexicon::{Part, Pattern};

/// Words of the pattern, strict slots, shortness of the target.
type Rank = (usize, usize, std::cmp::Reverse<usize>);

/// A pattern and what its slots hold.
pub struct Found<'t> {
    pub form: &'static str,
    slots: Slots<'t>,
    /// Other ways to cut the same pattern's slots.
    pub others: Vec<Found<'t>>,
}

impl<'t> Found<'t> {
    pub fn slot(&self, name: &str) -> Option<&'t [Token]> {
        self.slots.iter().find(|(n, _)| *n == name).map(|(_, t)| *t)
    }
}

/// The pattern that says most: most words of its own, then most slots that take only certain
/// things, then the shortest target, then the order of the file.
pub fn best<'t>(grammar: &Grammar<'_>, tokens: &'t [Token]) -> Option<Found<'t>> {
    let mut best: Option<(Rank, Found<'t>)> = None;
    for pattern in &grammar.lexicon.patterns {
        let found = |slots| Found {
            form: pattern.form,
            slots,
            others: Vec::new(),
        };
        let mut readings: Vec<(Rank, Found<'t>)> = fits(grammar, pattern, tokens)
            .into_iter()
            .map(|slots| (rank(tokens, &slots), found(slots)))
            .collect();
        // Nothing is filled into a row: such a reading has cut a target from its place.
        let only_place = |found: &Found<'_>| super::build::fills_a_place(grammar, found);
        readings.sort_by_key(|(rank, found)| (only_place(found), std::cmp::Reverse(*rank)));
        let mut readings = readings.into_iter();
        let Some((rank, mut first)) = readings.next() else {
            continue;
        };
        first.others = readings.map(|(_, other)| other).collect();
        if best.as_ref().is_none_or(|(r, _)| rank > *r) {
            best = Some((rank, first));
        }
    }
    best.map(|(_, found)| found)
}

fn rank(tokens: &[Token], slots: &Slots<'_>) -> Rank {
    let taken: usize = slots.iter().map(|(_, t)| t.len()).sum();
    let strict = slots.iter().filter(|(n, _)| is_strict(n)).count();
    let target = slots.iter().filter(|(n, _)| *n == "target" || *n == "to");
    let target = target.map(|(_, t)| t.len()).sum();
    (tokens.len() - taken, strict, std::cmp::Reverse(target))
}

type Slots<'t> = Vec<(&'static str, &'t [Token])>;

fn fits<'t>(grammar: &Grammar<'_>, pattern: &Pattern, tokens: &'t [Token]) -> Vec<Slots<'t>> {
    let mut out = Vec::new();
    fit(grammar, &pattern.parts, tokens, &mut Vec::new(), &mut out);
    out
}

fn fit<'t>(
    grammar: &Grammar<'_>,
    parts: &[Part],
    tokens: &'t [Token],
    so_far: &mut Slots<'t>,
    out: &mut Vec<Slots<'t>>,
) {
    match parts.split_first() {
        None if tokens.is_empty() => out.push(so_far.clone()),
        None => {}
        Some((Part::Words(words), rest)) => {
            if let Some((first, behind)) = tokens.split_first()
                && first.quoted.is_none()
                && words.contains(&first.word)
            {
                fit(grammar, rest, behind, so_far, out);
            }
        }
        Some((Part::Slot(name), rest)) => {
            // Slots never touch, so the next part is a word, or this one takes all.
            let ends = if rest.is_empty() {
                tokens.len()..=tokens.len()
            } else {
                1..=tokens.len()
            };
            for end in ends.filter(|end| *end > 0) {
                let (taken, behind) = tokens.split_at(end);
                if accepts(grammar, name, taken) {
                    so_far.push((name, taken));
                    fit(grammar, rest, behind, so_far, out);
                    so_far.pop();
                }
            }
        }
    }
}

fn is_strict(slot: &str) -> bool {
    matches!(slot, "address" | "keys" | "direction" | "seconds")
}

/// Slots for addresses, keys and the like take only such things.
fn accepts(grammar: &Grammar<'_>, slot: &str, tokens: &[Token]) -> bool {
    let text = content(grammar.text, tokens);
    match slot {
        "address" => tokens.len() == 1 && looks_like_address(&text),
        "keys" => key(grammar, tokens).is_some(),
        "direction" => direction(grammar, tokens).is_some(),
        "seconds" => text
            .parse::<f64>()
            .is_ok_and(|n| (0.0..=600.0).contains(&n)),
        "flow" => tokens.len() == 1,
        _ => true,
    }
}

/// The key or chord some words mean: its own name, or the lexicon's word for it.
pub fn key(grammar: &Grammar<'_>, tokens: &[Token]) -> Option<String> {
    let mut listed = grammar.lexicon.keys.iter();
    let word = listed
        .find(|(words, _)| words.len() == tokens.len() && super::tokens::begins(tokens, words));
    if let Some((_, key)) = word {
        return Some(key.clone());
    }
    let text = content(grammar.text, tokens);
    (tokens.len() == 1 && keys::check(&text).is_ok()).then_some(text)
}

pub fn direction(grammar: &Grammar<'_>, tokens: &[Token]) -> Option<String> {
    grammar
        .lexicon
        .directions
        .iter()
        .find(|(words, _)| words.len() == tokens.len() && super::tokens::begins(tokens, words))
        .map(|(_, d)| d.clone())
}

/// What a slot holds: the inside of one pair of quotation marks, or the words as written.
pub fn content(text: &str, tokens: &[Token]) -> String {
    match tokens {
        [
            Token {
                quoted: Some(inner),
                ..
            },
        ] => inner.clone(),
        _ => slice(text, tokens).to_string(),
    }
}

/// Paths and web addresses; a lone variable may as well be a name.
pub fn looks_like_address(text: &str) -> bool {
    let lower = text.to_lowercase();
    let begins = ["/", "http://", "https://", "?", "./", "../"]
        .iter()
        .any(|p| lower.starts_with(p));
    (begins || text.starts_with("$(") && text.contains('/')) && !text.contains(char::is_whitespace)
}
