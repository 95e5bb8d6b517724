//! Names of controls that often change something, in every lexicon language (security design, 5.2).
//!
//! A hint and nothing else: guessing by labels is no safety model, the gate on requests is (R90).

/// Lines `language: word, word`; a word may be several words.
const NAMES: &str = include_str!("risky-names.txt");

/// The risky word in an accessible name, if any; an unknown language has none. Whole words only:
/// "Payment methods" isn't "pay".
pub fn risky(name: &str, language: &str) -> Option<&'static str> {
    let primary = language.split(['-', '_']).next().unwrap_or(language);
    let folded = words(name);
    lists()
        .filter(|(tag, _)| tag.eq_ignore_ascii_case(primary))
        .flat_map(|(_, list)| list.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .find(|word| folded.contains(&words(word)))
}

/// The languages with a list.
pub fn languages() -> impl Iterator<Item = &'static str> {
    lists().map(|(tag, _)| tag)
}

fn lists() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .map(|(tag, list)| (tag.trim(), list))
}

/// Lower case, one space around every word, so that whole words can be found by substring.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut out = String::from(" ");
    for word in lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        out.push_str(word);
        out.push(' ');
    }
    out
}
