//! The handle the run holds: asks, checks, asks once more, and keeps a record of every call.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Egress;
use super::answer::{self, Reply};
use super::client::{Client, Deadline, Message};
use super::error::{AgentError, AnswerError, ModelFailure};
use super::learn::Mode;
use super::prompt::{FIXED_MARK, Sections, cut};
use super::schema::Schema;
use super::settings::ModelSettings;
use super::tape::{Recorded, Tape};

/// Characters of question and of answer that a record keeps.
const KEPT: usize = 8 * 1024;

/// One model for a session; shared by all its scenarios.
pub struct Model {
    /// `None`: answers come from a tape alone.
    pub(super) client: Option<Client>,
    tape: Tape,
}

/// What a question may use: the scenario's scrubber, a time limit of its own, a picture.
pub struct Asking<'a> {
    pub egress: &'a dyn Egress,
    /// Beside the model's own limit; the nearer one counts.
    pub limit: Option<Duration>,
    /// A redacted JPEG; sent only if the settings allow pictures and the model takes them.
    pub picture: Option<&'a [u8]>,
}

impl<'a> Asking<'a> {
    pub fn new(egress: &'a dyn Egress) -> Self {
        Self {
            egress,
            limit: None,
            picture: None,
        }
    }
}

/// An answer or why there is none, with every call it took.
#[derive(Debug)]
pub struct Asked<T> {
    pub outcome: Result<T, AgentError>,
    pub calls: Vec<CallRecord>,
}

/// One question as put and answered; everything scrubbed, then cut.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// `choose`, `plan`, `extract`
    pub purpose: &'static str,
    pub question: String,
    pub answer: String,
    /// `ok`, or the kind of failure.
    pub outcome: String,
    /// Of the request's body.
    pub prompt_bytes: usize,
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub candidates_offered: usize,
    pub candidates_total: usize,
    /// Requests sent; 0 when a tape answered.
    pub sent: u32,
    /// What the run must say about it: it was not asked as the settings wish.
    pub note: Option<String>,
}

impl CallRecord {
    /// For budgets. A server that tells no usage is reckoned at four bytes a token, so that a
    /// budget holds there too; recorded answers cost what they cost when they were given.
    pub fn tokens(&self) -> u64 {
        let reckoned = |bytes: usize| bytes as u64 / 4;
        let prompt = self.prompt_tokens;
        let completion = self.completion_tokens;
        prompt.unwrap_or_else(|| reckoned(self.prompt_bytes))
            + completion.unwrap_or_else(|| reckoned(self.answer.len()))
    }
}

/// A question before it becomes a request.
pub(super) struct Ask {
    pub purpose: &'static str,
    pub system: &'static str,
    pub sections: Sections,
    pub schema: Schema,
    pub offered: usize,
    pub total: usize,
}

/// Turns the one object of a reply into an answer.
pub(super) type Check<'a, T> = &'a (dyn Fn(&Map<String, Value>) -> Result<T, AnswerError> + Sync);

impl Model {
    /// `None`: neither a model nor recorded answers.
    pub fn from_settings(
        settings: Option<ModelSettings>,
        tape: Tape,
    ) -> Result<Option<Self>, AgentError> {
        let client = match settings {
            Some(settings) => Some(Client::new(settings)?),
            None if tape.replays() => None,
            None => return Ok(None),
        };
        Ok(Some(Self { client, tape }))
    }

    /// Base address and model name, or where the answers come from. Never a key.
    pub fn shown(&self) -> String {
        match (&self.tape, &self.client) {
            (Tape::Replay(dir), _) => format!("recorded answers in {}", dir.display()),
            (_, Some(client)) => client.settings().shown(),
            (_, None) => "none".into(),
        }
    }

    /// Pictures are wanted by the settings and not yet refused by the server.
    pub fn takes_pictures(&self) -> bool {
        let client = self.client.as_ref();
        client.is_some_and(|c| c.learnt().pictures) && !self.tape.replays()
    }

    pub(super) fn token_limit(&self) -> u32 {
        self.client.as_ref().map_or(0, |c| c.settings().max_tokens)
    }

    pub(super) fn deadline(&self, asking: &Asking) -> Deadline {
        let own = self.client.as_ref().map(|c| c.settings().timeout);
        let limit = [own, asking.limit].into_iter().flatten().min();
        Deadline::within(limit.unwrap_or(Duration::from_secs(60)))
    }

    pub(super) async fn ask<T>(
        &self,
        asking: &Asking<'_>,
        ask: &Ask,
        check: Check<'_, T>,
    ) -> Asked<T> {
        let deadline = self.deadline(asking);
        let mut calls = Vec::new();
        let mut refused: Option<AnswerError> = None;
        loop {
            let asked = calls.len() as u32 + 1;
            let put = self.put(asking, ask, refused.as_ref(), deadline).await;
            let (reply, mut record) = match put {
                Ok(put) => put,
                Err((error, record)) => {
                    calls.extend(record);
                    return Asked {
                        outcome: Err(error),
                        calls,
                    };
                }
            };
            let limit = self.token_limit();
            let error = match answer::object(&reply, limit).and_then(|o| check(&o)) {
                Ok(value) => {
                    self.keep_plain_mode(refused.as_ref());
                    record.outcome = "ok".into();
                    calls.push(record);
                    return Asked {
                        outcome: Ok(value),
                        calls,
                    };
                }
                Err(error) => error,
            };
            record.outcome = error.kind().into();
            let raw = record.answer.clone();
            calls.push(record);
            if asked > 1 || !error.worth_asking_again() {
                let error = AgentError::Answer {
                    error,
                    asked,
                    raw: cut(&raw, 500),
                };
                return Asked {
                    outcome: Err(error),
                    calls,
                };
            }
            refused = Some(error);
        }
    }

    /// Prose where JSON was asked for means that the server ignores the format: the second asking
    /// goes without one, and if that helps it stays so.
    fn keep_plain_mode(&self, refused: Option<&AnswerError>) {
        if let (Some(AnswerError::NoJson { .. }), Some(client)) = (refused, &self.client) {
            client.learn(|known| known.mode = Mode::Plain);
        }
    }

    async fn put(
        &self,
        asking: &Asking<'_>,
        ask: &Ask,
        refused: Option<&AnswerError>,
        deadline: Deadline,
    ) -> Result<(Reply, CallRecord), (AgentError, Option<CallRecord>)> {
        let said = refused.map(ToString::to_string);
        let mark = ask.sections.fresh_mark();
        let user = ask.sections.render(&mark, said.as_deref());
        let fixed = ask.sections.render(FIXED_MARK, said.as_deref());
        let mode = matches!(refused, Some(AnswerError::NoJson { .. })).then_some(Mode::Plain);
        let message = Message {
            system: ask.system,
            user: &user,
            schema: Some(&ask.schema),
            picture: asking.picture,
            mode,
        };
        self.exchange(asking, ask.purpose, &message, &fixed, deadline)
            .await
            .map(|(reply, record)| {
                let record = CallRecord {
                    candidates_offered: ask.offered,
                    candidates_total: ask.total,
                    ..record
                };
                (reply, record)
            })
            .map_err(|(error, record)| {
                let record = record.map(|record| CallRecord {
                    candidates_offered: ask.offered,
                    candidates_total: ask.total,
                    ..record
                });
                (error, record)
            })
    }

    /// One call: the egress check, the tape, the server. `fixed` is the user's text with the
    /// random mark made constant.
    pub(super) async fn exchange(
        &self,
        asking: &Asking<'_>,
        purpose: &'static str,
        message: &Message<'_>,
        fixed: &str,
        deadline: Deadline,
    ) -> Result<(Reply, CallRecord), (AgentError, Option<CallRecord>)> {
        let body = self.body_text(message);
        // Both as sent and as read: escaping must not hide a value.
        let texts = [body.as_str(), message.system, message.user];
        if let Some(credential) = texts.iter().find_map(|text| asking.egress.refuse(text)) {
            return Err((AgentError::Leak { credential }, None));
        }
        let question = asking.egress.clean(&Tape::question(message, fixed));
        let mut record = CallRecord {
            purpose,
            question: cut(&question, KEPT),
            answer: String::new(),
            outcome: String::new(),
            prompt_bytes: body.len(),
            prompt_tokens: None,
            completion_tokens: None,
            candidates_offered: 0,
            candidates_total: 0,
            sent: 0,
            note: None,
        };
        let got = self.reply(message, &question, deadline).await;
        match got {
            Ok((reply, sent, note)) => {
                // From here on only the scrubbed reply exists: it may be quoted in an error.
                let reply = reply.cleaned(asking.egress);
                record.answer = cut(&reply.raw(), KEPT);
                record.prompt_tokens = reply.prompt_tokens;
                record.completion_tokens = reply.completion_tokens;
                record.sent = sent;
                record.note = note;
                let recorded = Recorded { question, reply };
                self.tape
                    .keep(&recorded)
                    .map_err(|e| (e, Some(record.clone())))?;
                Ok((recorded.reply, record))
            }
            Err(error) => {
                let error = match error {
                    AgentError::Unavailable(failure) => failure.cleaned(asking.egress).into(),
                    other => other,
                };
                record.outcome = error.kind().into();
                Err((error, Some(record)))
            }
        }
    }

    async fn reply(
        &self,
        message: &Message<'_>,
        question: &str,
        deadline: Deadline,
    ) -> Result<(Reply, u32, Option<String>), AgentError> {
        if let Some(recorded) = self.tape.find(question)? {
            return Ok((recorded.reply, 0, None));
        }
        let client = self.client.as_ref().ok_or(ModelFailure::NotConfigured)?;
        let got = client.send(message, deadline).await?;
        let note = got.refused_temperature.map(|wanted| {
            format!("the model's server refuses the temperature {wanted}: it answers at its own")
        });
        Ok((got.reply, got.sent, note))
    }

    fn body_text(&self, message: &Message) -> String {
        match &self.client {
            Some(client) => client.body(message, client.learnt()).to_string(),
            None => format!("{}{}", message.system, message.user),
        }
    }
}
