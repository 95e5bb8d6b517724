//! One held page and the task that owns it. Calls come through a channel and are done one after
//! another, to their end, whether the caller still listens or not (R28).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::broker::Shot;
use crate::event::{Blocked, Event, What};
use crate::plan::Planned;
use crate::run::{Held, House, Listener, Meant, Stopped, Stream};
use crate::scenario::{Act, Extract, Lexicons, Step};
use crate::store::Journal;

use super::act::{ActBody, Approval, Call};
use super::audit::{Audit, Entry};
use super::consent::{Approvals, Bound, Opens, Question};
use super::read;
use super::refusal::Refusal;
use super::weigh::{self, Caller, Need};

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

/// What the proxy stopped and what it let through, noted as it is told.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    stopped: Vec<Blocked>,
    /// `POST http://shop.test/orders`
    sent: Vec<String>,
}

impl Listener for Requests {
    fn event(&mut self, event: &Event) {
        match &event.what {
            What::Blocked(blocked) => self.lock().stopped.push(blocked.clone()),
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

    fn take(&self) -> Noted {
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
struct Turn<'a> {
    common: &'a Common,
    own: &'a Own,
    requests: &'a Requests,
}

impl Turn<'_> {
    async fn take(&mut self, held: &mut Held<'_>, ask: Ask) -> Answer {
        match ask {
            Ask::Read { picture } => self.read(held, picture).await,
            Ask::Act(body) => self.act(held, &body).await,
            Ask::Login {
                credential,
                approval,
            } => self.login(held, &credential, approval.as_ref()).await,
            Ask::Extract(extract) => self.extract(held, &extract).await,
        }
    }

    fn caller(&self) -> Caller<'_> {
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

    async fn act(&mut self, held: &mut Held<'_>, body: &ActBody) -> Answer {
        let credentials = &self.own.planned.credentials;
        let call = body.call(credentials, &self.common.lexicons)?;
        let meant = self.meant(held, call).await?;
        self.requests.take();
        let weighed = weigh::weigh(held, &meant, self.caller())
            .await
            .map_err(broken)?;
        let opens = match (&body.approval, weighed.need) {
            (Some(approval), _) => self.given(approval, &weighed.bound)?,
            (None, Some(need)) => return self.ask(held, need, weighed.bound).await,
            (None, None) => Opens::Nothing,
        };
        let host_added = matches!(opens, Opens::Host(_));
        let approved = matches!(opens, Opens::Requests(_));
        match opens {
            Opens::Nothing => {}
            Opens::Requests(rules) => held.broker().declare(rules),
            Opens::Host(rule) => held.broker().allow_host(rule),
        }
        held.broker().left_hosts();
        let result = held.carry_out(&meant, approved).await;
        held.broker().withdraw();
        held.tell_late();
        let Noted {
            stopped: stops,
            sent,
        } = self.requests.take();
        let stopped = match result {
            Ok(did) => {
                self.note("act", "done", Some(meant.says()), body.approval.as_ref());
                let mut map = Map::new();
                map.insert("did".into(), json!(meant.says()));
                map.insert("effect".into(), json!(did.change));
                map.insert("notes".into(), json!(did.notes));
                if !sent.is_empty() {
                    map.insert("sent".into(), json!(sent));
                }
                if let Some(page) = held.broker().last() {
                    map.extend(read::address(&page));
                }
                return Ok(Value::Object(map));
            }
            Err(stopped) => stopped,
        };
        self.note(
            "act",
            &stopped.failure.reason,
            Some(meant.says()),
            body.approval.as_ref(),
        );
        if !sent.is_empty() {
            let why = stopped.failure.message;
            return Err(Refusal::Outcome { why, sent });
        }
        let left = held.broker().left_hosts();
        match found_out(&meant, &stopped, &stops, left.filter(|_| !host_added)) {
            None => Err(stopped.into()),
            Some(need) => {
                held.look().await?;
                // Bound to the page as it is now; the action is the same.
                let meant = self.again(held, &meant)?;
                let again = weigh::weigh(held, &meant, self.caller())
                    .await
                    .map_err(broken)?;
                self.ask(held, need, again.bound).await
            }
        }
    }

    /// The call on the page as it is now. An offered element must still be the one that was offered.
    async fn meant(&mut self, held: &mut Held<'_>, call: Call) -> Result<Meant, Refusal> {
        match call {
            Call::Step(step) => Ok(held.meant(*step).await?),
            Call::Node { id, primitive } => {
                let before = held.broker().last().unwrap_or_default();
                let stale = || {
                    let failure = crate::event::Failure {
                        reason: "stale".into(),
                        message: "this id is not of the latest read, or its element is gone".into(),
                        help: Some("read the page again and use its ids".into()),
                        ..Default::default()
                    };
                    Refusal::Stopped(Box::new(failure), crate::event::Status::Failed)
                };
                if before.node(id).is_none() {
                    return Err(stale());
                }
                let after = held.look().await?;
                let id = weigh::same_element(&before, id, &after).ok_or_else(stale)?;
                let node = after.node(id).ok_or_else(stale)?;
                Ok(Meant::Node {
                    id,
                    primitive,
                    role: node.role.clone(),
                    name: node.name.clone(),
                })
            }
        }
    }

    /// The same action after the page was read again; the element may have gone with its document.
    fn again(&self, held: &mut Held<'_>, meant: &Meant) -> Result<Meant, Refusal> {
        let Meant::Node {
            primitive,
            role,
            name,
            ..
        } = meant
        else {
            return Ok(meant.clone());
        };
        let page = held.broker().last().unwrap_or_default();
        let mut fits = page
            .nodes()
            .filter(|(_, n)| n.role == *role && n.name == *name);
        match (fits.next(), fits.next()) {
            (Some((id, _)), None) => Ok(Meant::Node {
                id,
                primitive: primitive.clone(),
                role: role.clone(),
                name: name.clone(),
            }),
            _ => {
                let mut gone = crate::event::Failure {
                    reason: "stopped".into(),
                    message: format!(
                        "{} was stopped, and the page it was on is gone",
                        meant.says()
                    ),
                    ..Default::default()
                };
                gone.help = Some("go back to the page and send the call again".into());
                Err(Refusal::Stopped(
                    Box::new(gone),
                    crate::event::Status::Refused,
                ))
            }
        }
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
        let result = held.carry_out(&Meant::Step(Box::new(step)), false).await;
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

    async fn ask(&mut self, held: &mut Held<'_>, need: Need, bound: Bound) -> Answer {
        let picture = match held.broker().shot().await.map_err(broken)? {
            Shot::Taken { png, .. } => Some(png),
            Shot::Withheld { .. } => None,
        };
        let says = need.lines.first().cloned();
        let asked = self
            .common
            .approvals
            .ask(Question {
                risk: need.risk,
                summary: need.lines,
                picture,
                bound,
                opens: need.opens,
            })
            .map_err(|refused| Refusal::Limit(refused.to_string()))?;
        self.common.audit.write(Entry {
            what: "consent asked",
            result: "pending",
            owner: Some(&self.own.owner),
            session: Some(&self.own.id),
            approval: Some(&asked.approval_id),
            says,
            ..Entry::default()
        });
        Err(Refusal::Consent(Box::new(asked)))
    }

    fn given(&self, approval: &Approval, bound: &Bound) -> Result<Opens, Refusal> {
        let taken = self
            .common
            .approvals
            .take(&approval.id, &approval.token, bound);
        taken.map_err(|why| {
            self.common.audit.write(Entry {
                what: "consent used",
                result: "refused",
                owner: Some(&self.own.owner),
                session: Some(&self.own.id),
                approval: Some(&approval.id),
                why: Some(why.to_string()),
                ..Entry::default()
            });
            Refusal::ConsentInvalid
        })
    }

    fn note(&self, what: &str, result: &str, says: Option<String>, approval: Option<&Approval>) {
        self.common.audit.write(Entry {
            what,
            result,
            owner: Some(&self.own.owner),
            session: Some(&self.own.id),
            approval: approval.map(|a| a.id.as_str()),
            says,
            ..Entry::default()
        });
    }
}

/// What was stopped tells what the action does. `left`: the one document outside the list; a second
/// unlisted host in one go is not asked for, or the page would lead the approver on.
fn found_out(
    meant: &Meant,
    stopped: &Stopped,
    stops: &[Blocked],
    left: Option<url::Url>,
) -> Option<Need> {
    match stopped.failure.reason.as_str() {
        "undeclared_write" => stops
            .iter()
            .rev()
            .find(|b| b.reason == "undeclared write")
            .and_then(|b| weigh::stopped_write(meant, b)),
        "host_left" => weigh::stopped_host(meant, &left?),
        _ => None,
    }
}

fn broken(error: crate::broker::BrokerError) -> Refusal {
    Refusal::Environment(error.to_string())
}
