//! `rehearsal run`: plan, confirm, run, report.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::agent::{Model, ModelSettings, Tape};
use crate::event::{Event, What};
use crate::network::{Authority, Trust, UpstreamProxy};
use crate::plan::{self, Confirmed, Plan, Shard, Wishes};
use crate::report::{self, Console, Files, Options, Style};
use crate::run::{self, Human, Listener, Mode, Outgoing, RunContext, Stream};
use crate::scenario::{Selection, Suite};
#[cfg(feature = "leak-injector")]
use crate::secrets::inject::plant;
use crate::secrets::{Scrubber, Secret, Sources, Vault};
use crate::store::{self, Journal, RunFolder};
use crate::system::{Stopper, remove_stale_sessions};
use crate::text::{Level, Problem, render};

use super::args::{Format, RunArgs};
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub async fn run(args: RunArgs, say: Say, verbose: u8) -> i32 {
    if args.attach.is_some() {
        return say.fail(
            exit::USAGE,
            "--attach needs a broker: `rehearsal --broker URL run --attach RUN`",
        );
    }
    match prepare(&args, &say) {
        Err(code) => code,
        Ok(None) => exit::PASSED,
        Ok(Some(ready)) => carry_out(args, ready, say, verbose).await,
    }
}

/// What a run needs, all of it checked before anything starts.
pub(super) struct Ready {
    effective: Effective,
    plan: Plan,
    mode: Mode,
    model: Option<Model>,
    model_key: Option<Secret>,
    sources: Sources,
    launch: crate::driver::LaunchSettings,
    webdriver: Option<String>,
    trust: Trust,
    upstream: Option<UpstreamProxy>,
    run_id: String,
}

fn prepare(args: &RunArgs, say: &Say) -> Result<Option<Ready>, i32> {
    let usage = |problems: &[Problem]| {
        say.problems(problems);
        exit::USAGE
    };
    let effective = Effective::find(args.suite.as_deref()).map_err(|p| usage(&p))?;
    let suite = effective.suite();
    let (mut plan, run_id) = make_plan(args, &suite).map_err(|p| usage(&p))?;
    for planned in &mut plan.scenarios {
        effective.fill_budget(&mut planned.scenario.budget);
    }
    if plan.scenarios.is_empty() {
        return Err(say.fail(exit::USAGE, "no scenario is selected"));
    }
    let mode = Mode {
        locked: args.locked || (effective.ci && !args.fresh),
        offline: args.offline,
        fresh: args.fresh,
    };
    if args.dry {
        say.line(plan::dry(&plan).trim_end());
        return Ok(None);
    }
    let plan = confirm(plan, effective.ci, args.format);
    let (model, model_key) = model(args, &effective, mode).map_err(|p| usage(&[p]))?;
    let sources = sources(&effective, &plan);
    let bad = sources.check(runnable(&plan).flat_map(|p| p.credentials.iter().map(String::as_str)));
    if !bad.is_empty() {
        let code = bad.iter().map(|p| p.exit()).max().unwrap_or(exit::USAGE);
        let mut told: Vec<String> = bad.iter().map(ToString::to_string).collect();
        told.sort();
        told.dedup();
        say.problems(&told.into_iter().map(Problem::error).collect::<Vec<_>>());
        return Err(code);
    }
    let (launch, webdriver) = effective.launch(&args.browser).map_err(|p| usage(&[p]))?;
    let trust = effective.trust().map_err(|p| usage(&[p]))?;
    let upstream = effective.upstream().map_err(|p| usage(&[p]))?;
    Ok(Some(Ready {
        effective,
        plan,
        mode,
        model,
        model_key,
        sources,
        launch,
        webdriver,
        trust,
        upstream,
        run_id,
    }))
}

impl Ready {
    /// For a look at a page: no model, no confirmation, writes stay stopped.
    pub(super) fn for_look(
        effective: Effective,
        plan: Plan,
        browser: &super::args::BrowserArgs,
        say: &Say,
    ) -> Result<Self, i32> {
        let usage = |p: Problem| {
            say.problem(&p);
            exit::USAGE
        };
        let (launch, webdriver) = effective.launch(browser).map_err(usage)?;
        let trust = effective.trust().map_err(usage)?;
        let upstream = effective.upstream().map_err(usage)?;
        let sources = sources(&effective, &plan);
        let mode = Mode {
            fresh: true,
            offline: true,
            locked: false,
        };
        Ok(Self {
            effective,
            plan,
            mode,
            model: None,
            model_key: None,
            sources,
            launch,
            webdriver,
            trust,
            upstream,
            run_id: store::new_run_id(),
        })
    }
}

/// Opens the plan's only scenario, up to a step, and reads the page.
pub(super) async fn look(
    ready: Ready,
    after: Option<&str>,
) -> Result<crate::page::Observation, (i32, String)> {
    let environment = |message: String| (exit::ENVIRONMENT, message);
    let temp = tempfile::tempdir().map_err(|e| environment(e.to_string()))?;
    let folder = RunFolder::create(temp.path(), &ready.run_id)
        .map(Arc::new)
        .map_err(|e| environment(e.to_string()))?;
    let journal = Journal::<Event>::create(&folder.path().join("events.jsonl"))
        .map_err(|e| environment(e.to_string()))?;
    let scrubber = Scrubber::new();
    let stream = Stream::new(journal, Vec::new(), &scrubber);
    let authority = Arc::new(Authority::new().map_err(|e| environment(e.to_string()))?);
    let (browser_words, driver_words, _) = browser_words(&ready.launch, ready.webdriver.as_deref());
    let stopper = Stopper::new();
    stopper.listen().map_err(|e| environment(e.to_string()))?;
    let Ready {
        effective,
        plan,
        mode,
        sources,
        launch,
        webdriver,
        trust,
        upstream,
        run_id,
        ..
    } = ready;
    let context = RunContext {
        run_id,
        browser_words,
        driver_words,
        model_key: None,
        suite_root: effective.root.clone(),
        mode,
        human: Human::find(launch.headed, effective.ci),
        stop: stopper.watch(),
        model: None,
        sources: Arc::new(sources),
        outgoing: Outgoing::new(folder.path(), &scrubber),
        scrubber,
        launch,
        webdriver,
        authority,
        trust,
        upstream,
        bind: effective.bind(),
        viewport: effective.viewport(),
        locale: None,
        time_zone: None,
        masks: effective.masks(),
        volatile: Vec::new(),
        budget: Default::default(),
        network: effective.network(),
        jobs: 1,
        retries: 0,
        repeat: 1,
        min_rate: None,
        notes: Vec::new(),
    };
    run::look(plan, context, stream, folder, after)
        .await
        .map_err(|message| (exit::FAILED, message))
}

/// Scenarios that are not refused beforehand: only their credentials must be there.
fn runnable(plan: &Plan) -> impl Iterator<Item = &plan::Planned> {
    plan.scenarios
        .iter()
        .filter(|p| p.gate != Confirmed::Unconfirmed)
}

/// A warning as a note of the run, with its place.
fn note(warning: &Problem) -> String {
    match render::place(warning) {
        Some(place) => format!("{place}: {}", warning.message),
        None => warning.message.clone(),
    }
}

fn make_plan(args: &RunArgs, suite: &Suite) -> Result<(Plan, String), Vec<Problem>> {
    let mut problems: Vec<Problem> = suite
        .problems
        .iter()
        .filter(|p| p.level == Level::Error)
        .cloned()
        .collect();
    let (chosen, unknown) = suite.select(&Selection {
        names: args.scenarios.clone(),
        tags: args.tag.clone(),
    });
    problems.extend(unknown);
    let chosen = match args.shard.as_deref().map(str::parse::<Shard>) {
        Some(Ok(shard)) => shard.take(chosen),
        Some(Err(message)) => {
            problems.push(Problem::error(message));
            chosen
        }
        None => chosen,
    };
    let run_id = store::new_run_id();
    let vars = vars(&args.var).map_err(|p| vec![p])?;
    let wishes = Wishes {
        run_id: run_id.clone(),
        vars,
        confirm_all: args.confirm_writes,
        confirm: args.confirm.clone(),
    };
    match plan::build(suite, &chosen, &wishes) {
        Ok(mut plan) if problems.is_empty() => {
            // What is said of a scenario that is not run helps nobody here; `check` says it.
            let elsewhere = |p: &Problem| {
                let mut all = suite.scenarios.iter();
                let mine = |id: &str| chosen.iter().any(|one| one.id == id);
                p.place.as_ref().is_some_and(|(source, _)| {
                    all.any(|s| Arc::ptr_eq(&s.source, source) && !mine(&s.id))
                })
            };
            let warnings = suite.problems.iter();
            let warnings = warnings.filter(|p| p.level == Level::Warning && !elsewhere(p));
            plan.warnings.splice(0..0, warnings.cloned());
            Ok((plan, run_id))
        }
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// `--var name=value`
pub fn vars(given: &[String]) -> Result<BTreeMap<String, String>, Problem> {
    given
        .iter()
        .map(|one| match one.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Problem::error(format!(
                "--var {one}: write it as --var name=value"
            ))),
        })
        .collect()
}

/// Asks at a terminal for what nobody confirmed; never in CI, never without one.
fn confirm(mut plan: Plan, ci: bool, format: Format) -> Plan {
    let can_ask = !ci
        && format == Format::Text
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    if !can_ask {
        return plan;
    }
    for planned in plan
        .scenarios
        .iter_mut()
        .filter(|p| p.gate == Confirmed::Unconfirmed)
    {
        let mut err = std::io::stderr();
        let _ = writeln!(err, "\n{} would change:", planned.id());
        for change in &planned.changes {
            let _ = writeln!(err, "  - \"{}\"", crate::text::visible(change));
        }
        let hosts: Vec<String> = planned.hosts.iter().map(|h| h.host.clone()).collect();
        let _ = write!(err, "  at {}. Run it? [y/N] ", hosts.join(", "));
        let _ = err.flush();
        let mut line = String::new();
        let answered = std::io::stdin().lock().read_line(&mut line).is_ok();
        if answered && matches!(line.trim(), "y" | "Y" | "yes") {
            planned.gate = Confirmed::ByPerson;
        }
    }
    plan
}

fn model(
    args: &RunArgs,
    effective: &Effective,
    mode: Mode,
) -> Result<(Option<Model>, Option<Secret>), Problem> {
    let tape = match (&args.record_model, &args.replay_model) {
        (Some(dir), _) => Tape::Record(dir.clone()),
        (_, Some(dir)) => Tape::Replay(dir.clone()),
        _ => Tape::Off,
    };
    if mode.offline {
        return Ok((None, None));
    }
    if let Tape::Replay(dir) = &tape
        && !dir.is_dir()
    {
        let dir = dir.display();
        return Err(
            Problem::error(format!("--replay-model {dir}: there is no such folder"))
                .help("record one with --record-model"),
        );
    }
    let settings = model_settings(effective)?;
    let key = settings.as_ref().and_then(ModelSettings::key_for_scrubber);
    let model = Model::from_settings(settings, tape).map_err(|e| Problem::error(e.to_string()))?;
    Ok((model, key))
}

pub fn model_settings(effective: &Effective) -> Result<Option<ModelSettings>, Problem> {
    ModelSettings::read(&effective.file.model, |name| std::env::var(name).ok())
        .map_err(|e| Problem::error(e.to_string()))
}

/// Environment, vault, commands; told which fields are used, so that absence is found now.
fn sources(effective: &Effective, plan: &Plan) -> Sources {
    let vault =
        Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)).filter(Vault::exists);
    let mut sources = Sources::new(effective.file.credentials.clone()).vault(vault);
    for planned in &plan.scenarios {
        for (name, field) in planned.credential_fields() {
            sources.want(&name, &field);
        }
    }
    sources
}

/// The console's side of the event stream.
pub(super) struct ConsoleListener(pub(super) Arc<Mutex<Console<Box<dyn Write + Send>>>>);

impl Listener for ConsoleListener {
    fn event(&mut self, event: &Event) {
        #[cfg(feature = "leak-injector")]
        if matches!(event.what, What::RunStarted(_)) {
            let _ = std::io::stdout().write_all(&plant::bytes("standard output"));
            let _ = std::io::stderr().write_all(&plant::bytes("standard error"));
        }
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .event(event);
    }
}

/// `--format json`: the journal's lines on standard output.
pub(super) struct JsonLines;

impl Listener for JsonLines {
    fn event(&mut self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
}

async fn carry_out(args: RunArgs, ready: Ready, say: Say, verbose: u8) -> i32 {
    let Ready {
        effective,
        plan,
        mode,
        model,
        model_key,
        sources,
        launch,
        webdriver,
        trust,
        upstream,
        run_id,
    } = ready;
    for gone in remove_stale_sessions() {
        tracing::info!(?gone, "removed what a killed run left");
    }
    let out = effective.out(args.out.as_deref());
    let folder = match RunFolder::create(&out, &run_id) {
        Ok(folder) => Arc::new(folder),
        Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
    };
    let run_scrubber = Scrubber::new();
    if let Some(key) = &model_key {
        run_scrubber.register_key("model", key);
    }
    let sources = Arc::new(sources);
    register_all(&plan, &sources, &run_scrubber).await;
    for planned in &plan.scenarios {
        run_scrubber.keep(planned.id());
    }
    let journal_path = folder.path().join("events.jsonl");
    let journal = match Journal::<Event>::create(&journal_path) {
        Ok(journal) => journal,
        Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
    };
    let extra_files = Extra {
        junit: args.junit.clone(),
        html: args.html.clone(),
    };
    if let Err(message) = extra_files.check() {
        return say.fail(exit::ENVIRONMENT, &message);
    }
    let authority = match Authority::new() {
        Ok(authority) => Arc::new(authority),
        Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
    };
    let stopper = Stopper::new();
    if let Err(error) = stopper.listen() {
        return say.fail(
            exit::ENVIRONMENT,
            &format!("signals can't be heard: {error}"),
        );
    }
    let stop = stopper.watch();
    let shown_folder = shown_path(folder.path());
    let options = Options {
        run_folder: shown_folder.clone(),
        suite_folder: String::new(),
    };
    let text = args.format == Format::Text;
    let console = Arc::new(Mutex::new(
        Console::new(
            Style {
                colour: say.colour(),
                width: columns(),
                verbose: args.steps || verbose > 0,
                progress: text
                    && std::io::stderr().is_terminal()
                    && std::io::stdout().is_terminal(),
            },
            if text {
                Box::new(std::io::stdout()) as Box<dyn Write + Send>
            } else {
                Box::new(std::io::sink())
            },
        )
        .with_options(options.clone()),
    ));
    let mut listeners: Vec<Box<dyn Listener>> = vec![Box::new(ConsoleListener(console.clone()))];
    if !text {
        listeners.push(Box::new(JsonLines));
    }
    let run_folder = folder.path().to_owned();
    listeners.push(Box::new(JunitKeeper::new(
        std::iter::once(run_folder.join("junit.xml"))
            .chain(extra_files.junit.clone())
            .collect(),
        Outgoing::new(&run_folder, &run_scrubber),
    )));
    let stream = Stream::new(journal, listeners, &run_scrubber);
    let (browser_words, driver_words, notes) = browser_words(&launch, webdriver.as_deref());
    let outgoing = Outgoing::new(&run_folder, &run_scrubber);
    let said = stream.clone();
    let context = RunContext {
        run_id: run_id.clone(),
        browser_words,
        driver_words,
        model_key,
        suite_root: effective.root.clone(),
        mode,
        human: Human::find(launch.headed, effective.ci),
        stop: stop.clone(),
        model: model.map(Arc::new),
        sources,
        outgoing: Outgoing::new(folder.path(), &run_scrubber),
        scrubber: run_scrubber.clone(),
        launch,
        webdriver,
        authority,
        trust,
        upstream,
        bind: effective.bind(),
        viewport: effective.viewport(),
        locale: effective.file.browser.locale.clone(),
        time_zone: effective.file.browser.time_zone.clone(),
        masks: effective.masks(),
        volatile: effective.volatile(),
        budget: effective.file.budget.limits(),
        network: effective.network(),
        jobs: effective.jobs(args.jobs) as usize,
        retries: effective.retries(args.retries),
        repeat: args.repeat.unwrap_or(1),
        min_rate: args.min_rate,
        notes: notes
            .into_iter()
            .chain(plan.warnings.iter().map(note))
            .collect(),
    };
    let work = run::run(plan, context, stream, folder.clone());
    let end = tokio::select! {
        end = work => end,
        level = stop.now() => {
            // A second signal: what still runs dies with its guards when we leave. The JUnit file
            // of the last scenario's end is whole and names the others as not finished.
            tracing::warn!(?level, "stopped at once");
            return stop.signal().map_or(exit::INTERRUPTED, |signal| signal.exit_code());
        }
        () = run::grace_is_over(&stop) => {
            say.problem(&Problem::warning("the run did not end within its grace after the signal; what still runs is ended"));
            run::RunEnd::default()
        }
    };
    let stream = said;
    let reports = Files {
        folder: &run_folder,
        options: &options,
        junit: extra_files.junit.as_deref(),
        html: extra_files.html.as_deref(),
    };
    let (mut code, faults) =
        reports.conclude(&stream, &outgoing, args.fail_on_flaky, stop.signal());
    for fault in &faults {
        say.fail(code, &fault.to_string());
    }
    let events = stream.said();
    console
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .finish(&reports.outputs(&events));
    if args.suggest && !end.suggestions.is_empty() {
        say.line("\nto allow what was stopped, add what is meant:");
        let mut key = "";
        for suggestion in &end.suggestions {
            if suggestion.key() != key {
                key = suggestion.key();
                say.line(&format!("{key}:"));
            }
            say.line(&format!("  {suggestion}"));
        }
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some() && text {
        let notes = report::markdown::annotations(&events, &options);
        say.line(notes.trim_end());
    }
    if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        let summary = report::markdown::render(&events, &options);
        #[cfg(feature = "leak-injector")]
        let summary = plant::onto("job summary", summary);
        let hits = outgoing
            .scanner()
            .scan_bytes("the job summary", summary.as_bytes());
        if !hits.is_empty() {
            let held: Vec<&str> = hits.iter().map(|hit| hit.credential.as_str()).collect();
            let held = held.join(", ");
            let message = format!("the job summary is not written, it holds values of {held}");
            code = exit::gravest([code, say.fail(exit::LEAK, &message)]);
        } else if let Err(error) = append(Path::new(&file), &summary) {
            say.fail(
                exit::ENVIRONMENT,
                &format!("the job summary could not be written: {error}"),
            );
        }
    }
    match stream.close() {
        Some(ended) if ended.trouble.is_some() => {
            let trouble = ended.trouble.map(|t| t.to_string()).unwrap_or_default();
            let missing = ended.unwritten.len();
            say.fail(
                exit::ENVIRONMENT,
                &format!("the journal is not whole: {trouble} ({missing} lines missing)"),
            );
            exit::gravest([code, exit::ENVIRONMENT])
        }
        _ => code,
    }
}

/// Every value is known before the first word is said: names of scenarios are said long before their
/// turn. What can't be loaded now is loaded, and complained about, at its turn.
async fn register_all(plan: &Plan, sources: &Arc<Sources>, scrubber: &Scrubber) {
    let names: std::collections::BTreeSet<&String> =
        runnable(plan).flat_map(|p| &p.credentials).collect();
    let loading: Vec<_> = names
        .into_iter()
        .map(|name| {
            let (sources, name) = (sources.clone(), name.clone());
            tokio::task::spawn_blocking(move || sources.load(&name))
        })
        .collect();
    for loaded in loading {
        if let Ok(Ok(credential)) = loaded.await {
            credential.register(scrubber);
        }
    }
}

fn append(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).open(file)?;
    file.write_all(text.as_bytes())
}

/// Files the person named.
struct Extra {
    junit: Option<PathBuf>,
    html: Option<PathBuf>,
}

impl Extra {
    /// Outputs are found writable before anything runs.
    fn check(&self) -> Result<(), String> {
        for path in [&self.junit, &self.html].into_iter().flatten() {
            if path.is_dir() {
                return Err(format!(
                    "{}: this is a folder, a file is wanted",
                    path.display()
                ));
            }
            let folder = path
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(())
    }
}

/// Keeps the JUnit file true while the run goes on: every scenario is in it from the first second,
/// and it is replaced whole, so that a killed run leaves a valid file.
pub(super) struct JunitKeeper {
    paths: Vec<PathBuf>,
    outgoing: Outgoing,
    events: Vec<Event>,
}

impl JunitKeeper {
    pub(super) fn new(paths: Vec<PathBuf>, outgoing: Outgoing) -> Self {
        Self {
            paths,
            outgoing,
            events: Vec::new(),
        }
    }

    fn write(&self, bytes: &[u8]) {
        // A report that can't be kept now is written, and complained about, at the end.
        for path in &self.paths {
            let _ = self.outgoing.write(path, bytes);
        }
    }
}

impl Listener for JunitKeeper {
    fn event(&mut self, event: &Event) {
        // What the file needs of a scenario; page text is not kept in memory twice.
        let kept = matches!(
            event.what,
            What::RunStarted(_)
                | What::ScenarioStarted(_)
                | What::ScenarioFinished(_)
                | What::StepFinished(_)
                | What::Snapshot(_)
                | What::Leak { .. }
        );
        if kept {
            self.events.push(event.clone());
        }
        match &event.what {
            What::RunStarted(run) => self.write(&report::junit::seed(run)),
            What::ScenarioFinished(_) => self.write(&report::junit::render(&self.events)),
            _ => {}
        }
    }
}

fn browser_words(
    launch: &crate::driver::LaunchSettings,
    webdriver: Option<&str>,
) -> (String, String, Vec<String>) {
    if let Some(address) = webdriver {
        return (
            launch.kind.name().to_owned(),
            format!("WebDriver at {address}"),
            Vec::new(),
        );
    }
    match crate::driver::find::find(
        launch.kind,
        launch.driver.as_deref(),
        launch.browser.as_deref(),
    ) {
        Ok(found) => (
            launch.kind.name().to_owned(),
            found.driver.display().to_string(),
            found.notes(launch.sandbox),
        ),
        // Said with its remedy by the first scenario that needs the browser.
        Err(_) => (
            launch.kind.name().to_owned(),
            "not found".into(),
            Vec::new(),
        ),
    }
}

pub(super) fn columns() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|c| c.parse().ok())
        .unwrap_or(100)
}

/// Relative to the current folder where that is shorter to read.
fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .strip_prefix(&here)
        .map(Path::to_owned)
        .unwrap_or(absolute)
        .to_string_lossy()
        .into_owned()
}
