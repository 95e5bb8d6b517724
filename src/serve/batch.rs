//! Several actions on one page under one consent (R33): shown together, done in their order, each used
//! up by itself. The first that does not hold any more ends it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::broker::Primitive;
use crate::event::{Failure, Status};
use crate::page::Observation;
use crate::page::acts::FormFacts;
use crate::run::{Held, Meant};

use super::act::{ActBody, Approval, BatchBody};
use super::acting::Came;
use super::bound::{Place, Touched, same_element};
use super::consent::{Opens, Question};
use super::refusal::Refusal;
use super::session::{Answer, Turn, broken};
use super::weigh::{Need, Weighed};

/// Nobody reads more at once.
const ACTIONS: usize = 12;

/// An action as it was found when the call came.
struct Item {
    seen: Arc<Observation>,
    meant: Meant,
}

impl Item {
    /// The same on a later read; `None` when its element is not the same one any more.
    fn on(&self, page: &Observation) -> Option<Meant> {
        match &self.meant {
            Meant::Step(_) => Some(self.meant.clone()),
            Meant::Node {
                id,
                primitive,
                role,
                name,
            } => Some(Meant::Node {
                id: same_element(&self.seen, *id, page)?,
                primitive: primitive.clone(),
                role: role.clone(),
                name: name.clone(),
            }),
        }
    }
}

impl Turn<'_> {
    pub(super) async fn batch(&mut self, held: &mut Held<'_>, body: &BatchBody) -> Answer {
        let count = body.actions.len();
        if count == 0 || count > ACTIONS {
            let why = format!("`actions` holds one to {ACTIONS} actions");
            return Err(Refusal::Malformed(why));
        }
        self.late(held);
        let stopped = |at: usize, done: &[Value]| {
            let done = done.to_vec();
            move |why: Refusal| Refusal::Batch {
                at,
                of: count,
                done,
                why: Box::new(why),
            }
        };
        let before = held.broker().last().unwrap_or_default();
        let mut items = Vec::new();
        for (at, action) in body.actions.iter().enumerate() {
            let item = self.item(held, action, &before).await;
            items.push(item.map_err(stopped(at, &[]))?);
        }
        let (places, weighed) = self.all_weighed(held, &items).await?;
        if body.approval.is_none() && weighed.iter().any(|w| w.need.is_some()) {
            return self.ask_for_all(held, &items, weighed).await;
        }
        let mut done = Vec::new();
        let mut left = Left::default();
        for (at, item) in items.iter().enumerate() {
            let approval = body.approval.as_ref();
            let came = self
                .next(held, item, &places[at], approval, &mut left)
                .await;
            match came {
                Ok(answer) => done.push(answer),
                Err(why) => {
                    if let Some(approval) = approval {
                        let (owner, session) = (&self.own.owner, &self.own.id);
                        self.common.approvals.withdraw(owner, session, &approval.id);
                    }
                    return Err(stopped(at, &done)(why));
                }
            }
        }
        Ok(json!({ "done": done }))
    }

    async fn item(
        &mut self,
        held: &mut Held<'_>,
        action: &ActBody,
        before: &Observation,
    ) -> Result<Item, Refusal> {
        if action.approval.is_some() {
            return Err(Refusal::malformed(
                "a batch is approved as a whole: `approval` stands beside `actions`",
            ));
        }
        let call = action.call(&self.own.planned.credentials, &self.common.lexicons)?;
        let meant = self.meant(held, call, before).await?;
        let seen = held.broker().last().unwrap_or_default();
        Ok(Item { seen, meant })
    }

    /// Every action on the page before the first; those that fill a field are counted on by the later.
    async fn all_weighed(
        &mut self,
        held: &mut Held<'_>,
        items: &[Item],
    ) -> Result<(Vec<Place>, Vec<Weighed>), Refusal> {
        let page = held.look().await?;
        let (mut places, mut all) = (Vec::new(), Vec::new());
        let mut touched: Vec<Touched> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let place = Place {
                number: at + 1,
                of: items.len(),
                touched: touched.clone(),
            };
            let found = match item.on(&page) {
                Some(meant) => self.weighed(held, &meant, &place).await.map(|w| (meant, w)),
                None => Err(changed()),
            };
            let (meant, weighed) = found.map_err(|why| Refusal::Batch {
                at,
                of: items.len(),
                done: Vec::new(),
                why: Box::new(why),
            })?;
            touched.extend(Touched::by(&meant, weighed.form.as_ref(), at + 1));
            places.push(place);
            all.push(weighed);
        }
        Ok((places, all))
    }

    async fn ask_for_all(
        &mut self,
        held: &mut Held<'_>,
        items: &[Item],
        weighed: Vec<Weighed>,
    ) -> Answer {
        let mut lines = vec![format!(
            "{} actions, one after the other; the first that does not hold any more ends them.",
            items.len()
        )];
        let mut risks = Vec::new();
        let mut all = VecDeque::new();
        for (at, (item, weighed)) in items.iter().zip(weighed).enumerate() {
            let says = crate::text::visible(&crate::text::cut(&item.meant.says(), 300));
            lines.push(format!("{}. {says}.", at + 1));
            let Some(Need {
                risk,
                lines: own,
                opens,
            }) = weighed.need
            else {
                all.push_back((weighed.bound, Opens::default()));
                continue;
            };
            if opens.host.is_some() {
                let why =
                    "it would add a host to what the session may reach: send it alone, with `act`";
                return Err(Refusal::Batch {
                    at,
                    of: items.len(),
                    done: Vec::new(),
                    why: Box::new(Refusal::malformed(why)),
                });
            }
            risks.push(risk);
            // The first line says the action once more.
            lines.extend(
                own.into_iter()
                    .skip(1)
                    .map(|line| format!("\u{2003}{line}")),
            );
            all.push_back((weighed.bound, opens));
        }
        let (Some(risk), Some((bound, opens))) = (risks.into_iter().min(), all.pop_front()) else {
            return Err(Refusal::ConsentInvalid);
        };
        let question = Question {
            risk,
            summary: lines,
            picture: None,
            bound,
            opens,
            then: all,
        };
        self.put(held, question).await
    }

    /// One action in its turn.
    async fn next(
        &mut self,
        held: &mut Held<'_>,
        item: &Item,
        place: &Place,
        approval: Option<&Approval>,
        left: &mut Left,
    ) -> Result<Value, Refusal> {
        let page = held.look().await?;
        let gone = |turn: &Self| match approval {
            Some(approval) => turn.not_given(approval, "the page changed since it was approved"),
            None => changed(),
        };
        let Some(meant) = item.on(&page) else {
            return Err(gone(self));
        };
        let weighed = self.weighed(held, &meant, place).await?;
        if let Some(form) = &weighed.form
            && !left.holds(form, place)
        {
            return Err(gone(self));
        }
        let opens = match (approval, weighed.need) {
            (Some(approval), _) => self.given(approval, &weighed.bound)?,
            (None, None) => Opens::default(),
            // Not when the call came, but now.
            (None, Some(_)) => return Err(changed()),
        };
        let action = weighed.bound.action;
        let answer = match self.perform(held, &meant, action, opens, approval).await? {
            Came::Done(map) => Value::Object(map),
            Came::Needs(_, told) => return Err(told),
        };
        if let Some(touched) = Touched::by(&meant, weighed.form.as_ref(), place.number) {
            let page = held.broker().last().unwrap_or_default();
            if let Some(Meant::Node { id, .. }) = item.on(&page) {
                let form = held.broker().form_of(id).await.map_err(broken)?;
                left.note(touched, form.as_ref());
            }
        }
        Ok(answer)
    }
}

/// The values that actions left in their fields: what the page makes of one later is a change.
#[derive(Default)]
struct Left(Vec<(Touched, Vec<String>)>);

impl Left {
    fn note(&mut self, touched: Touched, form: Option<&FormFacts>) {
        self.0.retain(|(known, _)| !known.same_field(&touched));
        if let Some(form) = form {
            let values = touched.values(form);
            self.0.push((touched, values));
        }
    }

    /// Whether every field of the form that was counted on holds what its action left in it.
    fn holds(&self, form: &FormFacts, place: &Place) -> bool {
        place.touched.iter().filter(|t| t.is_in(form)).all(|t| {
            let known = self.0.iter().find(|(known, _)| known.same_field(t));
            known.is_some_and(|(_, values)| *values == t.values(form))
        })
    }
}

fn changed() -> Refusal {
    let failure = Failure {
        reason: "changed".into(),
        message: "the page changed, and this is not the action it was any more".into(),
        help: Some("read the page and send what is left to do".into()),
        ..Default::default()
    };
    Refusal::Stopped(Box::new(failure), Status::Refused)
}

impl Touched {
    /// The field an action sets, where it stands in a form under a name.
    fn by(meant: &Meant, form: Option<&FormFacts>, number: usize) -> Option<Self> {
        let Meant::Node { primitive, .. } = meant else {
            return None;
        };
        let sets = matches!(
            primitive,
            Primitive::Fill { .. } | Primitive::Select { .. } | Primitive::Check { .. }
        );
        let form = form.filter(|_| sets)?;
        let name = form.submitter.name.clone()?;
        let field = Self::new(form, name, number);
        field.is_in(form).then_some(field)
    }
}
