//! Events on their way out: stamped, looked through for values, written to the journal, shown to
//! whoever listens.
//!
//! One stream per run. Order is promised within `(scenario, attempt)`, by `seq`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::event::{Event, What};
use crate::secrets::Scrubber;
use crate::store::{Journal, JournalEnd};

use super::redact::redacted;

/// Somebody who is told every event as it happens (console, JSON lines on standard output).
pub trait Listener: Send {
    fn event(&mut self, event: &Event);
}

/// The run's event stream; cheap to clone.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    /// `None` once it was closed.
    journal: Option<Journal<Event>>,
    listeners: Vec<Box<dyn Listener>>,
    scrubber: Scrubber,
    /// `name.field` of values that stood in events and should not have.
    leaks: BTreeSet<String>,
    began: Instant,
    run_seq: u32,
    /// `RunFinished` was said: a worker that outlives its grace has nothing to add.
    ended: bool,
    /// Everything said so far: reports are functions of this.
    said: Vec<Event>,
}

impl Stream {
    pub fn new(
        journal: Journal<Event>,
        listeners: Vec<Box<dyn Listener>>,
        scrubber: &Scrubber,
    ) -> Self {
        let shared = Shared {
            journal: Some(journal),
            listeners,
            scrubber: scrubber.clone(),
            leaks: BTreeSet::new(),
            began: Instant::now(),
            run_seq: 0,
            ended: false,
            said: Vec::new(),
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// An event of the run itself.
    pub fn run(&self, what: What) {
        self.say(String::new(), 0, None, what, true);
    }

    /// The events of one attempt at one scenario.
    pub fn attempt(&self, scenario: &str, attempt: u32) -> Attempt {
        Attempt {
            stream: self.clone(),
            scenario: scenario.to_owned(),
            attempt,
            seq: Arc::new(Mutex::new(0)),
        }
    }

    /// Everything said so far, without values that were registered only later; those count as leaks,
    /// since the journal holds them.
    pub fn said(&self) -> Vec<Event> {
        let mut shared = self.lock();
        let said = shared.said.iter().cloned();
        let (events, leaks): (Vec<_>, Vec<_>) =
            said.map(|event| redacted(&shared.scrubber, event)).unzip();
        shared.leaks.extend(leaks.into_iter().flatten());
        events
    }

    /// `name.field` of values that stood in events and should not have. They were taken out.
    pub fn leaks(&self) -> BTreeSet<String> {
        self.lock().leaks.clone()
    }

    /// What was said of one attempt, in order.
    pub fn of_attempt(&self, scenario: &str, attempt: u32) -> Vec<Event> {
        self.lock()
            .said
            .iter()
            .filter(|e| e.scenario == scenario && e.attempt == attempt)
            .cloned()
            .collect()
    }

    /// Closes the journal; what went wrong in recording never changes a verdict by itself.
    pub fn close(&self) -> Option<JournalEnd> {
        let journal = self.lock().journal.take();
        journal.map(Journal::close)
    }

    fn say(&self, scenario: String, attempt: u32, seq: Option<u32>, what: What, durable: bool) {
        let mut shared = self.lock();
        if shared.ended {
            return;
        }
        shared.ended = matches!(what, What::RunFinished { .. });
        let seq = seq.unwrap_or_else(|| {
            shared.run_seq += 1;
            shared.run_seq
        });
        let event = Event {
            time: crate::system::clock::now_rfc3339(),
            at_ms: shared.began.elapsed().as_millis() as u64,
            scenario,
            attempt,
            seq,
            what,
        };
        let (event, leaks) = redacted(&shared.scrubber, event);
        shared.leaks.extend(leaks);
        if let Some(journal) = &shared.journal {
            journal.emit_now(&event, durable);
            #[cfg(feature = "leak-injector")]
            journal.leak_once();
        }
        for listener in &mut shared.listeners {
            listener.event(&event);
        }
        shared.said.push(event);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Says the events of one attempt.
#[derive(Clone)]
pub struct Attempt {
    stream: Stream,
    scenario: String,
    attempt: u32,
    seq: Arc<Mutex<u32>>,
}

impl Attempt {
    pub fn say(&self, what: What) {
        self.emit(what, false);
    }

    /// Returns once the event is on disk: before each step that writes, at the end.
    pub fn say_durably(&self, what: What) {
        self.emit(what, true);
    }

    pub fn note(&self, text: impl Into<String>) {
        self.say(What::Note { text: text.into() });
    }

    pub fn number(&self) -> u32 {
        self.attempt
    }

    fn emit(&self, what: What, durable: bool) {
        let mut seq = self
            .seq
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *seq += 1;
        self.stream.say(
            self.scenario.clone(),
            self.attempt,
            Some(*seq),
            what,
            durable,
        );
    }
}
