//! What a model reads: a text that never changes, then five sections.
//!
//! The unchanging part comes first so that servers can keep it computed. What a page says stands
//! in one section, each line a JSON string inside a fence with a random mark, so that no page can
//! close the fence or begin a section. A small model reads thirty tokens a second: every line
//! counts.

use std::fmt::Write as _;

/// The five sections, nothing else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sections {
    pub goal: String,
    pub state: String,
    /// What the page shows. Names in here are already quoted by [`quote`].
    pub observed: Vec<String>,
    pub history: Vec<String>,
    pub constraints: Vec<String>,
}

impl Sections {
    /// The user's message. `refused` tells what was wrong with the last answer.
    pub fn render(&self, mark: &str, refused: Option<&str>) -> String {
        let mut out = String::new();
        let mut section = |name: &str, lines: &[String]| {
            let _ = writeln!(out, "# {name}");
            for line in lines {
                let _ = writeln!(out, "{}", one_line(line));
            }
        };
        section("goal", std::slice::from_ref(&self.goal));
        section("state", std::slice::from_ref(&self.state));
        let mut fenced = vec![format!("<<{mark}")];
        fenced.extend(self.observed.iter().cloned());
        fenced.push(format!("{mark}>>"));
        section("observed", &fenced);
        match self.history.is_empty() {
            true => section("history", &["none".to_owned()]),
            false => section("history", &self.history),
        }
        let mut constraints = self.constraints.clone();
        if let Some(refused) = refused {
            constraints.push(format!(
                "Your last answer was refused: {}. Answer again.",
                quote(refused, 200)
            ));
        }
        section("constraints", &constraints);
        out.truncate(out.trim_end().len());
        out
    }

    /// A mark that occurs nowhere in the sections.
    pub fn fresh_mark(&self) -> String {
        loop {
            let mut bytes = [0u8; 4];
            // Without randomness the escaping of every line still holds the fence.
            if getrandom::fill(&mut bytes).is_err() {
                return FIXED_MARK.to_owned();
            }
            let mark = bytes.iter().fold(String::new(), |mut out, b| {
                let _ = write!(out, "{b:02x}");
                out
            });
            if !self.render(FIXED_MARK, None).contains(&mark) {
                return mark;
            }
        }
    }
}

/// Stands for the random mark where two questions are compared.
pub const FIXED_MARK: &str = "mark";

/// `text` as a JSON string, cut to `limit` characters first.
pub fn quote(text: &str, limit: usize) -> String {
    serde_json::Value::from(cut(&one_line(text), limit)).to_string()
}

/// Runs of white space and control characters become one space; direction marks go.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Characters that draw nothing and can turn or hide what is around them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `limit` characters, the cut shown.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// An address as a model may see it: no query, no fragment, no user.
pub fn bare_address(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else {
        return cut(address.split(['?', '#']).next().unwrap_or_default(), 120);
    };
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    cut(url.as_str(), 120)
}
