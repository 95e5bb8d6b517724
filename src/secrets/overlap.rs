//! What to do with matches that touch, overlap, or stand in the middle of a word.

use std::collections::HashSet;
use std::ops::Range;

use super::seams::Seamless;

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub range: Range<usize>,
    pub entry: usize,
    pub form: &'static str,
}

/// Accepts whole-word matches. A neighbouring match is a border as good as a space, because a
/// placeholder will stand there: so accepting one may make room for the next.
pub fn settle(
    text: &Seamless,
    sure: &mut Vec<Found>,
    mut doubtful: Vec<Found>,
    own: &[Range<usize>],
) {
    while !doubtful.is_empty() {
        let taken = Taken::new(sure, own);
        let (good, rest): (Vec<_>, Vec<_>) = doubtful.into_iter().partition(|found| {
            taken.ends_or_covers(text, found.range.start)
                && taken.starts_or_covers(text, found.range.end)
        });
        doubtful = rest;
        if good.is_empty() {
            return;
        }
        sure.extend(good);
    }
}

/// Where matches are already, as disjoint ranges in order, and their own starts and ends.
struct Taken {
    joined: Vec<Range<usize>>,
    starts: HashSet<usize>,
    ends: HashSet<usize>,
}

impl Taken {
    fn new(sure: &[Found], own: &[Range<usize>]) -> Self {
        let mut all: Vec<Range<usize>> = sure.iter().map(|f| f.range.clone()).collect();
        all.extend(own.iter().cloned());
        let starts = all.iter().map(|r| r.start).collect();
        let ends = all.iter().map(|r| r.end).collect();
        all.sort_by_key(|r| r.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for next in all {
            match joined.last_mut() {
                Some(last) if next.start < last.end => last.end = last.end.max(next.end),
                _ => joined.push(next),
            }
        }
        Self {
            joined,
            starts,
            ends,
        }
    }

    fn covers(&self, at: usize) -> bool {
        let after = self.joined.partition_point(|r| r.start < at);
        after > 0 && at < self.joined[after - 1].end
    }

    fn ends_or_covers(&self, text: &Seamless, at: usize) -> bool {
        !text.within_word(at) || self.ends.contains(&at) || self.covers(at)
    }

    fn starts_or_covers(&self, text: &Seamless, at: usize) -> bool {
        !text.within_word(at) || self.starts.contains(&at) || self.covers(at)
    }
}

pub fn word_in_bytes(bytes: &[u8], range: &Range<usize>) -> bool {
    let word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let joined = |at: usize| at > 0 && word(at - 1) && word(at);
    !joined(range.start) && !joined(range.end)
}

/// Takes the placeholders that stand there already out of the matches.
pub fn cut(found: Vec<Found>, own: &[Range<usize>]) -> Vec<Found> {
    if own.is_empty() {
        return found;
    }
    let mut out = Vec::new();
    for found in found {
        let mut start = found.range.start;
        let end = found.range.end;
        let first = own.partition_point(|r| r.end <= start);
        for place in own[first..].iter().take_while(|r| r.start < end) {
            if start < place.start {
                out.push(Found {
                    range: start..place.start,
                    ..found.clone()
                });
            }
            start = place.end;
        }
        if start < end {
            out.push(Found {
                range: start..end,
                ..found
            });
        }
    }
    out
}

/// Joins overlapping matches; the longest one gives its name.
pub fn merge(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|f| (f.range.start, std::cmp::Reverse(f.range.end), f.entry));
    let mut out: Vec<(Found, usize)> = Vec::new();
    for next in found {
        let length = next.range.len();
        match out.last_mut() {
            Some((last, longest)) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
                if length > *longest {
                    *longest = length;
                    (last.entry, last.form) = (next.entry, next.form);
                }
            }
            _ => out.push((next, length)),
        }
    }
    out.into_iter().map(|(found, _)| found).collect()
}
