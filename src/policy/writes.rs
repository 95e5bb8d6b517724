//! `writes` and `safe_requests`: a method and a glob over addresses.

use super::facts::RequestFacts;
use super::glob::Glob;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error(
        "`{text}` is not a request; write a method and an address, as in `POST https://shop.example/orders/*`"
    )]
    Shape { text: String },
    #[error(
        "`{method}` is not a method; write it in capitals, as in `POST https://shop.example/orders/*`"
    )]
    Method { method: String },
    #[error("{method} requests are reads and need no entry; take `{text}` out")]
    Read { method: String, text: String },
    #[error(
        "`{text}`: an address starts with `http://`, `https://` or `/`, as in `POST https://shop.example/orders/*`"
    )]
    Address { text: String },
    #[error("`times` counts from 1; leave it out for any number of times")]
    Times,
    #[error(
        "`{text}` would call every such request a read; name the operations that only read, as in `operation: [Orders]`"
    )]
    TooWide { text: String },
}

/// `METHOD glob`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPattern {
    pub method: String,
    pub glob: Glob,
}

impl RequestPattern {
    pub fn parse(text: &str) -> Result<Self, WriteError> {
        let shape = || WriteError::Shape {
            text: text.to_owned(),
        };
        let (method, glob) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(shape)?;
        let glob = glob.trim();
        if glob.is_empty() || glob.contains(char::is_whitespace) {
            return Err(shape());
        }
        if !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
            return Err(WriteError::Method {
                method: method.to_owned(),
            });
        }
        if matches!(method, "GET" | "HEAD" | "OPTIONS") {
            return Err(WriteError::Read {
                method: method.to_owned(),
                text: text.to_owned(),
            });
        }
        let address = ["http://", "https://", "/"];
        if !address.iter().any(|start| glob.starts_with(start)) {
            return Err(WriteError::Address {
                text: text.to_owned(),
            });
        }
        Ok(Self {
            method: method.to_owned(),
            glob: Glob::for_url(glob),
        })
    }

    pub fn matches(&self, request: &RequestFacts) -> bool {
        self.method == request.effective_method() && self.glob.matches_url(&request.url)
    }
}

/// A declared write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRule {
    pub what: String,
    pub request: RequestPattern,
    /// `None`: any number of times.
    pub times: Option<u32>,
}

impl WriteRule {
    pub fn parse(what: &str, request: &str, times: Option<u32>) -> Result<Self, WriteError> {
        if times == Some(0) {
            return Err(WriteError::Times);
        }
        Ok(Self {
            what: what.to_owned(),
            request: RequestPattern::parse(request)?,
            times,
        })
    }
}

/// A request that reads although its method says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafeRequest {
    pub request: RequestPattern,
    /// Empty: the address alone decides.
    pub operations: Vec<String>,
}

impl SafeRequest {
    pub fn parse(request: &str, operations: Vec<String>) -> Result<Self, WriteError> {
        let parsed = RequestPattern::parse(request)?;
        let everything = parsed
            .glob
            .as_str()
            .trim_start_matches(|c| c != '*' && c != '/');
        if operations.is_empty()
            && everything.chars().all(|c| c == '*' || c == '/')
            && everything.contains("**")
        {
            return Err(WriteError::TooWide {
                text: request.to_owned(),
            });
        }
        Ok(Self {
            request: parsed,
            operations,
        })
    }

    /// With operations, every one the request names must be listed, and it must name one; an
    /// address that carries its own query could name another to the server, so it doesn't count.
    pub fn matches(&self, request: &RequestFacts) -> bool {
        if !self.request.matches(request) {
            return false;
        }
        self.operations.is_empty()
            || (!request.operations.is_empty()
                && request
                    .operations
                    .iter()
                    .all(|name| self.operations.contains(name))
                && !request.url.query_pairs().any(|(key, _)| {
                    matches!(
                        key.as_ref(),
                        "query" | "operationName" | "extensions" | "method"
                    )
                }))
    }
}
