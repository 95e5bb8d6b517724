//! "Did you mean": the candidate a slip of the keyboard away from what was written.

/// The candidate nearest to `word`, if it is near enough that a person would agree: one edit for
/// short words, about a third of the letters for long ones. Case is ignored.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (distance(&word, &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= allowed && *d < c.chars().count().max(2))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Insertions, deletions, replacements and swaps of neighbours, each one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut older = vec![0; b.len() + 1];
    let mut old: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (old[j] + 1).min(row[j - 1] + 1).min(old[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(older[j - 2] + 1);
            }
        }
        older = std::mem::replace(&mut old, row);
    }
    old[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_138_slips_are_found_and_strangers_are_not() {
        let keys = ["timeout", "note", "within", "nth"];
        assert_eq!(nearest("timout", keys), Some("timeout"));
        assert_eq!(nearest("Tiemout", keys), Some("timeout"));
        assert_eq!(nearest("nht", keys), Some("nth"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("x", keys), None);
    }
}
