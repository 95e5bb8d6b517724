//! From a target and an observation to one element, or to an error that shows why not.
//!
//! Pure: no browser, no clock. A pick names how it was found and what came second; nothing is
//! ever guessed. Thresholds are fixed and documented at [`Chooser::score`].

mod expect;
mod explain;
mod find;
mod fit;
mod headed;
mod listing;
#[cfg(test)]
mod tests;

pub use expect::{Checked, Downloads, check, check_all, data_paths, shows_line};
pub use explain::{describe, place_of};
pub use find::{Query, find_all, resolve, scopes, sought};
pub use fit::{Fit, fits, role_matches};
pub use listing::listing;

use crate::page::{NodeId, Observation};

/// How a target was found. The order is the order in which the ways are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chooser {
    /// Same name after folding (white space, soft hyphens, direction marks).
    Exact,
    /// Same but for upper and lower case.
    Folded,
    /// The approved lock's role and name, still unique.
    Locked,
    /// The only name that differs by decoration (counts, symbols, icon words, required marks), or,
    /// for sentences, the only one that holds the words as whole words.
    Near,
    /// A model chose among the candidates.
    Model,
    Text,
    TestId,
    Css,
}

impl Chooser {
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Folded => "folded",
            Self::Locked => "locked",
            Self::Near => "near",
            Self::Model => "model",
            Self::Text => "text",
            Self::TestId => "test id",
            Self::Css => "css",
        }
    }

    /// Score of a match found this way, before the role's fitness is taken off. Nothing under
    /// [`ACCEPT`] is ever picked; word overlap only ranks "did you mean" and stays under it.
    pub fn score(self) -> f64 {
        match self {
            Self::Exact | Self::TestId | Self::Css => 1.0,
            Self::Folded => 0.95,
            Self::Locked | Self::Text => 0.9,
            Self::Near => 0.8,
            Self::Model => 0.75,
        }
    }
}

/// The lowest score that may be picked.
pub const ACCEPT: f64 = 0.7;
/// Two matches closer than this are the same to us: the step refuses.
pub const MARGIN: f64 = 0.015;

/// One element, chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    pub id: NodeId,
    pub chooser: Chooser,
    pub role: String,
    pub name: String,
    /// `dialog "Welcome"`, outermost first.
    pub scope: Vec<String>,
    pub score: f64,
    pub runner_up: Option<Near>,
    /// How many elements were looked at.
    pub candidates: usize,
}

/// A name that came close.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    pub id: NodeId,
    pub role: String,
    pub name: String,
    pub score: f64,
    pub place: Option<String>,
}

/// Why there is no pick.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    pub kind: MissKind,
    pub message: String,
    /// Matches that can't be told apart, or the nearest names.
    pub nearest: Vec<Near>,
    pub help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissKind {
    NotFound,
    Ambiguous,
    /// The scope itself is not there.
    NoScope,
    /// It is there, but a modal dialog is in front of it.
    BehindDialog,
    /// Only a near match, and near matches never serve this step.
    OnlyNear,
    /// Nobody understands the selector: no page will ever hold it.
    BadSelector,
}

impl Miss {
    pub fn bad_selector(css: &str) -> Self {
        Self {
            kind: MissKind::BadSelector,
            message: format!("`{css}` is no CSS selector the browser understands"),
            nearest: Vec::new(),
            help: Some("mend the selector, or name the control by role and name".into()),
        }
    }
}

impl MissKind {
    /// The stable word of the failure.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Ambiguous => "ambiguous",
            Self::NoScope => "scope_not_found",
            Self::BehindDialog => "behind_dialog",
            Self::OnlyNear => "only_near",
            Self::BadSelector => "bad_selector",
        }
    }
}

/// Text of a scope or, without scopes, of every document.
pub fn text_within<'a>(observation: &'a Observation, scopes: &[NodeId]) -> Vec<&'a str> {
    if scopes.is_empty() {
        return observation
            .documents
            .iter()
            .map(|d| d.text.as_str())
            .collect();
    }
    scopes.iter().map(|id| observation.text_of(*id)).collect()
}
