//! A worker: one browser and its fixtures, and what each scenario gets from them.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;

use crate::broker::{Broker, Limits, Setup};
use crate::driver::Browser;
use crate::event::{Failure, Status, What};
use crate::network::{DenyAll, Mode as NetMode, Proxy, ProxyConfig};
use crate::plan::Planned;
use crate::policy::{AllowSet, Gate, Scheme};
use crate::scenario::{Fixture, FixtureKind, FixtureScope, NetworkMode};
use crate::secrets::{Credential, Kind, Scrubber};
use crate::store::RunFolder;

use super::attempt::{AttemptRun, Ended};
use super::closing;
use super::emit::Attempt;
use super::keeping::Keeping;
use super::servers::Running;
use super::settings::RunContext;
use super::suite::{Job, Shared, lock, say_not_finished, say_not_run};

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

    pub(super) async fn work(mut self) {
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
                let fault = super::verdict::interrupted();
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
