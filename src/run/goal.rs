//! Towards a goal without steps: the planner proposes, the same step path carries out, the second
//! look judges (R43, R53–R58, R97).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::agent::{
    Action, Asked, Asking, CallRecord, Counter, Decision, Exit, FillValue, HistoryLine, Ids,
    Limits, Offer, Purpose, Turn, Verdict, fingerprint,
};
use crate::broker::{Effect, Primitive, Unfit};
use crate::event::{
    Acted, Failure, ModelCalled, Resolved, Status, StepFinished, StepStarted, What,
};
use crate::page::{NodeId, Observation};
use crate::plan::PlannedStep;
use crate::resolve::{self, Chooser, Pick, Query};
use crate::scenario::{By, Target};
use crate::snapshot::{LockEntry, LockValue, LockedGoal};

use super::act::{Done, says};
use super::attempt::AttemptRun;
use super::failure::Fault;
use super::find::{Wanted, named};
use super::look::{self, Facts};

/// How long a candidate may take to become fit.
const FIT_WITHIN: Duration = Duration::from_secs(3);

/// What one planned action came to.
enum Turned {
    Worked(Option<String>),
    Failed(Fault),
}

impl AttemptRun<'_> {
    pub(super) fn may_ask_model(&self, step: &PlannedStep) -> bool {
        let locked = self.context.mode.locked && self.lock_entry(step).is_some();
        self.context.model.is_some()
            && !self.context.mode.offline
            && !locked
            && !self.broker.is_protected()
    }

    /// Asks which of the offered controls a sentence means; the verb is fixed.
    pub(super) async fn ask_model(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        sentence: &str,
        observation: &Arc<Observation>,
    ) -> Result<Option<Pick>, Fault> {
        let Some(model) = self.context.model.clone() else {
            return Ok(None);
        };
        let words = match &wanted.target.by {
            By::Name {
                name: Some(name), ..
            } => name.clone(),
            _ => sentence.to_owned(),
        };
        let purpose = Purpose {
            verb: Some(wanted.verb),
            words: words.clone(),
            limit: None,
        };
        let mut ids = Ids::default();
        for part in 0.. {
            let offer = Offer::new(observation, &purpose, part, &mut ids);
            if offer.candidates.is_empty() || part > 3 {
                break;
            }
            let question = crate::agent::Question {
                verb: wanted.verb,
                sentence,
                target: &words,
                page: observation,
                offer: &offer,
                history: &[],
            };
            let scrubber = self.broker.scrubber();
            let asking = Asking::new(&scrubber);
            let asked = model.choose(&asking, &question).await;
            match self.heard(&step.place, asked)? {
                crate::agent::Choice::Node { node, .. } => {
                    let (role, name) = named(observation, node);
                    let rest = resolve::resolve(
                        observation,
                        &Query {
                            target: wanted.target,
                            verb: wanted.verb,
                            scope: wanted.scope,
                            near: false,
                            sentence: true,
                        },
                    );
                    let runner_up = rest
                        .err()
                        .and_then(|miss| miss.nearest.into_iter().find(|n| n.id != node));
                    return Ok(Some(Pick {
                        id: node,
                        chooser: Chooser::Model,
                        role,
                        name,
                        scope: Vec::new(),
                        score: Chooser::Model.score(),
                        runner_up,
                        candidates: offer.total,
                    }));
                }
                crate::agent::Choice::None { .. } if offer.has_more() => {}
                crate::agent::Choice::None { .. } => break,
            }
        }
        Ok(None)
    }

    /// Counts and reports the calls a question took.
    fn heard<T>(&mut self, place: &str, asked: Asked<T>) -> Result<T, Fault> {
        for call in &asked.calls {
            self.say_call(place, call);
        }
        asked.outcome.map_err(|error| {
            let status = if error.is_environment() {
                Status::Environment
            } else {
                Status::Failed
            };
            let reason = if error.is_environment() {
                "model_unavailable"
            } else {
                "model_answer"
            };
            Fault::new(status, reason, error.to_string())
        })
    }

    fn say_call(&mut self, place: &str, call: &CallRecord) {
        self.model_calls += call.sent;
        self.tokens += call.prompt_tokens.unwrap_or(0) + call.completion_tokens.unwrap_or(0);
        self.say.say(What::ModelCalled(ModelCalled {
            step: place.to_owned(),
            purpose: call.purpose.to_owned(),
            question: call.question.clone(),
            answer: call.answer.clone(),
            outcome: call.outcome.clone(),
            prompt_bytes: call.prompt_bytes,
            prompt_tokens: call.prompt_tokens,
            completion_tokens: call.completion_tokens,
            candidates_offered: call.candidates_offered,
            candidates_total: call.candidates_total,
        }));
    }

    /// `plan: sub-goal` in the middle of listed steps.
    pub(super) async fn plan_goal(&mut self, _: &PlannedStep, goal: &str) -> Result<Done, Fault> {
        self.reach_goal(goal).await?;
        Ok(Done::default())
    }

    /// Plans and acts until the goal is reached, the planner is stuck or a limit is met.
    pub(super) async fn reach_goal(&mut self, goal: &str) -> Result<(), Fault> {
        let digest = self.goal_digest(goal);
        let mut done = Vec::new();
        if let Some(locked) = self.lock.goal(&digest) {
            match self.replay_goal(&locked, &mut done).await {
                Ok(()) => {
                    self.lock.add_goal(locked);
                    return Ok(());
                }
                Err(fault)
                    if self.context.mode.locked
                        || self.context.mode.offline
                        || self.context.model.is_none() =>
                {
                    return Err(fault);
                }
                // A repaired remainder is not stored as the plan of the part that failed.
                Err(fault) => self.say.note(format!(
                    "the lock no longer leads to the goal ({}); planning the rest",
                    fault.failure.message
                )),
            }
        }
        if self.context.model.is_none() || self.context.mode.offline {
            return Err(Fault::new(
                Status::Environment,
                "no_model",
                "the goal has no steps and no lock, and no model is configured",
            )
            .help("write steps, approve a lock, or set [model] in rehearsal.toml"));
        }
        let steps = self.plan_until_done(goal, done).await?;
        self.lock.add_goal(LockedGoal {
            goal: goal.to_owned(),
            digest,
            steps,
        });
        Ok(())
    }

    async fn plan_until_done(
        &mut self,
        goal: &str,
        mut done: Vec<LockEntry>,
    ) -> Result<Vec<LockEntry>, Fault> {
        let Some(model) = self.context.model.clone() else {
            return Ok(done);
        };
        let mut counter = Counter::new(Limits::from(&self.planned.scenario.budget));
        let began = Instant::now();
        let mut history: Vec<HistoryLine> = Vec::new();
        let mut addresses = vec![self.planned.scenario.start.value.clone()];
        let mut refuted: Option<String> = None;
        let (mut part, mut turns) = (0, 0u32);
        let mut ids = Ids::default();
        loop {
            if let Some(exit) = counter.before(began.elapsed()) {
                return Err(exit_fault(exit, &history));
            }
            if self.must_stop() {
                return Err(Fault::new(
                    Status::NotFinished,
                    "interrupted",
                    "the run was interrupted",
                ));
            }
            self.broker.learn_volatile().await?;
            let observation = self.broker.last().unwrap_or_default();
            if !addresses.contains(&observation.url) {
                addresses.push(observation.url.clone());
            }
            let offer = Offer::new(
                &observation,
                &Purpose {
                    verb: None,
                    words: goal.to_owned(),
                    limit: None,
                },
                part,
                &mut ids,
            );
            let variables: Vec<(String, String)> = self
                .planned
                .scenario
                .vars
                .iter()
                .map(|(k, v)| (k.clone(), v.value.clone()))
                .collect();
            let credentials = self.credential_fields();
            turns += 1;
            let place = format!("p{turns}");
            let turn = Turn {
                goal,
                page: &observation,
                offer: &offer,
                addresses: &addresses,
                variables: &variables,
                credentials: &credentials,
                history: &history,
                action: counter.next_action(),
                actions: counter.limits().actions,
                failures: counter.failures(),
                refuted: refuted.as_deref(),
            };
            let scrubber = self.broker.scrubber();
            let mut asking = Asking::new(&scrubber);
            asking.limit = Some(counter.limits().time.saturating_sub(began.elapsed()));
            let asked = model.plan(&asking, &turn).await;
            let calls = asked.calls.iter().map(|c| c.sent).sum();
            let tokens = asked
                .calls
                .iter()
                .map(|c| c.prompt_tokens.unwrap_or(0) + c.completion_tokens.unwrap_or(0))
                .sum();
            counter.spent(calls, tokens);
            refuted = None;
            let decision = match self.heard(&place, asked) {
                Ok(decision) => decision,
                Err(fault) if fault.status == Status::Environment => return Err(fault),
                Err(fault) => {
                    // An answer that can't be used is a failed step (R35).
                    self.say_failed_turn(&place, &fault);
                    history.push(HistoryLine {
                        text: fault.failure.message.clone(),
                        failed: true,
                    });
                    match counter.failed() {
                        Verdict::Stop(exit) => return Err(exit_fault(exit, &history)),
                        _ => continue,
                    }
                }
            };
            match &decision.action {
                Action::LookFurther => {
                    part = if offer.has_more() { part + 1 } else { 0 };
                    if part == 0 && counter.repeats("look_further", fingerprint(&observation)) {
                        counter.failed();
                    }
                    continue;
                }
                Action::Done => match self.claim_holds().await? {
                    None => return Ok(done),
                    Some(saw) => {
                        history.push(HistoryLine {
                            text: format!("done was claimed, but {saw}"),
                            failed: true,
                        });
                        self.say.note(format!(
                            "the planner said done; the page says otherwise: {saw}"
                        ));
                        refuted = Some(saw);
                        if let Verdict::Stop(exit) = counter.refuted() {
                            return Err(exit_fault(exit, &history));
                        }
                        continue;
                    }
                },
                Action::Stuck { why } => {
                    return Err(Fault::new(
                        Status::Stuck,
                        "stuck",
                        format!("the planner is stuck: {why}"),
                    )
                    .seen(told(&history)));
                }
                _ => {}
            }
            part = 0;
            let result = if counter.repeats(&decision.says, fingerprint(&observation)) {
                Turned::Failed(Fault::failed(
                    "repeated",
                    format!(
                        "{} was tried on this very page before and changed nothing",
                        decision.says
                    ),
                ))
            } else {
                self.turn(&place, &decision, &observation).await?
            };
            match result {
                Turned::Worked(effect) => {
                    history.push(HistoryLine {
                        text: format!(
                            "{}{}",
                            decision.says,
                            effect.map(|e| format!(" → {e}")).unwrap_or_default()
                        ),
                        failed: false,
                    });
                    counter.succeeded();
                    done.extend(self.locked_action(&decision, &observation));
                }
                Turned::Failed(fault) => {
                    self.say_failed_turn(&place, &fault);
                    if matches!(
                        fault.status,
                        Status::Refused | Status::Environment | Status::NotFinished
                    ) {
                        return Err(fault);
                    }
                    history.push(HistoryLine {
                        text: format!("{}: {}", decision.says, fault.failure.message),
                        failed: true,
                    });
                    if let Verdict::Stop(exit) = counter.failed() {
                        return Err(exit_fault(exit, &history));
                    }
                }
            }
        }
    }

    /// One planned action: carried out, settled, judged; without attributable effect it failed.
    async fn turn(
        &mut self,
        place: &str,
        decision: &Decision,
        observation: &Arc<Observation>,
    ) -> Result<Turned, Fault> {
        let began = Instant::now();
        self.say_turn(place, decision);
        let step = PlannedStep::planned(self.planned, place);
        self.broker.begin_step(&step.step);
        let before = self.broker.effect_mark();
        self.remember_text();
        let acted = self.carry_out_turn(&step, decision, observation).await;
        let settled = self.broker.settle().await;
        self.broker.end_step();
        settled?;
        if let Err(fault) = self.judge_happenings(&step) {
            return Ok(Turned::Failed(fault));
        }
        let effect = match acted {
            Err(fault) => return Ok(Turned::Failed(fault)),
            Ok(effect) => effect,
        };
        let changed = self.broker.effect_since(&before).await?;
        let quiet_action = matches!(
            decision.action,
            Action::Wait | Action::WaitForUser { .. } | Action::Login { .. }
        );
        if changed.is_none() && effect.is_none() && !quiet_action {
            return Ok(Turned::Failed(Fault::failed(
                "no_effect",
                "nothing on the page changed by it",
            )));
        }
        self.picture(place).await;
        let change = changed.or(effect);
        self.say.say(What::StepFinished(StepFinished {
            step: place.to_owned(),
            status: Status::Passed,
            failure: None,
            notes: Vec::new(),
            ms: began.elapsed().as_millis() as u64,
        }));
        Ok(Turned::Worked(change))
    }

    fn say_turn(&self, place: &str, decision: &Decision) {
        self.say.say(What::StepStarted(StepStarted {
            step: place.to_owned(),
            says: decision.says.clone(),
            written: decision.reason.clone(),
            verb: decision.action.word().to_owned(),
            line: None,
            note: None,
            picture: None,
            write: None,
            by: "planner".into(),
        }));
    }

    fn say_failed_turn(&self, place: &str, fault: &Fault) {
        self.say.say(What::StepFinished(StepFinished {
            step: place.to_owned(),
            status: fault.status,
            failure: Some(Failure {
                excerpt: None,
                ..fault.failure.clone()
            }),
            notes: Vec::new(),
            ms: 0,
        }));
    }

    /// `Some`: an effect the action itself reports; `None`: the page decides.
    async fn carry_out_turn(
        &mut self,
        step: &PlannedStep,
        decision: &Decision,
        observation: &Arc<Observation>,
    ) -> Result<Option<String>, Fault> {
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
            Action::Press { key, node: None } => {
                let effect = self
                    .broker
                    .press_focused(key.name())
                    .await?
                    .map_err(|u| Fault::failed(u.reason(), u.message()))?;
                return Ok(effect.change);
            }
            Action::Scroll { node, direction } => {
                use crate::agent::planner::Direction;
                let (dx, dy) = match direction {
                    Direction::Down => (0, 1),
                    Direction::Up => (0, -1),
                    Direction::Right => (1, 0),
                    Direction::Left => (-1, 0),
                };
                match node {
                    Some(node) => (*node, Primitive::Scroll { dx, dy }),
                    None => {
                        let moved = self.broker.scroll_page(dx, dy).await?;
                        return Ok(moved.then(|| "the page scrolled".to_owned()));
                    }
                }
            }
            Action::Wait => {
                sleep(Duration::from_millis(500)).await;
                return Ok(None);
            }
            Action::Goto { address } => {
                let url = self.address(address)?;
                return match self.broker.goto(&url, Duration::from_secs(15)).await? {
                    crate::broker::Arrival::Arrived { .. } => Ok(Some("address changed".into())),
                    crate::broker::Arrival::Refused { reason, url } => Err(Fault::new(
                        Status::Refused,
                        "host_left",
                        format!("{url} was refused: {reason}"),
                    )),
                    crate::broker::Arrival::Failed { reason, message } => {
                        Err(Fault::failed(&reason, message))
                    }
                };
            }
            Action::Login { credential } => {
                let credential = credential.clone();
                return self
                    .login(step, &credential)
                    .await
                    .map(|_| Some("signed in".into()));
            }
            Action::WaitForUser { why } => {
                self.human
                    .wait(why)
                    .await
                    .map_err(|why| Fault::failed("human_needed", why))?;
                return Ok(Some("a person did this part".into()));
            }
            Action::LookFurther | Action::Done | Action::Stuck { .. } => return Ok(None),
        };
        let (role, name) = named(observation, node);
        let effect = self.on_node(node, &role, &name, &primitive).await?;
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
            healed: None,
        }));
        self.say.say(What::Acted(Acted {
            step: step.place.clone(),
            primitive: primitive.word().into(),
            says: says(&primitive, &role, &name),
            url: crate::page::shown_address(&observation.url),
            effect: effect.change.clone(),
            role: Some(role),
            name: Some(name),
            value: None,
            reason: Some(decision.reason.clone()),
        }));
        self.acted_at(&effect);
        Ok(None)
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
                    Ok(effect) => return Ok(effect),
                    Err(unfit) => unfit,
                },
                Err(unfit) => unfit,
            };
            if unfit == Unfit::Rerendered || !unfit.may_pass() || Instant::now() >= until {
                return Err(Fault::unfit(role, name, &unfit));
            }
            sleep(Duration::from_millis(60)).await;
        }
    }

    fn fill_value(&self, value: &FillValue) -> Primitive {
        match value {
            FillValue::Variable(name) => Primitive::Fill {
                text: self
                    .planned
                    .scenario
                    .vars
                    .get(name)
                    .map(|v| v.value.clone())
                    .unwrap_or_default(),
            },
            FillValue::Credential { name, field } => Primitive::FillSecret {
                credential: name.clone(),
                field: field.clone(),
            },
            FillValue::GoalText(text) => Primitive::Fill { text: text.clone() },
        }
    }

    /// Whether the end state holds now; `Some` says what was seen instead.
    async fn claim_holds(&mut self) -> Result<Option<String>, Fault> {
        let lines = self.planned.scenario.expect.clone();
        let facts = Facts {
            data: &self.data,
            downloads: &self.downloads,
        };
        // `data` lines are about what is extracted later.
        let lines: Vec<_> = lines
            .into_iter()
            .filter(|l| !matches!(l.line, crate::scenario::ExpectLine::Data(_)))
            .collect();
        let (checked, holds) =
            look::poll(&mut self.broker, &lines, &facts, Duration::from_secs(2)).await?;
        Ok((!holds).then(|| {
            look::findings(&lines, &checked)
                .into_iter()
                .filter(|f| !f.holds)
                .map(|f| format!("{}: {}", f.line, f.saw))
                .collect::<Vec<_>>()
                .join("; ")
        }))
    }

    // ---- locks of goals --------------------------------------------------------------------

    fn goal_digest(&self, goal: &str) -> String {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        hash.update(goal.as_bytes());
        for host in &self.planned.hosts {
            hash.update([0]);
            hash.update(format!("{}://{}:{}", host.scheme, host.host, host.port).as_bytes());
        }
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }

    fn locked_action(&self, decision: &Decision, observation: &Observation) -> Option<LockEntry> {
        let (node, value) = match &decision.action {
            Action::Click { node } | Action::Check { node, .. } | Action::Submit { node } => {
                (Some(*node), None)
            }
            Action::Fill { node, value } => (
                Some(*node),
                Some(match value {
                    FillValue::Variable(name) => LockValue::Variable(name.clone()),
                    FillValue::Credential { name, field } => {
                        LockValue::Credential(format!("{name}.{field}"))
                    }
                    FillValue::GoalText(text) => LockValue::GoalText(text.clone()),
                }),
            ),
            Action::Select { node, option } => {
                (Some(*node), Some(LockValue::GoalText(option.clone())))
            }
            Action::Press { key, node } => {
                (*node, Some(LockValue::GoalText(key.name().to_owned())))
            }
            Action::Goto { address } => (None, Some(LockValue::GoalText(address.clone()))),
            Action::Login { credential } => (None, Some(LockValue::Credential(credential.clone()))),
            _ => return None,
        };
        let on = node.map(|n| named(observation, n));
        let action = match &decision.action {
            Action::Check { on: false, .. } => "uncheck",
            other => other.word(),
        };
        Some(LockEntry {
            step: decision.says.clone(),
            flow: None,
            occurrence: 1,
            action: action.to_owned(),
            role: on.as_ref().map(|(role, _)| role.clone()),
            name: on.map(|(_, name)| name),
            within: Vec::new(),
            value,
            chosen: "planner".into(),
            score: None,
            margin: None,
        })
    }

    /// Carries out an approved plan without a model.
    async fn replay_goal(
        &mut self,
        locked: &LockedGoal,
        done: &mut Vec<LockEntry>,
    ) -> Result<(), Fault> {
        for (index, entry) in locked.steps.iter().enumerate() {
            let step = locked_step(self.planned, &format!("p{}", index + 1), entry)?;
            self.step(&step).await?;
            done.push(entry.clone());
        }
        Ok(())
    }
}

/// A lock entry as a step of the usual kind.
fn locked_step(
    planned: &crate::plan::Planned,
    place: &str,
    entry: &LockEntry,
) -> Result<PlannedStep, Fault> {
    use crate::scenario::{Act, Value};
    let mut step = PlannedStep::planned(planned, place);
    let target = Target {
        by: By::Name {
            role: entry.role.clone(),
            name: entry.name.clone(),
            exact: false,
        },
        span: Default::default(),
    };
    let text = match &entry.value {
        Some(LockValue::GoalText(text) | LockValue::Credential(text)) => text.clone(),
        Some(LockValue::Variable(name)) => planned
            .scenario
            .vars
            .get(name)
            .map(|v| v.value.clone())
            .unwrap_or_default(),
        None => String::new(),
    };
    step.step.act = match entry.action.as_str() {
        "click" => Act::Click(target),
        "fill" => Act::Fill {
            target,
            value: match &entry.value {
                Some(LockValue::Credential(reference)) => {
                    let (name, field) =
                        reference.split_once('.').unwrap_or((reference, "password"));
                    Value::Credential {
                        name: name.to_owned(),
                        field: field.to_owned(),
                    }
                }
                _ => Value::Text(text),
            },
        },
        "select" => Act::Select {
            option: text,
            target: Some(target),
        },
        "check" => Act::Check { target, on: true },
        "uncheck" => Act::Check { target, on: false },
        "submit" => Act::Submit(target),
        "press" => Act::Press {
            keys: text,
            target: entry.role.is_some().then_some(target),
        },
        "goto" => Act::Goto(text),
        "login" => Act::Login(text),
        other => {
            return Err(Fault::failed(
                "bad_lock",
                format!("the lock holds an action this version doesn't know: {other}"),
            ));
        }
    };
    step.step.written.clone_from(&entry.step);
    Ok(step)
}

fn exit_fault(exit: Exit, history: &[HistoryLine]) -> Fault {
    let (status, message) = match exit {
        Exit::Stuck => (Status::Stuck, "four failures in a row: stopped"),
        Exit::Actions => (Status::OutOfBudget, "the budget of actions is used up"),
        Exit::Time => (Status::OutOfBudget, "the budget of time is used up"),
        Exit::ModelCalls => (Status::OutOfBudget, "the budget of model calls is used up"),
        Exit::Tokens => (Status::OutOfBudget, "the budget of tokens is used up"),
    };
    Fault::new(status, exit.name(), message).seen(told(history))
}

/// The last lines of the history, for the failure block.
fn told(history: &[HistoryLine]) -> Vec<String> {
    history
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(ToString::to_string)
        .collect()
}
