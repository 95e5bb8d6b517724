//! The whole run: its workers, repeats and retries, interrupt.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::{
    Failure, RunStarted, ScenarioFinished, ScenarioStarted, Selected, Status, What,
};
use crate::plan::{Confirmed, Plan, Planned};
use crate::policy::Suggestion;
use crate::scenario::NetworkMode;
use crate::store::RunFolder;

use super::attempt::AttemptRun;
use super::emit::{Attempt, Stream};
use super::keeping::Keeping;
use super::rates::Tally;
use super::servers::Running;
use super::settings::RunContext;
use super::worker::Worker;

/// How a run ended, beside what its events say.
#[derive(Debug, Default)]
pub struct RunEnd {
    /// Lines for `--suggest`.
    pub suggestions: Vec<Suggestion>,
}

/// One scenario to be run once more.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) index: usize,
    pub(super) attempt: u32,
}

pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) context: RunContext,
    pub(super) stream: Stream,
    pub(super) folder: Arc<RunFolder>,
    pub(super) queue: Mutex<VecDeque<Job>>,
    /// Servers with scope `run`, started once.
    pub(super) common: tokio::sync::Mutex<BTreeMap<String, Arc<Running>>>,
    pub(super) suggestions: Mutex<Vec<Suggestion>>,
    /// By place in the plan.
    pub(super) tallies: Vec<Mutex<Tally>>,
}

impl Shared {
    /// Without a queue: for whoever drives pages one by one.
    pub(super) fn alone(
        plan: Plan,
        context: RunContext,
        stream: Stream,
        folder: Arc<RunFolder>,
    ) -> Self {
        let tallies = tallies(&plan, 1);
        Self {
            plan,
            context,
            stream,
            folder,
            tallies,
            queue: Mutex::new(VecDeque::new()),
            common: tokio::sync::Mutex::new(BTreeMap::new()),
            suggestions: Mutex::new(Vec::new()),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What runs is ended within this after the first signal; then the reports are written without it.
const GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// Resolves when a run that was asked to stop has had its time.
pub async fn grace_is_over(stop: &crate::system::Stop) {
    stop.asked().await;
    tokio::time::sleep(GRACE).await;
}

/// Runs a plan to its end, whatever happens; every selected scenario gets a final event.
pub async fn run(
    plan: Plan,
    context: RunContext,
    stream: Stream,
    folder: Arc<RunFolder>,
) -> RunEnd {
    stream.run(What::RunStarted(header(&plan, &context)));
    for text in &context.notes {
        stream.run(What::Note { text: text.clone() });
    }
    let mut parallel = VecDeque::new();
    let mut serial = VecDeque::new();
    for (index, planned) in plan.scenarios.iter().enumerate() {
        if let Some((status, failure)) = refused(planned, &context) {
            say_not_run(&stream.attempt(planned.id(), 1), planned, status, failure);
            continue;
        }
        let queue = if planned.scenario.serial {
            &mut serial
        } else {
            &mut parallel
        };
        for attempt in 1..=context.repeat.max(1) {
            queue.push_back(Job { index, attempt });
        }
    }
    let tallies = tallies(&plan, context.repeat);
    let shared = Arc::new(Shared {
        plan,
        context,
        stream,
        folder,
        tallies,
        queue: Mutex::new(parallel),
        common: tokio::sync::Mutex::new(BTreeMap::new()),
        suggestions: Mutex::new(Vec::new()),
    });
    let waiting = lock(&shared.queue).len();
    run_workers(&shared, shared.context.jobs.clamp(1, waiting.max(1))).await;
    say_not_begun(&shared);
    *lock(&shared.queue) = serial;
    run_workers(&shared, 1).await;
    say_not_begun(&shared);
    let common = std::mem::take(&mut *shared.common.lock().await);
    for (_, server) in common {
        if let Ok(server) = Arc::try_unwrap(server)
            && let Err(error) = server.stop().await
        {
            shared.stream.run(What::TearDown {
                what: "fixture".into(),
                ok: false,
                detail: Some(error),
            });
        }
    }
    let mut suggestions = std::mem::take(&mut *lock(&shared.suggestions));
    suggestions.sort_by_key(ToString::to_string);
    suggestions.dedup();
    RunEnd { suggestions }
}

/// What is still in the queue when the workers are gone was not begun: the run was interrupted.
fn say_not_begun(shared: &Shared) {
    for job in std::mem::take(&mut *lock(&shared.queue)) {
        // Further rounds of a scenario that has a result already are no news.
        if job.attempt == 1 {
            let planned = &shared.plan.scenarios[job.index];
            let failure = Failure {
                reason: "not_started".into(),
                message: "the run was interrupted before this scenario began".into(),
                ..Failure::default()
            };
            let say = shared.stream.attempt(planned.id(), job.attempt);
            say_not_run(&say, planned, Status::NotFinished, failure);
        }
    }
}

fn tallies(plan: &Plan, repeat: u32) -> Vec<Mutex<Tally>> {
    plan.scenarios
        .iter()
        .map(|_| Mutex::new(Tally::new(repeat.max(1))))
        .collect()
}

fn header(plan: &Plan, context: &RunContext) -> RunStarted {
    RunStarted {
        format: crate::event::FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        run_id: context.run_id.clone(),
        browser: context.browser_words.clone(),
        driver: context.driver_words.clone(),
        network: match context.network {
            NetworkMode::Inspect => "inspect".into(),
            NetworkMode::Tunnel => "tunnel: methods not judged on HTTPS".into(),
        },
        model: context.model.as_ref().map(|m| m.shown()),
        mode: context.mode.words(),
        suite: context
            .suite_root
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_else(|| ".".into()),
        selected: plan
            .scenarios
            .iter()
            .map(|p| Selected {
                id: p.id().to_owned(),
                name: p.scenario.name.value.clone(),
                file: p.scenario.source.path.to_string_lossy().into_owned(),
                tags: p.scenario.tags.iter().map(|t| t.value.clone()).collect(),
            })
            .collect(),
        jobs: context.jobs as u32,
    }
}

/// What keeps a scenario from being run at all, known before any browser.
fn refused(planned: &Planned, context: &RunContext) -> Option<(Status, Failure)> {
    let failure = |reason: &str, message: String, help: String| Failure {
        reason: reason.into(),
        message,
        help: Some(help),
        ..Failure::default()
    };
    if planned.gate == Confirmed::Unconfirmed {
        let message = format!(
            "it would change something and nobody confirmed it: {}",
            planned.changes.join("; ")
        );
        let help = format!(
            "confirm it with `--confirm {}`, or all with `--confirm-writes`",
            planned.id()
        );
        return Some((Status::Refused, failure("unconfirmed_write", message, help)));
    }
    // `--fresh` looks at no lock: then every goal needs a model.
    let fresh = context.mode.fresh && !planned.goals.is_empty();
    if !planned.needs_model && !fresh {
        return None;
    }
    if context.mode.is_strict() {
        let help =
            "run once with a model and without `--locked`, and accept the lock that is proposed"
                .to_owned();
        return Some((
            Status::Pending,
            failure("no_lock", "it has a goal and no approved lock".into(), help),
        ));
    }
    if context.model.is_none() || context.mode.offline {
        let why = if context.mode.offline {
            "`--offline` asks none"
        } else {
            "no model is configured"
        };
        let help =
            "set OPENAI_BASE_URL and OPENAI_API_KEY or `[model]` in rehearsal.toml, or write steps"
                .to_owned();
        return Some((
            Status::Environment,
            failure(
                "no_model",
                format!("its goal needs a model, and {why}"),
                help,
            ),
        ));
    }
    None
}

/// A scenario that never opened a page still has a beginning and an end in the record.
pub(super) fn say_not_run(say: &Attempt, planned: &Planned, status: Status, failure: Failure) {
    let wish = planned.scenario.tutorial.as_ref();
    say.say(What::ScenarioStarted(ScenarioStarted {
        name: planned.scenario.name.value.clone(),
        goal: planned.scenario.goal.as_ref().map(|g| g.value.clone()),
        start: crate::page::shown_address(&planned.scenario.start.value),
        tutorial: wish.is_some(),
        tutorial_title: wish.and_then(|w| w.title.clone()),
        tutorial_pictures: wish.and_then(|w| w.pictures),
        digest: planned.digest.clone(),
    }));
    say_not_finished(say, status, failure);
}

/// The end of a scenario that came from outside its own steps.
pub(super) fn say_not_finished(say: &Attempt, status: Status, failure: Failure) {
    let help = failure.help.map(|h| format!("; {h}")).unwrap_or_default();
    say.say_durably(What::ScenarioFinished(ScenarioFinished {
        status,
        reason: failure.reason,
        message: format!("{}{help}", failure.message),
        failed_step: None,
        as_expected: false,
        signed_in_by: None,
        wrote: false,
        ms: 0,
        choosers: BTreeMap::new(),
        model_calls: 0,
        tokens: 0,
        ms_by_part: BTreeMap::new(),
    }));
}

async fn run_workers(shared: &Arc<Shared>, count: usize) {
    if lock(&shared.queue).is_empty() {
        return;
    }
    let workers: Vec<_> = (0..count)
        .map(|_| {
            let shared = shared.clone();
            tokio::spawn(async move { Worker::new(shared).work().await })
        })
        .collect();
    for worker in workers {
        // A panic in a scenario is caught where it happens; this one was in the worker's own tear-down.
        if worker.await.is_err() {
            shared.stream.run(What::TearDown {
                what: "worker".into(),
                ok: false,
                detail: Some("a worker's tear-down ended in an internal error".into()),
            });
        }
    }
}

/// Carries the plan's only scenario out up to a step (its first page when none is named) and gives
/// what the page holds then. The scenario's writes stay stopped unless it was confirmed.
pub async fn look(
    plan: Plan,
    context: RunContext,
    stream: Stream,
    folder: Arc<RunFolder>,
    after: Option<&str>,
) -> Result<crate::page::Observation, String> {
    let shared = Arc::new(Shared::alone(plan, context, stream, folder));
    let planned = shared.plan.scenarios.first().ok_or("nothing is selected")?;
    if let Some(after) = after
        && !planned.every_step().any(|s| s.place == after)
    {
        let places: Vec<&str> = planned.every_step().map(|s| s.place.as_str()).collect();
        return Err(format!(
            "there is no step {after}; there are {}",
            places.join(", ")
        ));
    }
    let say = shared.stream.attempt(planned.id(), 1);
    let mut worker = Worker::new(shared.clone());
    let result = match worker.prepare(planned, 1, &say).await {
        Ok((broker, folder)) => {
            AttemptRun::new(
                planned,
                &shared.context,
                broker,
                say,
                folder,
                Keeping::default(),
            )
            .look_after(after)
            .await
        }
        Err((_, failure)) => Err(failure.message),
    };
    worker.tear_down().await;
    result
}
