//! The boundary for hosts and methods: one forward proxy per user context.
//!
//! The browser has no other way out, so what isn't let through here doesn't happen. Every request
//! is judged, also each further one on a kept connection, by `policy` and by the address a name
//! really resolves to. HTTPS is opened with an authority made for the run, so methods are judged
//! there too; bodies pass through and are never kept.
//!
//! HTTP/1.1 is spoken by a reader of our own ([`wire`], [`body`]): a lenient one would let
//! two readers of the same bytes disagree, and the judge must not be the one who is wrong.
//! Nothing here knows a browser; the tests use sockets alone.

mod answer;
mod authority;
mod body;
mod browser_own;
mod carry;
mod config;
mod connection;
mod deny_all;
mod dial;
mod events;
mod exchange;
mod fields;
mod flight;
mod heads;
mod proxy;
mod reach;
mod session;
mod sockets;
mod trust;
mod upstream;
mod wire;

#[cfg(test)]
mod tests;

pub use authority::Authority;
pub use browser_own::browser_own;
pub use config::{Internal, InternalAnswer, Limits, Mode, ProxyConfig};
pub use deny_all::DenyAll;
pub use events::{Address, BlockedRequest, Denied, NetEvent};
pub use flight::Quiet;
pub use proxy::Proxy;
pub use sockets::SocketCount;
pub use trust::Trust;
pub use upstream::UpstreamProxy;

use std::sync::Once;

/// What keeps the proxy from being set up.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("the proxy can't listen on {address}, an address of this machine: {source}")]
    Bind {
        address: std::net::SocketAddr,
        source: std::io::Error,
    },
    #[error("the authority for this run can't be made: {0}")]
    Authority(#[from] rcgen::Error),
    #[error("`ca_file` holds no certificate that can be read: {reason}; it must be a PEM file")]
    CaFile { reason: String },
    #[error("TLS can't be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("`[network] upstream` is not a proxy address; write it as `http://proxy.example:3128`")]
    Upstream,
}

/// Chooses the TLS implementation for the process; without it rustls panics at its first use.
/// Called by everything here that needs it, and by main before any other TLS client starts.
pub fn install_crypto() {
    static ONCE: Once = Once::new();
    // An error means that another part of the process has already chosen; that is as good.
    ONCE.call_once(|| drop(rustls::crypto::aws_lc_rs::default_provider().install_default()));
}
