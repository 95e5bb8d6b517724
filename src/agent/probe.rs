//! For `doctor`: which ways of asking for JSON an endpoint really follows.
//!
//! Some servers refuse a way with an error, others take it and ignore it; only an answer tells.

use super::answer;
use super::client::{Client, Deadline, Message};
use super::error::{AgentError, ModelFailure};
use super::learn::Mode;
use super::model::Model;
use super::schema;

/// What each mode did at this endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub address: String,
    pub tried: Vec<(Mode, Result<(), String>)>,
}

impl Probe {
    /// The strongest mode that worked.
    pub fn works(&self) -> Option<Mode> {
        let good = self.tried.iter().find(|(_, outcome)| outcome.is_ok());
        good.map(|(mode, _)| *mode)
    }
}

impl Model {
    /// Three small questions, one for each mode.
    pub async fn probe(&self) -> Result<Probe, AgentError> {
        let client = self.client.as_ref().ok_or(ModelFailure::NotConfigured)?;
        let mut tried = Vec::new();
        for mode in Mode::ALL {
            tried.push((mode, try_mode(client, mode).await?));
        }
        Ok(Probe {
            tried,
            address: client.settings().shown(),
        })
    }
}

/// The inner error is the mode's, the outer one the endpoint's.
async fn try_mode(client: &Client, mode: Mode) -> Result<Result<(), String>, ModelFailure> {
    let schema = schema::choice(["e1", "e2"].into_iter());
    let message = Message {
        system: "Answer with one JSON object and nothing else.",
        user: "Answer {\"id\": \"e2\"}",
        schema: Some(&schema),
        picture: None,
        mode: Some(mode),
    };
    let deadline = Deadline::within(client.settings().timeout);
    let got = match client.send(&message, deadline).await {
        Ok(got) if got.mode != mode => return Ok(Err("refused by the server".into())),
        Ok(got) => got,
        Err(ModelFailure::Status(bad)) if matches!(bad.status, 400 | 422) => {
            return Ok(Err(bad.to_string()));
        }
        Err(failure) => return Err(failure),
    };
    let object = answer::object(&got.reply, client.settings().max_tokens);
    Ok(
        match object.and_then(|o| answer::text(&o, "id").map(|id| id == "e2")) {
            Ok(true) => Ok(()),
            Ok(false) => Err("another id than the wanted one".into()),
            Err(error) => Err(error.to_string()),
        },
    )
}
