//! The globs of the language: `*` within a segment, `**` across, everything else literal.
//!
//! Segments end at `/`, and in an address also at `?` and `#`. No `?`, no classes, no braces, no
//! escapes: an address holds all of those literally, and a pattern that silently means more
//! than it says is a hole where writes are concerned (failures 140 and 141).

use url::Url;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Glob {
    written: String,
    parts: Vec<Part>,
    /// Query and fragment count only when the pattern names them.
    query: bool,
    fragment: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Literal(String),
    Within,
    Across,
}

impl Glob {
    /// Every text is a glob; three or more stars are `**`.
    pub fn new(pattern: &str) -> Self {
        Self {
            written: pattern.to_owned(),
            parts: parts(pattern),
            query: pattern.contains('?'),
            fragment: pattern.contains('#'),
        }
    }

    /// A glob over addresses. A literal `scheme://host` is brought to canonical form (case, default
    /// port, `xn--`), and what a browser would percent-encode is encoded, so that it can match.
    pub fn for_url(pattern: &str) -> Self {
        Self {
            written: pattern.to_owned(),
            ..Self::new(&canonical(pattern))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whole-text match, for titles and names.
    pub fn matches(&self, text: &str) -> bool {
        matches(&self.parts, text)
    }

    /// A pattern that starts with `/` is compared with the path, else with the whole address.
    pub fn matches_url(&self, url: &Url) -> bool {
        let mut url = url.clone();
        if !self.query {
            url.set_query(None);
        }
        if !self.fragment {
            url.set_fragment(None);
        }
        match self.written.starts_with('/') {
            true => self.matches(&url[url::Position::BeforePath..]),
            false => self.matches(url.as_str()) || self.matches_bare_root(&url),
        }
    }

    /// `http://code.test` means the address a browser shows as `http://code.test/`.
    fn matches_bare_root(&self, url: &Url) -> bool {
        url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && self.matches(url.as_str().trim_end_matches('/'))
    }
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let stars = rest.len() - rest.trim_start_matches('*').len();
        match stars {
            0 => {
                let end = rest.find('*').unwrap_or(rest.len());
                parts.push(Part::Literal(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            1 => {
                parts.push(Part::Within);
                rest = &rest[1..];
            }
            _ => {
                parts.push(Part::Across);
                rest = &rest[stars..];
            }
        }
    }
    parts
}

/// Iterative with one retry point per kind of star: linear in practice, and never exponential.
fn matches(parts: &[Part], text: &str) -> bool {
    // reachable[i]: the parts so far can have eaten exactly text[..i]
    let bytes = text.as_bytes();
    let mut reachable = vec![false; bytes.len() + 1];
    reachable[0] = true;
    for part in parts {
        let mut next = vec![false; bytes.len() + 1];
        match part {
            Part::Literal(literal) => {
                let literal = literal.as_bytes();
                for at in 0..=bytes.len() {
                    if reachable[at] && bytes[at..].starts_with(literal) {
                        next[at + literal.len()] = true;
                    }
                }
            }
            Part::Within => {
                let mut open = false;
                for at in 0..=bytes.len() {
                    open |= reachable[at];
                    next[at] = open;
                    open &= at < bytes.len() && !matches!(bytes[at], b'/' | b'?' | b'#');
                }
            }
            Part::Across => {
                let mut open = false;
                for at in 0..=bytes.len() {
                    open |= reachable[at];
                    next[at] = open;
                }
            }
        }
        reachable = next;
    }
    reachable[bytes.len()]
}

fn canonical(pattern: &str) -> String {
    let Some(at) = pattern.find("://") else {
        return encode(pattern);
    };
    let authority_ends = pattern[at + 3..]
        .find(['/', '?', '#'])
        .map_or(pattern.len(), |end| at + 3 + end);
    let (authority, rest) = pattern.split_at(authority_ends);
    let head = match authority.contains('*') {
        true => authority.to_owned(),
        false => Url::parse(authority)
            .map(|url| url.as_str().trim_end_matches('/').to_owned())
            .unwrap_or_else(|_| authority.to_owned()),
    };
    format!("{head}{}", encode(rest))
}

fn encode(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            ' ' | '"' | '<' | '>' | '`' => format!("%{:02X}", c as u32),
            c if c.is_ascii() => c.to_string(),
            c => percent_encoding::utf8_percent_encode(
                &c.to_string(),
                percent_encoding::NON_ALPHANUMERIC,
            )
            .to_string(),
        })
        .collect()
}
