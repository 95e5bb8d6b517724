//! Globs over addresses, for `writes`, `safe_requests` and `url:` lines.
//!
//! The dialect itself is [`crate::text::glob`]; here a pattern is brought to the canonical form of
//! the addresses it is compared with.

use url::Url;

use crate::text::glob::Glob as Pattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    written: String,
    pattern: Pattern,
}

impl Glob {
    /// Every text is a glob; three or more stars are `**`.
    pub fn new(pattern: &str) -> Self {
        Self {
            written: pattern.to_owned(),
            pattern: Pattern::new(pattern),
        }
    }

    /// A glob over addresses. A literal `scheme://host` is brought to canonical form (case, default
    /// port, `xn--`), and what a browser would percent-encode is encoded, so that it can match.
    pub fn for_url(pattern: &str) -> Self {
        Self {
            written: pattern.to_owned(),
            pattern: Pattern::new(&canonical(pattern)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whole-text match, for titles and names.
    pub fn matches(&self, text: &str) -> bool {
        self.pattern.matches(text)
    }

    /// A pattern that starts with `/` is compared with the path, else with the whole address.
    pub fn matches_url(&self, url: &Url) -> bool {
        if self.written.starts_with('/') {
            return self
                .pattern
                .matches_address(&url[url::Position::BeforePath..]);
        }
        self.pattern.matches_address(url.as_str()) || self.matches_bare_root(url)
    }

    /// `http://code.test` means the address a browser shows as `http://code.test/`.
    fn matches_bare_root(&self, url: &Url) -> bool {
        url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && self.matches(url.as_str().trim_end_matches('/'))
    }
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
