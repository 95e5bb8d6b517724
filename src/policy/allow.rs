//! The hosts of a session, as an immutable set with a version.
//!
//! A set is never changed: adding or removing makes the next one, which is swapped in whole. So no
//! request is judged by half an update, and nothing a page does can reach the set at all (R75, R77).

use std::sync::Arc;

use url::Url;

use super::hosts::{HostRule, Scheme};

/// Why an address is not reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("scheme not allowed: `{scheme}:`; only http and https addresses are opened")]
    Scheme { scheme: String },
    #[error("user info in an address: write the address without what stands before the `@`")]
    UserInfo,
    #[error("host not listed: {host}; to reach it add `{add}` to `hosts`")]
    Host { host: String, add: String },
    #[error("port not listed: {host}:{port}; to reach it add `{add}` to `hosts`")]
    Port {
        host: String,
        port: u16,
        add: String,
    },
    #[error(
        "scheme not listed: {host} is listed, but not by `{scheme}`; to reach it add `{add}` to `hosts`"
    )]
    SchemeOfHost {
        host: String,
        scheme: Scheme,
        add: String,
    },
    #[error("not an address: write it as `https://shop.example/path`")]
    Unreadable,
}

impl Denial {
    /// The stable words for events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Scheme { .. } => "scheme not allowed",
            Self::UserInfo => "user info in address",
            Self::Host { .. } => "host not listed",
            Self::Port { .. } => "port not listed",
            Self::SchemeOfHost { .. } => "scheme not listed",
            Self::Unreadable => "not an address",
        }
    }
}

/// Cheap to clone; equal versions of one line of sets hold the same rules.
#[derive(Debug, Clone, Default)]
pub struct AllowSet {
    rules: Arc<[HostRule]>,
    version: u64,
}

impl AllowSet {
    /// Later rules for the same place are merged into the first: private if any is, mapped if any is.
    pub fn new(rules: impl IntoIterator<Item = HostRule>) -> Self {
        let mut merged: Vec<HostRule> = Vec::new();
        for rule in rules {
            match merged.iter_mut().find(|known| known.same_place(&rule)) {
                Some(known) => {
                    known.private |= rule.private;
                    known.connect_to = known.connect_to.or(rule.connect_to);
                }
                None => merged.push(rule),
            }
        }
        Self {
            rules: merged.into(),
            version: 1,
        }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    /// The next version, with `rule` as well.
    pub fn with(&self, rule: HostRule) -> Self {
        let next = Self::new(self.rules.iter().cloned().chain([rule]));
        Self {
            version: self.version + 1,
            ..next
        }
    }

    /// The next version, without the place of `rule`.
    pub fn without(&self, rule: &HostRule) -> Self {
        let kept: Vec<_> = self
            .rules
            .iter()
            .filter(|known| !known.same_place(rule))
            .cloned()
            .collect();
        Self {
            rules: kept.into(),
            version: self.version + 1,
        }
    }

    /// Scheme class, whole host and port must all be those of one rule (R71).
    pub fn judge(&self, url: &Url) -> Result<&HostRule, Denial> {
        let Some(scheme) = Scheme::of(url.scheme()) else {
            return Err(Denial::Scheme {
                scheme: url.scheme().to_owned(),
            });
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Denial::UserInfo);
        }
        match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => self.judge_place(scheme, host, port),
            _ => Err(Denial::Unreadable),
        }
    }

    /// As [`AllowSet::judge`], for the parts. `host` must be in canonical form.
    pub fn judge_place(&self, scheme: Scheme, host: &str, port: u16) -> Result<&HostRule, Denial> {
        let mut same_host = None;
        let mut same_port = None;
        for rule in self.rules.iter().filter(|rule| rule.host == host) {
            if rule.port == port && rule.scheme == scheme {
                return Ok(rule);
            }
            same_host = Some(rule);
            same_port = same_port.or((rule.port == port).then_some(rule));
        }
        let add = HostRule {
            scheme,
            host: host.to_owned(),
            port,
            private: false,
            connect_to: None,
        }
        .to_string();
        let host = host.to_owned();
        Err(match (same_host, same_port) {
            (_, Some(_)) => Denial::SchemeOfHost { host, scheme, add },
            // Another scheme at its own port is the scheme's fault, not the port's.
            (Some(rule), None)
                if rule.scheme != scheme
                    && rule.port == rule.scheme.default_port()
                    && port == scheme.default_port() =>
            {
                Denial::SchemeOfHost { host, scheme, add }
            }
            (Some(_), None) => Denial::Port { host, port, add },
            (None, None) => Denial::Host { host, add },
        })
    }
}

/// An address that `goto` may open at all, whatever the list says: an allow-list of schemes, not a
/// by-product of a missing host (R70, failures 143 and 144).
pub fn navigable(address: &str) -> Result<Url, Denial> {
    let url = Url::parse(address).map_err(|_| Denial::Unreadable)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Denial::Scheme {
            scheme: url.scheme().to_owned(),
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Denial::UserInfo);
    }
    Ok(url)
}
