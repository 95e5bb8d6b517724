//! Finding a step's target on the page, waiting while it can still come.
//!
//! Order for sentences: exact, the approved lock, near, the model, which only chooses (R36, R42).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::broker::{Prepared, Primitive};
use crate::event::{Resolved, What};
use crate::page::{NodeId, Observation};
use crate::plan::{PlannedStep, StepBy};
use crate::resolve::{self, Chooser, Miss, MissKind, Pick, Query};
use crate::scenario::{By, Scope, Target, Verb};

use super::act::Done;
use super::attempt::AttemptRun;
use super::failure::{Fault, rival};

/// How long a target may take to come, unless the step says otherwise.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long several matches may take to become one (an animation between two states of a page).
const AMBIGUOUS_FOR: Duration = Duration::from_millis(1000);
/// When a missing name is looked for further down scrollable lists.
const SCROLL_AFTER: Duration = Duration::from_millis(1000);
/// A search down a list may take so many times the step's time, while it still moves.
const SEARCH_TIMES: u32 = 4;
/// `optional` skips what has not come by then.
const OPTIONAL_FOR: Duration = Duration::from_secs(1);
pub const POLL: Duration = Duration::from_millis(60);

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub target: &'a Target,
    pub verb: Verb,
    pub scope: &'a Scope,
    /// The sentence a phrase came from, for the model and the lock.
    pub sentence: Option<&'a str>,
}

/// A target found and fit to be acted on.
pub struct Ready {
    pub pick: Pick,
    pub prepared: Prepared,
}

impl AttemptRun<'_> {
    pub fn timeout_of(&self, step: &PlannedStep) -> Duration {
        step.step.timeout.unwrap_or(STEP_TIMEOUT)
    }

    /// Waits until the target is there and fit for the primitive; at most once per call is a model
    /// asked. `Ok(None)`: an optional step's target is absent.
    pub async fn ready(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        primitive: &Primitive,
    ) -> Result<Option<Ready>, Fault> {
        let began = Instant::now();
        let limit = if step.step.optional {
            OPTIONAL_FOR
        } else {
            self.timeout_of(step)
        };
        self.mend().await?;
        self.broker.seek(&wanted.scope.within);
        let mut observation = self.broker.seen().await?;
        let mut asked_model = false;
        let mut last_unfit = None;
        let mut found = None;
        loop {
            match self
                .resolve(step, wanted, &observation, &mut asked_model, began)
                .await?
            {
                Ok(pick) => match self.broker.prepare(pick.id, primitive).await? {
                    Ok(prepared) => return Ok(Some(Ready { pick, prepared })),
                    Err(unfit) => {
                        let limit = self.timeout_of(step);
                        // The search down a list may have taken all of the step's time.
                        let since = *found.get_or_insert_with(Instant::now);
                        let searched = !self.broker.searched().is_empty();
                        let waited = if searched { since } else { began }.elapsed();
                        if !unfit.may_pass() || waited >= limit || self.must_stop() {
                            self.say_resolved(step, wanted, &pick, &observation);
                            return Err(Fault::unfit(&pick.role, &pick.name, &unfit));
                        }
                        last_unfit = Some((pick, unfit));
                    }
                },
                Err(miss) => {
                    let limit = match miss.kind {
                        MissKind::BadSelector => Duration::ZERO,
                        MissKind::Ambiguous => limit.min(AMBIGUOUS_FOR),
                        _ => limit,
                    };
                    // A search down a list goes on while it gets anywhere.
                    let searched =
                        began.elapsed() < limit * SEARCH_TIMES && self.broker.searching();
                    if began.elapsed() >= limit && !searched || self.must_stop() {
                        let may_be_absent =
                            !matches!(miss.kind, MissKind::Ambiguous | MissKind::BadSelector);
                        if step.step.optional && may_be_absent {
                            // What is approved for it stays approved.
                            self.keep_lock(step);
                            return Ok(None);
                        }
                        return Err(match last_unfit {
                            Some((pick, unfit)) => Fault::unfit(&pick.role, &pick.name, &unfit),
                            None => Fault::miss(&miss).seen(self.broker.searched()),
                        });
                    }
                    if began.elapsed() >= SCROLL_AFTER
                        && matches!(miss.kind, MissKind::NotFound | MissKind::NoScope)
                        && !step.step.optional
                        && self.broker.scroll_on().await?
                    {
                        observation = self.broker.look().await?;
                        continue;
                    }
                }
            }
            sleep(POLL).await;
            observation = self.broker.look().await?;
        }
    }

    /// Waits until a sentence's target is there, whatever could be done with it.
    pub(super) async fn await_wanted(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
    ) -> Result<Done, Fault> {
        let began = Instant::now();
        let mut asked_model = false;
        self.broker.seek(&wanted.scope.within);
        loop {
            let observation = self.broker.look().await?;
            let found = self
                .resolve(step, wanted, &observation, &mut asked_model, began)
                .await?;
            match found {
                Ok(pick) => {
                    self.say_resolved(step, wanted, &pick, &observation);
                    return Ok(Done::default());
                }
                Err(miss) if began.elapsed() >= self.timeout_of(step) || self.must_stop() => {
                    return Err(Fault::miss(&miss));
                }
                Err(_) => sleep(POLL).await,
            }
        }
    }

    /// One try on one observation.
    async fn resolve(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        observation: &Arc<Observation>,
        asked_model: &mut bool,
        began: Instant,
    ) -> Result<Result<Pick, Miss>, Fault> {
        match &wanted.target.by {
            By::Text(text) => return Ok(self.broker.by_text(text, wanted.scope).await?),
            By::Css(css) => return Ok(self.broker.by_css(css, wanted.scope).await?),
            _ => {}
        }
        let writes = step.step.write.is_some();
        let query = Query {
            target: wanted.target,
            verb: wanted.verb,
            scope: wanted.scope,
            near: false,
            sentence: wanted.sentence.is_some(),
        };
        let strict = resolve::resolve(observation, &query);
        let Err(miss) = strict else { return Ok(strict) };
        let Some(sentence) = wanted.sentence else {
            let near = Query {
                near: !writes,
                ..query
            };
            return Ok(if miss.kind == MissKind::OnlyNear {
                resolve::resolve(observation, &near)
            } else {
                Err(miss)
            });
        };
        if let Some(pick) = self.locked(step, wanted, observation) {
            return Ok(Ok(pick));
        }
        if !writes
            && let Ok(pick) = resolve::resolve(
                observation,
                &Query {
                    near: true,
                    ..query
                },
            )
        {
            return Ok(Ok(pick));
        }
        // The page may still be building what the rules would find: the model is asked when it is quiet.
        let quiet = self.broker.is_quiet().await || began.elapsed() >= Duration::from_secs(1);
        if quiet && !*asked_model && self.may_ask_model(step) {
            *asked_model = true;
            if let Some(pick) = self.ask_model(step, wanted, sentence, observation).await? {
                return Ok(Ok(pick));
            }
        }
        Ok(Err(miss))
    }

    /// The approved lock's role and name, if they are still there once.
    fn locked(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        observation: &Observation,
    ) -> Option<Pick> {
        let entry = self.lock_entry(step)?;
        entry.role.as_deref()?;
        let target = self.locked_target(&entry);
        let mut scope = self.locked_scope(&entry);
        scope.within.extend(wanted.scope.within.iter().cloned());
        scope.nth = scope.nth.or(wanted.scope.nth);
        let query = Query {
            target: &target,
            verb: wanted.verb,
            scope: &scope,
            near: false,
            sentence: false,
        };
        match resolve::resolve(observation, &query) {
            Ok(pick) => Some(Pick {
                chooser: Chooser::Locked,
                score: Chooser::Locked.score(),
                ..pick
            }),
            Err(_) => {
                self.drifted(step);
                None
            }
        }
    }

    /// How the target of a step was found; said once, when it is acted on or given up.
    pub(super) fn say_resolved(
        &mut self,
        step: &PlannedStep,
        wanted: Wanted<'_>,
        pick: &Pick,
        observation: &Observation,
    ) {
        let healed = self.settle_lock(step, wanted, pick, observation);
        // What an approved plan names is found by its lock, however plainly it stands there.
        let locked = step.by == StepBy::Planner && healed.is_none();
        let chooser = if locked {
            Chooser::Locked
        } else {
            pick.chooser
        };
        self.count(chooser);
        self.say.say(What::Resolved(Resolved {
            step: step.place.clone(),
            chooser: chooser.word().to_owned(),
            role: pick.role.clone(),
            name: pick.name.clone(),
            scope: pick.scope.clone(),
            score: pick.score,
            runner_up: pick.runner_up.as_ref().map(rival),
            candidates: pick.candidates,
            healed,
        }));
    }
}

/// Role and name of a node, for messages.
pub fn named(observation: &Observation, id: NodeId) -> (String, String) {
    observation
        .node(id)
        .map(|n| (n.role.clone(), n.name.clone()))
        .unwrap_or_default()
}
