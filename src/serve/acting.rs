//! One action of a call: weighed, asked about where it must be, carried out once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::broker::Shot;
use crate::event::{Blocked, Failure, Status};
use crate::page::Observation;
use crate::run::{Did, Held, Meant, Opened, Stopped};

use super::act::{ActBody, Approval, Call};
use super::audit::Entry;
use super::bound::{Place, same_element};
use super::consent::{Bound, Opens, Question};
use super::read;
use super::refusal::Refusal;
use super::session::{Answer, Noted, Turn, broken};
use super::weigh::{self, Need, Weighed};

/// The digest of an action.
type Action = [u8; 32];

/// Files that actions of this session tried to hand over: the next time they are foreseen.
#[derive(Default)]
pub struct Offered {
    names: BTreeMap<Action, String>,
    last: Option<Action>,
}

/// How an action came out.
pub enum Came {
    Done(Map<String, Value>),
    /// It was stopped by something that consent can open: what is to be asked, or `None` where the
    /// same action tells it by itself now. And what is told where nobody asks.
    Needs(Option<Need>, Refusal),
}

impl Turn<'_> {
    pub(super) async fn act(&mut self, held: &mut Held<'_>, body: &ActBody) -> Answer {
        let call = body.call(&self.own.planned.credentials, &self.common.lexicons)?;
        let before = held.broker().last().unwrap_or_default();
        let meant = self.meant(held, call, &before).await?;
        self.late(held);
        let alone = Place::default();
        let weighed = self.weighed(held, &meant, &alone).await?;
        let opens = match (&body.approval, weighed.need) {
            (Some(approval), _) => self.given(approval, &weighed.bound)?,
            (None, Some(need)) => return self.ask(held, need, weighed.bound).await,
            (None, None) => Opens::default(),
        };
        let action = weighed.bound.action;
        let approval = body.approval.as_ref();
        match self.perform(held, &meant, action, opens, approval).await? {
            Came::Done(map) => Ok(Value::Object(map)),
            Came::Needs(found, _) => {
                held.look().await?;
                // Bound to the page as it is now; the action is the same.
                let meant = self.again(held, &meant)?;
                let again = self.weighed(held, &meant, &alone).await?;
                match found.or(again.need) {
                    Some(need) => self.ask(held, need, again.bound).await,
                    None => Err(Refusal::ConsentInvalid),
                }
            }
        }
    }

    /// What an action would do, as far as it is known: of itself, and of earlier tries.
    pub(super) async fn weighed(
        &mut self,
        held: &mut Held<'_>,
        meant: &Meant,
        place: &Place,
    ) -> Result<Weighed, Refusal> {
        let weighed = weigh::weigh(held, meant, self.caller(), place).await;
        let mut weighed = weighed.map_err(broken)?;
        if let Some(name) = self.offered.names.get(&weighed.bound.action) {
            weighed.need = Some(weigh::with_download(weighed.need.take(), meant, name));
        }
        Ok(weighed)
    }

    /// A file may be offered after the action that asked for it was answered.
    pub(super) fn late(&mut self, held: &mut Held<'_>) {
        held.tell_late();
        let refused = self.requests.take().refused;
        if let (Some(action), Some(name)) = (self.offered.last, refused.into_iter().next_back()) {
            self.offered.names.insert(action, name);
        }
    }

    /// Does it, with what consent opens for it.
    pub(super) async fn perform(
        &mut self,
        held: &mut Held<'_>,
        meant: &Meant,
        action: Action,
        opens: Opens,
        approval: Option<&Approval>,
    ) -> Result<Came, Refusal> {
        let opened = Opened {
            requests: !opens.requests.is_empty(),
            download: opens.download,
        };
        let host_added = opens.host.is_some();
        if opened.requests {
            held.broker().declare(opens.requests);
        }
        if let Some(rule) = opens.host {
            held.broker().allow_host(rule);
        }
        held.broker().left_hosts();
        self.offered.last = Some(action);
        let result = held.carry_out(meant, &opened).await;
        held.broker().withdraw();
        held.tell_late();
        let Noted {
            stopped: stops,
            sent,
            refused,
        } = self.requests.take();
        let word = match &result {
            Ok(_) => "done",
            Err(stopped) => &stopped.failure.reason,
        };
        self.note("act", word, Some(meant.says()), approval);
        let offered = refused.into_iter().next_back();
        if let Some(name) = &offered {
            self.offered.names.insert(action, name.clone());
            if sent.is_empty() {
                return Ok(Came::Needs(None, not_kept(name)));
            }
        }
        let stopped = match result {
            Ok(did) => return self.done(held, meant, did, sent, offered).map(Came::Done),
            Err(stopped) => stopped,
        };
        if !sent.is_empty() {
            let why = stopped.failure.message;
            return Err(Refusal::Outcome { why, sent });
        }
        let left = held.broker().left_hosts();
        match found_out(meant, &stopped, &stops, left.filter(|_| !host_added)) {
            None => Err(stopped.into()),
            Some(need) => Ok(Came::Needs(Some(need), stopped.into())),
        }
    }

    fn done(
        &self,
        held: &mut Held<'_>,
        meant: &Meant,
        did: Did,
        sent: Vec<String>,
        offered: Option<String>,
    ) -> Result<Map<String, Value>, Refusal> {
        let mut notes = did.notes;
        notes.extend(offered.map(|name| {
            format!(
                "it offered the file \"{name}\", which was not kept: that needs consent of its own"
            )
        }));
        let mut map = Map::new();
        map.insert("did".into(), json!(meant.says()));
        map.insert("effect".into(), json!(did.change));
        map.insert("notes".into(), json!(notes));
        if !sent.is_empty() {
            map.insert("sent".into(), json!(sent));
        }
        let mut files = Vec::new();
        for file in &did.files {
            files.push(self.handed_over(file)?);
        }
        if !files.is_empty() {
            map.insert("files".into(), json!(files));
        }
        if let Some(page) = held.broker().last() {
            map.extend(read::address(&page));
        }
        Ok(map)
    }

    /// A file that came is looked through before its place is told (R32).
    fn handed_over(&self, file: &std::path::Path) -> Result<Value, Refusal> {
        let report = self
            .common
            .house
            .context()
            .outgoing
            .scanner()
            .scan_file(file);
        let leaks = report.hits().next().is_some();
        let whole = std::fs::metadata(file).ok().filter(|_| !leaks);
        let Some(facts) = whole else {
            // Whatever can't be removed goes with the session's folder.
            let _ = std::fs::remove_file(file);
            let failure = Failure {
                reason: "leak".into(),
                message: "the file held a registered secret and was removed".into(),
                ..Default::default()
            };
            return Err(Refusal::Stopped(Box::new(failure), Status::Leak));
        };
        let name = file.file_name().map(|n| n.to_string_lossy());
        Ok(json!({ "name": name, "bytes": facts.len(), "path": file }))
    }

    /// The call on the page as it is now. An offered element must still be the one that was offered.
    pub(super) async fn meant(
        &self,
        held: &mut Held<'_>,
        call: Call,
        before: &Observation,
    ) -> Result<Meant, Refusal> {
        match call {
            Call::Step(step) => Ok(held.meant(*step).await?),
            Call::Node { id, primitive } => {
                let stale = || {
                    let failure = Failure {
                        reason: "stale".into(),
                        message: "this id is not of the latest read, or its element is gone".into(),
                        help: Some("read the page again and use its ids".into()),
                        ..Default::default()
                    };
                    Refusal::Stopped(Box::new(failure), Status::Failed)
                };
                if before.node(id).is_none() {
                    return Err(stale());
                }
                let after = held.look().await?;
                let id = same_element(before, id, &after).ok_or_else(stale)?;
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
                let gone = Failure {
                    reason: "stopped".into(),
                    message: format!(
                        "{} was stopped, and the page it was on is gone",
                        meant.says()
                    ),
                    help: Some("go back to the page and send the call again".into()),
                    ..Default::default()
                };
                Err(Refusal::Stopped(Box::new(gone), Status::Refused))
            }
        }
    }

    pub(super) async fn ask(&mut self, held: &mut Held<'_>, need: Need, bound: Bound) -> Answer {
        let question = Question {
            risk: need.risk,
            summary: need.lines,
            picture: None,
            bound,
            opens: need.opens,
            then: Default::default(),
        };
        self.put(held, question).await
    }

    /// Asks the approver, with a picture of the page as it is now.
    pub(super) async fn put(&mut self, held: &mut Held<'_>, mut question: Question) -> Answer {
        question.picture = match held.broker().shot().await.map_err(broken)? {
            Shot::Taken { png, .. } => Some(png),
            Shot::Withheld { .. } => None,
        };
        let says = question.summary.first().cloned();
        let asked = self.common.approvals.ask(question);
        let asked = asked.map_err(|refused| Refusal::Limit(refused.to_string()))?;
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

    pub(super) fn given(&self, approval: &Approval, bound: &Bound) -> Result<Opens, Refusal> {
        let taken = self
            .common
            .approvals
            .take(&approval.id, &approval.token, bound);
        taken.map_err(|why| self.not_given(approval, &why.to_string()))
    }

    /// The precise reason is for the audit log alone.
    pub(super) fn not_given(&self, approval: &Approval, why: &str) -> Refusal {
        self.common.audit.write(Entry {
            what: "consent used",
            result: "refused",
            owner: Some(&self.own.owner),
            session: Some(&self.own.id),
            approval: Some(&approval.id),
            why: Some(why.to_owned()),
            ..Entry::default()
        });
        Refusal::ConsentInvalid
    }

    pub(super) fn note(
        &self,
        what: &str,
        result: &str,
        says: Option<String>,
        approval: Option<&Approval>,
    ) {
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

fn not_kept(name: &str) -> Refusal {
    let failure = Failure {
        reason: "download".into(),
        message: format!("it offered the file \"{name}\", which nobody consented to"),
        ..Default::default()
    };
    Refusal::Stopped(Box::new(failure), Status::Refused)
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
