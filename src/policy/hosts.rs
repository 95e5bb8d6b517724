//! One entry of `hosts:`: a scheme, an exact host and a port, in the one form the language has.
//!
//! Both sides of every comparison are made by the same WHATWG code (`url`), so a name in Unicode and
//! its `xn--` form are one host and a look-alike is not (failure 148). Spellings that could
//! never match are refused with the right form instead of becoming dead entries (failure 147).

use std::fmt;
use std::net::SocketAddr;

use url::{Host, Url};

/// `ws` counts as [`Scheme::Http`], `wss` as [`Scheme::Https`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The class of an address's scheme; `None` for anything that isn't HTTP or a WebSocket.
    pub fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "http" | "ws" => Some(Self::Http),
            "https" | "wss" => Some(Self::Https),
            _ => None,
        }
    }

    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An exact host that may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    pub scheme: Scheme,
    /// ASCII, lower case; an IPv6 address in brackets.
    pub host: String,
    pub port: u16,
    /// Loopback and private addresses are accepted as the answer to its name.
    pub private: bool,
    /// Where a fixture serves this name; no name is looked up then.
    pub connect_to: Option<SocketAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error(
        "`{entry}` holds no host; write a host as `shop.example` or `https://shop.example:8443`"
    )]
    Empty { entry: String },
    #[error(
        "`{entry}`: a host stands for itself only, there are no wildcards; write `{right}`, and each further host as an entry of its own"
    )]
    Wildcard { entry: String, right: String },
    #[error("`{entry}`: a host entry has no path, query or fragment; write `{right}`")]
    Path { entry: String, right: String },
    #[error("`{entry}`: a host entry holds no user name or password; write `{right}`")]
    UserInfo { entry: String, right: String },
    #[error("`{entry}`: a host is written without a dot at its end; write `{right}`")]
    TrailingDot { entry: String, right: String },
    #[error(
        "`{entry}`: scheme `{scheme}` is not allowed; hosts are reached by `http://` or `https://`"
    )]
    Scheme { entry: String, scheme: String },
    #[error("`{entry}`: an IP address is written in its plain form; write `{right}`")]
    Address { entry: String, right: String },
    #[error("`{entry}`: `{port}` is not a port; write a number from 1 to 65535, as in `{right}`")]
    Port {
        entry: String,
        port: String,
        right: String,
    },
    #[error(
        "`{entry}` is not a host name; write a host as `shop.example` or `https://shop.example:8443`"
    )]
    Name { entry: String },
}

impl HostRule {
    /// Reads `[scheme://]host[:port]`; without a scheme it is `default` (that of `start`), without
    /// a port the scheme's own.
    pub fn parse(entry: &str, default: Scheme) -> Result<Self, HostError> {
        let parts = Parts::split(entry, default)?;
        let host = canonical_host(&parts, entry)?;
        let port = parts.port(entry)?;
        Ok(Self {
            scheme: parts.scheme,
            host,
            port,
            private: false,
            connect_to: None,
        })
    }

    /// The host of an address already taken apart, for `start`.
    pub fn of(url: &Url) -> Option<Self> {
        Some(Self {
            scheme: Scheme::of(url.scheme())?,
            host: url.host_str()?.to_owned(),
            port: url.port_or_known_default()?,
            private: false,
            connect_to: None,
        })
    }

    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Served by a fixture at `address`; implies [`HostRule::private`].
    pub fn mapped(mut self, address: SocketAddr) -> Self {
        self.private = true;
        self.connect_to = Some(address);
        self
    }

    /// Same scheme class, host and port; `private` and the mapping don't matter.
    pub fn same_place(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.port == other.port
    }
}

/// As an entry is written: the port only where it isn't the scheme's own.
impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

struct Parts<'a> {
    scheme: Scheme,
    /// With `://` where it was written.
    prefix: &'a str,
    host: &'a str,
    port: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn split(entry: &'a str, default: Scheme) -> Result<Self, HostError> {
        let owned = || entry.to_owned();
        let (prefix, scheme, rest) = match entry.find("://") {
            Some(at) => {
                let word = entry[..at].to_ascii_lowercase();
                let scheme = match word.as_str() {
                    "http" => Scheme::Http,
                    "https" => Scheme::Https,
                    _ => {
                        return Err(HostError::Scheme {
                            entry: owned(),
                            scheme: word,
                        });
                    }
                };
                (&entry[..at + 3], scheme, &entry[at + 3..])
            }
            None => ("", default, entry),
        };
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
        if authority.len() < rest.len() {
            let right = format!("{prefix}{authority}");
            return Err(match authority.is_empty() {
                true => HostError::Empty { entry: owned() },
                false => HostError::Path {
                    entry: owned(),
                    right,
                },
            });
        }
        if let Some(at) = authority.rfind('@') {
            let right = format!("{prefix}{}", &authority[at + 1..]);
            return Err(HostError::UserInfo {
                entry: "…@…".to_owned(),
                right,
            });
        }
        let (host, port) = match authority.rfind(':') {
            Some(at) if !authority[at..].contains(']') => {
                (&authority[..at], Some(&authority[at + 1..]))
            }
            _ => (authority, None),
        };
        Ok(Self {
            scheme,
            prefix,
            host,
            port,
        })
    }

    fn port(&self, entry: &str) -> Result<u16, HostError> {
        let Some(text) = self.port else {
            return Ok(self.scheme.default_port());
        };
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse::<u16>() {
            Ok(port) if digits && port > 0 => Ok(port),
            _ => Err(HostError::Port {
                entry: entry.to_owned(),
                port: text.to_owned(),
                right: format!("{}{}:8443", self.prefix, self.host),
            }),
        }
    }

    fn with_host(&self, host: &str) -> String {
        let port = self.port.map(|p| format!(":{p}")).unwrap_or_default();
        format!("{}{host}{port}", self.prefix)
    }
}

fn canonical_host(parts: &Parts, entry: &str) -> Result<String, HostError> {
    let host = parts.host;
    let entry = entry.to_owned();
    if host.is_empty() {
        return Err(HostError::Empty { entry });
    }
    if host.contains('*') || host.starts_with('.') {
        let bare = host.trim_start_matches(['*', '.']);
        let right = match bare.is_empty() || bare.contains('*') {
            true => "shop.example".to_owned(),
            false => parts.with_host(bare),
        };
        return Err(HostError::Wildcard { entry, right });
    }
    if host.ends_with('.') {
        let right = parts.with_host(host.trim_end_matches('.'));
        return Err(HostError::TrailingDot { entry, right });
    }
    // `%2e` and the like would be decoded by the parser: nobody writes a host that way.
    if host.contains(['%', '\\']) || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(HostError::Name { entry });
    }
    match Host::parse(host) {
        Ok(Host::Domain(name)) if name.split('.').any(str::is_empty) => {
            Err(HostError::Name { entry })
        }
        Ok(Host::Domain(name)) => Ok(name),
        Ok(address) => {
            let plain = address.to_string();
            match plain.eq_ignore_ascii_case(host) {
                true => Ok(plain),
                false => Err(HostError::Address {
                    entry,
                    right: parts.with_host(&plain),
                }),
            }
        }
        Err(_) => Err(HostError::Name { entry }),
    }
}

/// Two scripts in one label of a name: a warning for the person who lists it (failure 148).
pub fn mixed_scripts(host: &str) -> Option<String> {
    let (shown, _) = idna::domain_to_unicode(host);
    let mixed = shown.split('.').find(|label| {
        let mut scripts = label.chars().filter_map(script);
        let first = scripts.next();
        scripts.any(|s| Some(s) != first)
    })?;
    let ascii = idna::domain_to_ascii(&shown).unwrap_or_else(|_| host.to_owned());
    Some(format!(
        "`{mixed}` in host `{shown}` mixes alphabets that look alike; its plain form is `{ascii}`"
    ))
}

fn script(c: char) -> Option<u8> {
    match c as u32 {
        _ if !c.is_alphabetic() => None,
        0..=0x24F | 0x1E00..=0x1EFF => Some(0),
        0x370..=0x3FF | 0x1F00..=0x1FFF => Some(1),
        0x400..=0x52F => Some(2),
        0x530..=0x58F => Some(3),
        _ => None,
    }
}
