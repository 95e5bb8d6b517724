//! What a proxy is told when it starts.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::authority::Authority;
use super::trust::Trust;
use super::upstream::UpstreamProxy;
use crate::policy::{AllowSet, Gate};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// HTTPS is opened; methods are judged everywhere.
    #[default]
    Inspect,
    /// HTTPS is judged by host and port alone.
    Tunnel,
}

/// Bounds on what strangers on either side may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections of the browser at a time.
    pub connections: usize,
    /// For one head once it has begun, and for a TLS handshake.
    pub head: Duration,
    /// Between requests on a kept connection.
    pub idle: Duration,
    /// For name, connection, upstream proxy and handshake together.
    pub connect: Duration,
    /// From the request to the head of its answer.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(30),
            idle: Duration::from_secs(300),
            connect: Duration::from_secs(20),
            answer: Duration::from_secs(120),
        }
    }
}

/// A host that the proxy answers for itself, over plain HTTP: the check page of the session start.
#[derive(Clone)]
pub struct Internal {
    /// Canonical; use a name that can't exist, like `rehearsal-check.invalid`.
    pub host: String,
    /// Path in, answer out.
    pub answer: Arc<dyn Fn(&str) -> InternalAnswer + Send + Sync>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalAnswer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

#[derive(Clone)]
pub struct ProxyConfig {
    pub allow: AllowSet,
    pub gate: Arc<Mutex<Gate>>,
    pub mode: Mode,
    pub authority: Arc<Authority>,
    pub trust: Trust,
    pub upstream: Option<UpstreamProxy>,
    /// Another than loopback only for a browser on another machine.
    pub bind: IpAddr,
    /// Whether a text holds a registered secret in any of its forms.
    pub secret_in_url: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub internal: Option<Internal>,
    pub limits: Limits,
}

impl ProxyConfig {
    /// Inspecting, on loopback, with no secrets known.
    pub fn new(
        allow: AllowSet,
        gate: Arc<Mutex<Gate>>,
        authority: Arc<Authority>,
        trust: Trust,
    ) -> Self {
        Self {
            allow,
            gate,
            mode: Mode::Inspect,
            authority,
            trust,
            upstream: None,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            secret_in_url: Arc::new(|_| false),
            internal: None,
            limits: Limits::default(),
        }
    }
}
