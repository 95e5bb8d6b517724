//! Approvals and the tokens they give (security.md 4).
//!
//! In memory only: after a restart nothing is approved. An entry is taken out under the lock before
//! its action begins, so of two presenters one wins, and a failed action needs a new consent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::broker::DocumentId;
use crate::policy::{HostRule, WriteRule};
use crate::secrets::Secret;

use super::tokens::{fresh, hash_text, hex, same};

/// An unanswered or unused approval is worth nothing after this.
const LASTS: Duration = Duration::from_secs(120);
/// At most so many wait for an answer in one session.
const PENDING: usize = 8;
/// A person who is asked more often than this stops reading.
const PROMPTS_PER_MINUTE: usize = 10;
const TOKEN: &str = "rhc_";

/// What an action does to the world, gravest first in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Credential,
    Submit,
    Post,
    NewHost,
    Download,
    Scenario,
}

/// All that an approval holds for; one field that differs and it doesn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub owner: String,
    /// Empty for approvals outside any session.
    pub session: String,
    pub action: [u8; 32],
    pub document: Option<DocumentId>,
    pub target: [u8; 32],
    pub allow_version: u64,
}

/// What the approver is shown.
#[derive(Debug, Clone)]
pub struct Question {
    pub risk: Risk,
    /// Lines in the broker's words.
    pub summary: Vec<String>,
    pub picture: Option<Vec<u8>>,
    pub bound: Bound,
    /// What is opened when the action is carried out.
    pub opens: Opens,
    /// Further actions of the same consent, each good once the one before was carried out.
    pub then: VecDeque<(Bound, Opens)>,
}

/// What an approval opens, for its one action.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opens {
    /// These requests, once each.
    pub requests: Vec<WriteRule>,
    /// This host, for the rest of the session.
    pub host: Option<HostRule>,
    /// The file of this name.
    pub download: Option<String>,
}

/// The answer to the caller that asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    pub approval_id: String,
    pub summary: Vec<String>,
    pub risk: Risk,
    pub expires_in: u64,
    /// SHA-256 of the picture the approver sees.
    pub picture_hash: Option<String>,
}

/// For the approver's page.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    pub id: String,
    pub owner: String,
    pub session: String,
    pub risk: Risk,
    pub summary: Vec<String>,
    pub expires_in: u64,
    #[serde(skip)]
    pub picture: Option<Vec<u8>>,
}

/// Why nothing is opened; for the audit log, the caller hears `consent_invalid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("there is no such approval")]
    Unknown,
    #[error("it belongs to another owner or session")]
    Foreign,
    #[error("it has expired")]
    Expired,
    #[error("nobody has approved it")]
    Undecided,
    #[error("it was denied")]
    Denied,
    #[error("the token is not the one that was given")]
    Token,
    #[error("the action is another one")]
    Action,
    #[error("the document is another one")]
    Document,
    #[error("the page changed since it was approved")]
    Page,
    #[error("the list of hosts changed since it was approved")]
    Hosts,
}

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{PENDING} questions of this session wait for an answer already")]
    Pending,
    #[error("the approver was asked {PROMPTS_PER_MINUTE} times within a minute")]
    TooOften,
    #[error("this system gives no random numbers")]
    Random,
}

enum State {
    Pending,
    Denied,
    Approved,
    /// Given out, kept as SHA-256.
    Given(String),
}

struct Entry {
    question: Question,
    state: State,
    not_after: Duration,
}

/// Time since boot, counting suspension.
type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

pub struct Approvals {
    inner: Mutex<Inner>,
    clock: Clock,
}

#[derive(Default)]
struct Inner {
    entries: BTreeMap<String, Entry>,
    /// When the approver was asked, by session.
    asked: BTreeMap<String, VecDeque<Duration>>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self::with_clock(Box::new(crate::system::clock::boot_time))
    }
}

impl Approvals {
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            inner: Mutex::new(Inner::default()),
            clock,
        }
    }

    pub fn ask(&self, question: Question) -> Result<Asked, Refused> {
        let now = (self.clock)();
        let mut inner = self.lock();
        inner.forget(now);
        let session = question.bound.session.clone();
        let owner = question.bound.owner.clone();
        let waiting = inner
            .entries
            .values()
            .filter(|e| {
                matches!(e.state, State::Pending)
                    && e.question.bound.session == session
                    && e.question.bound.owner == owner
            })
            .count();
        if waiting >= PENDING {
            return Err(Refused::Pending);
        }
        let asked = inner.asked.entry(format!("{owner} {session}")).or_default();
        if asked.len() >= PROMPTS_PER_MINUTE {
            return Err(Refused::TooOften);
        }
        asked.push_back(now);
        let mut id = [0u8; 9];
        getrandom::fill(&mut id).map_err(|_| Refused::Random)?;
        let id = hex(&id);
        let answer = Asked {
            approval_id: id.clone(),
            summary: question.summary.clone(),
            risk: question.risk,
            expires_in: LASTS.as_secs(),
            picture_hash: question
                .picture
                .as_deref()
                .map(crate::store::frames::full_hash),
        };
        let entry = Entry {
            question,
            state: State::Pending,
            not_after: now + LASTS,
        };
        inner.entries.insert(id, entry);
        Ok(answer)
    }

    /// What waits for an answer, oldest first.
    pub fn pending(&self) -> Vec<Shown> {
        let now = (self.clock)();
        let mut inner = self.lock();
        inner.forget(now);
        let mut shown: Vec<(Duration, Shown)> = inner
            .entries
            .iter()
            .filter(|(_, e)| matches!(e.state, State::Pending))
            .map(|(id, e)| {
                let shown = Shown {
                    id: id.clone(),
                    owner: e.question.bound.owner.clone(),
                    session: e.question.bound.session.clone(),
                    risk: e.question.risk,
                    summary: e.question.summary.clone(),
                    expires_in: (e.not_after - now).as_secs(),
                    picture: e.question.picture.clone(),
                };
                (e.not_after, shown)
            })
            .collect();
        shown.sort_by_key(|(when, _)| *when);
        shown.into_iter().map(|(_, shown)| shown).collect()
    }

    /// The approver's answer; `false` when there is nothing to answer any more.
    pub fn decide(&self, id: &str, approve: bool) -> bool {
        let now = (self.clock)();
        let mut inner = self.lock();
        inner.forget(now);
        match inner.entries.get_mut(id) {
            Some(entry) if matches!(entry.state, State::Pending) => {
                entry.state = if approve {
                    State::Approved
                } else {
                    State::Denied
                };
                true
            }
            _ => false,
        }
    }

    /// The token of an approved question, given out once to the one who asked. `None`: no answer yet.
    pub fn claim(&self, owner: &str, session: &str, id: &str) -> Result<Option<Secret>, Invalid> {
        let now = (self.clock)();
        let mut inner = self.lock();
        let entry = inner.entries.get_mut(id).ok_or(Invalid::Unknown)?;
        entry.belongs(owner, session)?;
        if now >= entry.not_after {
            return Err(Invalid::Expired);
        }
        match &entry.state {
            State::Pending => Ok(None),
            State::Denied => Err(Invalid::Denied),
            State::Given(_) => Err(Invalid::Token),
            State::Approved => {
                let token = fresh(TOKEN).map_err(|_| Invalid::Token)?;
                entry.state = State::Given(hash_text(token.expose()));
                Ok(Some(token))
            }
        }
    }

    /// Uses an approval up. Whatever comes of it, it can't be used again; of several actions the first
    /// that is left is used up, and a refusal takes the rest with it.
    pub fn take(&self, id: &str, token: &str, now_bound: &Bound) -> Result<Opens, Invalid> {
        let now = (self.clock)();
        let mut inner = self.lock();
        let entry = inner.entries.get(id).ok_or(Invalid::Unknown)?;
        // Another's guess must not use it up.
        entry.belongs(&now_bound.owner, &now_bound.session)?;
        let mut entry = inner.entries.remove(id).ok_or(Invalid::Unknown)?;
        let kept = match &entry.state {
            State::Given(hash) => hash,
            State::Denied => return Err(Invalid::Denied),
            State::Pending | State::Approved => return Err(Invalid::Undecided),
        };
        if !same(kept, &hash_text(token)) {
            return Err(Invalid::Token);
        }
        if now >= entry.not_after {
            return Err(Invalid::Expired);
        }
        let bound = &entry.question.bound;
        if bound.action != now_bound.action {
            return Err(Invalid::Action);
        }
        if bound.document != now_bound.document {
            return Err(Invalid::Document);
        }
        if bound.target != now_bound.target {
            return Err(Invalid::Page);
        }
        if bound.allow_version != now_bound.allow_version {
            return Err(Invalid::Hosts);
        }
        let opens = std::mem::take(&mut entry.question.opens);
        if let Some(next) = entry.question.then.pop_front() {
            (entry.question.bound, entry.question.opens) = next;
            inner.entries.insert(id.to_owned(), entry);
        }
        Ok(opens)
    }

    /// What is left of it is worth nothing any more.
    pub fn withdraw(&self, owner: &str, session: &str, id: &str) {
        let mut inner = self.lock();
        let own = |e: &Entry| e.belongs(owner, session).is_ok();
        if inner.entries.get(id).is_some_and(own) {
            inner.entries.remove(id);
        }
    }

    /// A session that ends takes its questions with it.
    pub fn forget_session(&self, session: &str) {
        let mut inner = self.lock();
        inner
            .entries
            .retain(|_, e| e.question.bound.session != session);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn belongs(&self, owner: &str, session: &str) -> Result<(), Invalid> {
        let bound = &self.question.bound;
        if bound.owner == owner && bound.session == session {
            Ok(())
        } else {
            Err(Invalid::Foreign)
        }
    }
}

impl Inner {
    fn forget(&mut self, now: Duration) {
        // Kept a while past their end, so that the audit log can say "expired" and not "unknown".
        self.entries.retain(|_, e| now < e.not_after + LASTS);
        for entry in self.entries.values_mut() {
            if now >= entry.not_after && matches!(entry.state, State::Pending) {
                entry.state = State::Denied;
            }
        }
        for asked in self.asked.values_mut() {
            while asked
                .front()
                .is_some_and(|at| now.saturating_sub(*at) >= Duration::from_secs(60))
            {
                asked.pop_front();
            }
        }
        self.asked.retain(|_, asked| !asked.is_empty());
    }
}
