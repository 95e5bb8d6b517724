//! Terminal control sequences in text that others wrote: taken out whole, because what is left of one
//! without its first byte (`[31m`) litters everything it is shown in.

use std::borrow::Cow;

/// The text without escape sequences; other controls stay for the caller to judge.
pub fn without_sequences(text: &str) -> Cow<'_, str> {
    if !text.chars().any(opens) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest),
            '\u{9b}' => control_sequence(&mut rest),
            c if opens(c) => string_sequence(&mut rest),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escape, and the single characters that stand for it and what follows.
fn opens(c: char) -> bool {
    matches!(
        c,
        '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}'
    )
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn escape(rest: &mut Rest) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            string_sequence(rest);
        }
        _ => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

/// Parameters, intermediates, one final character; a cut sequence ends where it stops fitting.
fn control_sequence(rest: &mut Rest) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to its terminator, but never past the end of the line: an open one must not eat a report.
fn string_sequence(rest: &mut Rest) {
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
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
