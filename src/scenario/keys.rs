//! Keys and chords of `press`: `Enter`, `Control+A`, `Shift+Tab`.

use crate::text::nearest;

static NAMED: &[&str] = &[
    "Enter",
    "Escape",
    "Tab",
    "Space",
    "Backspace",
    "Delete",
    "Insert",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
];

static HELD: &[&str] = &[
    "Control",
    "Ctrl",
    "Shift",
    "Alt",
    "Meta",
    "Command",
    "ControlOrMeta",
];

/// Checks a key or chord; the error is the part that is no key.
pub fn check(chord: &str) -> Result<(), String> {
    let mut parts = split(chord);
    let last = parts.pop().unwrap_or_default();
    if let Some(bad) = parts.iter().find(|p| !HELD.contains(p)) {
        return Err(bad.to_string());
    }
    if NAMED.contains(&last) || HELD.contains(&last) || last.chars().count() == 1 {
        Ok(())
    } else {
        Err(last.to_string())
    }
}

/// The parts of a chord; a plus at the end is the key itself.
pub fn split(chord: &str) -> Vec<&str> {
    match chord.strip_suffix('+') {
        Some("") => vec!["+"],
        Some(rest) => rest.trim_end_matches('+').split('+').chain(["+"]).collect(),
        None => chord.split('+').collect(),
    }
}

pub fn nearest_key(word: &str) -> Option<&'static str> {
    nearest(word, NAMED.iter().chain(HELD).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_chords() {
        for good in ["Enter", "a", "+", "Control++", "Control+Shift+A", "F12"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        assert_eq!(check("Entr"), Err("Entr".into()));
        assert_eq!(nearest_key("Entr"), Some("Enter"));
        assert_eq!(check("Strg+A"), Err("Strg".into()));
    }
}
