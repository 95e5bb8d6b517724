//! The only room that talks to a model.
//!
//! A model is asked two kinds of question: which of the offered controls a sentence means
//! ([`choose`]), and what to do next for a goal ([`planner`]). It answers with an id that was
//! offered and words from closed lists; everything else in its reply is data for the log.
//! Nothing here touches a page: an [`Observation`](crate::page::observation::Observation) comes
//! in, a [`NodeId`](crate::page::observation::NodeId) goes out, and the broker acts.
//!
//! * [`settings`], [`transport`], [`client`], [`learn`]: one endpoint, bounded in time, tries and bytes.
//! * [`candidates`], [`prompt`], [`schema`]: what is asked, small and with page text as data.
//! * [`answer`], [`json`]: the ladder from a reply to a checked value.
//! * [`counter`]: when a planner loop must end. [`tape`]: answers kept for runs without a model.

pub mod answer;
pub mod candidates;
pub mod choose;
pub mod client;
pub mod counter;
mod decision;
pub mod error;
pub mod extract;
pub mod json;
pub mod learn;
mod lines;
pub mod model;
pub mod planner;
pub mod probe;
pub mod prompt;
pub mod prose;
pub mod schema;
pub mod settings;
pub mod tape;
pub mod transport;
mod words;

pub use candidates::{Candidate, Ids, Offer, Purpose};
pub use choose::{Choice, Question};
pub use counter::{Counter, Exit, Limits, Verdict, fingerprint};
pub use error::{AgentError, AnswerError, BadStatus, ModelFailure};
pub use model::{Asked, Asking, CallRecord, Model};
pub use planner::{Action, Decision, FillValue, HistoryLine, Turn};
pub use probe::Probe;
pub use settings::{Base, MAX_TOKENS, ModelSettings, SettingsError};
pub use tape::Tape;

/// The scrubber as this room needs it: the last look at what leaves for a model, and the first at
/// what comes back. Implemented by `secrets`.
pub trait Egress: Send + Sync {
    /// The name of the credential whose value `text` holds, in any known form.
    fn refuse(&self, text: &str) -> Option<String>;
    /// `text` with every known value replaced by its placeholder.
    fn clean(&self, text: &str) -> String;
}

impl Egress for crate::secrets::Scrubber {
    fn refuse(&self, text: &str) -> Option<String> {
        self.contains(text)
            .then(|| "a registered credential".to_owned())
    }
    fn clean(&self, text: &str) -> String {
        crate::secrets::Scrubber::clean(self, text)
            .as_str()
            .to_owned()
    }
}

/// For runs without credentials, and for the probe.
pub struct NoSecrets;

impl Egress for NoSecrets {
    fn refuse(&self, _: &str) -> Option<String> {
        None
    }
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
