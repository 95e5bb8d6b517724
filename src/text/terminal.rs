//! Terminal control sequences in text that others wrote: taken out whole, because what is left of one
//! without its first byte (`[31m`) litters everything it is shown in.

use std::borrow::Cow;

/// The text without escape sequences; other controls stay for the caller to judge.
pub fn without_sequences(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < text.len() {
        match sequence(&text.as_bytes()[at..]) {
            Some(length) => {
                out.push_str(&text[kept..at]);
                at += length;
                kept = at;
            }
            None => at += 1,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// How many bytes of UTF-8 the escape sequence takes that begins here, if one does: after Escape, or
/// after one of the single characters (C1) that stand for Escape and what follows it.
pub fn sequence(rest: &[u8]) -> Option<usize> {
    match *rest {
        [0x1b, b'[', ..] => Some(control_sequence(rest, 2)),
        [0x1b, b']' | b'P' | b'X' | b'^' | b'_', ..] => Some(string_sequence(rest, 2)),
        [0x1b, ..] => {
            let last = skip(rest, 1, b' '..=b'/');
            Some(last + usize::from(matches!(rest.get(last), Some(b'0'..=b'~'))))
        }
        [0xc2, 0x9b, ..] => Some(control_sequence(rest, 2)),
        [0xc2, 0x90 | 0x98 | 0x9d | 0x9e | 0x9f, ..] => Some(string_sequence(rest, 2)),
        _ => None,
    }
}

fn skip(rest: &[u8], from: usize, while_in: std::ops::RangeInclusive<u8>) -> usize {
    let tail = rest[from..].iter().take_while(|b| while_in.contains(b));
    from + tail.count()
}

/// Parameters, intermediates, one final character; a cut sequence ends where it stops fitting.
fn control_sequence(rest: &[u8], from: usize) -> usize {
    let last = skip(rest, from, b' '..=b'?');
    last + usize::from(matches!(rest.get(last), Some(b'@'..=b'~')))
}

/// Up to its terminator, but never past the end of the line: an open one must not eat a report.
fn string_sequence(rest: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < rest.len() {
        match rest[at..] {
            [b'\n', ..] => return at,
            [0x7, ..] => return at + 1,
            [0xc2, 0x9c, ..] | [0x1b, b'\\', ..] => return at + 2,
            [0x1b, ..] => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_099_sequences_go_whole_and_cut_ones_too() {
        for (text, clean) in [
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("a\u{9b}1;31mred", "ared"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("a\u{1b}]open\nb", "a\nb"),
            ("a\u{1b}(Bb", "ab"),
            ("cut \u{1b}[3", "cut "),
            ("cut \u{1b}[3…", "cut …"),
            ("\u{1b}", ""),
            ("plain [31m text", "plain [31m text"),
        ] {
            assert_eq!(without_sequences(text), clean, "{text:?}");
        }
    }
}
