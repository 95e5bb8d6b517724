//! What this room needs of the driver, and the one way it calls into a page.

use std::future::Future;

use serde_json::Value;
use thiserror::Error;

use super::script;

/// One function call in a document's sandbox. The driver implements it with `script.callFunction`,
/// `awaitPromise: true`, target `{context, sandbox}`; `serialization` is BiDi's `serializationOptions`.
pub trait Realm: Sync {
    fn call_function(
        &self,
        context: &str,
        sandbox: &str,
        declaration: &str,
        arguments: Vec<Value>,
        serialization: Option<Value>,
    ) -> impl Future<Output = Result<Value, CallFault>> + Send;

    /// The browser's own accessibility node of an element, as the DevTools protocol has it; `None` where the
    /// driver tells none.
    fn accessibility(
        &self,
        _context: &str,
        _shared_id: &str,
    ) -> impl Future<Output = Option<Value>> + Send {
        std::future::ready(None)
    }
}

/// Why a call gave no answer. The driver's own error is kept in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallFault {
    #[error("the document went away while it was being read: {0}; look again")]
    Gone(String),
    #[error("the page did not answer within its time: {0}; it may be busy in a script")]
    TimedOut(String),
    #[error("the browser refused the call: {0}")]
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    #[error(transparent)]
    Call(#[from] CallFault),
    #[error(
        "the reader's answer for {what} has an unexpected shape ({detail}); the page may interfere with it"
    )]
    Shape { what: &'static str, detail: String },
}

pub(super) fn shape(what: &'static str, detail: impl ToString) -> ReadError {
    ReadError::Shape {
        what,
        detail: detail.to_string(),
    }
}

/// Calls `name` in the document's reader, installing the reader where it is missing.
pub async fn call<R: Realm>(
    realm: &R,
    context: &str,
    name: &'static str,
    arguments: &[Value],
    serialization: Option<Value>,
) -> Result<Value, ReadError> {
    let answer = attempt(realm, context, name, arguments, serialization.clone()).await?;
    if script::remote_text(&answer) != Some(script::ABSENT) {
        return Ok(answer);
    }
    install(realm, context).await?;
    let answer = attempt(realm, context, name, arguments, serialization).await?;
    if script::remote_text(&answer) == Some(script::ABSENT) {
        return Err(CallFault::Gone("the reader could not be installed".into()).into());
    }
    Ok(answer)
}

/// Puts the reader into a document. Harmless where it is already there.
pub async fn install<R: Realm>(realm: &R, context: &str) -> Result<(), CallFault> {
    realm
        .call_function(context, script::SANDBOX, script::INSTALL, Vec::new(), None)
        .await
        .map(drop)
}

async fn attempt<R: Realm>(
    realm: &R,
    context: &str,
    name: &str,
    arguments: &[Value],
    serialization: Option<Value>,
) -> Result<Value, CallFault> {
    let list = script::arguments(name, arguments);
    realm
        .call_function(context, script::SANDBOX, script::CALL, list, serialization)
        .await
}
