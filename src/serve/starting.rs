//! How a run of the suite's scenarios begins: everything that can be wrong is told before anything
//! starts, and what it would change waits for the approver.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::plan::{self, Confirmed, Plan, Planned, Shard, Wishes};
use crate::report::{Files, Options, exit};
use crate::run::{self, Mode, Outgoing, Stream};
use crate::scenario::{Selection, Suite};
use crate::secrets::{Scrubber, Sources};
use crate::store::{Journal, RunFolder};
use crate::system::{Signal, Stop, Stopper};
use crate::text::{Level, Problem, render};

use super::act::Approval;
use super::audit::Entry;
use super::consent::{Bound, Risk};
use super::refusal::Refusal;
use super::runs::{Run, Telling};
use super::service::{Means, Service, random};
use super::session::Answer;

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
        let selected = plan.scenarios.iter().map(|p| p.id().to_owned()).collect();
        let run = Arc::new(Run::new(owner, selected, &folder, whole));
        let shown = run.shown(&id);
        self.runs.add(id.clone(), run.clone());
        let stream = Stream::new(
            journal,
            vec![Box::new(Telling::new(run.clone()))],
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
                owner: Some(run.owner()),
                says: Some(format!("{id}: exit {code}")),
                ..Entry::default()
            });
            drop(common);
            drop(permit);
        });
        Ok(shown)
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
        // What can't be loaded now is loaded, and complained about, at its turn.
        if let Ok(credential) = sources.load(name) {
            credential.register(scrubber);
        }
    }
    Ok(Arc::new(sources))
}

/// What the approver is asked about scenarios that would change something.
pub(super) fn question(owner: &str, planned: &[&Planned]) -> (Vec<String>, Bound) {
    let mut summary = Vec::new();
    if planned.len() > 1 {
        summary.push(format!("Run {} scenarios.", planned.len()));
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
        let stop = run.stopper().watch();
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
            () = pass_on(&means.stop, run.stopper()) => {}
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
