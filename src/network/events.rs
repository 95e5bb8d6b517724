//! What the proxy tells of: owned values, no bodies, no header beyond the few named here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;
use url::Url;

use crate::policy::{Scheme, Suggestion};

/// An address in parts, so that whoever prints it can leave the query out. No user info, no
/// fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `https://host:port/path`
    pub url: String,
    pub query: Option<String>,
}

impl Address {
    pub fn of(url: &Url) -> Self {
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        // Only addresses without a host refuse these, and they don't get here.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        Self {
            url: bare.into(),
            query: url.query().map(str::to_owned),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum NetEvent {
    /// Let through.
    Started {
        id: u64,
        method: String,
        address: Address,
        /// `Sec-Fetch-Dest`: `document`, `image`, `empty`, …
        dest: Option<String>,
        at: Instant,
    },
    /// The head of the answer has come.
    Answered {
        id: u64,
        status: u16,
        content_type: Option<String>,
        content_disposition: Option<String>,
        /// `Location`, as sent.
        redirect: Option<String>,
    },
    /// Its body has ended; not `whole`: cut short by the site or the browser.
    Finished {
        id: u64,
        bytes: u64,
        whole: bool,
    },
    /// No answer: refused, timed out, certificate not trusted, …
    Failed {
        id: u64,
        address: Address,
        reason: String,
    },
    Blocked(BlockedRequest),
    /// A declared write, let through.
    Wrote {
        id: u64,
        method: String,
        address: Address,
        because: String,
    },
}

/// A request that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedRequest {
    /// `None` for a tunnel.
    pub method: Option<String>,
    pub scheme: Scheme,
    /// Text the page chose: escaped and cut.
    pub host: String,
    pub port: u16,
    /// Without query; `None` for a tunnel.
    pub path: Option<String>,
    /// `host not listed`, `undeclared write`, `beacon`, `private address`, `secret in url`, …
    pub reason: &'static str,
    /// More for the message: what entry is used up, which address the name gave.
    pub detail: Option<String>,
    /// `Sec-Fetch-Dest`, where the request could be read.
    pub dest: Option<String>,
    pub browser_own: bool,
    /// Counts this one and those not told about since the last.
    pub times: u32,
    /// The line that would let it through.
    pub suggest: Option<Suggestion>,
}

impl BlockedRequest {
    pub(super) fn at(scheme: Scheme, host: &str, port: u16, reason: &'static str) -> Self {
        Self {
            method: None,
            scheme,
            host: shown(host),
            port,
            path: None,
            reason,
            detail: None,
            dest: None,
            browser_own: false,
            times: 1,
            suggest: None,
        }
    }

    pub(super) fn request(url: &Url, method: &str, reason: &'static str) -> Self {
        let scheme = Scheme::of(url.scheme()).unwrap_or(Scheme::Http);
        let port = url.port_or_known_default().unwrap_or(0);
        Self {
            method: Some(cut(method, 32)),
            path: Some(cut(url.path(), 1024)),
            ..Self::at(scheme, url.host_str().unwrap_or(""), port, reason)
        }
    }
}

/// Controls and non-ASCII escaped, at most 253 bytes of the name.
fn shown(host: &str) -> String {
    cut(host, 253).escape_default().to_string()
}

fn cut(text: &str, limit: usize) -> String {
    text.char_indices()
        .take_while(|(at, _)| *at < limit)
        .map(|(_, c)| c)
        .collect()
}

/// How often a place was refused, over the whole session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    pub host: String,
    pub port: u16,
    pub reason: &'static str,
    pub times: u32,
}

/// Told about one by one at first, then only each tenth, hundredth, … time.
const TOLD: u32 = 5;
/// Places counted each by itself; a page can invent names without end.
const PLACES: usize = 256;

/// Writes events to the one reader. Memory stays flat whatever a page asks for.
#[derive(Debug)]
pub(super) struct Log {
    to: mpsc::UnboundedSender<NetEvent>,
    next_id: AtomicU64,
    denied: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Times in all, times since last told.
    places: HashMap<(String, u16, &'static str), (u32, u32)>,
    beyond: u64,
}

impl Log {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<NetEvent>) {
        let (to, from) = mpsc::unbounded_channel();
        let log = Self {
            to,
            next_id: AtomicU64::new(1),
            denied: Mutex::default(),
        };
        (log, from)
    }

    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A reader that has gone away is no reason to stop the traffic.
    pub fn tell(&self, event: NetEvent) {
        let _ = self.to.send(event);
    }

    pub fn blocked(&self, mut blocked: BlockedRequest) {
        let key = (blocked.host.clone(), blocked.port, blocked.reason);
        let mut counts = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.places.contains_key(&key);
        // Only unlisted places are without end; what happens at listed ones is always counted.
        let unlisted = blocked.reason == "host not listed" || blocked.reason == "malformed request";
        if !known && unlisted && counts.places.len() >= PLACES {
            counts.beyond += 1;
            return;
        }
        let (all, since) = counts.places.entry(key).or_default();
        *all = all.saturating_add(1);
        *since += 1;
        if *all <= TOLD || is_power_of_ten(*all) {
            blocked.times = std::mem::take(since);
            drop(counts);
            self.tell(NetEvent::Blocked(blocked));
        }
    }

    pub fn denied(&self) -> Vec<Denied> {
        let counts = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = counts
            .places
            .iter()
            .map(|((host, port, reason), (times, _))| Denied {
                host: host.clone(),
                port: *port,
                reason,
                times: *times,
            })
            .collect();
        all.sort_by(|a, b| (&a.host, a.port, a.reason).cmp(&(&b.host, b.port, b.reason)));
        all
    }

    /// Refusals of places past the first 256.
    pub fn denied_beyond(&self) -> u64 {
        self.denied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .beyond
    }
}

fn is_power_of_ten(n: u32) -> bool {
    (1..10).any(|exponent| 10u32.pow(exponent) == n)
}
