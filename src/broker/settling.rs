//! Waiting until a page has come to rest, and taking its picture meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::page;
use crate::page::pictures::{self as covered, Measured, Moment};

use super::pictures::{self, Boxes, Shot};
use super::session::{Broker, DriverRealm};
use super::types::BrokerError;

/// Nothing begun or ended on the network for so long: quiet.
const NETWORK_IDLE: Duration = Duration::from_millis(20);
/// No change of the document for two frames: quiet.
pub(super) const DOCUMENT_IDLE_MS: u64 = 32;

/// From a handler's `fetch` to the proxy it takes the browser a few milliseconds.
const AFTER_ACTION: Duration = Duration::from_millis(12);

/// Where a page changed under its picture, so many actions go by before that is tried again.
const RESTLESS_FOR: u32 = 3;

/// A picture taken while the page settled, and the read that confirmed it.
#[derive(Debug, Default)]
pub(super) struct Early {
    shot: Option<(u32, Shot)>,
    /// Actions to go by before the next try.
    pauses: u32,
}

impl Broker {
    /// Waits as [`Broker::settle`] does, with a picture in the meantime: the frames it takes are the ones an
    /// action's handlers are given anyway. It is kept where nothing changed under it and the read that
    /// follows finds nothing to cover.
    pub async fn settle_in_picture(&mut self) -> Result<(), BrokerError> {
        if !self.may_be_early() {
            return self.settle().await;
        }
        let began = Instant::now();
        self.arrive().await?;
        self.follow().await?;
        if self.network_is_quiet() {
            if let Some((png, boxes)) = self.shoot_and_look().await? {
                self.acted = false;
                self.drain_network();
                self.spent("picture", began);
                if self.nothing_to_cover() {
                    let shot = pictures::painted(png, boxes).await?;
                    self.early.shot = Some((self.generation, shot));
                }
                return Ok(());
            }
            self.early.pauses = RESTLESS_FOR;
        }
        self.settle().await
    }

    /// The picture with what to cover in it, and the read right after it; `None`: the page changed meanwhile.
    async fn shoot_and_look(&mut self) -> Result<Option<(Vec<u8>, Boxes)>, BrokerError> {
        let (tab, documents) = (self.tab.clone(), self.documents_loaded());
        let before = match self.unless_leaving(self.boxes(Moment::Before)).await {
            Some(Ok(Some(before))) => before,
            Some(Err(error @ (BrokerError::Lost(_) | BrokerError::Hung { .. }))) => {
                return Err(error);
            }
            // It is just going away.
            _ => return Ok(None),
        };
        let png = self.unless_leaving(tab.screenshot(None)).await;
        let (watch, deadline) = (self.watch.clone(), self.limits.command);
        let release = async {
            let realm = DriverRealm {
                tab: &tab,
                deadline,
                watch: &watch,
            };
            covered::measure(&realm, tab.id(), 0, &[], &[], Moment::After).await
        };
        // One behind the other: the browser answers both before it draws again.
        let (released, looked) = tokio::join!(release, self.look());
        let looked = looked?;
        let same = tab.id() == self.tab.id()
            && documents == self.documents_loaded()
            && looked.documents.len() == 1;
        let (Some(Ok(png)), Ok(Some(Measured { boxes, still }))) = (png, released) else {
            return Ok(None);
        };
        let after: Boxes = boxes.into_iter().map(pictures::of_field).collect();
        let kept = same
            && still >= DOCUMENT_IDLE_MS
            && self.network_is_quiet()
            && pictures::same_boxes(&before, &after);
        Ok(kept.then(|| (png, [before, after].concat())))
    }

    /// The page was read when it had settled, and its picture is there.
    pub fn is_pictured(&self) -> bool {
        matches!(&self.early.shot, Some((generation, _)) if *generation == self.generation)
    }

    /// The picture of the latest read, if one was taken while the page settled.
    pub(super) fn early_shot(&mut self) -> Option<Shot> {
        let (generation, shot) = self.early.shot.take()?;
        (generation == self.generation).then_some(shot)
    }

    /// Only where today's read says that there is nothing to hide: the next one comes after the picture.
    fn may_be_early(&mut self) -> bool {
        let plain = self.acted
            && !self.held
            && self.by_hand.is_none()
            && self.masks.is_empty()
            && self.watch.state().tabs.len() == 1
            && self.nothing_to_cover();
        if plain && self.early.pauses > 0 {
            self.early.pauses -= 1;
            return false;
        }
        plain
    }

    /// One document, without a word that pictures have to cover.
    fn nothing_to_cover(&self) -> bool {
        let one = self.last.as_ref().is_some_and(|o| o.documents.len() == 1);
        one && self.to_cover() == 0
    }

    /// Waits for what the last action set off: a navigation, requests, changes of the document.
    /// Bounded: a page that never goes idle costs `limits.settle` and no more.
    pub async fn settle(&mut self) -> Result<(), BrokerError> {
        let began = Instant::now();
        let until = began + self.limits.settle;
        self.arrive().await?;
        self.follow().await?;
        let mut quiet = false;
        if std::mem::take(&mut self.acted) {
            // What a handler starts (a request, a navigation) is under way two frames later.
            let realm = self.realm();
            let settled = page::acts::settled(&realm, self.tab.id(), AFTER_ACTION);
            let unchanged = match self.unless_leaving(settled).await {
                Some(Ok(ms)) => ms >= DOCUMENT_IDLE_MS,
                None | Some(Err(page::ReadError::Call(page::CallFault::Gone(_)))) => false,
                Some(Err(error)) => return Err(error.into()),
            };
            self.arrive().await?;
            self.follow().await?;
            quiet = unchanged && self.network_is_quiet();
        }
        while !quiet && !self.is_quiet().await && Instant::now() < until {
            sleep(Duration::from_millis(15)).await;
            self.arrive().await?;
        }
        self.drain_network();
        self.held_settled().await?;
        self.spent("settle", began);
        Ok(())
    }

    /// Requests of the page are under way.
    pub(super) fn fetching(&self) -> bool {
        let network = *self.proxy.quiet().borrow();
        !network.settled(std::time::Instant::now(), Duration::ZERO)
    }

    /// No navigation and no request of the page under way.
    pub(super) fn network_is_quiet(&self) -> bool {
        let network = *self.proxy.quiet().borrow();
        !self.watch.navigating() && network.settled(std::time::Instant::now(), NETWORK_IDLE)
    }

    /// No request of the page under way and no change of the document for two frames.
    pub async fn is_quiet(&mut self) -> bool {
        if !self.network_is_quiet() {
            return false;
        }
        let realm = self.realm();
        let quiet = page::acts::quiet_since(&realm, self.tab.id());
        matches!(self.unless_leaving(quiet).await, Some(Ok(ms)) if ms >= DOCUMENT_IDLE_MS)
    }
}
