//! Words of a text, for ranking only: nothing is ever chosen by them.

use unicode_normalization::UnicodeNormalization;

/// Lower-case words without marks, in order.
pub fn words(text: &str) -> Vec<String> {
    let folded: String = text
        .nfkd()
        .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect();
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect()
}

/// How many of `wanted` occur in `text`: a whole word counts two, a beginning of four letters one.
pub fn overlap(wanted: &[String], text: &str) -> usize {
    let there = words(text);
    let one = |word: &String| {
        if there.contains(word) {
            return 2;
        }
        let stem: String = word.chars().take(4).collect();
        let near = stem.chars().count() == 4 && there.iter().any(|t| t.starts_with(&stem));
        usize::from(near)
    };
    wanted.iter().map(one).sum()
}
