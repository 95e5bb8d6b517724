//! One question to one endpoint: the request, the tries and the pauses between them.

use std::sync::Mutex;
use std::time::Duration;

use async_openai::error::OpenAIError;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::answer::Reply;
use super::error::ModelFailure;
use super::learn::{Learnt, Mode, adapt};
use super::schema::Schema;
use super::settings::ModelSettings;
use super::transport::{ChatClient, chat_client};

/// One message pair with the shape of its answer.
pub struct Message<'a> {
    pub system: &'a str,
    pub user: &'a str,
    /// `None`: the answer is free text.
    pub schema: Option<&'a Schema>,
    /// A JPEG, already redacted.
    pub picture: Option<&'a [u8]>,
    /// Overrides what was learnt.
    pub mode: Option<Mode>,
}

pub struct Client {
    chat: ChatClient,
    settings: ModelSettings,
    learnt: Mutex<Learnt>,
}

/// When a question must be over, and the limit that was set for it.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    pub at: Instant,
    pub limit: Duration,
}

impl Deadline {
    pub fn within(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit,
        }
    }
}

/// A reply and what it took to get it.
pub struct Exchanged {
    pub reply: Reply,
    /// Requests sent.
    pub sent: u32,
    /// How the last of them asked for its shape.
    pub mode: Mode,
    /// The temperature of the settings, where the server refused it just now.
    pub refused_temperature: Option<f64>,
}

impl Client {
    pub fn new(settings: ModelSettings) -> Result<Self, ModelFailure> {
        Ok(Self {
            chat: chat_client(&settings)?,
            learnt: Mutex::new(Learnt {
                mode: Mode::Schema,
                new_token_field: false,
                temperature: true,
                pictures: settings.vision,
            }),
            settings,
        })
    }

    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    pub fn learnt(&self) -> Learnt {
        *self.learnt.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn learn(&self, change: impl FnOnce(&mut Learnt)) {
        change(&mut self.learnt.lock().unwrap_or_else(|e| e.into_inner()));
    }

    /// Asks until there is a reply, the tries are used up, or `deadline` comes.
    pub async fn send(
        &self,
        message: &Message<'_>,
        deadline: Deadline,
    ) -> Result<Exchanged, ModelFailure> {
        let known = self.learnt();
        let mut now = Learnt {
            mode: message.mode.unwrap_or(known.mode),
            ..known
        };
        let mut sent = 0;
        let mut failed = 0;
        loop {
            let body = self.body(message, now);
            sent += 1;
            let failure = match self.post(&body, deadline).await {
                Ok(reply) => {
                    self.remember(known, now, message);
                    return Ok(Exchanged {
                        reply,
                        sent,
                        mode: now.mode,
                        refused_temperature: self
                            .settings
                            .temperature
                            .filter(|_| known.temperature && !now.temperature),
                    });
                }
                Err(failure) => failure,
            };
            if let Some(changed) = adapt(&failure, now, &body) {
                now = changed;
                continue;
            }
            failed += 1;
            let Some(pause) = self.pause(&failure, failed) else {
                return Err(failure);
            };
            let wake = Instant::now() + pause;
            if wake >= deadline.at {
                return Err(failure);
            }
            tracing::info!(kind = failure.kind(), ?pause, "asking the model again");
            sleep_until(wake).await;
        }
    }

    async fn post(&self, body: &Value, deadline: Deadline) -> Result<Reply, ModelFailure> {
        let chat = self.chat.chat();
        let call = chat.create_byot::<_, Value>(body);
        match timeout_at(deadline.at, call).await {
            Err(_) => Err(ModelFailure::Timeout {
                address: self.settings.base.join("/chat/completions"),
                limit: deadline.limit,
            }),
            Ok(Ok(reply)) => Ok(Reply::read(&reply)),
            Ok(Err(OpenAIError::Boxed(error))) => Err(match error.downcast::<ModelFailure>() {
                Ok(failure) => *failure,
                Err(error) => ModelFailure::Request(error.to_string()),
            }),
            // Only building the request can fail outside our transport.
            Ok(Err(error)) => Err(ModelFailure::Request(error.to_string())),
        }
    }

    /// The request. Its unchanging part comes first.
    pub fn body(&self, message: &Message<'_>, known: Learnt) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), self.settings.model.as_str().into());
        let user = match message.picture.filter(|_| known.pictures) {
            None => json!(message.user),
            Some(jpeg) => json!([
                { "type": "text", "text": message.user },
                { "type": "image_url", "image_url": { "url": data_url(jpeg) } },
            ]),
        };
        body.insert(
            "messages".into(),
            json!([
                { "role": "system", "content": message.system },
                { "role": "user", "content": user },
            ]),
        );
        if let Some(schema) = message.schema {
            match known.mode {
                Mode::Schema => {
                    body.insert("response_format".into(), schema.response_format());
                }
                Mode::JsonObject => {
                    body.insert("response_format".into(), json!({ "type": "json_object" }));
                }
                Mode::Plain => {}
            }
        }
        let limit = match known.new_token_field {
            true => "max_completion_tokens",
            false => "max_tokens",
        };
        body.insert(limit.into(), self.settings.max_tokens.into());
        if let Some(temperature) = self.settings.temperature.filter(|_| known.temperature) {
            body.insert("temperature".into(), temperature.into());
        }
        Value::Object(body)
    }

    fn remember(&self, before: Learnt, after: Learnt, message: &Message) {
        // A mode forced from outside is a trial; its outcome is judged there.
        let mode = match message.mode {
            None => after.mode,
            Some(_) => before.mode,
        };
        let after = Learnt { mode, ..after };
        if before == after {
            return;
        }
        tracing::info!(
            model = self.settings.model,
            mode = after.mode.name(),
            new_token_field = after.new_token_field,
            temperature = after.temperature,
            pictures = after.pictures,
            "the model's server does not take everything; remembered for this session"
        );
        self.learn(|known| {
            known.mode = known.mode.max(after.mode);
            known.new_token_field |= after.new_token_field;
            known.temperature &= after.temperature;
            known.pictures &= after.pictures;
        });
    }

    /// How long to wait before the next try; `None`: this failure stays.
    fn pause(&self, failure: &ModelFailure, failed: u32) -> Option<Duration> {
        let patience = &self.settings.patience;
        if failed >= patience.tries {
            return None;
        }
        let growing = patience.first_pause * 2u32.saturating_pow(failed - 1);
        match failure {
            ModelFailure::Status(bad) if matches!(bad.meant(), 429 | 503) => {
                let wanted = bad.retry_after.unwrap_or_else(|| jittered(growing));
                Some(wanted.min(patience.longest_pause))
            }
            ModelFailure::Status(bad) if bad.meant() < 500 => None,
            ModelFailure::Status(_) | ModelFailure::Connect { .. } => {
                Some(jittered(growing).min(patience.longest_pause))
            }
            _ => None,
        }
    }
}

/// Half to whole, so that many workers don't return at once.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [128u8];
    let _ = getrandom::fill(&mut byte);
    pause / 2 + pause * u32::from(byte[0]) / 512
}

fn data_url(jpeg: &[u8]) -> String {
    use base64::Engine as _;
    let data = base64::engine::general_purpose::STANDARD.encode(jpeg);
    format!("data:image/jpeg;base64,{data}")
}
