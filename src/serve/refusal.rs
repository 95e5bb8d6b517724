//! What a caller is told when nothing is done: one shape, and no more than it may know.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::event::{Failure, Status};
use crate::run::Stopped;

use super::consent::Asked;

#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// No token, or one that is none: told alike.
    Unauthorised,
    /// Host or Origin.
    Forbidden,
    /// Absent, closed, or another owner's: told alike (R29).
    NoSession,
    NotFound,
    ContentType,
    TooLarge,
    Malformed(String),
    Limit(String),
    TimedOut,
    Consent(Box<Asked>),
    ConsentInvalid,
    Stopped(Box<Failure>, Status),
    /// Requests left, and what came of them was not seen to its end (063).
    Outcome {
        why: String,
        sent: Vec<String>,
    },
    /// A batch that ended before its end.
    Batch {
        /// From 0.
        at: usize,
        of: usize,
        /// What the actions before it were answered.
        done: Vec<Value>,
        why: Box<Refusal>,
    },
    Environment(String),
}

impl Refusal {
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::ConsentInvalid => StatusCode::FORBIDDEN,
            Self::NoSession | Self::NotFound => StatusCode::NOT_FOUND,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Limit(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::TimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::Consent(_) => StatusCode::PRECONDITION_REQUIRED,
            Self::Stopped(_, Status::Environment) | Self::Environment(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Stopped(..) | Self::Outcome { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Batch { why, .. } => why.status(),
        }
    }

    /// A stable word.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unauthorised => "unauthorised",
            Self::Forbidden => "forbidden",
            Self::NoSession => "no_session",
            Self::NotFound => "not_found",
            Self::ContentType => "content_type",
            Self::TooLarge => "too_large",
            Self::Malformed(_) => "malformed",
            Self::Limit(_) => "limit",
            Self::TimedOut => "timed_out",
            Self::Consent(_) => "consent_required",
            Self::ConsentInvalid => "consent_invalid",
            Self::Stopped(failure, _) => &failure.reason,
            Self::Outcome { .. } => "unknown_outcome",
            Self::Batch { why, .. } => why.reason(),
            Self::Environment(_) => "environment",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Unauthorised => "send `Authorization: Bearer <token>` with a valid token".into(),
            Self::Forbidden => "this service answers programs of this machine only".into(),
            Self::NoSession => "there is no such session".into(),
            Self::NotFound => "there is nothing at this address".into(),
            Self::ContentType => "send `Content-Type: application/json`".into(),
            Self::TooLarge => "the request is too large".into(),
            Self::Malformed(message) | Self::Limit(message) | Self::Environment(message) => {
                message.clone()
            }
            Self::TimedOut => "it took too long; the session is still there, read it".into(),
            Self::Consent(_) => {
                "a person must approve this; claim the token, then send the same call with it"
                    .into()
            }
            Self::ConsentInvalid => {
                "the approval does not hold for this action on this page; ask again".into()
            }
            Self::Stopped(failure, _) => failure.message.clone(),
            Self::Batch { at, of, why, .. } => {
                format!("action {} of {of} was not done: {}", at + 1, why.message())
            }
            Self::Outcome { why, sent } => format!("{} was sent; then: {why}", sent.join(", ")),
        }
    }

    pub fn body(&self) -> Value {
        let mut body = json!({ "ok": false, "reason": self.reason(), "error": self.message() });
        match self {
            Self::Batch { at, done, why, .. } => {
                let told = body["error"].take();
                body = why.body();
                body["error"] = told;
                body["stopped_at"] = json!(at + 1);
                body["done"] = json!(done);
            }
            Self::Consent(asked) => {
                body["approval_id"] = json!(asked.approval_id);
                body["summary"] = json!(asked.summary);
                body["risk"] = json!(asked.risk);
                body["expires_in"] = json!(asked.expires_in);
                body["picture_hash"] = json!(asked.picture_hash);
                body["approve_at"] = json!("/approvals");
            }
            Self::Stopped(failure, _) => {
                if !failure.seen.is_empty() {
                    body["seen"] = json!(failure.seen);
                }
                if !failure.nearest.is_empty() {
                    body["nearest"] = json!(failure.nearest);
                }
                if let Some(help) = &failure.help {
                    body["help"] = json!(help);
                }
            }
            Self::Outcome { sent, .. } => {
                body["sent"] = json!(sent);
                body["help"] =
                    json!("read the page to see what came of it; the same call may do it twice");
            }
            _ => {}
        }
        body
    }
}

impl From<Stopped> for Refusal {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(Box::new(stopped.failure), stopped.status)
    }
}
