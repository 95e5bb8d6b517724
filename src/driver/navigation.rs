//! How a navigation ended. Drivers call some error pages a success (a redirect loop, an unsafe
//! port: F8, F9, measured), so the document that arrived is asked for its own address.

use super::error::DriverError;

/// How long a navigation waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Until it is under way.
    None,
    /// Until the document is parsed.
    #[default]
    Interactive,
    /// Until it is loaded with all it names.
    Complete,
}

impl Wait {
    pub(super) fn word(self) -> &'static str {
        match self {
            Wait::None => "none",
            Wait::Interactive => "interactive",
            Wait::Complete => "complete",
        }
    }
}

/// Why no page came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NavFailure {
    #[error("the host's name could not be resolved")]
    Dns,
    #[error("the connection was refused")]
    Refused,
    #[error("the connection broke off")]
    Disconnected,
    #[error("the connection timed out")]
    TimedOut,
    #[error("the certificate or the encryption was not accepted")]
    Tls,
    #[error("too many redirects")]
    TooManyRedirects,
    #[error("browsers refuse this port")]
    UnsafePort,
    #[error("the proxy refused the host")]
    Blocked,
    /// Another navigation, a download or an answer without content took its place.
    #[error("the navigation was aborted")]
    Aborted,
    /// The browser's own code, such as `ERR_INVALID_RESPONSE`.
    #[error("the browser could not load the page ({0})")]
    Other(String),
}

/// How a navigation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NavOutcome {
    /// The document's own address (raw); with [`Wait::None`] the one that was asked for.
    pub url: String,
    /// The driver's id of the navigation, as in events.
    pub navigation: Option<String>,
    pub failure: Option<NavFailure>,
}

impl NavOutcome {
    pub fn succeeded(&self) -> bool {
        self.failure.is_none()
    }
}

/// Reads `net::ERR_…` (Chromium), `NS_…` and the words of error pages' addresses (Firefox).
pub(super) fn failure_in(text: &str) -> Option<NavFailure> {
    let code = code_in(text)?;
    let is = |words: &[&str]| words.iter().any(|word| code.contains(word));
    Some(
        if is(&[
            "NAME_NOT_RESOLVED",
            "NAME_RESOLUTION",
            "UNKNOWN_HOST",
            "dnsNotFound",
        ]) {
            NavFailure::Dns
        } else if is(&[
            "TUNNEL_CONNECTION",
            "BLOCKED",
            "PROXY",
            "proxyConnect",
            "proxyResolve",
        ]) {
            NavFailure::Blocked
        } else if is(&["CONNECTION_REFUSED", "connectionFailure"]) {
            NavFailure::Refused
        } else if is(&["TIMED_OUT", "NET_TIMEOUT", "netTimeout"]) {
            NavFailure::TimedOut
        } else if is(&["CERT", "SSL", "SEC_ERROR", "nssFailure", "nssBadCert"]) {
            NavFailure::Tls
        } else if is(&["TOO_MANY_REDIRECTS", "REDIRECT_LOOP", "redirectLoop"]) {
            NavFailure::TooManyRedirects
        } else if is(&["UNSAFE_PORT", "PORT_ACCESS_NOT_ALLOWED", "deniedPortAccess"]) {
            NavFailure::UnsafePort
        } else if is(&["ABORTED", "BINDING_ABORTED"]) {
            NavFailure::Aborted
        } else if is(&[
            "CONNECTION_RESET",
            "CONNECTION_CLOSED",
            "EMPTY_RESPONSE",
            "DISCONNECTED",
            "NET_RESET",
            "NET_INTERRUPT",
            "ADDRESS_UNREACHABLE",
            "CONNECTION_FAILED",
            "netReset",
            "netInterrupt",
        ]) {
            NavFailure::Disconnected
        } else {
            NavFailure::Other(code.to_owned())
        },
    )
}

const CODES: [&str; 5] = [
    "ERR_",
    "NS_ERROR_",
    "NS_BINDING_",
    "SEC_ERROR_",
    "SSL_ERROR_",
];

/// Firefox's words for its error pages that come in place of a code (measured).
const PAGES: [&str; 11] = [
    "connectionFailure",
    "deniedPortAccess",
    "dnsNotFound",
    "netInterrupt",
    "netReset",
    "netTimeout",
    "nssBadCert",
    "nssFailure",
    "proxyConnect",
    "proxyResolve",
    "redirectLoop",
];

/// The first word that is a code or names an error page.
fn code_in(text: &str) -> Option<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|word| {
            let mut beginnings = CODES.iter().chain(&PAGES);
            word.len() < 80 && beginnings.any(|beginning| word.starts_with(*beginning))
        })
}

/// Is this the address of a browser's own error page?
pub fn is_error_page(url: &str) -> bool {
    ["chrome-error:", "about:neterror", "about:certerror"]
        .iter()
        .any(|start| url.starts_with(start))
}

/// Firefox tells no failure by an event: it commits a page of its own in place of this address.
pub(super) fn stands_for(url: &str) -> Option<String> {
    parameter(&firefox_page(url)?, "u")
}

/// Why Firefox's error page stands there, as its address says.
pub(super) fn failure_of_page(url: &str) -> Option<NavFailure> {
    let page = firefox_page(url)?;
    if page.path() == "certerror" {
        return Some(NavFailure::Tls);
    }
    let word = parameter(&page, "e")?;
    Some(failure_in(&word).unwrap_or(NavFailure::Other(word)))
}

fn firefox_page(url: &str) -> Option<url::Url> {
    let ours = url.starts_with("about:") && is_error_page(url);
    ours.then(|| url::Url::parse(url).ok()).flatten()
}

fn parameter(page: &url::Url, name: &str) -> Option<String> {
    let value = page.query_pairs().find(|(key, _)| key == name)?.1;
    (!value.is_empty()).then(|| value.into_owned())
}

/// A navigation command's error: a failed load is an outcome, not an error.
pub(super) fn outcome_of(url: &str, error: DriverError) -> Result<NavOutcome, DriverError> {
    if let DriverError::Command { message, error, .. } = &error
        && let Some(failure) = failure_in(message.expose())
            .or_else(|| error.contains("abort").then_some(NavFailure::Aborted))
    {
        return Ok(NavOutcome {
            url: url.to_owned(),
            navigation: None,
            failure: Some(failure),
        });
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart() {
        for (text, expected) in [
            ("net::ERR_NAME_NOT_RESOLVED", NavFailure::Dns),
            (
                "net::ERR_CONNECTION_REFUSED at http://x",
                NavFailure::Refused,
            ),
            ("net::ERR_CERT_AUTHORITY_INVALID", NavFailure::Tls),
            ("net::ERR_SSL_PROTOCOL_ERROR", NavFailure::Tls),
            ("ERR_TOO_MANY_REDIRECTS", NavFailure::TooManyRedirects),
            ("net::ERR_UNSAFE_PORT", NavFailure::UnsafePort),
            ("net::ERR_TUNNEL_CONNECTION_FAILED", NavFailure::Blocked),
            ("net::ERR_PROXY_CONNECTION_FAILED", NavFailure::Blocked),
            ("net::ERR_EMPTY_RESPONSE", NavFailure::Disconnected),
            ("net::ERR_CONNECTION_TIMED_OUT", NavFailure::TimedOut),
            ("NS_ERROR_UNKNOWN_HOST", NavFailure::Dns),
            ("net::ERR_ABORTED", NavFailure::Aborted),
            ("Error: NS_BINDING_ABORTED", NavFailure::Aborted),
            ("Error: NS_ERROR_PROXY_FORBIDDEN", NavFailure::Blocked),
            (
                "Error: NS_ERROR_REDIRECT_LOOP",
                NavFailure::TooManyRedirects,
            ),
            ("Error: deniedPortAccess", NavFailure::UnsafePort),
            (
                "net::ERR_INVALID_RESPONSE",
                NavFailure::Other("ERR_INVALID_RESPONSE".into()),
            ),
        ] {
            assert_eq!(failure_in(text), Some(expected), "{text}");
        }
        assert_eq!(failure_in("something else"), None);
    }

    #[test]
    fn error_pages_are_known_by_their_address() {
        assert!(is_error_page("chrome-error://chromewebdata/"));
        assert!(is_error_page("about:neterror?e=dnsNotFound"));
        assert!(!is_error_page("https://a.test/chrome-error:"));
    }

    #[test]
    fn firefox_s_error_page_says_why_and_in_whose_place_it_stands() {
        let page = "about:neterror?e=netReset&u=https%3A//a.test/x%3Fy%3D1&c=UTF-8&d=The%20…";
        assert_eq!(failure_of_page(page), Some(NavFailure::Disconnected));
        assert_eq!(stands_for(page).as_deref(), Some("https://a.test/x?y=1"));
        assert_eq!(
            failure_of_page("about:certerror?e=nssBadCert&u=https%3A//a.test/"),
            Some(NavFailure::Tls)
        );
        let other = failure_of_page("about:neterror?e=malformedURI&u=x");
        assert_eq!(other, Some(NavFailure::Other("malformedURI".into())));
        for none in [
            "chrome-error://chromewebdata/",
            "https://a.test/?e=netReset&u=x",
        ] {
            assert_eq!(failure_of_page(none), None);
            assert_eq!(stands_for(none), None);
        }
    }
}
