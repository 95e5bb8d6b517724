//! Seams: where one element ends and the next begins in the middle of what reads as one word.
//!
//! A page shows `anna` beside `Sign out` and their text runs together. Whoever joins texts that
//! stood apart marks the place ([`SEAM`]); for the search a seam is a border as good as a space,
//! and at the same time it is not there: a value may run across it.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::SEAM;

/// A text without its seams, and where they were.
pub struct Seamless<'a> {
    pub text: Cow<'a, str>,
    /// Offsets in `text`, ascending; two seams in one place are there twice.
    seams: Vec<usize>,
}

impl<'a> Seamless<'a> {
    pub fn of(marked: &'a str) -> Self {
        if !marked.contains(SEAM) {
            return Self {
                text: marked.into(),
                seams: Vec::new(),
            };
        }
        let mut text = String::with_capacity(marked.len());
        let mut seams = Vec::new();
        for piece in marked.split(SEAM) {
            text.push_str(piece);
            seams.push(text.len());
        }
        // Behind the last piece stands no seam.
        seams.pop();
        Self {
            text: text.into(),
            seams,
        }
    }

    /// Whether `at` stands between two letters or digits of one piece.
    pub fn within_word(&self, at: usize) -> bool {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at..].chars().next();
        matches!((before, after), (Some(a), Some(b)) if a.is_alphanumeric() && b.is_alphanumeric())
            && self.seams.binary_search(&at).is_err()
    }

    /// The same place in the marked text; seams at its ends stay outside.
    pub fn marked(&self, range: &Range<usize>) -> Range<usize> {
        let before_start = self.seams.partition_point(|s| *s <= range.start);
        let before_end = self.seams.partition_point(|s| *s < range.end);
        let size = SEAM.len_utf8();
        range.start + before_start * size..range.end + before_end * size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_ends_a_word_and_leaves_no_trace_in_it() {
        let marked = "a \u{2060}\u{2060}tide\u{2060}é\u{2060}";
        let seamless = Seamless::of(marked);
        assert_eq!(seamless.text, "a tideé");
        assert!(seamless.within_word(3));
        assert!(!seamless.within_word(6));
        assert_eq!(&marked[seamless.marked(&(2..6))], "tide");
        assert_eq!(&marked[seamless.marked(&(2..8))], "tide\u{2060}é");
        assert_eq!(Seamless::of("plain").marked(&(1..3)), 1..3);
    }
}
