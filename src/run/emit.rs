//! Events on their way out: stamped, written to the journal, shown to whoever listens.
//!
//! One stream per run. Order is promised within `(scenario, attempt)`, by `seq`.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::event::{Event, What};
use crate::store::Journal;

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
    journal: Journal<Event>,
    listeners: Vec<Box<dyn Listener>>,
    began: Instant,
    run_seq: u32,
    /// Everything said so far: reports are functions of this.
    said: Vec<Event>,
    /// First thing that went wrong in recording; recording never changes a verdict by itself.
    broken: Option<String>,
}

impl Stream {
    pub fn new(journal: Journal<Event>, listeners: Vec<Box<dyn Listener>>) -> Self {
        let shared = Shared { journal, listeners, began: Instant::now(), run_seq: 0, said: Vec::new(), broken: None };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// An event of the run itself.
    pub fn run(&self, what: What) {
        self.say(String::new(), 0, None, what, true);
    }

    /// The events of one attempt at one scenario.
    pub fn attempt(&self, scenario: &str, attempt: u32) -> Attempt {
        Attempt { stream: self.clone(), scenario: scenario.to_owned(), attempt, seq: Arc::new(Mutex::new(0)) }
    }

    pub fn said(&self) -> Vec<Event> {
        self.lock().said.clone()
    }

    /// What went wrong in recording, if anything did.
    pub fn broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    fn say(&self, scenario: String, attempt: u32, seq: Option<u32>, what: What, durable: bool) {
        let mut shared = self.lock();
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
        let written = if durable { shared.journal.emit_durable(&event) } else { shared.journal.emit(&event) };
        if let Err(error) = written
            && shared.broken.is_none()
        {
            shared.broken = Some(error.to_string());
        }
        for listener in &mut shared.listeners {
            listener.event(&event);
        }
        shared.said.push(event);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        let mut seq = self.seq.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *seq += 1;
        self.stream.say(self.scenario.clone(), self.attempt, Some(*seq), what, durable);
    }
}
