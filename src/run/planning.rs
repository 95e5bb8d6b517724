//! The planner's loop: ask, act, judge, count, until done or a named exit.

use std::time::Duration;

use tokio::time::Instant;

use crate::agent::{
    Action, Asking, Counter, HistoryLine, Ids, Offer, Purpose, Turn, Verdict, fingerprint,
};
use crate::event::{Status, What};
use crate::page::Observation;
use crate::scenario::{ExpectLine, Expectation};
use crate::snapshot::{LockEntry, LockedGoal};

use super::asking::{calls, interrupted, left, out_of, unheard};
use super::attempt::AttemptRun;
use super::failure::Fault;
use super::goal::{Aim, Claim};
use super::look::{self, EndState, Facts};
use super::turn::{Place, Turned};

/// How long a claimed end may take to show.
const CLAIM_WITHIN: Duration = Duration::from_secs(2);

/// Where the planner stands with one goal.
pub(super) struct Planning {
    pub aim: Aim,
    pub counter: Counter,
    pub history: Vec<HistoryLine>,
    /// What worked, as the lock will hold it.
    pub done: Vec<LockEntry>,
    /// Why the approved plan was left; said with the next resolution.
    pub healed: Option<String>,
    /// Actions that sent a write: never carried out again (R63's kind: a write is not repeated).
    pub sent: std::collections::BTreeSet<String>,
    /// What led to nothing since the last action that worked: the page is as it was, however much
    /// of it moves by itself.
    fruitless: std::collections::BTreeSet<String>,
    addresses: Vec<String>,
    ids: Ids,
    part: usize,
    pub turns: u32,
    /// What the page said against the last "done"; told to the model once.
    refuted: Option<String>,
    /// The page when the goal was taken up.
    first: u64,
    began: Instant,
}

impl Planning {
    pub fn new(aim: Aim, run: &AttemptRun<'_>) -> Self {
        let mut counter = Counter::new(run.limits());
        counter.spent(run.model_calls, run.tokens);
        let first = run.broker.last().map(|o| fingerprint(&o));
        Self {
            aim,
            counter,
            history: Vec::new(),
            done: Vec::new(),
            healed: None,
            sent: Default::default(),
            fruitless: Default::default(),
            addresses: vec![run.planned.scenario.start.value.clone()],
            ids: Ids::default(),
            part: 0,
            turns: 0,
            refuted: None,
            first: first.unwrap_or_default(),
            began: Instant::now(),
        }
    }

    pub fn as_lock(&self) -> LockedGoal {
        LockedGoal {
            goal: self.aim.written.clone(),
            digest: self.aim.key.clone(),
            steps: self.done.clone(),
        }
    }

    /// The next place: `p4`, `3.p4`.
    pub fn next_place(&mut self) -> String {
        self.turns += 1;
        format!("{}p{}", self.aim.prefix, self.turns)
    }

    fn remember(&mut self, text: String, failed: bool) {
        self.history.push(HistoryLine { text, failed });
    }

    /// The last lines, for the failure block.
    fn told(&self) -> Vec<String> {
        let from = self.history.len().saturating_sub(4);
        self.history[from..]
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn visited(&mut self, page: &Observation) {
        let http = page.url.starts_with("http:") || page.url.starts_with("https:");
        if http && !self.addresses.contains(&page.url) {
            self.addresses.push(page.url.clone());
        }
    }

    /// Counts a failure; `Some`: it was the last one.
    fn failed(&mut self, line: String) -> Option<Fault> {
        self.remember(line, true);
        match self.counter.failed() {
            Verdict::Stop(exit) => Some(out_of(exit).seen(self.told())),
            _ => None,
        }
    }

    /// A "done" the page speaks against: told once, from then on a failure. When it was the last
    /// one, the page's word is the verdict, not "stuck".
    pub fn refute(&mut self, saw: String, end: &EndState) -> Refuted {
        let verdict = self.counter.refuted();
        self.remember(format!("done was claimed, but {saw}"), verdict.is_some());
        self.refuted = Some(saw);
        match verdict {
            None => return Refuted::Told,
            Some(Verdict::Stop(_)) => {}
            Some(_) => return Refuted::Failed,
        }
        let (status, reason, message) = match end {
            EndState::Disagreed => (
                Status::Disagreed,
                "disagreed",
                "the planner said done; the end state held at the first look and no longer at the second",
            ),
            _ => (
                Status::NotCompleted,
                "not_completed",
                "the planner said done; the expected end state never held",
            ),
        };
        Refuted::Last(Fault::new(status, reason, message).seen(self.told()))
    }
}

/// What a refuted "done" was.
pub(super) enum Refuted {
    /// The first: the model is told, no turn has failed.
    Told,
    Failed,
    /// The last failure in a row.
    Last(Fault),
}

impl AttemptRun<'_> {
    /// Plans and acts until the planner says done and the page does not speak against it.
    pub(super) async fn plan_until_done(&mut self, planning: &mut Planning) -> Result<(), Fault> {
        let Some(model) = self.context.model.clone() else {
            return Ok(());
        };
        loop {
            if let Some(exit) = planning.counter.before(planning.began.elapsed()) {
                return Err(out_of(exit).seen(planning.told()));
            }
            self.stop_if_asked()?;
            if self.broker.is_protected() {
                return Err(Fault::failed(
                    "secret_held",
                    "the page keeps a filled secret, so no model may be asked about it",
                ));
            }
            self.broker.learn_volatile().await?;
            let observation = self.broker.last().unwrap_or_default();
            planning.visited(&observation);
            let purpose = Purpose {
                verb: None,
                words: planning.aim.goal.clone(),
                limit: None,
            };
            let offer = Offer::new(&observation, &purpose, planning.part, &mut planning.ids);
            let place = Place::new(planning.next_place());
            let variables = self.variables();
            let credentials = self.credential_fields();
            let counter = &planning.counter;
            let turn = Turn {
                goal: &planning.aim.goal,
                page: &observation,
                offer: &offer,
                addresses: &planning.addresses,
                variables: &variables,
                credentials: &credentials,
                history: &planning.history,
                action: counter.next_action(),
                actions: counter.limits().actions,
                failures: counter.failures(),
                refuted: planning.refuted.as_deref(),
            };
            let scrubber = self.broker.scrubber();
            let picture = self.picture_for_model().await;
            let mut asking = Asking::new(&scrubber);
            asking.limit = Some(left(counter.limits().time, planning.began.elapsed()));
            asking.picture = picture.as_deref();
            let stop = self.context.stop.clone();
            let asked = tokio::select! {
                asked = model.plan(&asking, &turn) => asked,
                _ = stop.asked() => return Err(interrupted()),
            };
            let spent = asked.calls.iter().map(calls).sum();
            let tokens = asked.calls.iter().map(|c| c.tokens()).sum();
            planning.counter.spent(spent, tokens);
            planning.refuted = None;
            match &asked.outcome {
                Ok(decision) => self.say_turn(&place, decision),
                Err(_) => self.say_no_decision(&place),
            }
            self.say_calls(&place.name, &asked);
            let decision = match asked.outcome.map_err(unheard) {
                Ok(decision) => decision,
                // An answer that can't be used is a failed step (R35).
                Err(fault) if fault.status != Status::Environment => {
                    self.say_turned(&place, Some(&fault), Vec::new()).await;
                    if let Some(end) = planning.failed(fault.failure.message) {
                        return Err(end);
                    }
                    continue;
                }
                Err(fault) => {
                    self.say_turned(&place, Some(&fault), Vec::new()).await;
                    // A model that is slower than the budget allows is no outage.
                    let nearly = Duration::from_millis(100);
                    let over = planning.counter.before(planning.began.elapsed() + nearly);
                    return Err(over.map_or(fault, |exit| out_of(exit).seen(planning.told())));
                }
            };
            match &decision.action {
                Action::LookFurther => {
                    let seen = planning.counter.repeats(
                        &format!("look further {}", planning.part),
                        fingerprint(&observation),
                    );
                    if offer.has_more() && !seen {
                        planning.part += 1;
                        self.say_turned(&place, None, Vec::new()).await;
                        continue;
                    }
                    planning.part = 0;
                    let fault = Fault::failed("repeated", "every control was listed already");
                    self.say_turned(&place, Some(&fault), Vec::new()).await;
                    if let Some(end) = planning.failed("look further: no more controls".into()) {
                        return Err(end);
                    }
                    continue;
                }
                Action::Done => match self.against(planning).await? {
                    None => {
                        self.say_turned(&place, None, Vec::new()).await;
                        return Ok(());
                    }
                    Some(saw) => {
                        let disagrees = format!("the page disagrees: {saw}");
                        let refuted = planning.refute(saw, &EndState::NotCompleted);
                        if let Refuted::Told = refuted {
                            self.say_turn_void(&place, disagrees).await;
                            continue;
                        }
                        let fault = Fault::failed("refuted", disagrees);
                        self.say_turned(&place, Some(&fault), Vec::new()).await;
                        if let Refuted::Last(end) = refuted {
                            return Err(end);
                        }
                        continue;
                    }
                },
                Action::Stuck { why } => {
                    let fault = Fault::new(
                        Status::Stuck,
                        "stuck",
                        format!("the planner is stuck: {why}"),
                    )
                    .seen(planning.told());
                    self.say_turned(&place, Some(&fault), Vec::new()).await;
                    return Err(fault);
                }
                _ => {}
            }
            planning.part = 0;
            let result = if planning.sent.contains(&decision.says) {
                Turned::Failed(Fault::failed(
                    "already_sent",
                    "it sent a change before; what changes something is never done twice",
                ))
            } else if planning.fruitless.contains(&decision.says)
                || planning
                    .counter
                    .repeats(&decision.says, fingerprint(&observation))
            {
                Turned::Failed(Fault::failed(
                    "repeated",
                    "it was tried on this very page before",
                ))
            } else {
                self.turn(&place, &decision, &observation, planning).await?
            };
            match result {
                Turned::Worked { change } => {
                    self.say_turned(&place, None, Vec::new()).await;
                    let after = change.map(|c| format!(" → {c}")).unwrap_or_default();
                    planning.remember(format!("{}{after}", decision.says), false);
                    planning.counter.succeeded();
                    planning.fruitless.clear();
                    let written = planning.aim.written.clone();
                    let entry = self.locked_action(&decision, &observation, &written);
                    planning.done.extend(entry);
                }
                Turned::Failed(fault) => {
                    self.say_turned(&place, Some(&fault), Vec::new()).await;
                    if ends_it(&fault) {
                        return Err(fault);
                    }
                    if fault.failure.reason == "no_effect" {
                        planning.fruitless.insert(decision.says.clone());
                    }
                    let line = format!("{}: {}", decision.says, fault.failure.message);
                    if let Some(end) = planning.failed(line) {
                        return Err(end);
                    }
                }
            }
        }
    }

    /// What the page says against the planner's claim. The claim itself never counts (R58).
    async fn against(&mut self, planning: &Planning) -> Result<Option<String>, Fault> {
        match &planning.aim.claim {
            Claim::EndState => {
                // `data` lines are about what is extracted later.
                let lines: Vec<Expectation> = self
                    .planned
                    .scenario
                    .expect
                    .iter()
                    .filter(|l| !matches!(l.line, ExpectLine::Data(_)))
                    .cloned()
                    .collect();
                self.missing(&lines).await
            }
            Claim::Lines(lines) => self.missing(lines).await,
            Claim::PageChanged => {
                let page = self.broker.look().await?;
                let same = planning.done.is_empty() && fingerprint(&page) == planning.first;
                Ok(same.then(|| "nothing was done and the page is as it was".to_owned()))
            }
        }
    }

    async fn missing(&mut self, lines: &[Expectation]) -> Result<Option<String>, Fault> {
        let facts = Facts { data: &self.data };
        let (checked, holds) = look::poll(&mut self.broker, lines, &facts, CLAIM_WITHIN).await?;
        Ok((!holds).then(|| {
            look::findings(lines, &checked)
                .into_iter()
                .filter(|f| !f.holds)
                .map(|f| format!("{}: {}", f.line, f.saw))
                .collect::<Vec<_>>()
                .join("; ")
        }))
    }

    /// After both looks spoke against a claim: on with the planner, or the verdict.
    pub(super) async fn plan_on(
        &mut self,
        planning: &mut Planning,
        end: &EndState,
    ) -> Result<(), Fault> {
        let saw = self
            .last_look
            .iter()
            .filter(|f| !f.holds)
            .map(|f| format!("{}: {}", f.line, f.saw))
            .collect::<Vec<_>>()
            .join("; ");
        let saw = match end {
            EndState::Disagreed => format!("it no longer held at a second look: {saw}"),
            _ => saw,
        };
        self.say.say(What::Note {
            text: format!("the planner said done; the page says otherwise: {saw}"),
        });
        if let Refuted::Last(fault) = planning.refute(saw, end) {
            return Err(fault);
        }
        self.plan_until_done(planning).await
    }

    fn variables(&self) -> Vec<(String, String)> {
        let vars = &self.planned.scenario.vars;
        vars.iter()
            .map(|(name, value)| (name.clone(), value.value.clone()))
            .collect()
    }
}

/// Failures nothing the planner does can mend, or that must not be tried again.
fn ends_it(fault: &Fault) -> bool {
    matches!(
        fault.status,
        Status::Refused | Status::Environment | Status::NotFinished
    ) || matches!(
        fault.failure.reason.as_str(),
        "login_rejected" | "login_cooling_down" | "human_needed" | "captcha"
    )
}
