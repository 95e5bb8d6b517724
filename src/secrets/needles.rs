//! What is searched for, and the automata that search for all of it at once.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::fold;
use super::forms::LONG;
use super::scrub::Kind;

#[derive(Clone, Copy)]
pub struct Needle {
    pub entry: usize,
    pub form: &'static str,
    pub word: bool,
}

#[derive(Default)]
pub struct Needles {
    pub automaton: Option<AhoCorasick>,
    needles: Vec<Needle>,
}

/// Above this, a table of states would cost more memory than it saves time.
const TABLE_LIMIT: usize = 48 * 1024;

pub fn automaton(patterns: &[&[u8]]) -> Option<AhoCorasick> {
    if patterns.is_empty() {
        return None;
    }
    let size: usize = patterns.iter().map(|p| p.len()).sum();
    let build = |kind| {
        AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(kind))
            .build(patterns)
    };
    let kind = if size < TABLE_LIMIT {
        AhoCorasickKind::DFA
    } else {
        AhoCorasickKind::ContiguousNFA
    };
    // Building fails only past 2^31 states; the plainest kind takes what the others refuse.
    // Going on without a search would let values through.
    let built = build(kind).or_else(|_| build(AhoCorasickKind::NoncontiguousNFA));
    Some(built.expect("registered values fit an automaton"))
}

impl Needles {
    pub fn new(list: Vec<(&[u8], Needle)>) -> Self {
        let patterns: Vec<&[u8]> = list.iter().map(|(bytes, _)| *bytes).collect();
        Self {
            automaton: automaton(&patterns),
            needles: list.into_iter().map(|(_, needle)| needle).collect(),
        }
    }

    /// Whether any needle is there at all; the haystack is made only if there are needles.
    pub fn is_in(&self, haystack: impl FnOnce() -> Vec<u8>) -> bool {
        let automaton = self.automaton.as_ref();
        automaton.is_some_and(|automaton| automaton.is_match(&haystack()))
    }

    pub fn search(&self, haystack: &[u8], mut hit: impl FnMut(Range<usize>, Needle)) {
        if let Some(automaton) = &self.automaton {
            for m in automaton.find_overlapping_iter(haystack) {
                hit(m.range(), self.needles[m.pattern().as_usize()]);
            }
        }
    }
}

/// Folded needles of a value and their names, if enough of it is left to be told from ordinary
/// text. Read backwards it is looked for here too, so that escapes are undone first.
pub fn loose_needles(value: &str, kind: Kind) -> Vec<(&'static str, Vec<u8>)> {
    if kind == Kind::Otp {
        return Vec::new();
    }
    let mut needles = vec![("folded", fold::fold_plain(value))];
    let unescaped = fold::folded(value);
    if unescaped != needles[0].1 {
        needles.push(("folded", unescaped));
    }
    if kind != Kind::Username {
        let backwards: String = value.chars().rev().collect();
        needles.push(("reversed", fold::fold_plain(&backwards)));
    }
    needles.retain(|(_, needle)| needle.len() >= LONG);
    needles
}

/// From this many letters and digits on a value is looked for among other characters.
const ENOUGH_BONES: usize = 10;

/// What the scan looks for between other characters, if the value has enough of it.
pub fn scattered_needle(value: &str) -> Option<Vec<u8>> {
    let enough = value.chars().filter(|c| c.is_alphanumeric()).count() >= ENOUGH_BONES;
    enough.then(|| {
        let mut bones = Vec::new();
        skeleton(value, &mut bones);
        bones
    })
}

pub fn skeleton(text: &str, bones: &mut Vec<u8>) {
    for c in text.chars().filter(|c| c.is_alphanumeric()) {
        let mut buffer = [0; 4];
        for c in c.to_lowercase() {
            bones.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
}
