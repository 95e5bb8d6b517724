//! Places in a text, and showing pieces of it without deceiving the reader.

use super::fold::is_invisible;
use super::terminal::without_sequences;

/// Line and column of a byte offset, both from 1; columns count characters.
pub fn line_col(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..border(source, offset)];
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.matches('\n').count() + 1;
    (
        line,
        before[start..].chars().filter(|c| *c != '\u{FEFF}').count() + 1,
    )
}

/// The text, or its first `max` characters with a mark where it was cut.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_string(),
        Some(_) => {
            let keep = max.saturating_sub(1);
            let end = text.char_indices().nth(keep).map_or(text.len(), |(i, _)| i);
            format!("{}…", text[..end].trim_end())
        }
    }
}

/// A name for a message: terminal sequences go, characters nobody sees are written out (`‹U+00AD›`),
/// and text that runs from right to left is isolated so that the rest of the line stays readable.
pub fn visible(name: &str) -> String {
    let name = &*without_sequences(name);
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '\n' {
            out.push('⏎');
        } else if c == '\t' {
            out.push('⇥');
        } else if is_emoji_selector(c) {
            out.push(c);
        } else if is_odd(c, name) {
            out.push_str(&format!("‹U+{:04X}›", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    if out.chars().any(is_right_to_left) {
        format!("\u{2068}{out}\u{2069}")
    } else {
        out
    }
}

/// Seen by nobody, or a blank that is none.
fn is_odd(c: char, name: &str) -> bool {
    let joiner = matches!(c, '\u{200C}' | '\u{200D}');
    is_invisible(c) || joiner && !is_script_joined(name) || c != ' ' && c.is_whitespace()
}

/// The emoji presentation selector is part of a normal emoji; the others are oddities.
fn is_emoji_selector(c: char) -> bool {
    c == '\u{FE0F}'
}

/// Joiners are letters' business in these scripts and in emoji sequences.
fn is_script_joined(name: &str) -> bool {
    name.chars().any(|c| {
        is_right_to_left(c)
            || matches!(u32::from(c), 0x0900..=0x0DFF | 0x1F000..=0x1FAFF | 0x2600..=0x27BF)
    })
}

fn is_right_to_left(c: char) -> bool {
    matches!(u32::from(c), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFE | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF)
}

/// The nearest border between characters at or before a byte offset.
pub fn border(source: &str, offset: usize) -> usize {
    let mut at = offset.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let text = "a: é\nbc: d\r\n";
        assert_eq!(line_col(text, 0), (1, 1));
        assert_eq!(line_col(text, text.find('\n').unwrap()), (1, 5));
        assert_eq!(line_col(text, text.find('d').unwrap()), (2, 5));
        assert_eq!(line_col(text, 999), (3, 1));
    }

    #[test]
    fn a_cut_falls_between_characters_and_shows() {
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(cut("éééé", 3), "éé…");
    }

    #[test]
    fn case_010_odd_characters_are_made_visible() {
        assert_eq!(visible("Confir\u{AD}mation"), "Confir‹U+00AD›mation");
        assert_eq!(visible("Delivery\u{A0}window"), "Delivery‹U+00A0›window");
        assert_eq!(visible("plain ❤\u{FE0F}"), "plain ❤\u{FE0F}");
    }

    #[test]
    fn case_099_terminal_sequences_leave_nothing_behind() {
        assert_eq!(visible("Moor \u{1b}[31mred\u{1b}[0m boat"), "Moor red boat");
    }

    #[test]
    fn case_011_foreign_direction_is_isolated() {
        assert_eq!(visible("שמירה"), "\u{2068}שמירה\u{2069}");
    }
}
