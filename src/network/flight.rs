//! What is under way, so that a reader can wait for a quiet network without waiting for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// A request older than this that still runs is a long poll (or as good as one).
const LONG: Duration = Duration::from_secs(1);

/// A moment of the network, published at every start and end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// Requests under way, without streams.
    pub in_flight: usize,
    /// Event streams, WebSockets and tunnels: open for as long as they like.
    pub streams: usize,
    /// When the youngest request in flight began.
    pub youngest: Option<Instant>,
    /// When anything last began or ended.
    pub last: Instant,
}

impl Quiet {
    /// Nothing under way but streams and long polls, and nothing begun or ended for `idle`.
    pub fn settled(&self, now: Instant, idle: Duration) -> bool {
        let old = |since: Instant| now.saturating_duration_since(since) >= LONG;
        self.youngest.is_none_or(old) && now.saturating_duration_since(self.last) >= idle
    }

    /// When to ask again if nothing is published until then.
    pub fn settles_at(&self, idle: Duration) -> Instant {
        let polls = self.youngest.map(|since| since + LONG);
        polls.into_iter().fold(self.last + idle, Instant::max)
    }
}

#[derive(Debug)]
pub(super) struct Flights {
    /// Start of each request; `None` once it is a stream.
    open: Mutex<BTreeMap<u64, Option<Instant>>>,
    quiet: watch::Sender<Quiet>,
}

impl Flights {
    pub fn new() -> Arc<Self> {
        let quiet = Quiet {
            in_flight: 0,
            streams: 0,
            youngest: None,
            last: Instant::now(),
        };
        Arc::new(Self {
            open: Mutex::default(),
            quiet: watch::Sender::new(quiet),
        })
    }

    pub fn watch(&self) -> watch::Receiver<Quiet> {
        self.quiet.subscribe()
    }

    pub fn begin(self: &Arc<Self>, id: u64) -> Flight {
        let now = Instant::now();
        self.change(|open| {
            open.insert(id, Some(now));
        });
        Flight {
            id,
            flights: self.clone(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, Option<Instant>>)) {
        let mut open: MutexGuard<_> = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut open);
        let youngest = open.values().flatten().max().copied();
        let in_flight = open.values().flatten().count();
        let next = Quiet {
            in_flight,
            streams: open.len() - in_flight,
            youngest,
            last: Instant::now(),
        };
        // Under the lock, so that publications keep the order of the changes.
        self.quiet.send_replace(next);
    }
}

/// A request under way; ends when dropped, however that comes about.
#[derive(Debug)]
pub(super) struct Flight {
    id: u64,
    flights: Arc<Flights>,
}

impl Flight {
    pub fn is_stream(&self) {
        let id = self.id;
        self.flights.change(|open| {
            open.insert(id, None);
        });
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let id = self.id;
        self.flights.change(|open| {
            open.remove(&id);
        });
    }
}
