//! Going to addresses, and waiting for documents that were asked for.

use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::driver::{DriverError, NavFailure, NavOutcome, Wait};
use crate::page;

use super::session::Broker;
use super::types::{Arrival, BrokerError};
use super::watch::Way;

impl Broker {
    pub async fn goto(&mut self, url: &Url, within: Duration) -> Result<Arrival, BrokerError> {
        let began = Instant::now();
        if let Err(denial) = self.allow.judge(url) {
            self.must_stop = true;
            return Ok(Arrival::Refused {
                reason: denial.to_string(),
                url: page::shown_address(url.as_str()),
            });
        }
        self.last = None;
        self.unreached = None;
        let outcome = match self.navigated(url, within).await {
            Err(DriverError::Timeout { .. }) => {
                self.stop_asking().await;
                return Ok(Arrival::Failed {
                    reason: "timeout".into(),
                    message: format!(
                        "{}: the page was not there within {} s",
                        page::shown_address(url.as_str()),
                        within.as_secs_f32()
                    ),
                });
            }
            gone => gone?,
        };
        self.spent("navigate", began);
        if outcome.failure.is_some() {
            self.judge_error_page().await?;
        }
        Ok(self.arrival(outcome, url.as_str()))
    }

    /// The browser shows a page of its own where a site's was refused: what address was that? A
    /// redirect from a listed host to another is told by nothing else (case 153).
    pub(super) async fn judge_error_page(&mut self) -> Result<(), BrokerError> {
        self.drain_network();
        match self.tab.tree().await {
            Ok(tree) => {
                // Where the browser names the address it was sent to first, or none, the proxy's
                // refusal tells the one that ended there.
                if self.watch.judge(&tree.url)
                    && let Some(address) = self.denied.take()
                {
                    self.watch.judge(&address);
                }
                Ok(())
            }
            // The tab went away meanwhile: nothing of it is shown either.
            Err(DriverError::NoSuchFrame { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn reload(&mut self) -> Result<(), BrokerError> {
        let address = self.last.as_ref().map(|o| o.url.clone());
        self.last = None;
        let within = self.limits.navigation;
        match address.and_then(|a| Url::parse(&a).ok()) {
            Some(url) => self.navigated(&url, within).await.map(drop)?,
            None => {
                self.watch.state().going = true;
                let reloaded = self.tab.reload(Wait::Interactive, within).await;
                self.watch.state().going = false;
                reloaded.map(drop)?;
            }
        }
        Ok(())
    }

    /// Goes there. The document is there once it is parsed, or when it streams on; at the limit, once
    /// it has begun to come.
    async fn navigated(&mut self, url: &Url, within: Duration) -> Result<NavOutcome, DriverError> {
        self.watch.state().going = true;
        let seen = self.documents_loaded();
        let outcome = tokio::select! {
            biased;
            outcome = self.tab.navigate(url.as_str(), Wait::Interactive, within) => outcome,
            () = self.watch.streams(seen) => self.begun().await,
        };
        self.watch.state().going = false;
        match outcome {
            Err(DriverError::Timeout { .. }) if self.documents_loaded() > seen => {
                self.begun().await
            }
            outcome => outcome,
        }
    }

    /// The document that is there, whole or not.
    async fn begun(&self) -> Result<NavOutcome, DriverError> {
        let (url, failure) = self.tab.document().await?;
        Ok(NavOutcome {
            url,
            navigation: None,
            failure,
        })
    }

    /// Waits until the document that was asked for is there, at most as long as the step may take; the
    /// page that was left stays, if none comes.
    pub(super) async fn arrive(&mut self) -> Result<(), BrokerError> {
        let within = self.step_time(self.limits.navigation);
        let asked = self.document_age();
        if self.watch.arrived(within.saturating_sub(asked)).await {
            return Ok(());
        }
        let Some(address) = self.watch.asked_for() else {
            return Ok(());
        };
        self.stop_asking().await;
        Err(BrokerError::NoAnswer {
            address: page::shown_address(self.scrubber.clean(&address).as_str()),
            seconds: within.as_secs_f32(),
        })
    }

    /// A read's answer, unless the page is left meanwhile: then none would come (measured).
    pub(super) async fn unless_leaving<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            answer = read => Some(answer),
            () = self.watch.leaving() => None,
        }
    }

    /// A navigation under way keeps every read of the tab waiting: it is stopped.
    async fn stop_asking(&mut self) {
        // A tab that can't be stopped answers nothing afterwards, which says so itself.
        let _ = self.tab.stop_loading().await;
        self.watch.state().way = Way::There;
    }

    /// What the proxy says of an address that could not be reached; the browser saw only an empty answer.
    fn why_unreached(&mut self, asked: &str) -> Option<(&'static str, String)> {
        self.drain_network();
        let (address, why) = self.unreached.take()?;
        let same = |a: &str, b: &str| {
            let origin = |u: &str| Url::parse(u).ok().map(|u| u.origin());
            origin(a) == origin(b)
        };
        same(&address, asked).then(|| {
            let has = |words: &str| why.contains(words);
            let reason = if has("no address") {
                "dns"
            } else if has("certificate") || has("TLS") {
                "tls"
            } else if has("in time") {
                "timeout"
            } else if has("can't connect") {
                "connection_refused"
            } else {
                "disconnected"
            };
            (reason, why)
        })
    }

    fn arrival(&mut self, outcome: NavOutcome, asked: &str) -> Arrival {
        let url = self.scrubber.clean(&outcome.url).as_str().to_owned();
        if let Some(failure) = outcome.failure {
            let reason = match &failure {
                NavFailure::Dns => "dns",
                NavFailure::Refused => "connection_refused",
                NavFailure::Disconnected => "disconnected",
                NavFailure::TimedOut => "timeout",
                NavFailure::Tls => "tls",
                NavFailure::TooManyRedirects => "too_many_redirects",
                NavFailure::UnsafePort => "unsafe_port",
                NavFailure::Blocked => "blocked",
                NavFailure::Aborted => "aborted",
                NavFailure::Other(_) => "load_failed",
            };
            let unclear = matches!(
                failure,
                NavFailure::Other(_) | NavFailure::Blocked | NavFailure::Disconnected
            );
            if unclear && let Some((reason, why)) = self.why_unreached(asked) {
                return Arrival::Failed {
                    reason: reason.into(),
                    message: format!("{}: {why}", page::shown_address(asked)),
                };
            }
            return Arrival::Failed {
                reason: reason.into(),
                message: format!("{}: {failure}", page::shown_address(asked)),
            };
        }
        match Url::parse(&outcome.url) {
            Ok(at) if self.allow.judge(&at).is_err() => {
                self.must_stop = true;
                Arrival::Refused {
                    reason: "the page redirected there, and it is not on the list of hosts".into(),
                    url: page::shown_address(&url),
                }
            }
            Ok(at) => {
                let other = Url::parse(asked).is_ok_and(|a| a.origin() != at.origin());
                let note = other.then(|| format!("redirected to {}", page::shown_address(&url)));
                Arrival::Arrived { url, note }
            }
            Err(_) => Arrival::Failed {
                reason: "load_failed".into(),
                message: "the page has no address".into(),
            },
        }
    }
}
