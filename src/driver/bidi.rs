//! One BiDi connection: every command with its own deadline and a typed error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::bidi::BiDi;
use tokio::sync::watch;

use super::error::{DriverError, Raw};

/// How long a command may take unless its caller says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The connection of one browser; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connection {
    bidi: BiDi,
    lost: Arc<watch::Sender<bool>>,
    unanswered: Arc<AtomicBool>,
}

/// A server may be slow without the browser being at fault.
const WAITS_FOR_SERVERS: [&str; 3] = [
    "browsingContext.navigate",
    "browsingContext.reload",
    "browsingContext.traverseHistory",
];

/// Does the answer keep the objects it names alive?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ownership {
    #[default]
    None,
    Root,
}

/// How a function is called in a page.
#[derive(Debug, Clone)]
pub struct CallOptions {
    pub await_promise: bool,
    pub ownership: Ownership,
    pub user_activation: bool,
    /// BiDi's `serializationOptions`, for instance `{"includeShadowTree": "all"}`.
    pub serialization: Option<Value>,
    pub deadline: Duration,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            await_promise: true,
            ownership: Ownership::None,
            user_activation: false,
            serialization: None,
            deadline: DEADLINE,
        }
    }
}

impl Connection {
    pub(super) fn new(bidi: BiDi) -> Self {
        Self {
            bidi,
            lost: Arc::new(watch::Sender::new(false)),
            unanswered: Arc::default(),
        }
    }

    pub(super) fn bidi(&self) -> &BiDi {
        &self.bidi
    }

    /// Turns `true` once, when browser or driver are gone.
    pub fn lost(&self) -> watch::Receiver<bool> {
        self.lost.subscribe()
    }

    /// A command was left without its answer: a page or the browser hangs, and whatever comes
    /// next on this browser may hang with it.
    pub fn is_doubtful(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed)
    }

    pub(super) fn mark_lost(&self) {
        self.lost
            .send_if_modified(|lost| !std::mem::replace(lost, true));
    }

    /// Sends any BiDi command.
    pub async fn send(
        &self,
        method: &'static str,
        params: Value,
        deadline: Duration,
    ) -> Result<Value, DriverError> {
        let mut lost = self.lost();
        let answer = tokio::select! {
            biased;
            _ = lost.wait_for(|lost| *lost) => return Err(DriverError::Lost),
            answer = tokio::time::timeout(deadline, self.bidi.send_raw(method, params)) => answer,
        };
        match answer {
            Err(_) => {
                if !WAITS_FOR_SERVERS.contains(&method) {
                    self.unanswered.store(true, Ordering::Relaxed);
                }
                Err(DriverError::Timeout {
                    command: method,
                    after: deadline,
                })
            }
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) if is_closed(&error.message) => {
                self.mark_lost();
                Err(DriverError::Lost)
            }
            Ok(Err(error)) => Err(DriverError::from_protocol(
                method,
                error.error,
                error.message,
            )),
        }
    }

    /// Calls `declaration` in `context`, in the named sandbox (`None`: the page's own realm,
    /// which can lie). The answer is a BiDi remote value; [`super::values::plain`] flattens it.
    pub async fn call_function(
        &self,
        context: &str,
        sandbox: Option<&str>,
        declaration: &str,
        arguments: Vec<Value>,
        options: &CallOptions,
    ) -> Result<Value, DriverError> {
        let mut params = json!({
            "functionDeclaration": declaration,
            "target": target(context, sandbox),
            "arguments": arguments,
            "awaitPromise": options.await_promise,
            "resultOwnership": ownership(options.ownership),
            "userActivation": options.user_activation,
        });
        if let Some(serialization) = &options.serialization {
            params["serializationOptions"] = serialization.clone();
        }
        let answer = self
            .send("script.callFunction", params, options.deadline)
            .await?;
        script_result("script.callFunction", answer)
    }

    /// Evaluates an expression; otherwise as [`Connection::call_function`].
    pub async fn evaluate(
        &self,
        context: &str,
        sandbox: Option<&str>,
        expression: &str,
        options: &CallOptions,
    ) -> Result<Value, DriverError> {
        let mut params = json!({
            "expression": expression,
            "target": target(context, sandbox),
            "awaitPromise": options.await_promise,
            "resultOwnership": ownership(options.ownership),
            "userActivation": options.user_activation,
        });
        if let Some(serialization) = &options.serialization {
            params["serializationOptions"] = serialization.clone();
        }
        let answer = self
            .send("script.evaluate", params, options.deadline)
            .await?;
        script_result("script.evaluate", answer)
    }
}

/// thirtyfour says a closed connection in words only.
fn is_closed(message: &str) -> bool {
    message.starts_with("BiDi WebSocket") || message == "BiDi response channel dropped"
}

fn ownership(ownership: Ownership) -> &'static str {
    match ownership {
        Ownership::None => "none",
        Ownership::Root => "root",
    }
}

fn target(context: &str, sandbox: Option<&str>) -> Value {
    match sandbox {
        Some(sandbox) => json!({"context": context, "sandbox": sandbox}),
        None => json!({"context": context}),
    }
}

fn script_result(command: &'static str, mut answer: Value) -> Result<Value, DriverError> {
    match answer.get("type").and_then(Value::as_str) {
        Some("success") => Ok(answer["result"].take()),
        Some("exception") => Err(DriverError::PageInterferes {
            message: Raw::new(
                answer["exceptionDetails"]["text"]
                    .as_str()
                    .unwrap_or_default(),
            ),
        }),
        _ => Err(DriverError::Malformed {
            command,
            what: "neither success nor exception",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_s_answer_is_a_value_or_an_error_of_its_own() {
        let value = script_result("c", json!({"type": "success", "result": {"type": "null"}}));
        assert_eq!(value.unwrap(), json!({"type": "null"}));
        let thrown = script_result(
            "c",
            json!({"type": "exception", "exceptionDetails": {"text": "TypeError: hunter2"}}),
        )
        .unwrap_err();
        assert!(matches!(&thrown, DriverError::PageInterferes { message }
            if message.expose() == "TypeError: hunter2"));
        // Page text never gets out by printing an error.
        assert!(!format!("{thrown} {thrown:?}").contains("hunter2"));
        assert!(script_result("c", json!({})).is_err());
    }
}
