//! Towards a goal: the approved plan first, without a model; then the planner (R53–R58, R97).

use crate::event::Status;
use crate::plan::PlannedStep;
use crate::scenario::Expectation;
use crate::snapshot::LockedGoal;

use super::act::Done;
use super::attempt::AttemptRun;
use super::failure::Fault;
use super::planning::Planning;

/// What is to be reached, and how one knows.
#[derive(Debug, Clone)]
pub(super) struct Aim {
    /// As the planner reads it.
    pub goal: String,
    /// As written, before `$(…)` is replaced: the lock's side of it.
    pub written: String,
    pub key: String,
    /// Before each of the planner's places: `p4`, or `3.p4` inside step 3.
    pub prefix: String,
    pub claim: Claim,
}

/// What stands against the planner's "done".
#[derive(Debug, Clone)]
pub(super) enum Claim {
    /// The scenario's end state, looked at twice after the claim.
    EndState,
    /// The `expect` of the `plan:` step.
    Lines(Vec<Expectation>),
    /// A `plan:` step that says nothing about its end: there is nothing to look at but whether
    /// the page is another one than before. The steps that follow and the end state still judge.
    PageChanged,
}

/// How a goal was reached.
pub(super) enum Reached {
    /// The approved plan led there.
    Locked(LockedGoal),
    Planned(Box<Planning>),
}

impl AttemptRun<'_> {
    /// `plan: sub-goal` in the middle of listed steps.
    pub(super) async fn plan_goal(
        &mut self,
        step: &PlannedStep,
        goal: &str,
    ) -> Result<Done, Fault> {
        let aim = Aim {
            goal: goal.to_owned(),
            written: step.step.written.clone(),
            key: self.planned.goal_key(&step.step.written, Some(step)),
            prefix: format!("{}.", step.place),
            claim: if step.step.expect.is_empty() {
                Claim::PageChanged
            } else {
                Claim::Lines(step.step.expect.clone())
            },
        };
        let reached = self.reach(aim).await?;
        self.keep_plan(reached);
        Ok(Done::default())
    }

    /// The goal of a scenario without steps.
    pub(super) async fn reach_goal(&mut self, goal: &str) -> Result<Reached, Fault> {
        let written = self.planned.goal_written.clone().unwrap_or_default();
        let aim = Aim {
            goal: goal.to_owned(),
            key: self.planned.goal_key(&written, None),
            written,
            prefix: String::new(),
            claim: Claim::EndState,
        };
        self.reach(aim).await
    }

    async fn reach(&mut self, aim: Aim) -> Result<Reached, Fault> {
        let mut planning = Planning::new(aim, self);
        if let Some(locked) = self.lock.goal(&planning.aim.key) {
            match self.replay(&locked, &mut planning).await {
                Ok(locked) => return Ok(Reached::Locked(locked)),
                Err(fault) if !self.may_plan() || !may_be_drift(&fault) => return Err(fault),
                Err(fault) => {
                    let why = format!(
                        "the approved plan no longer leads to the goal: {}",
                        fault.failure.message
                    );
                    self.say.note(format!("{why}; planning the rest"));
                    planning.healed = Some(why);
                }
            }
        }
        if !self.may_plan() {
            return Err(Fault::new(
                Status::Environment,
                "no_model",
                "the goal has no approved plan, and no model is configured",
            )
            .help("write steps, approve a lock, or set [model] in rehearsal.toml"));
        }
        self.plan_until_done(&mut planning).await?;
        Ok(Reached::Planned(Box::new(planning)))
    }

    /// A model may be asked for a plan: `--locked` and `--offline` hold to what is approved.
    fn may_plan(&self) -> bool {
        let mode = self.context.mode;
        self.context.model.is_some() && !mode.offline && !mode.locked
    }

    /// The plan as it worked goes into the proposed lock. After a repair it is the part of the old
    /// plan that still held, then what was planned anew: never the new part alone.
    pub(super) fn keep_plan(&mut self, reached: Reached) {
        self.lock.add_goal(match reached {
            Reached::Locked(locked) => locked,
            Reached::Planned(planning) => planning.as_lock(),
        });
    }
}

/// A refusal, an outage or an interrupt is no sign of a page that changed.
fn may_be_drift(fault: &Fault) -> bool {
    matches!(
        fault.status,
        Status::Failed | Status::NotCompleted | Status::Disagreed
    ) && !matches!(
        fault.failure.reason.as_str(),
        "login_rejected" | "human_needed" | "captcha" | "bad_lock"
    )
}
