//! One held page and the task that owns it. Calls come through a channel and are done one after
//! another, to their end, whether the caller still listens or not (R28).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::event::{Blocked, Event, What};
use crate::plan::Planned;
use crate::run::{Held, House, Listener, Meant, Opened, Stream};
use crate::scenario::{Act, Extract, Lexicons, Step};
use crate::store::Journal;

use super::act::{ActBody, Approval, BatchBody};
use super::acting::Offered;
use super::audit::{Audit, Entry};
use super::consent::Approvals;
use super::read;
use super::refusal::Refusal;
use super::weigh::{self, Caller};

/// Without a call for so long, a session ends.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// And after this whatever happens.
const HARD: Duration = Duration::from_secs(60 * 60);
/// Calls waiting in line; more are refused.
pub const WAITING: usize = 8;

pub type Answer = Result<Value, Refusal>;

/// What may be asked of a session.
pub enum Ask {
    Read {
        picture: bool,
    },
    Act(Box<ActBody>),
    Batch(BatchBody),
    Login {
        credential: String,
        approval: Option<Approval>,
    },
    Extract(Box<Extract>),
}

pub struct Command {
    pub ask: Ask,
    pub reply: oneshot::Sender<Answer>,
}

/// What every session's task shares.
pub struct Common {
    pub house: House,
    pub approvals: Approvals,
    pub audit: Audit,
    pub lexicons: Lexicons,
    pub idle: Duration,
    pub hard: Duration,
}

impl Common {
    pub fn limits() -> (Duration, Duration) {
        (IDLE, HARD)
    }
}

/// The session's own part.
pub struct Own {
    pub id: String,
    pub owner: String,
    pub planned: Planned,
}

/// What was stopped and what was let through, noted as it is told.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<Mutex<Noted>>);

#[derive(Default)]
pub(super) struct Noted {
    pub stopped: Vec<Blocked>,
    /// `POST http://shop.test/orders`
    pub sent: Vec<String>,
    /// Names of files that nobody consented to.
    pub refused: Vec<String>,
}

impl Listener for Requests {
    fn event(&mut self, event: &Event) {
        match &event.what {
            What::Blocked(blocked) => self.lock().stopped.push(blocked.clone()),
            What::Download {
                name,
                accepted: false,
                ..
            } => self.lock().refused.push(name.clone()),
            What::Wrote {
                method,
                url,
                because,
            } if because != crate::policy::LOGIN => {
                self.lock().sent.push(format!("{method} {url}"));
            }
            _ => {}
        }
    }
}

impl Requests {
    fn lock(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Noted {
        std::mem::take(&mut *self.lock())
    }
}

/// Opens the page, says so, and serves calls until the session ends.
pub async fn live(
    common: Arc<Common>,
    own: Own,
    mut calls: mpsc::Receiver<Command>,
    mut revoked: watch::Receiver<bool>,
    opened: oneshot::Sender<Answer>,
) {
    let requests = Requests::default();
    let (stream, _folder) = match stream(&requests, &common.house) {
        Ok(made) => made,
        Err(why) => {
            let _ = opened.send(Err(Refusal::Environment(why)));
            return;
        }
    };
    let say = stream.attempt(own.planned.id(), 1);
    let mut held = match common.house.hold(&own.planned, say).await {
        Ok(held) => held,
        Err(stopped) => {
            let _ = opened.send(Err(stopped.into()));
            return;
        }
    };
    let place = held.look().await.map(|page| {
        let mut map = Map::new();
        map.insert("session".into(), json!(own.id));
        map.extend(read::address(&page));
        Value::Object(map)
    });
    // Nobody listening any more is no reason to end: the session has its own ends.
    let _ = opened.send(place.map_err(Refusal::from));
    let hard = Instant::now() + common.hard;
    let mut turn = Turn {
        common: &common,
        own: &own,
        requests: &requests,
        offered: Offered::default(),
    };
    loop {
        let until = hard.min(Instant::now() + common.idle);
        let next = tokio::select! {
            next = timeout_at(until, calls.recv()) => next,
            _ = revoked.changed() => break,
        };
        let Ok(Some(Command { ask, reply })) = next else {
            break;
        };
        let answer = tokio::select! {
            answer = turn.take(&mut held, ask) => answer,
            _ = revoked.changed() => break,
        };
        let _ = reply.send(answer);
    }
    common.approvals.forget_session(&own.id);
    held.close().await;
    stream.close();
    common.audit.write(Entry {
        what: "session ended",
        result: "ok",
        owner: Some(&own.owner),
        session: Some(&own.id),
        ..Entry::default()
    });
}

/// Events of a session go to a journal that ends with it.
fn stream(requests: &Requests, house: &House) -> Result<(Stream, tempfile::TempDir), String> {
    let folder = tempfile::Builder::new()
        .prefix("rehearsal-held-")
        .tempdir()
        .map_err(|e| format!("no folder for the session: {e}"))?;
    let path = folder.path().join("events.jsonl");
    let journal = Journal::<Event>::create(&path).map_err(|e| e.to_string())?;
    let scrubber = &house.context().scrubber;
    let stream = Stream::new(journal, vec![Box::new(requests.clone())], scrubber);
    Ok((stream, folder))
}

/// One call on the held page.
pub(super) struct Turn<'a> {
    pub common: &'a Common,
    pub own: &'a Own,
    pub requests: &'a Requests,
    pub offered: Offered,
}

impl Turn<'_> {
    async fn take(&mut self, held: &mut Held<'_>, ask: Ask) -> Answer {
        match ask {
            Ask::Read { picture } => self.read(held, picture).await,
            Ask::Act(body) => self.act(held, &body).await,
            Ask::Batch(body) => self.batch(held, &body).await,
            Ask::Login {
                credential,
                approval,
            } => self.login(held, &credential, approval.as_ref()).await,
            Ask::Extract(extract) => self.extract(held, &extract).await,
        }
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            owner: &self.own.owner,
            session: &self.own.id,
        }
    }

    async fn read(&mut self, held: &mut Held<'_>, picture: bool) -> Answer {
        let page = held.look().await?;
        let shot = match picture {
            true => Some(held.broker().shot().await.map_err(broken)?),
            false => None,
        };
        // Taking the picture may have read the page again: ids are those of the latest read.
        let page = held.broker().last().unwrap_or(page);
        let mut map = read::page(&page);
        if let Some(shot) = shot {
            map.insert("picture".into(), read::picture(&shot));
        }
        Ok(Value::Object(map))
    }

    async fn extract(&mut self, held: &mut Held<'_>, extract: &Extract) -> Answer {
        held.look().await?;
        let mut data = Map::new();
        let mut notes = Map::new();
        for found in held.extract(extract).await? {
            if let Some(note) = found.note {
                notes.insert(found.name.clone(), json!(note));
            }
            data.insert(found.name, found.value);
        }
        Ok(json!({ "data": data, "notes": notes }))
    }

    async fn login(
        &mut self,
        held: &mut Held<'_>,
        credential: &str,
        approval: Option<&Approval>,
    ) -> Answer {
        if !self.own.planned.credentials.iter().any(|c| c == credential) {
            return Err(Refusal::malformed(
                "this session was not opened with that credential; list it in `credentials`",
            ));
        }
        let weighed = weigh::weigh_login(held, credential, self.caller())
            .await
            .map_err(broken)?;
        match (approval, weighed.need) {
            (None, Some(need)) => return self.ask(held, need, weighed.bound).await,
            (None, None) => return Err(Refusal::ConsentInvalid),
            (Some(approval), _) => self.given(approval, &weighed.bound)?,
        };
        let step = Step::unwritten(Act::Login(credential.to_owned()));
        let result = held
            .carry_out(&Meant::Step(Box::new(step)), &Opened::default())
            .await;
        let word = match &result {
            Ok(_) => "signed_in",
            Err(stopped) => &stopped.failure.reason,
        };
        self.note(
            "login",
            word,
            Some(format!("Sign in with {credential}")),
            approval,
        );
        result?;
        // The outcome and nothing else (R9).
        Ok(json!({ "outcome": "signed_in" }))
    }
}

pub(super) fn broken(error: crate::broker::BrokerError) -> Refusal {
    Refusal::Environment(error.to_string())
}
