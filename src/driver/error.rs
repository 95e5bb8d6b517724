//! What can go wrong between us and the browser.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::system::GuardError;

/// Text a page or driver wrote: not printable by accident, because it may hold anything typed.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(String);

impl Raw {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
    /// For the scrubber, and for matching on known words.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "‹{} bytes of raw text›", self.0.len())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("{program} was not found{looked}; {remedy}")]
    Missing {
        program: String,
        /// " on PATH" or " at /given/path".
        looked: String,
        remedy: String,
    },
    #[error(
        "{driver} is version {driver_version} but {browser} is version {browser_version}; \
         install the pair from one source, or name both by setting"
    )]
    VersionMismatch {
        driver: PathBuf,
        driver_version: String,
        browser: PathBuf,
        browser_version: String,
    },
    #[error("{program} could not be started: {reason}")]
    NotStarted { program: String, reason: String },
    #[error("no {browser} session from {address}: {reason}")]
    NoSession {
        address: String,
        browser: String,
        reason: String,
    },
    /// Browser, driver or connection are gone. Whether the last command took effect is unknown.
    #[error("the browser was lost")]
    Lost,
    /// No answer in time. Whether the command took effect is unknown.
    #[error("the browser did not answer {command} within {} s", after.as_secs_f32())]
    Timeout {
        command: &'static str,
        after: Duration,
    },
    /// The tab or frame is gone (closed, or its document was replaced).
    #[error("the tab or frame no longer exists ({command})")]
    NoSuchFrame { command: &'static str },
    /// The element reference is stale: its document was replaced.
    #[error("the element no longer exists ({command})")]
    NoSuchNode { command: &'static str },
    /// A prompt was expected and there is none.
    #[error("no dialog is open")]
    NoSuchAlert,
    /// Our script could not run as written: something in the page is in its way.
    #[error("the page interferes with a script of ours")]
    PageInterferes { message: Raw },
    /// The driver's answer lacks what the protocol promises.
    #[error("the answer to {command} could not be understood: {what}")]
    Malformed {
        command: &'static str,
        what: &'static str,
    },
    #[error("{command} failed: {error}")]
    Command {
        command: &'static str,
        /// The protocol's error code, for instance "move target out of bounds".
        error: String,
        message: Raw,
    },
    #[error("this text can't be typed: {0}")]
    Untypable(&'static str),
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("a private folder could not be made: {0}")]
    Folder(#[from] std::io::Error),
}

const GONE: [&str; 3] = [
    "Cannot find context with specified id",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
];

impl DriverError {
    /// After these it is unknown whether the command took effect: look again, never repeat.
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, DriverError::Lost | DriverError::Timeout { .. })
    }

    /// Problems of the machine, not of a page: exit code for environment errors.
    pub fn is_environment(&self) -> bool {
        matches!(
            self,
            DriverError::Missing { .. }
                | DriverError::VersionMismatch { .. }
                | DriverError::NotStarted { .. }
                | DriverError::NoSession { .. }
                | DriverError::Guard(_)
                | DriverError::Folder(_)
        )
    }

    /// From a protocol error, by its code.
    pub(super) fn from_protocol(command: &'static str, error: String, message: String) -> Self {
        match error.as_str() {
            "no such frame" => DriverError::NoSuchFrame { command },
            "no such node" | "no such handle" => DriverError::NoSuchNode { command },
            "no such alert" => DriverError::NoSuchAlert,
            "invalid session id" => DriverError::Lost,
            // Chromium's words for a document that was replaced while a script call was on its way.
            "unknown error" if GONE.iter().any(|words| message.contains(words)) => {
                DriverError::NoSuchFrame { command }
            }
            _ => DriverError::Command {
                command,
                error,
                message: Raw::new(message),
            },
        }
    }
}
