//! Tabs that pages open: following them, and making them readable.

use std::time::Duration;

use tokio::time::Instant;

use crate::driver::Wait;
use crate::page;

use super::session::{Broker, DriverRealm, address_allowed};
use super::types::{BrokerError, Happening};

/// A tab that has arrived answers within this.
const TAB_ANSWERS: Duration = Duration::from_secs(2);

/// Chromium 156 answers no call into a pop-up that shares the process of its opener and was opened at
/// an address (measured); one that is opened empty and then sent there is fine. So `window.open` does
/// it in these two steps: to the page it is the same window, and the address is asked for once. What
/// keeps the window, or is opened without its opener, goes its own way.
pub(super) const OPENED_EMPTY: &str = "() => { \
  const { apply } = Reflect, { test } = RegExp.prototype, Address = URL, native = window.open; \
  const matches = (pattern, text) => apply(test, pattern, [text]); \
  const open = (target, self, given) => { \
    const [address, name, features] = [0, 1, 2].map((i) => given[i] === undefined ? '' : String(given[i])); \
    let goal = null; \
    try { goal = address && new Address(address, document.baseURI).href; } catch {} \
    if (!goal || !matches(/^(https?|blob):/, goal) || matches(/^_(self|parent|top)$/i, name) || matches(/noopener|noreferrer/i, features)) return apply(target, self, given); \
    const opened = apply(target, self, ['', name, features]); \
    if (opened) opened.location = goal; \
    return opened; \
  }; \
  try { window.open = new Proxy(native, { apply: open }); } catch {} \
}";

impl Broker {
    /// Drives the tab the watch says is current.
    pub(super) async fn follow(&mut self) -> Result<(), BrokerError> {
        let current = self.watch.state().current.clone();
        if current.is_empty() {
            return Err(BrokerError::Other("the page closed its last tab".into()));
        }
        if current != self.tab.id() {
            self.tab = self.tab.other(&current);
            self.tab.activate().await?;
            self.last = None;
            self.arrive().await?;
            self.open_again_if_deaf().await?;
        }
        // A hidden opener stops painting and clicking (measured): a pop-up does not stay in front.
        if std::mem::take(&mut self.watch.state().behind) {
            self.tab.activate().await?;
        }
        Ok(())
    }

    /// Chromium 156 answers no call into a pop-up that shares the process of its opener and was
    /// opened at an address (measured; a document loaded afterwards is fine): it is opened again.
    async fn open_again_if_deaf(&mut self) -> Result<(), BrokerError> {
        let realm = DriverRealm {
            tab: &self.tab,
            deadline: TAB_ANSWERS,
            watch: &self.watch,
        };
        let answer = page::call(&realm, self.tab.id(), "twoFrames", &[], None).await;
        if !matches!(
            answer,
            Err(page::ReadError::Call(page::CallFault::TimedOut(_)))
        ) {
            return Ok(());
        }
        let address = self.tab.tree().await?.url;
        if address.starts_with("http") && address_allowed(&self.allow, &address) {
            // Going to the address it is at already would only move to its fragment.
            let within = self.limits.navigation;
            if address.contains('#') {
                self.tab.reload(Wait::Interactive, within).await?;
            } else {
                self.tab
                    .navigate(&address, Wait::Interactive, within)
                    .await?;
            }
            self.watch
                .state()
                .happenings
                .push(Happening::TabOpenedAgain);
        }
        Ok(())
    }

    /// Waits for the tab a step said it opens, and drives it; `false` if none came.
    pub async fn await_tab(&mut self, within: Duration) -> Result<bool, BrokerError> {
        let until = Instant::now() + within;
        loop {
            let watch = self.watch.clone();
            let opened = watch.changed.notified();
            if !self.watch.state().rules.follow_tab {
                break;
            }
            if tokio::time::timeout_at(until, opened).await.is_err() {
                return Ok(false);
            }
        }
        self.settle().await?;
        Ok(true)
    }
}
