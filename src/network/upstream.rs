//! The proxy in front of us, for people who have no other way out.

use base64::Engine as _;
use url::Url;

use super::NetworkError;

/// An HTTP proxy that answers CONNECT. No `Debug`: it may hold a password.
#[derive(Clone)]
pub struct UpstreamProxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// Value of `Proxy-Authorization`.
    pub(super) authorization: Option<String>,
}

impl UpstreamProxy {
    /// `http://[user:password@]host:port`
    pub fn parse(address: &str) -> Result<Self, NetworkError> {
        let url = Url::parse(address).map_err(|_| NetworkError::Upstream)?;
        let host = url.host_str().unwrap_or("");
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if url.scheme() != "http" || host.is_empty() || !bare {
            return Err(NetworkError::Upstream);
        }
        let word = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
        let authorization = (!url.username().is_empty()).then(|| {
            let mut pair = word(url.username());
            pair.push(b':');
            pair.extend(word(url.password().unwrap_or("")));
            let coded = base64::engine::general_purpose::STANDARD.encode(pair);
            format!("Basic {coded}")
        });
        Ok(Self {
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            authorization,
        })
    }
}
