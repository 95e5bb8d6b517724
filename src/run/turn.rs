//! One planned action: carried out, settled, judged. Without an effect of its own it failed (R43).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::agent::planner::Direction;
use crate::agent::{Action, Decision, FillValue};
use crate::broker::{Arrival, Effect, Primitive, Unfit};
use crate::event::{Acted, Failure, Resolved, Status, StepFinished, StepStarted, What};
use crate::page::{NodeId, Observation};
use crate::plan::PlannedStep;
use crate::resolve::Chooser;

use super::act::says;
use super::attempt::AttemptRun;
use super::failure::Fault;
use super::find::named;
use super::planning::Planning;

/// How long a candidate may take to become fit.
const FIT_WITHIN: Duration = Duration::from_secs(3);

/// Where a turn stands in the record, and since when.
pub(super) struct Place {
    pub name: String,
    began: Instant,
}

impl Place {
    pub fn new(name: String) -> Self {
        Self {
            name,
            began: Instant::now(),
        }
    }
}

/// What one planned action came to.
pub(super) enum Turned {
    Worked { change: Option<String> },
    Failed(Fault),
}

/// What carrying out came to, before the page is looked at again.
struct Carried {
    /// An effect the action itself vouches for (a person's work, a sign-in, a fresh address).
    own: Option<String>,
    acted: Option<Acted>,
}

impl AttemptRun<'_> {
    pub(super) async fn turn(
        &mut self,
        place: &Place,
        decision: &Decision,
        observation: &Arc<Observation>,
        planning: &mut Planning,
    ) -> Result<Turned, Fault> {
        let step = PlannedStep::planned(self.planned, &place.name);
        self.clear_acted();
        self.broker.begin_step(&step.step);
        let before = self.broker.effect_mark();
        let writes = self.writes_sent;
        self.remember_text();
        let healed = planning.healed.clone();
        let carried = self
            .carry_out_turn(&step, decision, observation, healed)
            .await;
        if carried.is_ok() {
            planning.healed = None;
        }
        let judged = self.settle(&step).await;
        self.broker.end_step();
        if self.writes_sent > writes {
            planning.sent.insert(decision.says.clone());
        }
        if let Err(fault) = judged {
            return Ok(Turned::Failed(fault));
        }
        let carried = match carried {
            Err(fault) => return Ok(Turned::Failed(fault)),
            Ok(carried) => carried,
        };
        let changed = match self.broker.effect_after(&before).await {
            Ok(changed) => changed,
            Err(error) => return Ok(Turned::Failed(error.into())),
        };
        let change = changed.or(carried.own);
        if let Some(acted) = carried.acted {
            self.say.say(What::Acted(Acted {
                effect: change.clone(),
                ..acted
            }));
        }
        let may_do_nothing = matches!(decision.action, Action::Wait);
        if change.is_none() && !may_do_nothing {
            return Ok(Turned::Failed(Fault::failed(
                "no_effect",
                "nothing on the page changed by it",
            )));
        }
        Ok(Turned::Worked { change })
    }

    pub(super) fn say_turn(&self, place: &Place, decision: &Decision) {
        self.say_started(
            place,
            decision.says.clone(),
            decision.reason.clone(),
            decision.action.word(),
        );
    }

    /// The model gave no usable answer.
    pub(super) fn say_no_decision(&self, place: &Place) {
        let says = "ask the planner what to do next".to_owned();
        self.say_started(place, says, String::new(), "plan");
    }

    fn say_started(&self, place: &Place, says: String, written: String, verb: &str) {
        self.say.say(What::StepStarted(StepStarted {
            step: place.name.clone(),
            says,
            written,
            verb: verb.to_owned(),
            line: None,
            note: None,
            picture: None,
            write: None,
            by: "planner".into(),
        }));
    }

    /// The end of a turn, with its picture: failed ones are part of the record too (R63).
    pub(super) async fn say_turned(
        &mut self,
        place: &Place,
        fault: Option<&Fault>,
        notes: Vec<String>,
    ) {
        if self.has_acted() || fault.is_some() {
            self.picture(&place.name).await;
        }
        self.say.say(What::StepFinished(StepFinished {
            step: place.name.clone(),
            status: fault.map_or(Status::Passed, |f| f.status),
            failure: fault.map(|f| Failure {
                excerpt: None,
                ..(*f.failure).clone()
            }),
            notes,
            ms: place.began.elapsed().as_millis() as u64,
        }));
    }

    /// The end of a turn that neither worked nor failed.
    pub(super) async fn say_turn_void(&mut self, place: &Place, note: String) {
        self.picture(&place.name).await;
        self.say.say(What::StepFinished(StepFinished {
            step: place.name.clone(),
            status: Status::Skipped,
            failure: None,
            notes: vec![note],
            ms: place.began.elapsed().as_millis() as u64,
        }));
    }

    async fn carry_out_turn(
        &mut self,
        step: &PlannedStep,
        decision: &Decision,
        observation: &Arc<Observation>,
        healed: Option<String>,
    ) -> Result<Carried, Fault> {
        let (node, primitive) = match &decision.action {
            Action::Click { node } => (*node, Primitive::Click),
            Action::Fill { node, value } => (*node, self.fill_value(value)),
            Action::Select { node, option } => (
                *node,
                Primitive::Select {
                    option: option.clone(),
                },
            ),
            Action::Check { node, on } => (*node, Primitive::Check { on: *on }),
            Action::Submit { node } => (*node, Primitive::Submit),
            Action::Press {
                key,
                node: Some(node),
            } => (
                *node,
                Primitive::Press {
                    keys: key.name().into(),
                },
            ),
            Action::Scroll {
                node: Some(node),
                direction,
            } => {
                let (dx, dy) = way(*direction);
                (*node, Primitive::Scroll { dx, dy })
            }
            _ => return self.carry_out_alone(step, decision).await,
        };
        let (role, name) = named(observation, node);
        self.count_planner();
        self.say.say(What::Resolved(Resolved {
            step: step.place.clone(),
            chooser: "planner".into(),
            role: role.clone(),
            name: name.clone(),
            scope: Vec::new(),
            score: Chooser::Model.score(),
            runner_up: None,
            candidates: observation
                .nodes()
                .filter(|(_, n)| n.interactive && n.reachable)
                .count(),
            healed,
        }));
        let effect = self.on_node(node, &role, &name, &primitive).await?;
        self.acted_at(&effect);
        let mut acted = acted(step, decision, primitive.word(), &self.page_address());
        acted.says = says(&primitive, &role, &name);
        acted.value = match &decision.action {
            Action::Fill { value, .. } => Some(by_reference(value)),
            Action::Select { option, .. } => Some(option.clone()),
            Action::Press { key, .. } => Some(key.name().to_owned()),
            _ => None,
        };
        (acted.role, acted.name) = (Some(role), Some(name));
        Ok(Carried {
            own: effect.change,
            acted: Some(acted),
        })
    }

    /// Actions without a control.
    async fn carry_out_alone(
        &mut self,
        step: &PlannedStep,
        decision: &Decision,
    ) -> Result<Carried, Fault> {
        let did = |own: Option<String>, primitive: &str, url: &str| Carried {
            own,
            acted: Some(acted(step, decision, primitive, url)),
        };
        Ok(match &decision.action {
            Action::Press { key, .. } => {
                let effect = self
                    .broker
                    .press_focused(key.name())
                    .await?
                    .map_err(|u| Fault::failed(u.reason(), u.message()))?;
                self.acted_at(&effect);
                did(effect.change, "click", &self.page_address())
            }
            Action::Scroll { direction, .. } => {
                let (dx, dy) = way(*direction);
                let moved = self.broker.scroll_page(dx, dy).await?;
                self.acted_at(&Effect::default());
                let own = moved.then(|| "the page scrolled".to_owned());
                did(own, "wait", &self.page_address())
            }
            Action::Goto { address } => {
                let url = self.address(address)?;
                match self.broker.goto(&url, Duration::from_secs(15)).await? {
                    Arrival::Arrived { url, .. } => {
                        self.acted_at(&Effect::default());
                        let shown = crate::page::shown_address(&url);
                        did(Some(format!("opened {shown}")), "goto", &shown)
                    }
                    Arrival::Refused { reason, url } => {
                        return Err(Fault::new(
                            Status::Refused,
                            "host_left",
                            format!("{url} was refused: {reason}"),
                        ));
                    }
                    Arrival::Failed { reason, message } => {
                        return Err(Fault::failed(&reason, message));
                    }
                }
            }
            // Says itself what it did.
            Action::Login { credential } => {
                self.login(step, credential).await?;
                self.acted_at(&Effect::default());
                Carried {
                    own: Some("signed in".into()),
                    acted: None,
                }
            }
            Action::WaitForUser { why } => {
                self.human
                    .wait(why)
                    .await
                    .map_err(|why| Fault::failed("human_needed", why))?;
                self.signed_in_by.get_or_insert_with(|| "human".into());
                did(
                    Some("a person did this part".into()),
                    "wait",
                    &self.page_address(),
                )
            }
            _ => {
                sleep(Duration::from_millis(500)).await;
                Carried {
                    own: None,
                    acted: None,
                }
            }
        })
    }

    /// No model is asked while a secret lies in the page (security.md 2.1), so a planner can't be
    /// the one to send it: its form is submitted at once, and what stays behind is removed.
    async fn send_held(&mut self, node: NodeId) -> Result<(), Fault> {
        if let Ok(prepared) = self.broker.prepare(node, &Primitive::Submit).await? {
            // A button that can't be pressed leaves the secret unsent; it goes below.
            let _ = self.broker.perform(prepared, &Primitive::Submit).await?;
        }
        self.broker.settle().await?;
        self.broker.release().await?;
        Ok(())
    }

    /// Acts on a node of the current observation as soon as it is fit; stale ones are refused.
    pub(super) async fn on_node(
        &mut self,
        node: NodeId,
        role: &str,
        name: &str,
        primitive: &Primitive,
    ) -> Result<Effect, Fault> {
        let until = Instant::now() + FIT_WITHIN;
        loop {
            let unfit = match self.broker.prepare(node, primitive).await? {
                Ok(prepared) => match self.broker.perform(prepared, primitive).await? {
                    Ok(effect) => {
                        if self.broker.is_protected() {
                            self.send_held(node).await?;
                        }
                        return Ok(effect);
                    }
                    Err(unfit) => unfit,
                },
                Err(unfit) => unfit,
            };
            let give_up = unfit == Unfit::Rerendered || !unfit.may_pass();
            if give_up || Instant::now() >= until || self.must_stop() {
                return Err(Fault::unfit(role, name, &unfit));
            }
            sleep(Duration::from_millis(60)).await;
        }
    }

    fn fill_value(&self, value: &FillValue) -> Primitive {
        let text = match value {
            FillValue::Credential { name, field } => {
                return Primitive::FillSecret {
                    credential: name.clone(),
                    field: field.clone(),
                };
            }
            FillValue::Variable(name) => {
                let vars = &self.planned.scenario.vars;
                vars.get(name).map(|v| v.value.clone()).unwrap_or_default()
            }
            FillValue::GoalText(text) => text.clone(),
        };
        Primitive::Fill { text }
    }

    fn page_address(&self) -> String {
        let page = self.broker.last();
        page.map(|o| crate::page::shown_address(&o.url))
            .unwrap_or_default()
    }
}

fn acted(step: &PlannedStep, decision: &Decision, primitive: &str, url: &str) -> Acted {
    let mut says = decision.says.clone();
    if let Some(first) = says.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Acted {
        step: step.place.clone(),
        primitive: primitive.to_owned(),
        says,
        url: url.to_owned(),
        effect: None,
        role: None,
        name: None,
        value: None,
        reason: Some(decision.reason.clone()),
    }
}

fn way(direction: Direction) -> (i32, i32) {
    match direction {
        Direction::Down => (0, 1),
        Direction::Up => (0, -1),
        Direction::Right => (1, 0),
        Direction::Left => (-1, 0),
    }
}

fn by_reference(value: &FillValue) -> String {
    match value {
        FillValue::Variable(name) => format!("variable {name}"),
        FillValue::Credential { name, field } => format!("credential {name}.{field}"),
        FillValue::GoalText(text) => text.clone(),
    }
}
