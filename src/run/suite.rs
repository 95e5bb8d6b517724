//! The whole run: workers, browsers, fixtures' life, repeats and retries, interrupt.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;

use crate::broker::{Broker, Limits, Setup};
use crate::driver::Browser;
use crate::event::{
    Failure, RunStarted, ScenarioFinished, ScenarioStarted, Selected, Status, What,
};
use crate::network::{DenyAll, Mode as NetMode, Proxy, ProxyConfig};
use crate::plan::{Confirmed, Plan, Planned};
use crate::policy::{AllowSet, Gate, Scheme, Suggestion};
use crate::scenario::{Fixture, FixtureKind, FixtureScope, NetworkMode};
use crate::secrets::{Credential, Kind, Scrubber};
use crate::store::RunFolder;

use super::attempt::{AttemptRun, Ended};
use super::closing;
use super::emit::{Attempt, Stream};
use super::keeping::Keeping;
use super::rates::Tally;
use super::servers::Running;
use super::settings::RunContext;

/// How a run ended, beside what its events say.
#[derive(Debug, Default)]
pub struct RunEnd {
    /// Lines for `--suggest`.
    pub suggestions: Vec<Suggestion>,
}

/// One scenario to be run once more.
#[derive(Clone, Copy)]
struct Job {
    index: usize,
    attempt: u32,
}

pub(super) struct Shared {
    plan: Plan,
    pub(super) context: RunContext,
    stream: Stream,
    folder: Arc<RunFolder>,
    queue: Mutex<VecDeque<Job>>,
    /// Servers with scope `run`, started once.
    common: tokio::sync::Mutex<BTreeMap<String, Arc<Running>>>,
    suggestions: Mutex<Vec<Suggestion>>,
    /// By place in the plan.
    tallies: Vec<Mutex<Tally>>,
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
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
fn say_not_finished(say: &Attempt, status: Status, failure: Failure) {
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

/// One browser and its fixtures, used for one scenario after another.
pub(super) struct Worker {
    shared: Arc<Shared>,
    browser: Option<Browser>,
    deny: Option<DenyAll>,
    servers: BTreeMap<String, Arc<Running>>,
    keeping: Keeping,
    /// The attempt that is being made: after a panic it still gets its end.
    doing: Option<Attempt>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            browser: None,
            deny: None,
            servers: BTreeMap::new(),
            keeping: Keeping::default(),
            doing: None,
        }
    }

    async fn work(mut self) {
        while let Some(job) = self.next() {
            // A defect of ours costs one scenario, never the others and never the report (case 115).
            if AssertUnwindSafe(self.one(job))
                .catch_unwind()
                .await
                .is_err()
            {
                self.after_panic().await;
            }
        }
        self.tear_down().await;
    }

    fn next(&self) -> Option<Job> {
        if self.shared.context.stop.is_asked() {
            // What stays in the queue is reported as not begun.
            return None;
        }
        lock(&self.shared.queue).pop_front()
    }

    /// Nothing is known about the browser's state any more, so the next scenario gets another.
    async fn after_panic(&mut self) {
        if let Some(say) = self.doing.take() {
            let failure = Failure {
                reason: "internal_error".into(),
                message:
                    "the runner itself failed in this scenario; that is a defect of `rehearsal`"
                        .into(),
                help: Some(
                    "please report it, with the place that was named on standard error".into(),
                ),
                ..Failure::default()
            };
            say_not_finished(&say, Status::Environment, failure);
        }
        self.close_browser().await;
    }

    async fn one(&mut self, job: Job) {
        let shared = self.shared.clone();
        let mut attempt = job.attempt;
        let mut relaunched = false;
        let mut tries = 0;
        let (passed, say) = loop {
            let (ended, say) = self.attempt(job.index, attempt).await;
            let Some(ended) = ended else {
                break (false, say);
            };
            lock(&shared.suggestions).extend(ended.suggestions.iter().cloned());
            if ended.as_expected || shared.context.stop.is_asked() || ended.wrote {
                break (ended.as_expected, say);
            }
            if ended.lost && !relaunched {
                // The browser's death is not the scenario's: once more, in a fresh one.
                relaunched = true;
                self.close_browser().await;
            } else if worth_a_retry(ended.status)
                && tries < shared.context.retries
                && shared.context.repeat <= 1
            {
                tries += 1;
            } else {
                break (false, say);
            }
            attempt = lock(&shared.tallies[job.index]).next_number();
        };
        if shared.context.repeat > 1 {
            let rated = lock(&shared.tallies[job.index]).ended(passed, shared.context.min_rate);
            if let Some(rated) = rated {
                say.say(What::Rated(rated));
            }
        }
    }

    /// One attempt with everything that belongs to it; `None`: it could not even begin.
    async fn attempt(&mut self, index: usize, attempt: u32) -> (Option<Ended>, Attempt) {
        let shared = self.shared.clone();
        let planned = &shared.plan.scenarios[index];
        let say = shared.stream.attempt(planned.id(), attempt);
        self.doing = Some(say.clone());
        let mut broken = false;
        let ended = match self.prepare_unless_stopped(planned, attempt, &say).await {
            Ok((broker, folder)) => {
                let scrubber = broker.scrubber();
                let planned = planned.hiding(|text| scrubber.clean(text).into());
                let run = AttemptRun::new(
                    &planned,
                    &shared.context,
                    broker,
                    say.clone(),
                    folder,
                    self.keeping.clone(),
                );
                Some(run.run().await)
            }
            Err((status, failure)) => {
                broken = failure.reason == "browser";
                say_not_run(&say, planned, status, failure);
                None
            }
        };
        if broken || self.browser.as_ref().is_some_and(Browser::is_doubtful) {
            // It let a command go unanswered: it must not spoil the next scenario (F6, F11).
            self.close_browser().await;
        }
        let passed = ended.as_ref().is_some_and(|e| e.as_expected);
        let offers = passed && {
            let mut tally = lock(&shared.tallies[index]);
            !std::mem::replace(&mut tally.offered, true)
        };
        closing::after(
            &shared.context,
            &shared.stream,
            planned,
            &say,
            attempt,
            &shared.folder,
            ended.as_ref(),
            offers,
        )
        .await;
        self.doing = None;
        (ended, say)
    }

    /// A browser or a fixture that takes long to come up doesn't hold an interrupt up.
    async fn prepare_unless_stopped(
        &mut self,
        planned: &Planned,
        attempt: u32,
        say: &Attempt,
    ) -> Result<(Broker, PathBuf), (Status, Failure)> {
        let stop = self.shared.context.stop.clone();
        tokio::select! {
            biased;
            prepared = self.prepare(planned, attempt, say) => prepared,
            _ = stop.asked() => {
                let fault = super::attempt::interrupted();
                Err((fault.status, *fault.failure))
            }
        }
    }

    /// Browser, fixtures, secrets, proxy and broker of one attempt.
    pub(super) async fn prepare(
        &mut self,
        planned: &Planned,
        attempt: u32,
        say: &Attempt,
    ) -> Result<(Broker, PathBuf), (Status, Failure)> {
        let shared = self.shared.clone();
        let environment = |reason: &str, message: String| {
            (
                Status::Environment,
                Failure {
                    reason: reason.to_owned(),
                    message,
                    ..Failure::default()
                },
            )
        };
        let folder = attempt_folder(&shared.folder, planned.id(), attempt)
            .map_err(|e| environment("output", e))?;
        let servers = self
            .servers_for(planned)
            .await
            .map_err(|e| environment("fixture", e))?;
        let scheme = url::Url::parse(&planned.scenario.start.value)
            .ok()
            .and_then(|u| Scheme::of(u.scheme()))
            .unwrap_or(Scheme::Http);
        let mut rules = Vec::new();
        for server in &servers {
            rules.extend(
                server
                    .hosts(scheme)
                    .map_err(|e| environment("fixture", e.to_string()))?,
            );
        }
        // A fixture's mapping of a host wins over its bare entry.
        let bare: Vec<_> = planned
            .hosts
            .iter()
            .filter(|h| !rules.iter().any(|r| r.same_place(h)))
            .cloned()
            .collect();
        rules.extend(bare);
        let (scrubber, credentials) = self
            .secrets_of(planned)
            .await
            .map_err(|e| environment("credential", e))?;
        for warning in scrubber.warnings() {
            say.note(warning);
        }
        let gate = Arc::new(Mutex::new(Gate::new(
            planned.writes.clone(),
            planned.safe_requests.clone(),
        )));
        let allow = AllowSet::new(rules);
        let mut proxy = {
            let context = &shared.context;
            let watched = never_in_addresses(&credentials, context.model_key.as_ref());
            let mut config = ProxyConfig::new(
                allow.clone(),
                gate.clone(),
                context.authority.clone(),
                context.trust.clone(),
            );
            config.mode = match planned.scenario.network.unwrap_or(context.network) {
                NetworkMode::Inspect => NetMode::Inspect,
                NetworkMode::Tunnel => NetMode::Tunnel,
            };
            config.upstream.clone_from(&context.upstream);
            config.bind = context.bind;
            config.secret_in_url = Arc::new(move |text: &str| watched.contains(text));
            Proxy::start(config)
                .await
                .map_err(|e| environment("proxy", e.to_string()))?
        };
        let network = proxy
            .events()
            .ok_or_else(|| environment("proxy", "its events were taken already".into()))?;
        let downloads = planned
            .every_step()
            .any(|s| s.step.download.is_some())
            .then(|| folder.join("downloads"));
        if let Some(downloads) = &downloads {
            std::fs::create_dir_all(downloads)
                .map_err(|e| environment("output", format!("{}: {e}", downloads.display())))?;
        }
        let setup = Setup {
            proxy,
            network,
            gate,
            allow,
            scrubber: scrubber.clone(),
            run_scrubber: shared.context.scrubber.clone(),
            masks: target_masks(planned, &shared.context),
            credentials,
            viewport: planned
                .scenario
                .viewport
                .map_or(shared.context.viewport, |v| (v.width, v.height)),
            locale: planned
                .scenario
                .locale
                .clone()
                .or_else(|| shared.context.locale.clone()),
            time_zone: planned
                .scenario
                .time_zone
                .clone()
                .or_else(|| shared.context.time_zone.clone()),
            downloads: downloads.map(|d| std::path::absolute(&d).unwrap_or(d)),
            limits: Limits::default(),
        };
        let browser = self
            .browser()
            .await
            .map_err(|e| environment("browser", e))?;
        let broker = Broker::open(browser, setup)
            .await
            .map_err(|e| environment("browser", e.to_string()))?;
        Ok((broker, folder))
    }

    /// The worker's browser, started when first needed or after it was lost.
    async fn browser(&mut self) -> Result<&Browser, String> {
        if self.browser.as_ref().is_some_and(Browser::is_lost) {
            self.close_browser().await;
        }
        if self.browser.is_none() {
            let context = &self.shared.context;
            let mut launch = context.launch.clone();
            if context.webdriver.is_none() {
                let deny = DenyAll::start(context.bind)
                    .await
                    .map_err(|e| e.to_string())?;
                launch.proxy = Some(deny.address().to_string());
                self.deny = Some(deny);
            }
            let browser = match &context.webdriver {
                Some(address) => Browser::attach(address, &launch).await,
                None => Browser::launch(&launch).await,
            };
            let browser = browser.map_err(|e| e.to_string())?;
            // Also of a driver that is not ours: its browser reaches the proxies, and so the decoy.
            if let Err(refused) = super::selfcheck::verify(&browser, context).await {
                // What closing a refused browser says changes nothing.
                let _ = browser.close().await;
                return Err(refused);
            }
            self.browser = Some(browser);
        }
        self.browser
            .as_ref()
            .ok_or_else(|| "the browser did not start".into())
    }

    async fn close_browser(&mut self) {
        if let Some(browser) = self.browser.take()
            && let Err(error) = browser.close().await
        {
            self.shared.stream.run(What::TearDown {
                what: "browser".into(),
                ok: false,
                detail: Some(error.to_string()),
            });
        }
        if let Some(deny) = self.deny.take() {
            deny.shutdown().await;
        }
    }

    /// Starts what is missing and resets what is shared.
    async fn servers_for(&mut self, planned: &Planned) -> Result<Vec<Arc<Running>>, String> {
        let mut servers = Vec::new();
        for name in &planned.servers {
            let Some(fixture) = self.shared.plan.servers.get(name).cloned() else {
                continue;
            };
            let server = match fixture.scope {
                FixtureScope::Run => {
                    let mut common = self.shared.common.lock().await;
                    match common.get(name) {
                        Some(server) => server.clone(),
                        None => {
                            let server = Arc::new(start(&fixture, &self.shared.context).await?);
                            common.insert(name.clone(), server.clone());
                            server
                        }
                    }
                }
                FixtureScope::Worker | FixtureScope::Scenario => {
                    if fixture.scope == FixtureScope::Scenario
                        && let Some(old) = self.servers.remove(name)
                        && let Ok(old) = Arc::try_unwrap(old)
                    {
                        old.stop().await?;
                    }
                    match self.servers.get(name) {
                        Some(server) => server.clone(),
                        None => {
                            let server = Arc::new(start(&fixture, &self.shared.context).await?);
                            self.servers.insert(name.clone(), server.clone());
                            server
                        }
                    }
                }
            };
            // A server of the whole run may be in use by others: only a serial scenario resets it.
            if fixture.scope != FixtureScope::Run || planned.scenario.serial {
                server.reset().await.map_err(|e| e.to_string())?;
            }
            servers.push(server);
        }
        Ok(servers)
    }

    /// Loads the scenario's credentials; their values go to its scrubber before anything else.
    async fn secrets_of(
        &self,
        planned: &Planned,
    ) -> Result<(Scrubber, BTreeMap<String, Credential>), String> {
        let scrubber = Scrubber::new();
        for mask in planned
            .scenario
            .mask
            .iter()
            .chain(&self.shared.context.masks)
        {
            if let crate::scenario::MaskWhat::Text(pattern) = &mask.what {
                scrubber.mask(mask_pattern(pattern), &mask.name);
            }
        }
        if let Some(model) = self.shared.context.model_key.as_ref() {
            scrubber.register_key("model", model);
        }
        let mut credentials = BTreeMap::new();
        for name in &planned.credentials {
            let (sources, wanted) = (self.shared.context.sources.clone(), name.clone());
            let loaded = tokio::task::spawn_blocking(move || sources.load(&wanted))
                .await
                .map_err(|_| format!("credential {name}: loading it failed"))?;
            let credential = loaded.map_err(|e| format!("credential {name}: {e}"))?;
            credential.register(&scrubber);
            credential.register(&self.shared.context.scrubber);
            credentials.insert(name.clone(), credential);
        }
        Ok((scrubber, credentials))
    }

    pub(super) async fn tear_down(mut self) {
        self.close_browser().await;
        for (_, server) in std::mem::take(&mut self.servers) {
            if let Ok(server) = Arc::try_unwrap(server)
                && let Err(error) = server.stop().await
            {
                self.shared.stream.run(What::TearDown {
                    what: "fixture".into(),
                    ok: false,
                    detail: Some(error),
                });
            }
        }
    }
}

/// What another try may mend: everything that exits with 1. Refusals, outages and interrupts not.
fn worth_a_retry(status: Status) -> bool {
    matches!(
        status,
        Status::Failed
            | Status::Stuck
            | Status::OutOfBudget
            | Status::NotCompleted
            | Status::Disagreed
    )
}

async fn start(fixture: &Fixture, context: &RunContext) -> Result<Running, String> {
    debug_assert!(matches!(fixture.kind, FixtureKind::Server(_)));
    Running::start(fixture, &context.suite_root)
        .await
        .map_err(|e| e.to_string())
}

/// Passwords, codes and keys. User names are no secret to their own site and stand in its addresses.
fn never_in_addresses(
    credentials: &BTreeMap<String, Credential>,
    model_key: Option<&crate::secrets::Secret>,
) -> Scrubber {
    let scrubber = Scrubber::new();
    if let Some(key) = model_key {
        scrubber.register_key("model", key);
    }
    for (name, credential) in credentials {
        for (field, value) in credential
            .fields
            .iter()
            .filter(|(field, _)| *field != "username")
        {
            scrubber.register(name, field, value, Kind::Password);
        }
    }
    scrubber
}

/// `mask:` entries that name controls, with their words.
fn target_masks(planned: &Planned, context: &RunContext) -> Vec<(crate::scenario::Target, String)> {
    let all = planned.scenario.mask.iter().chain(&context.masks);
    all.filter_map(|mask| match &mask.what {
        crate::scenario::MaskWhat::Target(target) => Some((target.clone(), mask.name.clone())),
        crate::scenario::MaskWhat::Text(_) => None,
    })
    .collect()
}

fn mask_pattern(pattern: &crate::scenario::Pattern) -> crate::secrets::Pattern {
    match pattern {
        crate::scenario::Pattern::Literal(text) => crate::secrets::Pattern::Literal(text.clone()),
        crate::scenario::Pattern::Regex(text) => match regex::Regex::new(text) {
            Ok(regex) => crate::secrets::Pattern::Matching(regex),
            // Patterns were checked when the file was read; a broken one masks its own text.
            Err(_) => crate::secrets::Pattern::Literal(text.clone()),
        },
    }
}

/// `<run>/<scenario>` for the first attempt, `<run>/<scenario>/attempt-2` for later ones.
pub(super) fn attempt_folder(run: &RunFolder, id: &str, attempt: u32) -> Result<PathBuf, String> {
    let mut folder = run.scenario_dir(id).map_err(|e| e.to_string())?;
    if attempt > 1 {
        folder.push(format!("attempt-{attempt}"));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok(folder)
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
