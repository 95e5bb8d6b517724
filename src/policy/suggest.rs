//! Lines to paste into a scenario, for messages and `run --suggest`. A person commits them; nothing
//! here is ever applied by itself (R75).

use std::fmt;

use url::Url;

use super::facts::RequestFacts;
use super::hosts::HostRule;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suggestion {
    /// Goes under `hosts:`
    Host(String),
    /// Goes under `writes:`; the author says what it changes.
    Write { request: String },
    /// Goes under `safe_requests:`; the author says that it only reads.
    SafeRequest {
        request: String,
        operations: Vec<String>,
    },
}

impl Suggestion {
    pub fn host(url: &Url) -> Option<Self> {
        HostRule::of(url).map(|rule| Self::Host(rule.to_string()))
    }

    /// A read where every operation is a named query, else a write.
    pub fn for_request(request: &RequestFacts) -> Self {
        let mut url = request.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        let line = format!("{} {url}", request.method);
        let names = &request.operations;
        let reads = !names.is_empty() && names.iter().all(|name| is_plain_name(name));
        match reads {
            true => Self::SafeRequest {
                request: line,
                operations: names.clone(),
            },
            false => Self::Write { request: line },
        }
    }

    /// The key it goes under.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Host(_) => "hosts",
            Self::Write { .. } => "writes",
            Self::SafeRequest { .. } => "safe_requests",
        }
    }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-'))
}

/// The list item, in the syntax of the language.
impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "- {host}"),
            Self::Write { request } => {
                write!(
                    f,
                    "- {{ what: say what it changes, request: {} }}",
                    quoted(request)
                )
            }
            Self::SafeRequest {
                request,
                operations,
            } => {
                let request = quoted(request);
                write!(
                    f,
                    "- {{ request: {request}, operation: [{}] }}",
                    operations.join(", ")
                )
            }
        }
    }
}

/// Double-quoted YAML; the address is canonical, hence ASCII without controls.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
