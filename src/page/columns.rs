//! How the reader packs columns, and how they are unpacked.
//!
//! An answer passes four programs that each write it as JSON into the next one's JSON. So strings
//! come joined by [`SEPARATOR`], which needs no escape, line breaks as that sign too, and numbers that
//! grow come as steps from the one before.

use serde::Deserialize;

pub const SEPARATOR: char = '\u{7f}';

/// Rows of an index and a text: the indices as steps, the texts joined.
#[derive(Debug, Default, Deserialize)]
pub struct Words(Vec<i64>, String);

impl Words {
    /// Index and text of each row.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &str)> {
        indices(self.0.iter().copied()).zip(self.1.split(SEPARATOR))
    }

    /// Index, kind and text of each row, where each has a kind.
    pub fn kinds(&self) -> impl Iterator<Item = (usize, i64, &str)> {
        let pairs = self.0.as_chunks::<2>().0;
        indices(pairs.iter().map(|pair| pair[0]))
            .zip(pairs)
            .zip(self.1.split(SEPARATOR))
            .map(|((index, pair), text)| (index, pair[1], text))
    }
}

/// Steps added up. What runs below nought is no place: it becomes one that no list has.
pub fn indices(steps: impl Iterator<Item = i64>) -> impl Iterator<Item = usize> {
    steps.scan(0_i64, |at, step| {
        *at = at.saturating_add(step);
        Some(usize::try_from(*at).unwrap_or(usize::MAX))
    })
}

/// Rectangles of four numbers, x and y as steps.
pub fn rectangles(numbers: &mut [f64]) {
    for at in 4..numbers.len() {
        if at % 4 < 2 {
            numbers[at] += numbers[at - 4];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_packed() {
        let words: Words = serde_json::from_str("[[2,0,-1],\"a\u{7f}\u{7f}c\"]").unwrap();
        let rows: Vec<_> = words.rows().collect();
        assert_eq!(rows, [(2, "a"), (2, ""), (1, "c")]);
        let none: Words = serde_json::from_str("[[],\"\"]").unwrap();
        assert_eq!(none.rows().count(), 0);
        let hints: Words = serde_json::from_str("[[3,1,1,4],\"x\u{7f}y\"]").unwrap();
        assert_eq!(
            hints.kinds().collect::<Vec<_>>(),
            [(3, 1, "x"), (4, 4, "y")]
        );
    }

    #[test]
    fn a_step_below_nought_is_a_place_no_list_has() {
        let at: Vec<usize> = indices([1, -3].into_iter()).collect();
        assert_eq!(at, [1, usize::MAX]);
    }

    #[test]
    fn rectangles_are_added_up_in_their_first_two_numbers() {
        let mut numbers = [
            5.0, 6.0, 7.0, 8.0, 1.0, -2.0, 3.0, 4.0, 1.0, 1.0, -1.0, -1.0,
        ];
        rectangles(&mut numbers);
        assert_eq!(
            numbers,
            [5.0, 6.0, 7.0, 8.0, 6.0, 4.0, 3.0, 4.0, 7.0, 5.0, -1.0, -1.0]
        );
    }
}
