//! What a page held open between calls needs beside a run: facts for consent, and what consent opens.
//!
//! Facts are read by attribute in the sandbox; a page can change them, but not so that the digest of
//! an approved action stays the same.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use url::Url;

use crate::driver::Downloads;
use crate::page::acts::{self, DownloadFacts, FormFacts};
use crate::page::{CallFault, NodeId, ReadError};
use crate::policy::{HostRule, WriteRule};

use super::session::Broker;
use super::types::BrokerError;

/// Which document an action was approved on: a reload, a swap or a step back make another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentId {
    /// Browsing context of the target's document.
    pub context: String,
    /// Documents the driven tab has loaded so far.
    pub loads: u64,
    pub top: String,
    pub frame: String,
}

impl Broker {
    /// The form that holds the element, and whether pressing the element submits it.
    pub async fn form_of(&self, id: NodeId) -> Result<Option<FormFacts>, BrokerError> {
        let context = self.document_of(id)?;
        match acts::form_facts(&self.realm(), &context, id).await {
            Ok(facts) => Ok(facts.map(|mut facts| {
                for field in &mut facts.fields {
                    field.shown = self.scrubber.clean(&field.shown).as_str().to_owned();
                }
                facts
            })),
            Err(ReadError::Call(CallFault::Gone(_))) => Err(BrokerError::Stale),
            Err(error) => Err(error.into()),
        }
    }

    /// The name under which a link says that its file is to be kept; browsers heed it only where the
    /// link leads to its page's own origin.
    pub async fn download_named(&self, id: NodeId) -> Result<Option<String>, BrokerError> {
        let context = self.document_of(id)?;
        match acts::download_facts(&self.realm(), &context, id).await {
            Ok(facts) => Ok(facts.and_then(|f| named(&f)).map(|n| self.shown_name(&n))),
            Err(ReadError::Call(CallFault::Gone(_))) => Err(BrokerError::Stale),
            Err(error) => Err(error.into()),
        }
    }

    /// Files that the running step consents to come into this folder, until they are denied again.
    pub async fn allow_downloads(&self, folder: &Path) -> Result<(), BrokerError> {
        let into = Downloads::Folder(folder.to_owned());
        Ok(self.context.set_downloads(&into).await?)
    }

    pub async fn deny_downloads(&self) -> Result<(), BrokerError> {
        Ok(self.context.set_downloads(&Downloads::Deny).await?)
    }

    pub fn document_id(&self, id: Option<NodeId>) -> Option<DocumentId> {
        let last = self.last.as_ref()?;
        let at = id.map_or(0, |id| id.document as usize);
        let document = last.documents.get(at)?;
        let bare = |address: &str| match Url::parse(address) {
            Ok(mut url) => {
                url.set_fragment(None);
                url.to_string()
            }
            Err(_) => address.to_owned(),
        };
        Some(DocumentId {
            context: document.context.clone(),
            loads: self.watch.state().documents,
            top: bare(&last.url),
            frame: bare(&document.url),
        })
    }

    /// What was stopped is told; the next call may go on.
    pub fn go_on(&mut self) {
        self.must_stop = false;
    }

    /// Lets approved requests through, each as often as its rule says, until [`Broker::withdraw`].
    pub fn declare(&mut self, rules: Vec<WriteRule>) {
        self.gate().declare(rules);
    }

    pub fn withdraw(&mut self) {
        self.gate().withdraw();
    }

    /// An action counts the answers to its own requests: what came before it is no matter of its.
    pub fn forget_answers(&mut self) {
        self.drain_network();
        self.unanswered.clear();
        self.answer_lost = false;
    }

    /// Waits for the answer to every declared write under way; `false` when one has none by then, or
    /// never will.
    pub async fn writes_answered(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            self.drain_network();
            if self.unanswered.is_empty() || Instant::now() >= until {
                return self.unanswered.is_empty() && !std::mem::take(&mut self.answer_lost);
            }
            sleep(Duration::from_millis(25)).await;
        }
    }

    /// Where a document outside the list was seen since the last call: a tab that is closed at once
    /// may never have asked the proxy.
    pub fn left_hosts(&mut self) -> Option<Url> {
        Url::parse(&self.left.take()?).ok()
    }

    /// Adds one host to this session's list, by approval only (R75).
    pub fn allow_host(&mut self, rule: HostRule) {
        self.allow = self.allow.with(rule);
        self.proxy.set_allow(self.allow.clone());
        self.watch.allow(self.allow.clone());
    }

    pub fn allow_version(&self) -> u64 {
        self.allow.version()
    }

    /// Whether an address is on the list as it is now.
    pub fn allows(&self, url: &Url) -> bool {
        self.allow.judge(url).is_ok()
    }
}

fn named(facts: &DownloadFacts) -> Option<String> {
    let base = Url::parse(&facts.base).ok()?;
    let leads = base.join(&facts.href).ok()?;
    let own = leads.origin() == base.origin() || matches!(leads.scheme(), "blob" | "data");
    (own && !facts.name.is_empty()).then(|| facts.name.clone())
}
