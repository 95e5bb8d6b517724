//! Runs of the suite's scenarios for thin clients (R28). A call starts one; whoever of its owner asks
//! is told every event from the first on; and it goes on whether anybody listens or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::event::{Event, What};
use crate::plan::{self, Confirmed, Plan, Planned, Shard, Wishes};
use crate::report::{Files, Options, exit};
use crate::run::{self, Listener, Mode, Outgoing, Stream};
use crate::scenario::{Selection, Suite};
use crate::secrets::{Scanner, Scrubber, Sources};
use crate::store::{Journal, RunFolder};
use crate::system::{Signal, Stop, Stopper};
use crate::text::{Level, Problem, render};

use super::act::Approval;
use super::audit::Entry;
use super::consent::{Bound, Risk};
use super::refusal::Refusal;
use super::service::{Means, Service, random};
use super::session::Answer;

/// Finished runs of one owner that are still told of; older ones are forgotten, with their folders.
const KEPT: usize = 16;
/// Each is a browser's context.
const JOBS: u32 = 8;
/// Stands for `$(run.id)` while a person is asked: what is approved must be the same in the next call.
pub(super) const ASKED: &str = "run-id";

/// `POST /runs`: which scenarios of the service's suite, and how. As the flags of `rehearsal run`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunWish {
    pub scenarios: Vec<String>,
    pub tags: Vec<String>,
    pub shard: Option<String>,
    pub vars: BTreeMap<String, String>,
    /// Ids whose writes the caller wants to happen; the approver says whether they may.
    pub confirm: Vec<String>,
    pub confirm_writes: bool,
    pub locked: bool,
    pub offline: bool,
    pub fresh: bool,
    pub jobs: Option<u32>,
    pub retries: Option<u32>,
    pub repeat: Option<u32>,
    pub min_rate: Option<f64>,
    pub fail_on_flaky: bool,
    pub approval: Option<Approval>,
}

/// One run, as long as it is remembered.
pub struct Run {
    owner: String,
    started: String,
    selected: Vec<String>,
    /// Its journal, reports and pictures.
    folder: PathBuf,
    stopper: Stopper,
    told: watch::Sender<Told>,
    _whole: tempfile::TempDir,
}

/// What was said so far: events as lines of the journal, and the exit code once it is over.
#[derive(Default)]
struct Told {
    lines: Vec<Bytes>,
    exit: Option<i32>,
}

impl Run {
    fn exit(&self) -> Option<i32> {
        self.told.borrow().exit
    }

    fn over(&self, exit: i32) {
        self.told.send_modify(|told| {
            told.exit.get_or_insert(exit);
        });
    }

    fn shown(&self, id: &str) -> Value {
        let exit = self.exit();
        json!({
            "run": id,
            "state": if exit.is_some() { "finished" } else { "running" },
            "exit": exit,
            "started": self.started,
            "selected": self.selected,
            "folder": self.folder,
        })
    }
}

/// Every event, for those who follow.
struct Telling(Arc<Run>);

impl Listener for Telling {
    fn event(&mut self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else {
            return;
        };
        line.push(b'\n');
        self.0.told.send_modify(|told| {
            told.lines.push(line.into());
            if let What::RunFinished { exit, .. } = event.what {
                told.exit = Some(exit);
            }
        });
    }
}

/// By id; in memory, as everything else a service knows.
#[derive(Default)]
pub struct Runs(Mutex<BTreeMap<String, Arc<Run>>>);

impl Runs {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: String, run: Arc<Run>) {
        let mut runs = self.lock();
        let mut finished: Vec<(String, String)> = runs
            .iter()
            .filter(|(_, r)| r.owner == run.owner && r.exit().is_some())
            .map(|(id, r)| (r.started.clone(), id.clone()))
            .collect();
        finished.sort();
        let surplus = (finished.len() + 1).saturating_sub(KEPT);
        for (_, old) in finished.into_iter().take(surplus) {
            runs.remove(&old);
        }
        runs.insert(id, run);
    }

    /// Absent and another owner's are told alike (R29).
    fn of(&self, owner: &str, id: &str) -> Result<Arc<Run>, Refusal> {
        match self.lock().get(id) {
            Some(run) if run.owner == owner => Ok(run.clone()),
            _ => Err(Refusal::NotFound),
        }
    }

    pub(super) fn stop_all(&self, owner: &str) {
        for run in self.lock().values().filter(|r| r.owner == owner) {
            stop(run);
        }
    }
}

/// Asks once; what still runs ends within its grace.
fn stop(run: &Run) {
    if run.exit().is_none() && !run.stopper.watch().is_asked() {
        run.stopper.raise(Signal::Internal);
    }
}

impl Service {
    /// Starts a run and answers at once. Writes the caller confirmed wait for the approver's yes;
    /// those nobody confirmed are refused in the run, as on the command line.
    pub async fn start_run(&self, owner: &str, wish: RunWish) -> Answer {
        let approval = wish.approval.clone();
        let started = self.begin_run(owner, wish).await;
        self.common.audit.write(Entry {
            what: "run started",
            result: started.as_ref().map_or_else(Refusal::reason, |_| "ok"),
            owner: Some(owner),
            approval: approval.as_ref().map(|a| a.id.as_str()),
            says: started
                .as_ref()
                .ok()
                .map(|run| format!("{}: {}", run["run"], run["selected"])),
            ..Entry::default()
        });
        started
    }

    async fn begin_run(&self, owner: &str, wish: RunWish) -> Answer {
        if wish.jobs.is_some_and(|n| n == 0 || n > JOBS) {
            return Err(Refusal::Malformed(format!("`jobs` goes from 1 to {JOBS}")));
        }
        let suite = Suite::load(&self.means.suite_root);
        let asked = planned(&suite, &wish, ASKED, false)?;
        let sources = self.at_hand(&asked).await?;
        // Before a person is bothered: a run there is no room for can't use the yes.
        let permit = self.room()?;
        let needing: Vec<&Planned> = asked
            .scenarios
            .iter()
            .filter(|p| p.gate == Confirmed::Unconfirmed)
            .filter(|p| wish.confirm_writes || wish.confirm.iter().any(|id| id == p.id()))
            .collect();
        if !needing.is_empty() {
            let (summary, bound) = question(owner, &needing);
            self.confirmed(wish.approval.as_ref(), Risk::Scenario, summary, bound)?;
        }
        let run_id = crate::store::new_run_id();
        let plan = planned(&suite, &wish, &run_id, true)?;
        let id = random("r")?;
        let environment = |e: &dyn std::fmt::Display| Refusal::Environment(e.to_string());
        let whole = tempfile::Builder::new()
            .prefix("rehearsal-run-")
            .tempdir()
            .map_err(|e| environment(&e))?;
        let folder = RunFolder::create(whole.path(), &run_id).map_err(|e| environment(&e))?;
        let journal = Journal::<Event>::create(&folder.path().join("events.jsonl"))
            .map_err(|e| environment(&e))?;
        let run = Arc::new(Run {
            owner: owner.to_owned(),
            started: crate::system::clock::now_rfc3339(),
            selected: plan.scenarios.iter().map(|p| p.id().to_owned()).collect(),
            folder: folder.path().to_owned(),
            stopper: Stopper::new(),
            told: watch::Sender::new(Told::default()),
            _whole: whole,
        });
        let shown = run.shown(&id);
        self.runs.add(id.clone(), run.clone());
        let stream = Stream::new(
            journal,
            vec![Box::new(Telling(run.clone()))],
            &self.means.scrubber,
        );
        let work = Work {
            means: self.means.clone(),
            wish,
            run: run.clone(),
            folder: Arc::new(folder),
            sources,
        };
        let common = self.common.clone();
        tokio::spawn(async move {
            // A panic in a run is its own; whoever follows it is told that it is over.
            let _ = tokio::spawn(work.carry_out(plan, stream)).await;
            run.over(exit::ENVIRONMENT);
            let code = run.exit().unwrap_or(exit::ENVIRONMENT);
            common.audit.write(Entry {
                what: "run ended",
                result: if code == exit::PASSED { "ok" } else { "failed" },
                owner: Some(&run.owner),
                says: Some(format!("{id}: exit {code}")),
                ..Entry::default()
            });
            drop(common);
            drop(permit);
        });
        Ok(shown)
    }

    /// The owner's runs, oldest first.
    pub fn list_runs(&self, owner: &str) -> Value {
        let runs = self.runs.lock();
        let mut own: Vec<(&String, &Arc<Run>)> =
            runs.iter().filter(|(_, r)| r.owner == owner).collect();
        own.sort_by_key(|(_, run)| &run.started);
        let shown: Vec<Value> = own.into_iter().map(|(id, run)| run.shown(id)).collect();
        json!({ "runs": shown })
    }

    /// Stops a run that goes on; forgets one that is over, with its folder.
    pub fn end_run(&self, owner: &str, id: &str) -> Answer {
        let run = self.runs.of(owner, id)?;
        let state = match run.exit() {
            None => {
                stop(&run);
                "stopping"
            }
            Some(_) => {
                self.runs.lock().remove(id);
                "forgotten"
            }
        };
        self.common.audit.write(Entry {
            what: "run deleted",
            result: state,
            owner: Some(owner),
            says: Some(id.to_owned()),
            ..Entry::default()
        });
        Ok(json!({ "run": id, "state": state }))
    }

    /// The events of a run from the first on, as they come, until it is over. Each line is looked
    /// through once more before it leaves; one that holds a value ends the answer.
    pub fn follow(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<
        impl futures_util::Stream<Item = Result<Bytes, std::convert::Infallible>> + use<>,
        Refusal,
    > {
        let run = self.runs.of(owner, id)?;
        let following = Following {
            heard: run.told.subscribe(),
            _run: run,
            next: 0,
            scanner: self.scanner.clone(),
            ended: false,
        };
        Ok(futures_util::stream::unfold(following, |mut f| async {
            let lines = f.lines().await?;
            Some((Ok(lines), f))
        }))
    }

    /// The credentials a plan needs, found before anything starts and known before a word is said.
    async fn at_hand(&self, plan: &Plan) -> Result<Arc<Sources>, Refusal> {
        let mut sources = self.means.sources();
        let mut names: Vec<String> = Vec::new();
        for planned in &plan.scenarios {
            for (name, field) in planned.credential_fields() {
                sources.want(&name, &field);
            }
            names.extend(planned.credentials.iter().cloned());
            self.means.scrubber.keep(planned.id());
        }
        let scrubber = self.means.scrubber.clone();
        let looked = tokio::task::spawn_blocking(move || look_up(sources, &names, &scrubber));
        let looked = looked.await;
        looked.unwrap_or_else(|_| Err(Refusal::Environment("the vault could not be read".into())))
    }
}

/// Opens the vault where it must: blocks.
fn look_up(
    sources: Sources,
    names: &[String],
    scrubber: &Scrubber,
) -> Result<Arc<Sources>, Refusal> {
    let bad = sources.check(names.iter().map(String::as_str));
    if !bad.is_empty() {
        let grave = bad.iter().any(|p| p.exit() == exit::ENVIRONMENT);
        let mut told: Vec<String> = bad.iter().map(ToString::to_string).collect();
        told.sort();
        told.dedup();
        let told = told.join("\n");
        return Err(match grave {
            true => Refusal::Environment(told),
            false => Refusal::Malformed(told),
        });
    }
    for name in names {
        if let Some(credential) = sources.at_hand(name) {
            credential.register(scrubber);
        }
    }
    Ok(Arc::new(sources))
}

/// What the approver is asked about scenarios that would change something.
pub(super) fn question(owner: &str, planned: &[&Planned]) -> (Vec<String>, Bound) {
    let mut summary = Vec::new();
    if let [first, _, ..] = planned {
        summary.push(format!(
            "Run {} scenarios, {} the first.",
            planned.len(),
            first.id()
        ));
    }
    let mut action = <sha2::Sha256 as sha2::Digest>::new();
    for one in planned {
        summary.push(format!("Run the scenario {}.", one.id()));
        for change in &one.changes {
            summary.push(format!("It changes: {}", crate::text::visible(change)));
        }
        for host in &one.hosts {
            let host = crate::text::visible(&host.to_string());
            summary.push(format!("It reaches {host}"));
        }
        sha2::Digest::update(&mut action, one.id().as_bytes());
        sha2::Digest::update(&mut action, [0]);
        sha2::Digest::update(&mut action, one.digest.as_bytes());
    }
    let bound = Bound {
        owner: owner.to_owned(),
        session: String::new(),
        action: sha2::Digest::finalize(action).into(),
        document: None,
        target: [0; 32],
        allow_version: 0,
    };
    (summary, bound)
}

fn planned(suite: &Suite, wish: &RunWish, run_id: &str, confirm: bool) -> Result<Plan, Refusal> {
    let wrong = |problems: Vec<Problem>| {
        let told: Vec<String> = problems
            .iter()
            .filter(|p| p.level == Level::Error)
            .map(|p| render::problem(p, render::Style::Plain))
            .collect();
        Refusal::Malformed(told.join("\n\n"))
    };
    let mut problems = suite.problems.clone();
    let (chosen, unknown) = suite.select(&Selection {
        names: wish.scenarios.clone(),
        tags: wish.tags.clone(),
    });
    problems.extend(unknown);
    let chosen = match wish.shard.as_deref().map(str::parse::<Shard>) {
        Some(Ok(shard)) => shard.take(chosen),
        Some(Err(message)) => return Err(Refusal::Malformed(message)),
        None => chosen,
    };
    if problems.iter().any(|p| p.level == Level::Error) {
        return Err(wrong(problems));
    }
    let wishes = Wishes {
        run_id: run_id.to_owned(),
        vars: wish.vars.clone(),
        confirm_all: confirm && wish.confirm_writes,
        confirm: match confirm {
            true => wish.confirm.clone(),
            false => Vec::new(),
        },
    };
    let plan = plan::build(suite, &chosen, &wishes).map_err(wrong)?;
    match plan.scenarios.is_empty() {
        true => Err(Refusal::malformed("no scenario is selected")),
        false => Ok(plan),
    }
}

/// A run with everything it needs.
struct Work {
    means: Arc<Means>,
    wish: RunWish,
    run: Arc<Run>,
    folder: Arc<RunFolder>,
    sources: Arc<Sources>,
}

impl Work {
    async fn carry_out(self, plan: Plan, stream: Stream) {
        let Self {
            means,
            wish,
            run,
            folder,
            sources,
        } = self;
        let scrubber = means.scrubber.clone();
        let outgoing = Outgoing::new(folder.path(), &scrubber);
        let run_id = folder.run_id().to_owned();
        let mut context = means.context(run_id, folder.path(), scrubber, sources);
        let stop = run.stopper.watch();
        context.mode = Mode {
            locked: wish.locked,
            offline: wish.offline,
            fresh: wish.fresh,
        };
        context.stop = stop.clone();
        context.jobs = wish.jobs.unwrap_or(means.jobs).clamp(1, JOBS) as usize;
        context.retries = wish.retries.unwrap_or(means.retries);
        context.repeat = wish.repeat.unwrap_or(1);
        context.min_rate = wish.min_rate;
        context.notes = plan.warnings.iter().map(|p| p.message.clone()).collect();
        if wish.offline {
            context.model = None;
        }
        tokio::select! {
            _ = run::run(plan, context, stream.clone(), folder.clone()) => {}
            () = run::grace_is_over(&stop) => {}
            () = pass_on(&means.stop, &run.stopper) => {}
        }
        let options = Options {
            run_folder: folder.path().display().to_string(),
            suite_folder: String::new(),
        };
        let files = Files {
            folder: folder.path(),
            options: &options,
            junit: None,
            html: None,
        };
        let (_, faults) = files.conclude(&stream, &outgoing, wish.fail_on_flaky, stop.signal());
        for fault in faults {
            tracing::error!(%fault, "a run's report was not written");
        }
        stream.close();
    }
}

/// The service's own stop is that of its runs. Never ends.
async fn pass_on(from: &Stop, to: &Stopper) {
    from.asked().await;
    to.raise(from.signal().unwrap_or(Signal::Internal));
    from.now().await;
    to.raise(from.signal().unwrap_or(Signal::Internal));
    std::future::pending().await
}

/// Somebody who is told a run's events.
struct Following {
    heard: watch::Receiver<Told>,
    /// Its folder and its sender stay as long as somebody listens.
    _run: Arc<Run>,
    next: usize,
    scanner: Scanner,
    ended: bool,
}

impl Following {
    /// The lines that came since, at least one; `None` when the run is over and all of it was told.
    async fn lines(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        loop {
            let (fresh, over) = {
                let told = self.heard.borrow_and_update();
                let fresh = told.lines[self.next..].to_vec();
                (fresh, told.exit.is_some())
            };
            if !fresh.is_empty() {
                self.next += fresh.len();
                return Some(self.looked_through(&fresh));
            }
            if over || self.heard.changed().await.is_err() {
                return None;
            }
        }
    }

    fn looked_through(&mut self, lines: &[Bytes]) -> Bytes {
        let mut clean = Vec::new();
        for line in lines {
            if !self.scanner.scan_bytes("events.jsonl", line).is_empty() {
                tracing::error!("an event held a registered secret and was not sent");
                clean.extend_from_slice(super::reply::LEAK.as_bytes());
                clean.push(b'\n');
                self.ended = true;
                break;
            }
            clean.extend_from_slice(line);
        }
        clean.into()
    }
}
