//! Folding of names, so that two spellings a person reads as the same compare as the same.
//!
//! Pages carry no-break spaces, soft hyphens, direction marks and variation selectors that nobody
//! sees and nobody types. Everything here is pure and total; the ladder that uses it (exact, then
//! case, then decoration) lives with the resolver.

use unicode_normalization::UnicodeNormalization;

use super::terminal::without_sequences;

/// Terminal sequences removed, white space to one blank, ends trimmed, invisible marks removed,
/// variation selectors dropped, then NFC. Joiners that change letters (U+200C, U+200D) stay.
pub fn fold(name: &str) -> String {
    let name = without_sequences(name);
    let mut out = String::with_capacity(name.len());
    let mut gap = false;
    for c in name.chars() {
        if is_space(c) {
            gap = true;
        } else if !is_invisible(c) {
            if gap && !out.is_empty() {
                out.push(' ');
            }
            gap = false;
            out.push(c);
        }
    }
    out.nfc().collect()
}

/// [`fold`], then without regard to case and to which of two signs a keyboard or a typesetter uses
/// (straight or curly quotation marks, the hyphens).
pub fn fold_case(name: &str) -> String {
    // Upper case first joins what lower case alone keeps apart (ß and SS, final and medial sigma).
    fold(name)
        .chars()
        .map(as_typed)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// The folded name without decoration: counts, badges, icon-font words, leading and trailing
/// symbols, emoji and required marks. Case is kept. Empty if the name is nothing but decoration.
pub fn undecorate(name: &str) -> String {
    let folded = fold(name);
    let all: Vec<&str> = folded.split(' ').collect();
    let mut rest: &[&str] = &all;
    loop {
        let before = rest.len();
        if rest.len() > 1 && is_icon_word(rest[0]) {
            rest = &rest[1..];
        }
        if let [head @ .., last] = rest
            && !head.is_empty()
            && (is_icon_word(last) || is_count(last))
        {
            rest = head;
        }
        if let [first, tail @ ..] = rest
            && is_symbols(first)
        {
            rest = tail;
        }
        if let [head @ .., last] = rest
            && is_symbols(last)
        {
            rest = head;
        }
        if rest.len() == before {
            break;
        }
    }
    rest.join(" ")
        .trim_matches(|c: char| !holds_meaning(c))
        .to_string()
}

/// The words of a name, folded without case, in order; punctuation separates.
pub fn words(name: &str) -> Vec<String> {
    fold_case(name)
        .split(|c: char| !(c.is_alphanumeric() || is_joiner(c) || is_mark(c)))
        .filter(|w| !w.is_empty())
        .map(str::to_string)
        .collect()
}

fn as_typed(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' | '\u{02BC}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201F}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}' || c == '\u{3164}'
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Drawn by nobody: soft hyphen, zero-width space, word joiner, byte order mark, direction marks,
/// variation selectors, other controls.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
        || c.is_control()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn holds_meaning(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c) || is_joiner(c)
}

fn is_symbols(word: &str) -> bool {
    !word.is_empty() && !word.chars().any(holds_meaning)
}

/// `(3)`, `[12]`, `3+`, `99+`: a number in brackets or with a plus. A bare number is a name's own
/// ("Berth 47"), never decoration.
fn is_count(word: &str) -> bool {
    let inner = word
        .strip_prefix('(')
        .and_then(|w| w.strip_suffix(')'))
        .or_else(|| word.strip_prefix('[').and_then(|w| w.strip_suffix(']')))
        .or_else(|| word.strip_suffix('+'));
    inner.is_some_and(|digits| {
        let digits = digits.trim_end_matches('+');
        !digits.is_empty()
            && digits
                .chars()
                .all(|c| c.is_numeric() || c == ',' || c == '.')
    })
}

/// Words only an icon font writes: lower case joined by underscores, or a private-use glyph.
fn is_icon_word(word: &str) -> bool {
    let private = |c: char| ('\u{E000}'..='\u{F8FF}').contains(&c);
    if !word.is_empty() && word.chars().all(private) {
        return true;
    }
    word.contains('_')
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && !word.ends_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_010_no_break_space_and_soft_hyphen_are_folded() {
        assert_eq!(fold("Delivery\u{A0} window"), "Delivery window");
        assert_eq!(fold("Confir\u{AD}mation"), "Confirmation");
        assert_eq!(fold("\n  Register\t"), "Register");
        assert_eq!(fold("\u{1b}[1mRegister\u{1b}[0m"), "Register");
    }

    #[test]
    fn case_011_direction_marks_go_and_joiners_stay() {
        assert_eq!(fold("\u{200F}שמירה\u{202C}"), "שמירה");
        assert_eq!(fold("می\u{200C}خواهم"), "می\u{200C}خواهم");
        assert_ne!(fold("می\u{200C}خواهم"), fold("میخواهم"));
    }

    #[test]
    fn case_012_emoji_compare_without_the_variation_selector() {
        assert_eq!(fold("terms ❤\u{FE0F} new"), fold("terms ❤ new"));
        assert_ne!(fold("🇮🇹 terms"), fold("🇫🇷 terms"));
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        assert_eq!(fold("Cafe\u{301}"), "Café");
        assert_eq!(fold_case("STRASSE"), fold_case("Straße"));
        assert_eq!(fold_case("ΟΔΟΣ"), fold_case("οδος"));
    }

    #[test]
    fn case_009_decoration_is_dropped() {
        for (name, bare) in [
            ("lock_outline Sign in", "Sign in"),
            ("Inbox (3)", "Inbox"),
            ("Inbox 99+", "Inbox"),
            ("Password *", "Password"),
            ("Password:", "Password"),
            ("★ Favourites →", "Favourites"),
            ("Terms ❤️", "Terms"),
            ("More…", "More"),
            ("\u{E145} Add", "Add"),
            ("***", ""),
        ] {
            assert_eq!(undecorate(name), bare, "{name}");
        }
    }

    #[test]
    fn case_141_decoration_never_eats_a_word_or_a_number() {
        assert_eq!(undecorate("Not OK"), "Not OK");
        assert_eq!(undecorate("Berth 47"), "Berth 47");
        assert_eq!(undecorate("Step (2) of 3"), "Step (2) of 3");
        assert_eq!(words("Not-OK, 47"), ["not", "ok", "47"]);
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(name in "\\PC*") {
            prop_assert_eq!(fold(&fold(&name)), fold(&name));
            prop_assert_eq!(undecorate(&undecorate(&name)), undecorate(&name));
        }
    }
}
