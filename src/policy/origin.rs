//! The exact place a credential belongs to: scheme, host and port (R19, R22).

use std::fmt;

use url::Url;

use super::hosts::Scheme;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: Scheme,
    host: String,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error(
        "not an origin; write it as `https://login.shop.example`, with the port where it isn't the usual one"
    )]
    Unreadable,
    #[error("an origin is written exactly as browsers compare it: `{right}`")]
    NotCanonical { right: String },
    #[error("an origin holds no user name or password; write `{right}`")]
    UserInfo { right: String },
    #[error("a credential belongs to an http or https origin, not to `{scheme}:`")]
    Scheme { scheme: String },
    #[error("a host with a dot at its end is another host; write `{right}`")]
    TrailingDot { right: String },
}

impl Origin {
    /// An origin as a person wrote it: only the canonical form, so that what is read back and
    /// what is compared are the same text.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let url = Url::parse(text).map_err(|_| OriginError::Unreadable)?;
        let origin = Self::of(&url)?;
        let right = origin.to_string();
        match right == text {
            true => Ok(origin),
            false => Err(OriginError::NotCanonical { right }),
        }
    }

    /// The origin of a document, frame or form action as the browser reports it.
    pub fn of(url: &Url) -> Result<Self, OriginError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => {
                return Err(OriginError::Scheme {
                    scheme: other.to_owned(),
                });
            }
        };
        let host = url.host_str().ok_or(OriginError::Unreadable)?.to_owned();
        let port = url.port_or_known_default().ok_or(OriginError::Unreadable)?;
        let origin = Self { scheme, host, port };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::UserInfo {
                right: origin.to_string(),
            });
        }
        match origin.host.strip_suffix('.') {
            Some(bare) => Err(OriginError::TrailingDot {
                right: Self {
                    host: bare.to_owned(),
                    ..origin.clone()
                }
                .to_string(),
            }),
            None => Ok(origin),
        }
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether a document or form action at `url` is exactly here.
    pub fn holds(&self, url: &Url) -> bool {
        Self::of(url).is_ok_and(|other| other == *self)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}
