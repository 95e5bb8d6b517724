//! What may not be left in a text: a word that could be the value of a secret the text speaks of.
//!
//! Here doubt refuses. A text refused for nothing costs its author a word; one let through wrongly
//! puts a password into a file, a log or a model.

use std::ops::Range;

use super::tokens::{Token, folded, site, strong};
use super::{After, IntakeError, Words, phrase_at};

/// Which words are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// All of a text nothing was taken from.
    Whole,
    /// Those near a label: what belonged together was taken.
    Labels,
}

/// Shorter labels are parts of ordinary words.
const COMPOUND: usize = 6;
/// A number of so many digits after "pin" is one.
const PIN: usize = 3;

/// Refuses unless nothing in the text can be a secret.
pub fn nothing(tokens: &[Token<'_>], words: &Words, of: Of) -> Result<(), IntakeError> {
    let mut speaking = Vec::new();
    for at in 0..tokens.len() {
        if is_pair(&tokens[at]) {
            return Err(IntakeError::Unclear);
        }
        if let Some(end) = phrase_at(tokens, at, &words.secret)
            && let After::Value { at: value, said } = words.after(tokens, end)
        {
            let token = &tokens[value];
            let digits = token.value().chars().all(|c| c.is_ascii_digit());
            let looks = strong(token.value()) || (digits && token.value().len() >= PIN);
            if (said || looks || token.quoted()) && !ours(token) {
                return Err(IntakeError::Other);
            }
        }
        let Some((end, sure)) = speaks(tokens, at, words) else {
            continue;
        };
        speaking.push(at);
        if let After::Value { at: value, said } = words.after(tokens, end) {
            let token = &tokens[value];
            let looks = sure || said || token.quoted() || strong(token.value());
            if looks && !ours(token) {
                return Err(IntakeError::Unclear);
            }
        }
        if sure && before(tokens, at, end, words) {
            return Err(IntakeError::Unclear);
        }
    }
    let whole = 0..tokens.len();
    for at in speaking {
        let range = match of {
            Of::Whole => whole.clone(),
            Of::Labels => around(tokens, words, at..at + 1),
        };
        if tokens[range].iter().any(|t| strong(t.value()) && !ours(t)) {
            return Err(IntakeError::Unclear);
        }
    }
    Ok(())
}

/// Nothing strange may stand in the sentence of a clause that was taken, beside what was taken.
pub fn segment(
    tokens: &[Token<'_>],
    words: &Words,
    clause: Range<usize>,
    outside: &dyn Fn(usize) -> bool,
    values: &[String],
) -> Result<(), IntakeError> {
    let strange = around(tokens, words, clause)
        .filter(|at| outside(*at))
        .any(|at| {
            let token = &tokens[at];
            let known = values
                .iter()
                .any(|value| token.text.contains(value.as_str()));
            strong(token.value()) && !known && !ours(token)
        });
    if strange {
        Err(IntakeError::Unclear)
    } else {
        Ok(())
    }
}

/// `bob7:Zebra-99x`
pub fn is_pair(token: &Token<'_>) -> bool {
    !token.value().contains("://")
        && site(token.text).is_none()
        && token.halves(&[':']).is_some_and(|(_, right)| strong(right))
        && !ours(token)
}

/// Names and passwords within an address, and keys that say that a secret follows.
pub fn address(word: &str, words: &Words) -> Result<(), IntakeError> {
    let bare = word.trim_matches(|c: char| ",;\"'()<>".contains(c));
    let refused = Err(IntakeError::InAddress);
    if let Some((login, host)) = bare.rsplit_once('@')
        && login.contains(':')
        && !login.starts_with("mailto:")
    {
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        if login.contains("://") || site(host).is_some() {
            return refused;
        }
    }
    let with_scheme = match bare.contains("://") {
        true => bare.to_owned(),
        false if bare.contains('?') => format!("https://{bare}"),
        false => return Ok(()),
    };
    let Ok(url) = url::Url::parse(&with_scheme) else {
        return Ok(());
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refused;
    }
    let query = url.query().unwrap_or_default();
    let fragment = url.fragment().unwrap_or_default();
    let secret = [query, fragment].iter().any(|part| {
        url::form_urlencoded::parse(part.as_bytes()).any(|(key, value)| {
            let key = folded(&key).replace(['_', '-', '.'], " ");
            let named = |list: &[String]| {
                list.iter()
                    .any(|label| *label == key || key.split(' ').any(|part| part == label))
            };
            !value.is_empty() && (named(&words.password) || named(&words.secret))
        })
    });
    if secret { refused } else { Ok(()) }
}

/// A label that is no ordinary word: where it ends, and whether any word after it may be its value.
fn speaks(tokens: &[Token<'_>], at: usize, words: &Words) -> Option<(usize, bool)> {
    let clear: Vec<&String> = words
        .password
        .iter()
        .filter(|label| !words.secret.contains(label))
        .collect();
    if let Some(end) = phrase_at(tokens, at, &words.password) {
        let phrase: Vec<&str> = tokens[at..end].iter().map(|t| t.folded.as_str()).collect();
        if clear.iter().any(|label| **label == phrase.join(" ")) {
            return Some((end, true));
        }
    }
    if let Some(end) = phrase_at(tokens, at, &words.of) {
        return Some((end, false));
    }
    // `db_password`, `mypassword`
    let compound = tokens[at]
        .folded
        .split(|c: char| !c.is_alphanumeric())
        .any(|part| {
            clear.iter().any(|label| {
                *label == part
                    || (label.len() >= COMPOUND
                        && (part.ends_with(label.as_str()) || part.starts_with(label.as_str())))
            })
        });
    (compound && !ours(&tokens[at])).then_some((at + 1, false))
}

/// "Zebra is my password", "with Zebra as the password"; not "the title is Password reset".
fn before(tokens: &[Token<'_>], label: usize, end: usize, words: &Words) -> bool {
    if phrase_at(tokens, end, &words.prose).is_some() {
        return false;
    }
    let mut at = label;
    while at > 0 && phrase_at(tokens, at - 1, &words.hand) == Some(at) {
        at -= 1;
    }
    let said = at > 1
        && (phrase_at(tokens, at - 1, &words.is) == Some(at)
            || phrase_at(tokens, at - 1, &words.r#as) == Some(at));
    said && {
        let token = &tokens[at - 2];
        let known = words.small(tokens, at - 2) || words.label_at(tokens, at - 2).is_some();
        !token.ends_sentence() && !known && !ours(token)
    }
}

/// The sentence of some tokens, or the part of it up to "then".
fn around(tokens: &[Token<'_>], words: &Words, range: Range<usize>) -> Range<usize> {
    let parted =
        |at: usize| tokens[at - 1].ends_sentence() || phrase_at(tokens, at, &words.then).is_some();
    let (mut from, mut to) = (range.start, range.end);
    while from > 0 && !parted(from) {
        from -= 1;
    }
    while to < tokens.len() && !parted(to) {
        to += 1;
    }
    from..to
}

/// A placeholder or a variable, not a value.
fn ours(token: &Token<'_>) -> bool {
    token.text.contains('‹') || token.text.contains("$(")
}
