//! The first signal asks, the second one insists (F31, F32, case 109).
//!
//! Everything that may take long watches a [`Stop`]; only the owner of the [`Stopper`] can
//! raise it. Levels only rise.

use std::sync::Arc;

use tokio::sync::watch;

/// How urgently we are to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    Running,
    /// End what runs within its grace and write the reports.
    Asked(Signal),
    /// Kill children now.
    Now(Signal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    Interrupt,
    Terminate,
    HangUp,
    /// Raised by ourselves, not by a signal (a caller gave up, a run's deadline passed).
    Internal,
}

impl Signal {
    /// 128 + signal number, as shells report it; 130 for SIGINT.
    pub fn exit_code(self) -> i32 {
        128 + match self {
            Signal::Interrupt | Signal::Internal => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
        }
    }
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::HangUp => "SIGHUP",
            Signal::Internal => "the runner",
        }
    }
}

/// Watches for a stop; cheap to clone and hand around.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<StopLevel>);

/// Raises a stop.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<StopLevel>>);

impl Default for Stopper {
    fn default() -> Self {
        Self::new()
    }
}

impl Stopper {
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(StopLevel::Running)))
    }

    pub fn watch(&self) -> Stop {
        Stop(self.0.subscribe())
    }

    /// One step up: from running to asked, from asked to now.
    pub fn raise(&self, signal: Signal) {
        self.0.send_modify(|level| *level = next(*level, signal));
    }

    /// Raises on every SIGINT, SIGTERM and SIGHUP from now on. Needs a tokio runtime.
    pub fn listen(&self) -> std::io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, name) in [
            (SignalKind::interrupt(), Signal::Interrupt),
            (SignalKind::terminate(), Signal::Terminate),
            (SignalKind::hangup(), Signal::HangUp),
        ] {
            let mut stream = signal(kind)?;
            let stopper = self.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    stopper.raise(name);
                }
            });
        }
        Ok(())
    }
}

fn next(level: StopLevel, signal: Signal) -> StopLevel {
    match level {
        StopLevel::Running => StopLevel::Asked(signal),
        StopLevel::Asked(_) => StopLevel::Now(signal),
        now @ StopLevel::Now(_) => now,
    }
}

impl Stop {
    pub fn level(&self) -> StopLevel {
        *self.0.borrow()
    }

    /// What asked for the stop, if anything did.
    pub fn signal(&self) -> Option<Signal> {
        match self.level() {
            StopLevel::Running => None,
            StopLevel::Asked(signal) | StopLevel::Now(signal) => Some(signal),
        }
    }

    pub fn is_asked(&self) -> bool {
        self.level() > StopLevel::Running
    }

    /// Resolves at the first request to stop; never if nobody can ask any more.
    pub async fn asked(&self) -> StopLevel {
        self.at_least(|level| level > StopLevel::Running).await
    }

    /// Resolves when children are to be killed at once.
    pub async fn now(&self) -> StopLevel {
        self.at_least(|level| matches!(level, StopLevel::Now(_)))
            .await
    }

    async fn at_least(&self, reached: impl Fn(StopLevel) -> bool) -> StopLevel {
        let mut receiver = self.0.clone();
        loop {
            let level = *receiver.borrow_and_update();
            if reached(level) {
                return level;
            }
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn first_asks_second_insists_third_changes_nothing() {
        let stopper = Stopper::new();
        let stop = stopper.watch();
        assert!(!stop.is_asked());
        stopper.raise(Signal::Terminate);
        assert_eq!(stop.asked().await, StopLevel::Asked(Signal::Terminate));
        stopper.raise(Signal::Interrupt);
        assert_eq!(stop.now().await, StopLevel::Now(Signal::Interrupt));
        stopper.raise(Signal::HangUp);
        assert_eq!(stop.level(), StopLevel::Now(Signal::Interrupt));
    }

    #[test]
    fn exit_codes_are_the_shell_s() {
        assert_eq!(Signal::Interrupt.exit_code(), 130);
        assert_eq!(Signal::Terminate.exit_code(), 143);
        assert_eq!(Signal::HangUp.exit_code(), 129);
    }
}
