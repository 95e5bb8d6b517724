//! Pages held open between calls: the broker service's way into the same steps a run takes.
//!
//! One browser for all, one user context and one proxy for each ([`crate::broker::Broker`]). A call is
//! reduced to what it means on the page ([`Held::meant`]) and carried out ([`Held::carry_out`]) apart
//! from that, so that consent can stand between the two.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::broker::{Broker, Found, Mark, Primitive};
use crate::event::{Failure, Status, StepFinished, StepStarted, What};
use crate::page::{NodeId, Observation};
use crate::plan::{Plan, Planned, PlannedStep};
use crate::scenario::{Act, By, Extract, Picture, ScrollTo, Step, Target, Verb, say_english};
use crate::store::RunFolder;

use super::act::says;
use super::attempt::AttemptRun;
use super::emit::{Attempt, Stream};
use super::failure::Fault;
use super::find::{Ready, Wanted};
use super::keeping::Keeping;
use super::settings::RunContext;
use super::suite::Shared;
use super::worker::Worker;

/// An approved request that a page sends later than this after the action is stopped again.
const SENT_WITHIN: Duration = Duration::from_secs(3);
/// For the answer to a write that was sent.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// What a page makes of that answer is seen within this, or it makes nothing of it.
const SHOWN_WITHIN: Duration = Duration::from_millis(1500);
/// An act that seems to have come to nothing is watched for so long.
const TOLD_WITHIN: Duration = Duration::from_millis(700);
/// A file that was consented to may take so long.
const DOWNLOADED_WITHIN: Duration = Duration::from_secs(30);

/// The browser that all held pages share.
pub struct House {
    shared: Arc<Shared>,
    worker: tokio::sync::Mutex<Worker>,
}

/// One page held open. Nothing of it outlives [`Held::close`].
pub struct Held<'a> {
    run: AttemptRun<'a>,
    folder: PathBuf,
    turn: u32,
}

/// What a call comes to on the page as it is now: one primitive on one element, or one step that has
/// no element.
#[derive(Debug, Clone)]
pub enum Meant {
    Node {
        id: NodeId,
        primitive: Primitive,
        role: String,
        name: String,
    },
    Step(Box<Step>),
}

impl Meant {
    /// In the broker's words; secrets by marker.
    pub fn says(&self) -> String {
        match self {
            Self::Node {
                primitive,
                role,
                name,
                ..
            } => says(primitive, role, name),
            Self::Step(step) => say_english(step),
        }
    }
}

/// What consent opened for one act, beside hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opened {
    /// Requests were declared ([`Broker::declare`]), so one is waited for.
    pub requests: bool,
    /// The name of a file as it was told; it is kept, no other one.
    pub download: Option<String>,
}

/// What was done, and what was seen to come of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Did {
    pub change: Option<String>,
    pub notes: Vec<String>,
    /// Files that were consented to and came; gone with the page.
    pub files: Vec<PathBuf>,
}

/// Why it was not done, or was stopped in the middle.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    pub status: Status,
    pub failure: Failure,
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self {
            status: fault.status,
            failure: *fault.failure,
        }
    }
}

impl House {
    pub fn new(context: RunContext, stream: Stream, folder: Arc<RunFolder>) -> Self {
        let plan = Plan {
            scenarios: Vec::new(),
            servers: Default::default(),
            warnings: Vec::new(),
        };
        let shared = Arc::new(Shared::alone(plan, context, stream, folder));
        Self {
            worker: tokio::sync::Mutex::new(Worker::new(shared.clone())),
            shared,
        }
    }

    pub fn context(&self) -> &RunContext {
        &self.shared.context
    }

    /// A context of its own in the shared browser, with the scenario's start page open.
    pub async fn hold<'a>(
        &'a self,
        planned: &'a Planned,
        say: Attempt,
    ) -> Result<Held<'a>, Stopped> {
        let prepared = self.worker.lock().await.prepare(planned, 1, &say).await;
        let (broker, folder) = prepared.map_err(|(status, failure)| Stopped { status, failure })?;
        let run = AttemptRun::new(
            planned,
            &self.shared.context,
            broker,
            say,
            folder.clone(),
            Keeping::default(),
        );
        let mut held = Held {
            run,
            folder,
            turn: 0,
        };
        let open = PlannedStep::start(planned, &planned.scenario.start.value);
        match held.step(open).await {
            Ok(_) => Ok(held),
            Err(stopped) => {
                held.close().await;
                Err(stopped)
            }
        }
    }

    pub async fn close(self) {
        self.worker.into_inner().tear_down().await;
    }
}

impl Held<'_> {
    pub fn broker(&mut self) -> &mut Broker {
        &mut self.run.broker
    }

    pub async fn look(&mut self) -> Result<Arc<Observation>, Stopped> {
        let looked = self.run.broker.look().await;
        looked.map_err(|error| Fault::from(error).into())
    }

    /// Finds the element a step is about, by the rules first, then by the model where there is one;
    /// nothing is done to it yet.
    pub async fn meant(&mut self, step: Step) -> Result<Meant, Stopped> {
        let Some((target, verb, primitive)) = reduced(&step)? else {
            return Ok(Meant::Step(Box::new(step)));
        };
        self.look().await?;
        let sentence = match &step.act {
            Act::Sentence(phrase) => Some(phrase.text.clone()),
            _ => None,
        };
        let planned = self.planned(step);
        let wanted = Wanted {
            target: &target,
            verb,
            scope: &planned.step.scope,
            sentence: sentence.as_deref(),
        };
        match self.run.ready(&planned, wanted, &primitive).await? {
            Some(Ready { pick, .. }) => Ok(Meant::Node {
                id: pick.id,
                primitive,
                role: pick.role,
                name: pick.name,
            }),
            None => Err(Fault::failed("not_found", "the optional target is not there").into()),
        }
    }

    /// Does it once, waits for what it set off, and says what came of it.
    pub async fn carry_out(&mut self, meant: &Meant, opened: &Opened) -> Result<Did, Stopped> {
        let folder = match &opened.download {
            Some(_) => Some(self.open_folder().await?),
            None => None,
        };
        let mut result = match meant {
            Meant::Node {
                id,
                primitive,
                role,
                name,
            } => self.on_node(*id, primitive, role, name, opened).await,
            Meant::Step(step) => {
                let mut step = (**step).clone();
                step.picture = Some(Picture::Drop);
                step.download = opened.download.as_deref().map(called);
                let planned = self.planned(step);
                self.step(planned).await
            }
        };
        if let Some(folder) = folder {
            let denied = self.run.broker.deny_downloads().await;
            if result.is_ok()
                && let Err(error) = denied
            {
                result = Err(Fault::from(error).into());
            }
            match &mut result {
                Ok(did) => did.files = files_in(&folder),
                Err(_) => drop(std::fs::remove_dir_all(&folder)),
            }
        }
        self.run.broker.go_on();
        result
    }

    /// A folder of its own for the files of one act.
    async fn open_folder(&mut self) -> Result<PathBuf, Stopped> {
        let folder = self.folder.join("downloads").join(self.turn.to_string());
        let made = std::fs::create_dir_all(&folder).and_then(|()| std::path::absolute(&folder));
        let folder = made.map_err(|e| {
            Fault::new(
                Status::Environment,
                "output",
                format!("no folder for the file: {e}"),
            )
        })?;
        let allowed = self.run.broker.allow_downloads(&folder).await;
        allowed.map_err(Fault::from)?;
        Ok(folder)
    }

    /// Tells what came to light only after the action was over.
    pub fn tell_late(&mut self) {
        let step = self.planned(nothing());
        // The action's own answer is given already.
        let _ = self.run.judge_happenings(&step);
        self.run.broker.go_on();
    }

    pub async fn extract(&mut self, extract: &Extract) -> Result<Vec<Found>, Stopped> {
        let model = self.run.context.model.clone();
        let found = self.run.broker.extract(extract, model.as_deref()).await;
        found.map_err(|error| Fault::from(error).into())
    }

    pub async fn close(self) {
        self.run.note_sockets();
        // A browser that is gone has closed it already.
        let _ = self.run.broker.close().await;
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn planned(&mut self, step: Step) -> PlannedStep {
        self.turn += 1;
        let mut planned = PlannedStep::planned(self.run.planned, &self.turn.to_string());
        planned.step = step;
        planned
    }

    async fn step(&mut self, step: PlannedStep) -> Result<Did, Stopped> {
        let mark = self.run.broker.effect_mark();
        self.run.step(&step).await?;
        let after = self.look().await?;
        Ok(Did {
            change: self.run.broker.effect_in(&mark, &after),
            notes: Vec::new(),
            files: Vec::new(),
        })
    }

    async fn on_node(
        &mut self,
        id: NodeId,
        primitive: &Primitive,
        role: &str,
        name: &str,
        opened: &Opened,
    ) -> Result<Did, Stopped> {
        let mut step = self.planned(nothing());
        step.step.download = opened.download.as_deref().map(called);
        self.run.broker.forget_answers();
        let sent = self.run.writes_sent;
        self.begin(&step, primitive, role, name);
        self.run.broker.begin_step(&step.step);
        let before = self.run.broker.effect_mark();
        let acted = self.run.on_node(id, role, name, primitive).await;
        let mut settled = self.run.settle(&step).await;
        if settled.is_ok() && acted.is_ok() && opened.requests {
            settled = self.sent(&step, &before, sent).await;
        }
        if settled.is_ok() && self.run.writes_sent > sent {
            settled = self.answered(&step, &before).await;
        }
        if settled.is_ok() && acted.is_ok() && opened.download.is_some() {
            settled = self.downloaded(&step).await;
        }
        self.run.broker.end_step();
        // What the act set off is judged even when the act failed: a refusal is graver.
        let result = settled.and(acted);
        self.end(&step, result.as_ref().err());
        let effect = result?;
        let came = opened.download.is_some() && self.run.broker.download_came();
        let must_show = !came
            && matches!(
                primitive,
                Primitive::Click | Primitive::Submit | Primitive::Press { .. }
            );
        let mut change = self.change(&step, &before, must_show).await?;
        if came {
            change.get_or_insert_with(|| "a file came".into());
        }
        let mut notes = effect.notes;
        if change.is_none() && must_show {
            // What was sent may have changed something that no page shows.
            if self.run.writes_sent == sent {
                let fault = Fault::failed("no_effect", "nothing on the page changed by it");
                return Err(fault.into());
            }
            notes.push("its request was answered; nothing was seen to change on the page".into());
        }
        Ok(Did {
            change,
            notes,
            files: Vec::new(),
        })
    }

    /// What changed; what must show something is given a moment, since the browser tells of a file
    /// only after the page has come to rest.
    async fn change(
        &mut self,
        step: &PlannedStep,
        before: &Mark,
        must_show: bool,
    ) -> Result<Option<String>, Fault> {
        let until = Instant::now() + TOLD_WITHIN;
        loop {
            let change = self.run.broker.effect_since(before).await?;
            if change.is_some() || !must_show || Instant::now() >= until {
                return Ok(change);
            }
            sleep(Duration::from_millis(50)).await;
            self.run.judge_happenings(step)?;
        }
    }

    /// Waits for the file that was consented to, or for another one in its place.
    async fn downloaded(&mut self, step: &PlannedStep) -> Result<(), Fault> {
        let until = Instant::now() + DOWNLOADED_WITHIN;
        let came =
            |broker: &Broker| broker.download_came() || !broker.downloads_refused().is_empty();
        while !came(&self.run.broker) {
            self.run.judge_happenings(step)?;
            if Instant::now() >= until || self.run.must_stop() {
                return Err(Fault::failed("download", "the file did not come"));
            }
            sleep(Duration::from_millis(50)).await;
        }
        self.run.judge_happenings(step)
    }

    /// Waits for a request that was approved: a page may send it a moment after the click.
    async fn sent(&mut self, step: &PlannedStep, before: &Mark, sent: u32) -> Result<(), Fault> {
        let until = Instant::now() + SENT_WITHIN;
        while self.run.writes_sent == sent && Instant::now() < until {
            if self.run.broker.effect_since(before).await?.is_some() {
                break;
            }
            sleep(Duration::from_millis(100)).await;
            self.run.judge_happenings(step)?;
        }
        Ok(())
    }

    /// Waits for the answer to what was sent, and for what the page makes of it.
    async fn answered(&mut self, step: &PlannedStep, before: &Mark) -> Result<(), Fault> {
        if !self.run.broker.writes_answered(ANSWERED_WITHIN).await {
            return Err(Fault::failed("unanswered", "it was not answered"));
        }
        let until = Instant::now() + SHOWN_WITHIN;
        loop {
            self.run.settle(step).await?;
            let shown = self.run.broker.effect_since(before).await?.is_some();
            if shown || Instant::now() >= until {
                return Ok(());
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn begin(&self, step: &PlannedStep, primitive: &Primitive, role: &str, name: &str) {
        self.run.say.say(What::StepStarted(StepStarted {
            step: step.place.clone(),
            says: says(primitive, role, name),
            written: String::new(),
            verb: primitive.word().to_owned(),
            line: None,
            note: None,
            picture: None,
            write: None,
            by: "caller".into(),
        }));
    }

    fn end(&self, step: &PlannedStep, fault: Option<&Fault>) {
        self.run.say.say(What::StepFinished(StepFinished {
            step: step.place.clone(),
            status: fault.map_or(Status::Passed, |f| f.status),
            failure: fault.map(|f| (*f.failure).clone()),
            notes: Vec::new(),
            ms: 0,
        }));
    }
}

/// A file's name as it was told, as a pattern: a value that stands in it as a placeholder is not
/// written out here.
fn called(name: &str) -> String {
    let mut pattern = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('‹') {
        let Some((_, behind)) = after.split_once('›') else {
            break;
        };
        pattern.push_str(&crate::text::glob::escape(before));
        pattern.push('*');
        rest = behind;
    }
    pattern.push_str(&crate::text::glob::escape(rest));
    pattern
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = listed.map(|e| e.path()).filter(|p| p.is_file()).collect();
    files.sort();
    files
}

/// A step for the events of what has no step of its own.
fn nothing() -> Step {
    Step::unwritten(Act::Wait(crate::scenario::WaitFor::Seconds(Duration::ZERO)))
}

/// The one element and the one primitive of a step; `None` for steps that have no element.
fn reduced(step: &Step) -> Result<Option<(Target, Verb, Primitive)>, Fault> {
    let some = |target: &Target, verb, primitive| Ok(Some((target.clone(), verb, primitive)));
    match &step.act {
        Act::Click(target) => some(target, Verb::Click, Primitive::Click),
        Act::Fill { target, value } => some(target, Verb::Fill, super::act::fill(value)),
        Act::Select {
            option,
            target: Some(target),
        } => {
            let option = option.clone();
            some(target, Verb::Select, Primitive::Select { option })
        }
        Act::Check { target, on } => {
            let verb = if *on { Verb::Check } else { Verb::Uncheck };
            some(target, verb, Primitive::Check { on: *on })
        }
        Act::Press {
            keys,
            target: Some(target),
        } => {
            let keys = keys.clone();
            some(target, Verb::Press, Primitive::Press { keys })
        }
        Act::Hover(target) => some(target, Verb::Hover, Primitive::Hover),
        Act::Scroll {
            to: ScrollTo::Target(target),
            ..
        } => some(target, Verb::Scroll, Primitive::ScrollTo),
        Act::Submit(target) => some(target, Verb::Submit, Primitive::Submit),
        Act::Sentence(phrase) => {
            let primitive =
                super::act::for_verb(phrase).map_err(|why| Fault::failed("wrong_kind", why))?;
            let target = Target {
                by: By::Name {
                    role: phrase.role.clone(),
                    name: Some(phrase.target.clone()),
                    exact: false,
                },
                span: step.span,
            };
            Ok(Some((target, phrase.verb, primitive)))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::called;
    use crate::policy::Glob;

    #[test]
    fn a_file_s_name_is_a_pattern_for_itself_alone() {
        let fits = |told: &str, name: &str| Glob::new(&called(told)).matches(name);
        assert!(fits("Q1*(final)?.csv", "Q1*(final)?.csv"));
        assert!(!fits("Q1*(final)?.csv", "Q1 other (final)?.csv"));
        assert!(fits("of ‹shop-user.username›.csv", "of ada-tester.csv"));
        assert!(!fits("of ‹shop-user.username›.csv", "of ada-tester.exe"));
        assert!(!fits("‹", "x"));
    }
}
