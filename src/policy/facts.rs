//! What the gate is told of a request: its line, the headers that say where it comes from, the
//! operations its body names and whether it holds what was signed in with. Never the body.

use url::Url;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// As sent; methods are case-sensitive.
    pub method: String,
    pub url: Url,
    pub content_type: Option<String>,
    /// `Origin` header.
    pub origin: Option<String>,
    /// `Sec-Fetch-Mode`
    pub fetch_mode: Option<String>,
    /// `Sec-Fetch-Dest`
    pub fetch_dest: Option<String>,
    /// `X-HTTP-Method-Override` and its kin: the method the server may use instead.
    pub method_override: Option<String>,
    /// Carries `Ping-To` or `Ping-From`.
    pub ping: bool,
    /// See [`super::operations()`].
    pub operations: Vec<String>,
    /// The body holds the value of the sign-in under way.
    pub carries: bool,
}

impl RequestFacts {
    pub fn new(method: impl Into<String>, url: Url) -> Self {
        Self {
            method: method.into(),
            url,
            content_type: None,
            origin: None,
            fetch_mode: None,
            fetch_dest: None,
            method_override: None,
            ping: false,
            operations: Vec::new(),
            carries: false,
        }
    }

    /// GET, HEAD and OPTIONS read; anything else, or any other method they ask the server to use
    /// instead, changes something.
    pub fn reads(&self) -> bool {
        let read = |method: &str| matches!(method, "GET" | "HEAD" | "OPTIONS");
        read(&self.method)
            && self
                .method_override
                .as_deref()
                .is_none_or(|other| read(other.trim().to_ascii_uppercase().as_str()))
    }

    /// The method a server may act on: declarations are held against this one.
    pub fn effective_method(&self) -> String {
        match &self.method_override {
            Some(other) => other.trim().to_ascii_uppercase(),
            None => self.method.clone(),
        }
    }

    /// The kinds of request a page fires without waiting for an answer, as far as they can be told
    /// apart: an `<a ping>`, a report, and a beacon (an unreadable POST that isn't a navigation).
    pub fn fired_and_forgotten(&self) -> Option<&'static str> {
        let kind = self.content_type.as_deref().unwrap_or("");
        let kind = kind.split(';').next().unwrap_or("").trim();
        if self.ping || kind.eq_ignore_ascii_case("text/ping") {
            return Some("ping");
        }
        let report = ["application/csp-report", "application/reports+json"]
            .iter()
            .any(|known| kind.eq_ignore_ascii_case(known));
        if report || self.fetch_dest.as_deref() == Some("report") {
            return Some("report");
        }
        let beacon = self.method == "POST"
            && self.fetch_mode.as_deref() == Some("no-cors")
            && self.fetch_dest.as_deref() == Some("empty");
        beacon.then_some("beacon")
    }
}
