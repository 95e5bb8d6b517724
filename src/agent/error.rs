//! What can go wrong between a question and a usable answer, each with what to do about it.

use std::time::Duration;

use super::Egress;
use super::settings::MAX_TOKENS;

/// A question that brought no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AgentError {
    /// The endpoint could not be used: an environment error, not the model's fault.
    #[error("the model is not available: {0}")]
    Unavailable(#[from] ModelFailure),
    /// The model answered, and the answer could not be used.
    #[error("{error}{}", if *.asked > 1 { " (asked twice)" } else { "" })]
    Answer {
        error: AnswerError,
        /// How often the question was put.
        asked: u32,
        /// The last reply, scrubbed and cut.
        raw: String,
    },
    /// The prompt would have carried a secret; nothing was sent.
    #[error(
        "the question to the model holds a value of the credential {credential}; it was not sent"
    )]
    Leak { credential: String },
    #[error(
        "no recorded answer for this question in {dir}; record it again with --record-model\n{diff}"
    )]
    TapeMiss {
        dir: String,
        /// Against the nearest recorded question.
        diff: String,
    },
    #[error("the tape in {dir} cannot be used: {problem}")]
    Tape { dir: String, problem: String },
}

impl AgentError {
    /// Exit 3 rather than 1.
    pub fn is_environment(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Tape { .. } | Self::TapeMiss { .. }
        )
    }

    /// Stable word for events and reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable(failure) => failure.kind(),
            Self::Answer { error, .. } => error.kind(),
            Self::Leak { .. } => "leak",
            Self::TapeMiss { .. } => "tape_miss",
            Self::Tape { .. } => "tape",
        }
    }
}

/// Why the endpoint gave no reply. No text in here holds the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelFailure {
    #[error(
        "no reply from {address} within {limit:?}; raise `timeout` under [model] if the model is slow"
    )]
    Timeout { address: String, limit: Duration },
    #[error("{address} sent nothing for {limit:?} in the middle of its reply")]
    Stalled { address: String, limit: Duration },
    #[error("no connection to {address}: {problem}")]
    Connect { address: String, problem: String },
    #[error(transparent)]
    Status(Box<BadStatus>),
    #[error("{address} says the quota is used up: {start}; it was not asked again")]
    Quota { address: String, start: String },
    #[error("{address} answered {status} with something that is no JSON ({content_type}): {start}")]
    NotJson {
        address: String,
        status: u16,
        content_type: String,
        start: String,
    },
    #[error("the reply of {address} is larger than {limit} bytes; the rest was not read")]
    TooLarge { address: String, limit: usize },
    #[error("no model is configured; set `base_url` and `name` under [model]")]
    NotConfigured,
    #[error("the request could not be built: {0}")]
    Request(String),
}

/// An error by the server's own word.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{address} answered {status}{} ({content_type}): {start}",
    .told.map(|told| format!(", in it an error {told}")).unwrap_or_default()
)]
pub struct BadStatus {
    pub address: String,
    /// Of the answer itself: 200 where a gateway tells the error in the body only.
    pub status: u16,
    /// The body's own, where it is another.
    pub told: Option<u16>,
    pub content_type: String,
    /// The body's first words, scrubbed.
    pub start: String,
    pub code: Option<String>,
    pub param: Option<String>,
    pub retry_after: Option<Duration>,
}

impl BadStatus {
    /// The status that says what is to be done.
    pub fn meant(&self) -> u16 {
        self.told.unwrap_or(self.status)
    }
}

impl ModelFailure {
    /// With every known secret in the server's words replaced by its placeholder.
    pub fn cleaned(mut self, egress: &dyn Egress) -> Self {
        match &mut self {
            Self::Status(bad) => bad.start = egress.clean(&bad.start),
            Self::NotJson { start, .. } | Self::Quota { start, .. } => {
                *start = egress.clean(start);
            }
            _ => {}
        }
        self
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Timeout { .. } | Self::Stalled { .. } => "timeout",
            Self::Connect { .. } => "connect",
            Self::Status(bad) if bad.meant() == 429 => "rate_limited",
            Self::Status(_) => "http_status",
            Self::Quota { .. } => "quota",
            Self::NotJson { .. } => "not_json",
            Self::TooLarge { .. } => "too_large",
            Self::NotConfigured => "not_configured",
            Self::Request(_) => "request",
        }
    }
}

/// Why a reply is no answer. The texts are put to the model when it is asked again, so they hold
/// nothing but the reply's own words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    #[error(
        "the reply was cut off by the token limit of {limit}; set {} to a higher one",
        MAX_TOKENS
    )]
    Truncated { limit: u32 },
    #[error("the reply was stopped by the server's content filter")]
    Filtered,
    #[error("the model refused: {0}")]
    Refused(String),
    #[error("the reply holds no choice")]
    NoChoice,
    #[error("empty content, reasoning present: the server put the answer where it is not read")]
    EmptyWithReasoning,
    #[error("empty reply{}", .tokens.map(|n| format!(" after {n} completion tokens; set {MAX_TOKENS} to a higher limit")).unwrap_or_default())]
    Empty { tokens: Option<u64> },
    #[error("no JSON object in the reply: {start}")]
    NoJson { start: String },
    #[error("the JSON breaks at line {line}, column {column}: {problem}")]
    Malformed {
        line: usize,
        column: usize,
        problem: String,
    },
    #[error("{0} JSON objects in the reply; exactly one is wanted")]
    Ambiguous(usize),
    #[error("the answer is {0} bytes long")]
    TooLong(usize),
    #[error("unknown field {0:?}")]
    UnknownField(String),
    #[error("the field {0:?} is missing")]
    MissingField(&'static str),
    #[error("the field {0:?} must be text")]
    WrongType(&'static str),
    #[error("{0:?} is not one of the ids listed now")]
    UnknownId(String),
    #[error("{0:?} belongs to an earlier list; use an id listed now")]
    StaleId(String),
    #[error("{0:?} is not one of the actions")]
    UnknownAction(String),
    #[error("the reason must be one line")]
    ReasonNotOneLine,
    #[error("{action:?} needs a target id")]
    NoTarget { action: &'static str },
    #[error("{value:?} cannot be the value of {action:?}: {wanted}")]
    BadValue {
        action: &'static str,
        value: String,
        wanted: String,
    },
}

impl AnswerError {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Filtered => "filtered",
            Self::Refused(_) => "refused",
            Self::NoChoice => "no_choice",
            Self::EmptyWithReasoning => "empty_with_reasoning",
            Self::Empty { .. } => "empty",
            Self::NoJson { .. } | Self::Malformed { .. } => "not_json",
            Self::Ambiguous(_) => "ambiguous",
            Self::TooLong(_) => "too_long",
            Self::UnknownId(_) => "unknown_id",
            Self::StaleId(_) => "stale_id",
            _ => "invalid",
        }
    }

    /// Asking once more with the same limit can help.
    pub fn worth_asking_again(&self) -> bool {
        !matches!(
            self,
            Self::Truncated { .. }
                | Self::Filtered
                | Self::Refused(_)
                | Self::NoChoice
                | Self::EmptyWithReasoning
                | Self::Empty { .. }
        )
    }
}
