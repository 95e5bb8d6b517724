//! The one glob dialect of the scenario language: `*` within a segment, `**` across segments, all
//! else literal. A backslash before `*`, `?`, `#` or `\` takes it literally, so that a replaced
//! variable can never become a pattern ([`escape`]).

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    parts: Vec<Part>,
    names_query: bool,
    names_fragment: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Char(char),
    Segment,
    Any,
}

impl Glob {
    pub fn new(pattern: &str) -> Self {
        let mut parts = Vec::new();
        let (mut names_query, mut names_fragment) = (false, false);
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek().is_some_and(|n| "*?#\\".contains(*n)) => {
                    parts.extend(chars.next().map(Part::Char));
                }
                '*' => {
                    let mut stars = 1;
                    while chars.next_if_eq(&'*').is_some() {
                        stars += 1;
                    }
                    parts.push(if stars > 1 { Part::Any } else { Part::Segment });
                }
                c => {
                    names_query |= c == '?';
                    names_fragment |= c == '#';
                    parts.push(Part::Char(c));
                }
            }
        }
        Self {
            parts,
            names_query,
            names_fragment,
        }
    }

    /// Whether the whole text fits.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        // One row of "can the parts so far end here", so no pattern takes exponential time.
        let mut here = vec![false; text.len() + 1];
        here[0] = true;
        for part in &self.parts {
            let mut next = vec![false; text.len() + 1];
            match part {
                Part::Char(c) => {
                    for i in 0..text.len() {
                        next[i + 1] = here[i] && text[i] == *c;
                    }
                }
                Part::Segment | Part::Any => {
                    next[0] = here[0];
                    for i in 0..text.len() {
                        let crosses = *part == Part::Segment && "/?#".contains(text[i]);
                        next[i + 1] = here[i + 1] || next[i] && !crosses;
                    }
                }
            }
            here = next;
        }
        here[text.len()]
    }

    /// As [`Glob::matches`], but query and fragment of the address count only if the pattern
    /// names them.
    pub fn matches_address(&self, address: &str) -> bool {
        let (rest, fragment) = split_at(address, '#');
        let (path, query) = split_at(rest, '?');
        let mut seen = path.to_string();
        if self.names_query {
            seen.push_str(query);
        }
        if self.names_fragment {
            seen.push_str(fragment);
        }
        self.matches(&seen)
    }
}

/// The text as a pattern that fits only itself.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?#\\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn split_at(text: &str, mark: char) -> (&str, &str) {
    text.split_at(text.find(mark).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stays_in_its_segment() {
        let glob = Glob::new("http://code.test/*/demo");
        assert!(glob.matches_address("http://code.test/ada/demo"));
        assert!(glob.matches_address("http://code.test/ada/demo?tab=1#top"));
        assert!(!glob.matches_address("http://code.test/a/b/demo"));
        assert!(Glob::new("http://code.test/**").matches_address("http://code.test/a/b"));
        assert!(!Glob::new("http://code.test/*?tab=1").matches_address("http://code.test/a"));
        assert!(Glob::new("a.b").matches("a.b") && !Glob::new("a.b").matches("axb"));
    }

    proptest! {
        #[test]
        fn an_escaped_value_fits_only_itself(value in "[a*?#\\\\/]{0,12}", other in "[a*?#\\\\/]{0,12}") {
            let glob = Glob::new(&escape(&value));
            prop_assert!(glob.matches(&value));
            prop_assert_eq!(glob.matches(&other), value == other);
        }
    }
}
