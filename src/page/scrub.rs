//! Where read strings lose their secrets, and how places in the text follow.

use std::ops::Range;

use crate::text::SEAM;

/// Finds registered secrets. Spans are bytes, in order, without overlap; beside each its placeholder
/// (`‹code-host-user.username›`).
pub trait Scrub: Sync {
    fn find(&self, text: &str) -> Vec<(Range<usize>, String)>;
}

/// Nothing is secret: for tests and for documents read without a vault.
pub struct Nothing;

impl Scrub for Nothing {
    fn find(&self, _: &str) -> Vec<(Range<usize>, String)> {
        Vec::new()
    }
}

pub fn string(scrub: &dyn Scrub, text: String) -> String {
    let found = scrub.find(&text);
    if found.is_empty() && !text.contains(SEAM) {
        return text;
    }
    Scrubbed::new(&text, without_seams(&text, found)).text
}

/// Seams are taken out with the secrets: they are there for the search alone.
pub fn without_seams(
    text: &str,
    found: Vec<(Range<usize>, String)>,
) -> Vec<(Range<usize>, String)> {
    let seams = text.match_indices(SEAM);
    let mut all = found;
    all.extend(seams.map(|(at, seam)| (at..at + seam.len(), String::new())));
    all.sort_by_key(|(span, _)| span.start);
    all
}

/// A text with its secrets replaced, and the map from old offsets to new ones.
pub struct Scrubbed {
    pub text: String,
    /// Old span, new span.
    moves: Vec<(Range<usize>, Range<usize>)>,
}

impl Scrubbed {
    pub fn new(text: &str, found: Vec<(Range<usize>, String)>) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut moves = Vec::with_capacity(found.len());
        let mut at = 0;
        for (span, placeholder) in found {
            // A finder that overlaps or splits a letter would garble the text: widen to letters.
            let start = floor(text, span.start.max(at));
            let end = ceil(text, span.end);
            if end <= start {
                continue;
            }
            out.push_str(&text[at..start]);
            let new = out.len();
            out.push_str(&placeholder);
            moves.push((start..end, new..out.len()));
            at = end;
        }
        out.push_str(&text[at..]);
        Self { text: out, moves }
    }

    /// An old range in the new text; an end inside a secret takes the whole placeholder in.
    pub fn map(&self, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            let at = self.place(range.start, false);
            return at..at;
        }
        self.place(range.start, false)..self.place(range.end, true)
    }

    fn place(&self, at: usize, is_end: bool) -> usize {
        let after = self.moves.partition_point(|(old, _)| old.start < at);
        let Some((old, new)) = after.checked_sub(1).map(|i| &self.moves[i]) else {
            return at;
        };
        if at >= old.end {
            new.end + (at - old.end)
        } else if is_end {
            new.end
        } else {
            new.start
        }
    }
}

/// Replaces spans of a document's text, in order and apart; the places of its nodes follow.
pub fn replace_text(document: &mut super::Document, spans: Vec<(Range<usize>, String)>) {
    let replaced = Scrubbed::new(&document.text, spans);
    for node in &mut document.nodes {
        node.text = replaced.map(node.text.clone());
    }
    document.text = replaced.text;
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seams_go_with_the_secrets_and_places_follow() {
        let text = "Hi \u{2060}an\u{2060}na\u{2060}Sign out";
        let secret = (6..13, "‹pier.username›".to_owned());
        let scrubbed = Scrubbed::new(text, without_seams(text, vec![secret]));
        assert_eq!(scrubbed.text, "Hi ‹pier.username›Sign out");
        let link = text.find("Sign").unwrap()..text.len();
        assert_eq!(&scrubbed.text[scrubbed.map(link.clone())], "Sign out");
        let with_its_seam = link.start - SEAM.len_utf8()..link.end;
        assert_eq!(&scrubbed.text[scrubbed.map(with_its_seam)], "Sign out");
        let name = scrubbed.map(3..13);
        assert_eq!(&scrubbed.text[name], "‹pier.username›");
    }
}
