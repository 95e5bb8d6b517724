//! The protected window of a secret filled by hand (security.md 2.1).
//!
//! Held: structure may be read, no picture, no model, no value. No timer opens it. It ends when the
//! document that was filled is gone, or when the broker empties the field and proves it: after the step
//! that sent it to its origin has settled, and before the end is judged. Until then requests to
//! that origin count as the credential's sign-in.

use crate::page::{self, acts};
use crate::policy::{Origin, WindowId};

use super::session::Broker;
use super::types::BrokerError;

/// A secret that lies in a document.
#[derive(Debug)]
pub(super) struct Held {
    /// Documents loaded when it was filled.
    documents: u64,
    /// The request that submits it is covered.
    window: WindowId,
    sent: bool,
}

impl Broker {
    pub(super) fn hold(&mut self, origin: Origin) {
        if let Some(old) = self.by_hand.take() {
            self.gate().close_window(old.window);
        }
        let window = self.gate().open_login(origin);
        self.held = true;
        self.by_hand = Some(Held {
            documents: self.documents_loaded(),
            window,
            sent: false,
        });
    }

    /// A request that the window covered went out.
    pub(super) fn held_was_sent(&mut self) {
        if let Some(held) = &mut self.by_hand {
            held.sent = true;
        }
    }

    /// After a page settled: is the secret gone with its document, or sent and to be cleared?
    pub(super) async fn held_settled(&mut self) -> Result<(), BrokerError> {
        let Some(held) = &self.by_hand else {
            return Ok(());
        };
        let moved = self.documents_loaded() != held.documents;
        if moved {
            // Another document; it may show the form again, filled by the site.
            self.end_window();
            self.held = self.still_filled().await?;
        } else if held.sent {
            self.end_window();
            self.clear().await?;
        }
        Ok(())
    }

    /// Before the end is judged: what is still there is emptied.
    pub async fn release(&mut self) -> Result<(), BrokerError> {
        self.end_window();
        if self.held {
            self.clear().await?;
        }
        Ok(())
    }

    fn end_window(&mut self) {
        if let Some(held) = self.by_hand.take() {
            self.gate().close_window(held.window);
        }
    }

    async fn still_filled(&mut self) -> Result<bool, BrokerError> {
        let left = acts::held_fields(&self.realm(), self.tab.id()).await;
        match left {
            Ok(left) => Ok(left > 0),
            Err(page::ReadError::Call(page::CallFault::Gone(_))) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
