//! One attempt at one scenario, from the open start page to its verdict.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::broker::{Broker, Effect};
use crate::driver::is_error_page;
use crate::event::{ScenarioStarted, Status, StepFinished, StepStarted, What};
use crate::plan::{Planned, PlannedStep, StepBy};
use crate::resolve::Chooser;
use crate::scenario::{Act, Extract, Keep, Picture, say_english as say};

use super::act::Done;
use super::emit::Attempt;
use super::failure::Fault;
use super::goal::Reached;
use super::human::Human;
use super::keeping::Keeping;
use super::locks::LockWork;
use super::look::{self, EndState, Facts};
use super::mend::Filled;
use super::settings::RunContext;
use super::verdict::{interrupted, out_of_time};

/// Everything one attempt holds. Owns its broker; nothing of it outlives the attempt.
pub struct AttemptRun<'a> {
    pub(super) planned: &'a Planned,
    pub(super) context: &'a RunContext,
    pub(super) broker: Broker,
    pub(super) say: Attempt,
    pub(super) data: Value,
    pub(super) signed_in_by: Option<String>,
    pub(super) human: Human,
    pub(super) lock: LockWork,
    pub(super) model_calls: u32,
    pub(super) tokens: u64,
    pub(super) folder: PathBuf,
    pub(super) choosers: BTreeMap<String, u32>,
    /// Changes that were let through.
    pub(super) writes_sent: u32,
    /// A step with `write:` was begun: whatever the network says, it is never done twice.
    pub(super) write_begun: bool,
    /// Findings of the last look at the end state.
    pub(super) last_look: Vec<crate::event::Finding>,
    /// Where the step acted last, for the picture.
    acted: Option<Effect>,
    /// Text of the page before the last action; empty once a new document came.
    before_last: String,
    /// Addresses of tabs that opened and were not followed.
    pub(super) aside: Vec<String>,
    /// Fills a page's start-up may still wipe.
    pub(super) filled: Vec<Filled>,
    pub(super) began: Instant,
    /// When the attempt is cut off, whatever it is doing.
    end_by: Option<Instant>,
    /// Closing steps have their own time and run although the run is to stop.
    closing: bool,
    pub(super) times: BTreeMap<String, u64>,
    keeping: Keeping,
    /// The flow whose kept state this attempt rests on.
    put_back: Option<String>,
}

/// What closing steps may take.
const CLOSING: Duration = Duration::from_secs(30);
/// The same when somebody waits for us to stop (the whole grace is five seconds).
const CLOSING_WHEN_STOPPED: Duration = Duration::from_secs(2);

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub status: Status,
    pub as_expected: bool,
    pub wrote: bool,
    /// Set when the browser went away: the attempt may be started again once, before any write.
    pub lost: bool,
    pub lock: Option<crate::snapshot::Lock>,
    /// What would let through what was stopped.
    pub suggestions: Vec<crate::policy::Suggestion>,
}

impl<'a> AttemptRun<'a> {
    pub fn new(
        planned: &'a Planned,
        context: &'a RunContext,
        broker: Broker,
        say: Attempt,
        folder: PathBuf,
        keeping: Keeping,
    ) -> Self {
        Self {
            planned,
            context,
            broker,
            say,
            data: Value::Object(Map::new()),
            signed_in_by: None,
            human: context.human,
            lock: LockWork::new(planned.approved.clone(), context.mode),
            model_calls: 0,
            tokens: 0,
            folder,
            choosers: BTreeMap::new(),
            writes_sent: 0,
            write_begun: false,
            last_look: Vec::new(),
            acted: None,
            before_last: String::new(),
            aside: Vec::new(),
            filled: Vec::new(),
            began: Instant::now(),
            end_by: planned
                .scenario
                .budget
                .time
                .map(|limit| Instant::now() + limit),
            closing: false,
            times: BTreeMap::new(),
            keeping,
            put_back: None,
        }
    }

    /// Runs everything; every way out ends in `ScenarioFinished` and a closed broker (R57).
    pub async fn run(mut self) -> Ended {
        let scenario = &self.planned.scenario;
        let wish = scenario.tutorial.as_ref();
        self.say.say(What::ScenarioStarted(ScenarioStarted {
            name: scenario.name.value.clone(),
            goal: scenario.goal.as_ref().map(|g| g.value.clone()),
            start: crate::page::shown_address(&scenario.start.value),
            tutorial: wish.is_some(),
            tutorial_title: wish.and_then(|w| w.title.clone()),
            tutorial_pictures: wish.and_then(|w| w.pictures),
            digest: self.planned.digest.clone(),
        }));
        let cut = self.cut_short();
        let result = tokio::select! {
            biased;
            result = self.body() => result,
            fault = cut => Err((None, fault)),
        };
        if let Err(fault) = self.always().await {
            self.say.note(format!(
                "the closing steps did not all work: {}",
                fault.failure.message
            ));
        }
        let mut ended = self.verdict(result);
        if !ended.as_expected
            && let Some(flow) = &self.put_back
        {
            // It may have run out: the next scenario signs in anew.
            let keep = self
                .planned
                .keeps
                .iter()
                .find(|(name, _)| name == flow)
                .map_or(Keep::Session, |(_, keep)| *keep);
            self.keeping.drop_flow(flow, keep);
        }
        ended.suggestions = self.broker.suggestions().to_vec();
        self.note_sockets();
        self.save_data();
        let torn = self.broker.close().await;
        if let Err(error) = torn {
            self.say.say(What::TearDown {
                what: "browser session".into(),
                ok: false,
                detail: Some(error.to_string()),
            });
        }
        ended
    }

    /// Steps up to and including `after`, then a read of the page.
    pub async fn look_after(
        mut self,
        after: Option<&str>,
    ) -> Result<crate::page::Observation, String> {
        let planned = self.planned;
        let open = PlannedStep::start(planned, &planned.scenario.start.value);
        let mut walked = self.step(&open).await;
        if let Some(after) = after {
            for step in planned.before.iter().chain(&planned.steps) {
                if walked.is_err() {
                    break;
                }
                walked = self.step(step).await;
                if step.place == after {
                    break;
                }
            }
        }
        let seen = match walked {
            Ok(()) => self
                .broker
                .look()
                .await
                .map(|o| (*o).clone())
                .map_err(|e| e.to_string()),
            Err(fault) => Err(fault.failure.message),
        };
        // The page was read; what closing it says changes nothing.
        let _ = self.broker.close().await;
        seen
    }

    async fn body(&mut self) -> Result<EndState, (Option<String>, Fault)> {
        let start = self.planned.scenario.start.value.clone();
        let open = PlannedStep::start(self.planned, &start);
        if let Err(fault) = self.step(&open).await {
            return Err((Some(open.place), fault));
        }
        if !self.planned.before.is_empty() {
            self.prepare_state().await?;
            self.step(&open)
                .await
                .map_err(|fault| (Some(open.place.clone()), fault))?;
        }
        for step in &self.planned.steps {
            self.step(step)
                .await
                .map_err(|fault| (Some(step.place.clone()), fault))?;
        }
        let mut reached = match self.planned.scenario.goal.clone() {
            Some(goal) if self.planned.steps.is_empty() => Some(
                self.reach_goal(&goal.value)
                    .await
                    .map_err(|fault| (None, fault))?,
            ),
            _ => None,
        };
        loop {
            if let Some(extract) = &self.planned.scenario.extract {
                self.extract_into("extract", extract)
                    .await
                    .map_err(|fault| (Some("extract".into()), fault))?;
            }
            let end = self.end_state().await.map_err(|fault| (None, fault))?;
            match reached.as_mut() {
                Some(Reached::Planned(planning)) if end != EndState::Completed => self
                    .plan_on(planning, &end)
                    .await
                    .map_err(|fault| (None, fault))?,
                _ => {
                    if let Some(reached) = reached {
                        self.keep_plan(reached);
                    }
                    return Ok(end);
                }
            }
        }
    }

    /// Flow fixtures, in order: carried out, or put back where their state was kept.
    async fn prepare_state(&mut self) -> Result<(), (Option<String>, Fault)> {
        let planned = self.planned;
        let keeps: BTreeMap<&str, Keep> = planned
            .keeps
            .iter()
            .map(|(name, keep)| (name.as_str(), *keep))
            .collect();
        let mut at = 0;
        while at < planned.before.len() {
            let flow = planned.before[at]
                .place
                .split('.')
                .next()
                .unwrap_or_default();
            let steps: Vec<&PlannedStep> = planned.before[at..]
                .iter()
                .take_while(|s| s.place.split('.').next() == Some(flow))
                .collect();
            at += steps.len();
            let keep = keeps.get(flow).copied();
            if let Some(kept) = keep.and_then(|keep| self.keeping.get(flow, keep)) {
                self.broker
                    .put_back(&kept)
                    .await
                    .map_err(|e| (None, e.into()))?;
                self.signed_in_by
                    .get_or_insert_with(|| "already signed in".into());
                self.say.note(format!(
                    "`{flow}` was kept from before; its steps were not needed"
                ));
                self.put_back = Some(flow.to_owned());
                continue;
            }
            for step in steps {
                self.step(step)
                    .await
                    .map_err(|fault| (Some(step.place.clone()), fault))?;
            }
            if let Some(keep) = keep {
                let kept = self.broker.keep().await.map_err(|e| (None, e.into()))?;
                let origin = url::Url::parse(&planned.scenario.start.value)
                    .map(|u| u.origin().ascii_serialization())
                    .unwrap_or_default();
                if let Err(why) = self.keeping.put(flow, keep, &origin, kept) {
                    self.say.note(format!(
                        "the state of `{flow}` was not kept for later runs: {why}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Steps that run whichever way the scenario ended.
    async fn always(&mut self) -> Result<(), Fault> {
        let planned = self.planned;
        self.closing = true;
        let within = if self.context.stop.is_asked() {
            CLOSING_WHEN_STOPPED
        } else {
            CLOSING
        };
        self.end_by = Some(Instant::now() + within);
        for step in &planned.after {
            self.step(step).await?;
        }
        Ok(())
    }

    /// One listed step: act, settle, judge what it set off, check its `expect`, keep a picture.
    pub(super) async fn step(&mut self, step: &PlannedStep) -> Result<(), Fault> {
        let began = Instant::now();
        self.stop_if_asked()?;
        let started = StepStarted {
            step: step.place.clone(),
            says: say(&step.step),
            written: step.step.written.clone(),
            verb: verb_of(&step.step.act).to_owned(),
            line: step.line(),
            note: step.step.note.clone(),
            picture: step.step.picture.map(|p| {
                if p == Picture::Keep {
                    "keep".into()
                } else {
                    "drop".into()
                }
            }),
            write: step.step.write.as_ref().map(|w| w.value.clone()),
            by: match step.by {
                StepBy::Author => "author",
                StepBy::Fixture => "fixture",
                StepBy::Planner => "planner",
            }
            .into(),
        };
        if step.step.write.is_some() {
            self.write_begun = true;
            self.say.say_durably(What::StepStarted(started));
        } else {
            self.say.say(What::StepStarted(started));
        }
        self.acted = None;
        self.broker.begin_step(&step.step);
        let cut = self.cut_short();
        let result = tokio::select! {
            biased;
            result = self.carry_out(step) => result,
            // An interrupt says nothing about the line it fell on.
            fault = cut => Err(if fault.status == Status::NotFinished { fault } else { fault.at(step) }),
        };
        // What it set off until it failed belongs into the record all the same, and a refusal in it
        // is graver than a page that could not be read.
        let result = result.map_err(|fault| match self.judge_happenings(step) {
            Err(graver) if graver.is_graver_than(&fault) => graver.at(step),
            _ => fault,
        });
        self.broker.end_step();
        let (status, failure, notes) = match &result {
            Ok(done) if done.skipped => (Status::Skipped, None, done.notes.clone()),
            Ok(done) => (Status::Passed, None, done.notes.clone()),
            Err(fault) => (fault.status, Some((*fault.failure).clone()), Vec::new()),
        };
        // A picture of a page that doesn't answer would only be waited for in vain once more.
        let mute = status == Status::NotFinished
            || failure.as_ref().is_some_and(|f| f.reason == "page_hung");
        if !mute && (step.step.picture != Some(Picture::Drop) || failure.is_some()) {
            self.picture(&step.place).await;
        }
        self.say.say(What::StepFinished(StepFinished {
            step: step.place.clone(),
            status,
            failure,
            notes,
            ms: began.elapsed().as_millis() as u64,
        }));
        result.map(|_| ())
    }

    async fn carry_out(&mut self, step: &PlannedStep) -> Result<Done, Fault> {
        if !step.is_start() && self.broker.last().is_some() {
            self.remember_text();
        }
        let documents = self.broker.documents_loaded();
        let mark = self.broker.effect_mark();
        let mut acted = self.act(step).await;
        // What the act set off is judged even when the act itself failed: a refusal is graver.
        self.settle(step).await.map_err(|f| f.at(step))?;
        let lost = self.broker.click_was_lost(&mark).await;
        if let Ok(done) = &mut acted
            && lost.map_err(Fault::from).map_err(|f| f.at(step))?
        {
            let first = std::mem::take(&mut done.notes);
            acted = self.act(step).await;
            self.settle(step).await.map_err(|f| f.at(step))?;
            if let Ok(done) = &mut acted {
                let again =
                    "clicked again: the page made the control anew between press and release";
                done.notes
                    .splice(0..0, first.into_iter().chain([again.to_owned()]));
            }
        }
        let mut done = acted
            .map_err(|f| f.seen(self.tabs_left_aside()))
            .map_err(|f| f.at(step))?;
        if done.skipped {
            return Ok(done);
        }
        let noted = self.await_declared(step).await.map_err(|f| f.at(step))?;
        done.notes.extend(noted);
        if !step.step.expect.is_empty() {
            self.expect(&step.step.expect, self.timeout_of(step))
                .await
                .map_err(|f| f.at(step))?;
            self.judge_happenings(step).map_err(|f| f.at(step))?;
        } else if !self.broker.is_pictured() {
            self.broker
                .look()
                .await
                .map_err(Fault::from)
                .map_err(|f| f.at(step))?;
        }
        if let Some(page) = self.broker.last()
            && is_error_page(&page.url)
        {
            // An address outside the list says more than the error page that stands for it.
            self.judge_happenings(step).map_err(|f| f.at(step))?;
            let title = page
                .documents
                .first()
                .map(|d| crate::text::cut(&crate::text::fold::fold(&d.text), 200))
                .unwrap_or_default();
            return Err(Fault::failed(
                "load_failed",
                "the browser shows an error page instead of the site",
            )
            .seen([title])
            .at(step));
        }
        if matches!(
            step.step.act,
            Act::Click(_) | Act::Submit(_) | Act::Press { .. }
        ) && let Some(after) = self.broker.last()
            && self.broker.effect_in(&mark, &after).is_none()
        {
            done.notes
                .push("nothing was seen to change on the page".into());
        }
        if self.broker.documents_loaded() != documents {
            self.filled.clear();
            self.before_last.clear();
        }
        Ok(done)
    }

    async fn end_state(&mut self) -> Result<EndState, Fault> {
        // What is still on its way of the last step is its own; after that nothing is covered.
        self.broker.settle().await?;
        self.broker.close_window();
        self.broker.release().await?;
        let lines = self.planned.scenario.expect.clone();
        if lines.is_empty() {
            return Ok(EndState::Completed);
        }
        self.mend_while_waiting(&lines, super::find::STEP_TIMEOUT)
            .await?;
        let say = self.say.clone();
        let facts = Facts { data: &self.data };
        let before = self.before_last.clone();
        let mut last_look = Vec::new();
        let end = look::end_state(
            &mut self.broker,
            &lines,
            &facts,
            super::find::STEP_TIMEOUT,
            self.planned.scenario.second_look,
            &before,
            |looked| {
                last_look.clone_from(&looked.findings);
                say.say(What::Looked(looked));
            },
        )
        .await?;
        self.last_look = last_look;
        self.picture(crate::event::END).await;
        // A page that moved or wrote while it was looked at is judged like a step's doing.
        let nowhere = PlannedStep::nowhere(self.planned);
        self.judge_happenings(&nowhere)?;
        Ok(end)
    }

    pub(super) async fn extract_into(
        &mut self,
        place: &str,
        extract: &Extract,
    ) -> Result<(), Fault> {
        let outcome = self
            .broker
            .extract(extract, self.context.model.as_deref())
            .await?;
        for found in outcome {
            if let Value::Object(map) = &mut self.data {
                map.insert(found.name.clone(), found.value.clone());
            }
            self.say.say(What::Extracted {
                name: found.name,
                rows: found.value.as_array().map(Vec::len),
                note: found.note,
            });
        }
        let _ = place;
        Ok(())
    }

    fn save_data(&self) {
        if self.data.as_object().is_some_and(|m| !m.is_empty())
            && let Ok(text) = serde_json::to_vec_pretty(&self.data)
            && let Err(error) = self
                .context
                .outgoing
                .write(&self.folder.join("data.json"), &text)
        {
            self.say.note(format!("data.json was not written: {error}"));
        }
    }

    pub(super) async fn picture(&mut self, place: &str) {
        let acted = self.acted.clone();
        if let Some(frame) = super::pictures::take(
            &mut self.broker,
            place,
            acted.as_ref(),
            self.context,
            &self.folder,
        )
        .await
        {
            self.say.say(What::Frame(frame));
        }
    }

    // ---- small things the other files use --------------------------------------------------

    pub(super) fn acted_at(&mut self, effect: &Effect) {
        self.acted = Some(effect.clone());
    }

    pub(super) fn clear_acted(&mut self) {
        self.acted = None;
    }

    pub(super) fn has_acted(&self) -> bool {
        self.acted.is_some()
    }

    pub(super) fn count_planner(&mut self) {
        *self.choosers.entry("planner".to_owned()).or_default() += 1;
    }

    pub(super) fn count(&mut self, chooser: Chooser) {
        *self.choosers.entry(chooser.word().to_owned()).or_default() += 1;
    }

    pub(super) fn must_stop(&self) -> bool {
        self.broker.must_stop() || self.context.stop.is_asked()
    }

    pub(super) fn stop_if_asked(&self) -> Result<(), Fault> {
        if self.context.stop.is_asked() && !self.closing {
            return Err(interrupted());
        }
        match self.end_by {
            Some(end) if Instant::now() >= end => Err(out_of_time(self.time_limit())),
            _ => Ok(()),
        }
    }

    fn time_limit(&self) -> Duration {
        let budget = self.planned.scenario.budget.time;
        budget.filter(|_| !self.closing).unwrap_or(CLOSING)
    }

    /// Resolves when what is being done must end now: the run is to stop, or the time is used up.
    /// Long waits of every kind (a navigation, a model, a pause) are raced against it.
    fn cut_short(&self) -> impl Future<Output = Fault> + Send + use<> {
        let stop = (!self.closing).then(|| self.context.stop.clone());
        let (end_by, limit) = (self.end_by, self.time_limit());
        async move {
            let asked = async {
                match &stop {
                    Some(stop) => drop(stop.asked().await),
                    None => std::future::pending().await,
                }
            };
            let over = async {
                match end_by {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = asked => interrupted(),
                () = over => out_of_time(limit),
            }
        }
    }

    pub(super) fn suite_root(&self) -> &Path {
        &self.context.suite_root
    }

    pub(super) fn address(&self, written: &str) -> Result<url::Url, Fault> {
        let base = url::Url::parse(&self.planned.scenario.start.value).ok();
        let joined = match &base {
            Some(base) => base
                .join(written)
                .map(|u| u.to_string())
                .unwrap_or_else(|_| written.to_owned()),
            None => written.to_owned(),
        };
        crate::policy::navigable(&joined)
            .map_err(|denial| Fault::new(Status::Refused, denial.reason(), denial.to_string()))
    }

    /// The page's words before an action: what is new afterwards may be fleeting.
    pub(super) fn remember_text(&mut self) {
        self.before_last = self.page_text();
    }

    /// Loaded credentials and the names of their fields, for the planner.
    pub(super) fn credential_fields(&self) -> Vec<(String, Vec<String>)> {
        self.broker.credential_fields()
    }

    fn page_text(&self) -> String {
        self.broker
            .last()
            .map(|o| {
                o.documents
                    .iter()
                    .map(|d| d.text.as_str())
                    .collect::<Vec<_>>()
                    .join("\n")
            })
            .unwrap_or_default()
    }
}

fn verb_of(act: &Act) -> &'static str {
    match act {
        Act::Goto(_) => "goto",
        Act::Click(_) => "click",
        Act::Fill { .. } => "fill",
        Act::Form(_) => "form",
        Act::Select { .. } => "select",
        Act::Check { on: true, .. } => "check",
        Act::Check { .. } => "uncheck",
        Act::Press { .. } => "press",
        Act::Hover(_) => "hover",
        Act::Scroll { .. } => "scroll",
        Act::Drag { .. } => "drag",
        Act::Upload { .. } => "upload",
        Act::Submit(_) => "submit",
        Act::Login(_) => "login",
        Act::Wait(_) => "wait",
        Act::WaitForUser(_) => "wait_for_user",
        Act::Expect(_) => "expect",
        Act::Extract(_) => "extract",
        Act::Use { .. } => "use",
        Act::Plan(_) => "plan",
        Act::Sentence(_) => "do",
    }
}
