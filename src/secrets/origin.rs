//! A credential belongs to one exact origin: scheme, host and port (R19, R22).

use url::{Host, Url};

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OriginError {
    #[error("is not an address; write it as https://host or https://host:port")]
    NotAnAddress,
    #[error("must begin with http:// or https://")]
    Scheme,
    #[error("must not hold a user name or password")]
    UserInfo,
    #[error("must be an origin only: no path, query or fragment")]
    MoreThanOrigin,
    #[error("ends its host name with a dot, which is a different host")]
    TrailingDot,
}

/// `scheme://host[:port]` in its canonical spelling: lower case, punycode, no default port.
/// The same spelling a browser gives for `window.origin`.
pub fn canonical(text: &str) -> Result<String, OriginError> {
    let url = Url::parse(text.trim()).map_err(|_| OriginError::NotAnAddress)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(OriginError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() || text.contains('@') {
        return Err(OriginError::UserInfo);
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(OriginError::MoreThanOrigin);
    }
    match url.host() {
        None => return Err(OriginError::NotAnAddress),
        Some(Host::Domain(name)) if name.ends_with('.') => return Err(OriginError::TrailingDot),
        Some(_) => {}
    }
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r19_an_origin_has_one_spelling() {
        for (text, canon) in [
            ("https://Code.Test/", "https://code.test"),
            ("https://code.test:443", "https://code.test"),
            ("http://code.test:8080", "http://code.test:8080"),
            ("https://bücher.test", "https://xn--bcher-kva.test"),
            ("http://127.1", "http://127.0.0.1"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(canon));
        }
    }

    #[test]
    fn r19_what_is_more_or_less_than_an_origin_is_refused() {
        use OriginError::*;
        for (text, why) in [
            ("code.test", NotAnAddress),
            ("", NotAnAddress),
            ("ftp://code.test", Scheme),
            ("javascript:alert(1)", Scheme),
            ("https://user@code.test", UserInfo),
            ("https://@code.test", UserInfo),
            ("https://code.test@evil.test", UserInfo),
            ("https://code.test/login", MoreThanOrigin),
            ("https://code.test/?a", MoreThanOrigin),
            ("https://code.test./", TrailingDot),
        ] {
            assert_eq!(canonical(text), Err(why), "{text}");
        }
    }
}
