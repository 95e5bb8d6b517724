//! The service: who holds which session, and what each call comes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::agent::Model;
use crate::driver::LaunchSettings;
use crate::event::Event;
use crate::network::{Authority, Trust, UpstreamProxy};
use crate::plan::{self, Confirmed, Plan, Planned, Wishes};
use crate::run::{House, Human, Mode, Outgoing, RunContext, Stream};
use crate::scenario::{Budget, Lexicons, Mask, NetworkMode, Pattern, Selection, Suite};
use crate::secrets::{CredentialSettings, Scanner, Scrubber, Secret, Sources, Vault};
use crate::store::{Journal, RunFolder};
use crate::system::Stop;

use super::act::Approval;
use super::audit::{Audit, Entry};
use super::consent::{Approvals, Bound, Opens, Question, Risk};
use super::intake::{self, IntakeError, Words};
use super::opening;
use super::recipe::{Gate, Inlines, Recipe};
use super::refusal::Refusal;
use super::running;
use super::runs::Runs;
use super::session::{self, Answer, Ask, Command, Common, Own};
use super::starting;
use super::tokens::{Tokens, hex};

const SESSIONS_OF_ONE: usize = 6;
const SESSIONS: usize = 24;
/// Recipes and scenarios at a time; each starts a browser.
const RUNS: usize = 2;
/// Characters of a session's name.
const NAME: usize = 100;
/// A call is answered within this, or told that it took too long.
const CALL: Duration = Duration::from_secs(120);

/// What everything that runs here is made of. Holds no credential.
pub struct Means {
    pub suite_root: PathBuf,
    pub launch: LaunchSettings,
    pub webdriver: Option<String>,
    pub authority: Arc<Authority>,
    pub trust: Trust,
    pub upstream: Option<UpstreamProxy>,
    pub model: Option<Arc<Model>>,
    pub model_key: Option<Secret>,
    /// What sources are made of.
    pub credentials: BTreeMap<String, CredentialSettings>,
    pub vault: fn() -> Option<Vault>,
    pub viewport: (u32, u32),
    pub locale: Option<String>,
    pub time_zone: Option<String>,
    pub masks: Vec<Mask>,
    pub budget: Budget,
    pub network: NetworkMode,
    pub bind: std::net::IpAddr,
    pub volatile: Vec<Pattern>,
    /// Of runs that say none.
    pub jobs: u32,
    pub retries: u32,
    pub scrubber: Scrubber,
    pub stop: Stop,
}

/// What the operator chose.
#[derive(Debug, Clone)]
pub struct Options {
    /// Only the digest form of `confirm` counts.
    pub strict_confirm: bool,
    /// Origins whose pages may call, beside none.
    pub origins: Vec<String>,
    pub idle: Option<Duration>,
}

impl Means {
    /// Environment, vault and commands; a vault that a draft made just now is one of them.
    pub(super) fn sources(&self) -> Sources {
        Sources::new(self.credentials.clone()).vault((self.vault)())
    }

    /// The sources, and before them what came with a call.
    pub(super) fn sources_with(&self, inlines: Inlines) -> Sources {
        let given = move |name: &str| {
            let (own, part) = name.rsplit_once('_')?;
            let own = own.to_ascii_lowercase().replace('_', "-");
            let inline = inlines.get(&own)?;
            match part {
                "PASSWORD" => Some(inline.value.expose().into()),
                "ORIGIN" => Some(inline.origin.clone().into()),
                _ => None,
            }
        };
        let environment = move |name: &str| given(name).or_else(|| std::env::var_os(name));
        Sources::with_environment(self.credentials.clone(), environment).vault((self.vault)())
    }

    pub(super) fn scrubber_of_one_run(&self) -> Scrubber {
        let scrubber = Scrubber::new();
        if let Some(key) = &self.model_key {
            scrubber.register_key("model", key);
        }
        scrubber
    }

    pub fn context(
        &self,
        run_id: String,
        folder: &Path,
        scrubber: Scrubber,
        sources: Arc<Sources>,
    ) -> RunContext {
        RunContext {
            run_id,
            browser_words: self.launch.kind.name().to_owned(),
            driver_words: "service".into(),
            model_key: self.model_key.as_ref().map(Secret::duplicate),
            suite_root: self.suite_root.clone(),
            // Only what a run of the suite says otherwise touches the suite's snapshots.
            mode: Mode {
                fresh: true,
                ..Mode::default()
            },
            human: Human::Absent("a service has nobody at its browser"),
            stop: self.stop.clone(),
            model: self.model.clone(),
            sources,
            outgoing: Outgoing::new(folder, &scrubber),
            scrubber,
            launch: self.launch.clone(),
            webdriver: self.webdriver.clone(),
            authority: self.authority.clone(),
            trust: self.trust.clone(),
            upstream: self.upstream.clone(),
            bind: self.bind,
            viewport: self.viewport,
            locale: self.locale.clone(),
            time_zone: self.time_zone.clone(),
            masks: self.masks.clone(),
            volatile: self.volatile.clone(),
            budget: self.budget.clone(),
            network: self.network,
            jobs: 1,
            retries: 0,
            repeat: 1,
            min_rate: None,
            notes: Vec::new(),
        }
    }
}

struct Known {
    owner: String,
    name: String,
    calls: mpsc::Sender<Command>,
    revoke: watch::Sender<bool>,
    task: JoinHandle<()>,
}

pub struct Service {
    pub(super) common: Arc<Common>,
    pub(super) tokens: Tokens,
    pub(super) scanner: Scanner,
    pub(super) options: Options,
    pub(super) means: Arc<Means>,
    pub(super) runs: Runs,
    sessions: Mutex<BTreeMap<String, Known>>,
    running: Arc<Semaphore>,
    _folder: tempfile::TempDir,
}

/// What cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("no folder for the service: {0}")]
    Folder(#[from] std::io::Error),
    #[error("{0}")]
    Other(String),
}

impl Service {
    pub fn new(means: Means, options: Options, state: &Path) -> Result<Self, ServiceError> {
        let other = |e: &dyn std::fmt::Display| ServiceError::Other(e.to_string());
        let folder = tempfile::Builder::new()
            .prefix("rehearsal-serve-")
            .tempdir()?;
        let run_id = crate::store::new_run_id();
        let runs = RunFolder::create(folder.path(), &run_id).map_err(|e| other(&e))?;
        let runs = Arc::new(runs);
        let journal =
            Journal::<Event>::create(&runs.path().join("events.jsonl")).map_err(|e| other(&e))?;
        let stream = Stream::new(journal, Vec::new(), &means.scrubber);
        let context = means.context(
            run_id,
            runs.path(),
            means.scrubber.clone(),
            Arc::new(means.sources()),
        );
        let house = House::new(context, stream, runs);
        let audit = Audit::open(state, means.scrubber.clone()).map_err(|e| other(&e))?;
        let lexicons = Suite::load(&means.suite_root).lexicons;
        let (idle, hard) = Common::limits();
        Ok(Self {
            common: Arc::new(Common {
                house,
                approvals: Approvals::default(),
                audit,
                lexicons,
                idle: options.idle.unwrap_or(idle),
                hard,
            }),
            tokens: Tokens::at(state),
            scanner: Scanner::new(&means.scrubber),
            options,
            means: Arc::new(means),
            runs: Runs::default(),
            sessions: Mutex::new(BTreeMap::new()),
            running: Arc::new(Semaphore::new(RUNS)),
            _folder: folder,
        })
    }

    pub(super) fn lexicons(&self) -> &Lexicons {
        &self.common.lexicons
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Known>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, known| !known.calls.is_closed());
        sessions
    }

    // ---- sessions --------------------------------------------------------------------------

    pub async fn open(&self, owner: &str, body: Opening) -> Answer {
        let name = body.name.clone().unwrap_or_else(|| "session".into());
        if name.chars().count() > NAME {
            let why = format!("a session's name has at most {NAME} characters");
            return Err(Refusal::Malformed(why));
        }
        let id = random("s")?;
        let planned = opening::planned_session(
            &id,
            &name,
            &body.start,
            &body.hosts,
            &body.credentials,
            self.lexicons(),
        )?;
        let (calls, receiver) = mpsc::channel(session::WAITING);
        let (revoke, revoked) = watch::channel(false);
        let (opened, answer) = oneshot::channel();
        {
            let mut sessions = self.sessions();
            let own = sessions.values().filter(|k| k.owner == owner).count();
            if own >= SESSIONS_OF_ONE || sessions.len() >= SESSIONS {
                return Err(Refusal::Limit(format!(
                    "an owner has at most {SESSIONS_OF_ONE} sessions, all together {SESSIONS}; close one"
                )));
            }
            let own = Own {
                id: id.clone(),
                owner: owner.to_owned(),
                planned,
            };
            let task = tokio::spawn(session::live(
                self.common.clone(),
                own,
                receiver,
                revoked,
                opened,
            ));
            let known = Known {
                owner: owner.to_owned(),
                name: name.clone(),
                calls,
                revoke,
                task,
            };
            sessions.insert(id.clone(), known);
        }
        let answer = within(answer).await;
        let result = match &answer {
            Ok(_) => "ok",
            Err(refusal) => refusal.reason(),
        };
        self.common.audit.write(Entry {
            what: "session opened",
            result,
            owner: Some(owner),
            session: Some(&id),
            ..Entry::default()
        });
        if answer.is_err() {
            self.sessions().remove(&id);
        }
        answer
    }

    pub fn list(&self, owner: &str) -> Value {
        let sessions: Vec<Value> = self
            .sessions()
            .iter()
            .filter(|(_, k)| k.owner == owner)
            .map(|(id, k)| json!({ "session": id, "name": k.name }))
            .collect();
        json!({ "sessions": sessions })
    }

    /// Session and owner are checked together, and what is wrong is not told (R29).
    pub async fn call(&self, owner: &str, id: &str, ask: Ask) -> Answer {
        let calls = {
            let sessions = self.sessions();
            let known = sessions.get(id).filter(|k| k.owner == owner);
            known.ok_or(Refusal::NoSession)?.calls.clone()
        };
        let (reply, answer) = oneshot::channel();
        match calls.try_send(Command { ask, reply }) {
            Ok(()) => within(answer).await,
            Err(mpsc::error::TrySendError::Full(_)) => Err(Refusal::Limit(
                "this session has calls waiting in line already".into(),
            )),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Refusal::NoSession),
        }
    }

    /// Whether the owner holds that session, for routes that don't go through its task.
    pub(super) fn holds(&self, owner: &str, id: &str) -> Result<(), Refusal> {
        let sessions = self.sessions();
        match sessions.get(id) {
            Some(known) if known.owner == owner => Ok(()),
            _ => Err(Refusal::NoSession),
        }
    }

    pub async fn close(&self, owner: &str, id: &str) -> Answer {
        let known = {
            let mut sessions = self.sessions();
            match sessions.get(id) {
                Some(known) if known.owner == owner => sessions.remove(id),
                _ => None,
            }
        };
        let known = known.ok_or(Refusal::NoSession)?;
        end(known).await;
        Ok(json!({ "closed": id }))
    }

    /// Every session and every run of that owner, and no one else's (R31).
    pub async fn revoke_all(&self, owner: &str) -> Answer {
        self.runs.stop_all(owner);
        let gone: Vec<Known> = {
            let mut sessions = self.sessions();
            let ids: Vec<String> = sessions
                .iter()
                .filter(|(_, k)| k.owner == owner)
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| sessions.remove(id)).collect()
        };
        let count = gone.len();
        futures_util::future::join_all(gone.into_iter().map(end)).await;
        self.common.audit.write(Entry {
            what: "revoke all",
            result: "ok",
            owner: Some(owner),
            ..Entry::default()
        });
        Ok(json!({ "closed": count }))
    }

    /// Ends every session, waits for the runs, which were asked to stop, and ends the browser.
    pub async fn shut_down(self: Arc<Self>) {
        let gone = std::mem::take(&mut *self.sessions());
        futures_util::future::join_all(gone.into_values().map(end)).await;
        drop(self.running.acquire_many(RUNS as u32).await);
        let Ok(service) = Arc::try_unwrap(self) else {
            return;
        };
        if let Ok(common) = Arc::try_unwrap(service.common) {
            common.house.close().await;
        }
    }

    // ---- recipes and scenarios -------------------------------------------------------------

    /// The recipe's own answer, also when it is refused: its shape is a contract (R85).
    pub async fn run_recipe(&self, owner: &str, bytes: &[u8]) -> Answer {
        let recipe = Recipe::read(bytes).map_err(Refusal::Malformed)?;
        if !recipe.dry
            && let Gate::Refused(error) = recipe.gate(self.options.strict_confirm)
        {
            return Ok(recipe.refusal(&error));
        }
        let scenario = opening::scenario_of(recipe.document(), "recipe", self.lexicons())?;
        let plan = opening::plan_of(scenario, self.lexicons(), true)?;
        if recipe.dry {
            let steps: Vec<String> = plan
                .scenarios
                .iter()
                .flat_map(|p| p.every_step())
                .map(|s| crate::scenario::say_english(&s.step))
                .collect();
            return Ok(json!({
                "ok": true, "mode": "dry", "steps": [], "plan": steps,
                "writes": recipe.writes(), "digest": recipe.digest(),
            }));
        }
        let (digest, mode) = (recipe.digest().to_owned(), recipe.mode());
        let outcome = match self.room() {
            Ok(permit) => self.run_one(permit, plan, recipe.into_inlines()).await,
            Err(refusal) => Err(refusal),
        };
        let result = match &outcome {
            Ok(outcome) if outcome.ok => "ok",
            Ok(_) => "failed",
            Err(refusal) => refusal.reason(),
        };
        self.common.audit.write(Entry {
            what: "recipe",
            result,
            owner: Some(owner),
            says: Some(format!("digest {digest}")),
            ..Entry::default()
        });
        Ok(outcome?.body(mode))
    }

    pub fn scenarios(&self) -> Answer {
        let suite = Suite::load(&self.means.suite_root);
        let list: Vec<Value> = suite
            .scenarios
            .iter()
            .map(|s| json!({ "id": s.id, "name": s.name.value, "goal": s.goal.as_ref().map(|g| &g.value) }))
            .collect();
        Ok(json!({ "scenarios": list }))
    }

    /// One scenario of the suite. What it would change is confirmed by the approver, not by the caller.
    pub async fn run_scenario(&self, owner: &str, id: &str, approval: Option<&Approval>) -> Answer {
        let outcome = self.scenario_outcome(owner, id, approval).await;
        self.common.audit.write(Entry {
            what: "scenario",
            result: match &outcome {
                Ok(outcome) if outcome.ok => "ok",
                Ok(_) => "failed",
                Err(refusal) => refusal.reason(),
            },
            owner: Some(owner),
            approval: approval.map(|a| a.id.as_str()),
            says: Some(crate::text::cut(&crate::text::visible(id), NAME)),
            ..Entry::default()
        });
        Ok(outcome?.body("live"))
    }

    async fn scenario_outcome(
        &self,
        owner: &str,
        id: &str,
        approval: Option<&Approval>,
    ) -> Result<running::Outcome, Refusal> {
        let suite = Suite::load(&self.means.suite_root);
        let selection = Selection {
            names: vec![id.to_owned()],
            tags: Vec::new(),
        };
        let (chosen, unknown) = suite.select(&selection);
        let ([scenario], []) = (chosen.as_slice(), unknown.as_slice()) else {
            return Err(Refusal::NotFound);
        };
        let build = |run_id: String, confirm: Vec<String>| {
            let wishes = Wishes {
                run_id,
                confirm,
                ..Wishes::default()
            };
            plan::build(&suite, &[*scenario], &wishes).map_err(|problems| {
                let lines: Vec<String> = problems.into_iter().map(|p| p.message).collect();
                Refusal::Malformed(lines.join("\n"))
            })
        };
        let asked = build(starting::ASKED.into(), Vec::new())?;
        let needing: Vec<&Planned> = asked
            .scenarios
            .iter()
            .filter(|p| p.gate == Confirmed::Unconfirmed)
            .collect();
        let permit = self.room()?;
        let mut confirm = Vec::new();
        if !needing.is_empty() {
            let (summary, bound) = starting::question(owner, &needing);
            self.confirmed(approval, Risk::Scenario, summary, bound)?;
            confirm.push(scenario.id.clone());
        }
        let plan = build(crate::store::new_run_id(), confirm)?;
        self.run_one(permit, plan, Inlines::new()).await
    }

    // ---- drafts ----------------------------------------------------------------------------

    /// A scenario out of free text. A credential in it is kept after the approver's yes; without one
    /// nothing is kept and nothing is drafted.
    pub async fn draft(&self, owner: &str, wish: Drafting) -> Answer {
        let unread = |e: IntakeError| Refusal::Malformed(e.to_string());
        let languages = Words::built_in().map_err(unread)?;
        let taken = intake::take(&wish.text, &languages).map_err(unread)?;
        let scenario = taken
            .scenario()
            .ok_or_else(|| Refusal::malformed("the text names no site; add its address"))?;
        let Some(handed) = taken.credential else {
            return Ok(json!({ "scenario": scenario }));
        };
        let bound = Bound {
            owner: owner.to_owned(),
            session: String::new(),
            // In memory only: the same text is sent again with the approval.
            action: <sha2::Sha256 as sha2::Digest>::digest(wish.text.as_bytes()).into(),
            document: None,
            target: [0; 32],
            allow_version: 0,
        };
        let says = format!(
            "Keep a credential for {} in the vault as {}.",
            crate::text::visible(&handed.origin),
            handed.name
        );
        let summary = vec![says.clone(), "It came in a text to be drafted.".into()];
        self.confirmed(wish.approval.as_ref(), Risk::Credential, summary, bound)?;
        let name = handed.name.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let vault = Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from))
                .ok_or_else(|| "there is no place for a vault: set HOME".to_owned())?;
            handed.keep(&vault).map_err(|e| e.to_string())
        });
        let kept = kept
            .await
            .unwrap_or_else(|_| Err("the vault could not be written".into()));
        self.common.audit.write(Entry {
            what: "draft",
            result: if kept.is_ok() { "kept" } else { "failed" },
            owner: Some(owner),
            approval: wish.approval.as_ref().map(|a| a.id.as_str()),
            says: Some(says),
            ..Entry::default()
        });
        kept.map_err(Refusal::Environment)?;
        Ok(json!({ "scenario": scenario, "credential": name }))
    }

    /// Outside any session: uses the approval up, or asks for one.
    pub(super) fn confirmed(
        &self,
        approval: Option<&Approval>,
        risk: Risk,
        summary: Vec<String>,
        bound: Bound,
    ) -> Result<(), Refusal> {
        let Common {
            approvals, audit, ..
        } = &*self.common;
        let owner = bound.owner.clone();
        if let Some(given) = approval {
            let taken = approvals.take(&given.id, &given.token, &bound);
            audit.write(Entry {
                what: "consent used",
                result: if taken.is_ok() { "ok" } else { "refused" },
                owner: Some(&owner),
                approval: Some(&given.id),
                why: taken.as_ref().err().map(ToString::to_string),
                ..Entry::default()
            });
            return taken.map(drop).map_err(|_| Refusal::ConsentInvalid);
        }
        let says = summary.first().cloned();
        let asked = approvals.ask(Question {
            risk,
            summary,
            picture: None,
            bound,
            opens: Opens::default(),
            then: Default::default(),
        });
        let asked = asked.map_err(|e| Refusal::Limit(e.to_string()))?;
        audit.write(Entry {
            what: "consent asked",
            result: "pending",
            owner: Some(&owner),
            approval: Some(&asked.approval_id),
            says,
            ..Entry::default()
        });
        Err(Refusal::Consent(Box::new(asked)))
    }

    /// Room for one more run.
    pub(super) fn room(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let room = self.running.clone().try_acquire_owned();
        room.map_err(|_| Refusal::Limit(format!("{RUNS} runs are going on already; try again")))
    }

    /// A run goes to its end although the caller may have gone.
    async fn run_one(
        &self,
        permit: OwnedSemaphorePermit,
        plan: Plan,
        inlines: Inlines,
    ) -> Result<running::Outcome, Refusal> {
        let means = self.means.clone();
        let run = tokio::spawn(async move {
            let outcome = running::run_plan(&means, plan, inlines).await;
            drop(permit);
            outcome
        });
        run.await
            .unwrap_or_else(|_| Err(Refusal::Environment("the run ended badly".into())))
    }
}

/// `POST /draft`
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drafting {
    pub text: String,
    pub approval: Option<Approval>,
}

/// `POST /sessions`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub start: String,
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub credentials: Vec<String>,
    pub name: Option<String>,
}

async fn end(known: Known) {
    let _ = known.revoke.send(true);
    // A panic in a session's task is its own.
    let _ = known.task.await;
}

async fn within(answer: oneshot::Receiver<Answer>) -> Answer {
    match tokio::time::timeout(CALL, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(Refusal::NoSession),
        Err(_) => Err(Refusal::TimedOut),
    }
}

/// An id nobody guesses; its first letter tells what it is of.
pub(super) fn random(kind: &str) -> Result<String, Refusal> {
    let mut bytes = [0u8; 12];
    getrandom::fill(&mut bytes)
        .map_err(|_| Refusal::Environment("this system gives no random numbers".into()))?;
    Ok(format!("{kind}{}", hex(&bytes)))
}
