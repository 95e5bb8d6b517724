//! What all connections of one proxy share.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use url::Url;

use super::authority::Authority;
use super::config::{Internal, Limits, Mode, ProxyConfig};
use super::events::Log;
use super::flight::Flights;
use super::sockets::Sockets;
use super::trust::Trust;
use super::upstream::UpstreamProxy;
use crate::policy::{
    AllowSet, Carries, Denial, Gate, HostRule, Origin, RequestFacts, Ruling, Scheme,
};

pub(super) struct Session {
    pub allow: watch::Receiver<AllowSet>,
    pub mode: Mode,
    pub authority: Arc<Authority>,
    pub trust: Trust,
    pub upstream: Option<UpstreamProxy>,
    pub internal: Option<Internal>,
    pub limits: Limits,
    pub log: Log,
    pub flights: Arc<Flights>,
    pub sockets: Sockets,
    /// Set while a secret is entered: the origin it belongs to.
    entering: watch::Receiver<Option<Origin>>,
    gate: Arc<Mutex<Gate>>,
    secret_in_url: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Session {
    pub fn new(
        config: ProxyConfig,
        allow: watch::Receiver<AllowSet>,
        entering: watch::Receiver<Option<Origin>>,
        log: Log,
    ) -> Self {
        Self {
            allow,
            mode: config.mode,
            authority: config.authority,
            trust: config.trust,
            upstream: config.upstream,
            internal: config.internal,
            limits: config.limits,
            log,
            flights: Flights::new(),
            sockets: Sockets::default(),
            entering,
            gate: config.gate,
            secret_in_url: config.secret_in_url,
        }
    }

    pub fn rule(&self, scheme: Scheme, host: &str, port: u16) -> Result<HostRule, Denial> {
        self.allow.borrow().judge_place(scheme, host, port).cloned()
    }

    pub fn rule_for(&self, url: &Url) -> Result<HostRule, Denial> {
        self.allow.borrow().judge(url).cloned()
    }

    /// Resolves when `rule` no longer holds as it was.
    pub async fn revoked(&self, rule: &HostRule) {
        let mut allow = self.allow.clone();
        loop {
            let now = allow
                .borrow_and_update()
                .judge_place(rule.scheme, &rule.host, rule.port)
                .cloned();
            if now.as_ref() != Ok(rule) {
                return;
            }
            if allow.changed().await.is_err() {
                // The proxy is gone and takes this connection with it.
                std::future::pending::<()>().await;
            }
        }
    }

    pub fn wants_operations(&self, facts: &RequestFacts) -> bool {
        self.gate().wants_operations(facts)
    }

    pub fn wants_carried(&self, facts: &RequestFacts) -> Option<Carries> {
        self.gate().wants_carried(facts)
    }

    pub fn login_redirected(&self) {
        self.gate().login_redirected();
    }

    /// Whether a socket to `url` could carry a secret away: nobody reads what it sends.
    pub fn shuts_out(&self, url: &Url) -> bool {
        let entering = self.entering.borrow();
        entering.as_ref().is_some_and(|origin| !origin.holds(url))
    }

    /// Resolves when [`Session::shuts_out`] does.
    pub async fn shut_out(&self, url: &Url) {
        let mut entering = self.entering.clone();
        while !self.shuts_out(url) {
            if entering.changed().await.is_err() {
                // As for a list: the proxy is gone and takes this connection with it.
                std::future::pending::<()>().await;
            }
        }
    }

    pub fn judge(&self, facts: &RequestFacts) -> Ruling {
        self.gate().judge(facts)
    }

    fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As written and percent-decoded: a page chooses how it encodes.
    pub fn holds_secret(&self, text: &str) -> bool {
        let decoded = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
        (self.secret_in_url)(text) || (self.secret_in_url)(&decoded)
    }
}
