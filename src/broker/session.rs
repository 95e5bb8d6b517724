//! Opening, reading, waiting, closing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::driver::{
    Browser, CallOptions, ContextSettings, Downloads, DriverError, Tab, UserContext, is_error_page,
};
use crate::network::{NetEvent, Proxy};
use crate::page::{self, NodeId, Observation};
use crate::policy::{AllowSet, Gate, WindowId};
use crate::scenario::{Act, DialogAnswer, Step, Target};
use crate::secrets::{Credential, Scrubber};

use super::types::{Answer, BrokerError, Limits};
use super::watch::{StepRules, Watch};

/// What a broker is made of.
pub struct Setup {
    pub proxy: Proxy,
    pub network: UnboundedReceiver<NetEvent>,
    pub gate: Arc<Mutex<Gate>>,
    pub allow: AllowSet,
    pub scrubber: Scrubber,
    /// Knows all of the run, for what is searched at its end: codes made on the way go here too.
    pub run_scrubber: Scrubber,
    /// Controls to cover, with the word that stands for them.
    pub masks: Vec<(Target, String)>,
    pub credentials: BTreeMap<String, Credential>,
    pub viewport: (u32, u32),
    pub locale: Option<String>,
    pub time_zone: Option<String>,
    /// Where consented downloads go; `None` denies all.
    pub downloads: Option<PathBuf>,
    pub limits: Limits,
}

/// One scenario's hold on a browser.
pub struct Broker {
    pub(super) context: UserContext,
    pub(super) tab: Tab,
    pub(super) watch: Watch,
    watching: tokio::task::JoinHandle<()>,
    pub(super) proxy: Proxy,
    pub(super) network: UnboundedReceiver<NetEvent>,
    pub(super) gate: Arc<Mutex<Gate>>,
    pub(super) allow: AllowSet,
    pub(super) scrubber: Scrubber,
    pub(super) run_scrubber: Scrubber,
    pub(super) masks: Vec<(Target, String)>,
    pub(super) credentials: BTreeMap<String, Credential>,
    /// Beginnings of their values, once a request was stopped.
    pub(super) beginnings: Option<Scrubber>,
    pub(super) limits: Limits,
    /// What the running step says it may take.
    step_time: Option<Duration>,
    pub(super) generation: u32,
    pub(super) last: Option<Arc<Observation>>,
    /// What reads look for beside the elements worth naming.
    sought: Vec<page::Sought>,
    /// Where scrubbed secrets stand in the latest read's documents, for masks.
    pub(super) marks: Vec<Vec<u32>>,
    /// Elements to cover in pictures, by document, with the reason.
    pub(super) covers: super::covers::Covers,
    window: Option<WindowId>,
    /// A filled secret is still in the document: structure may be read, nothing else.
    pub(super) held: bool,
    /// The latest request the proxy refused because its host is not listed.
    pub(super) denied: Option<String>,
    /// The request of an entered credential that may leave.
    pub(super) covered: Option<WindowId>,
    /// Requests that left and were no mere reads, so far.
    pub(super) departed: u64,
    /// What was filled by hand and is still held.
    pub(super) by_hand: Option<super::held::Held>,
    /// How far scrollable lists were searched for a missing name.
    pub(super) searched: super::places::Search,
    pub(super) volatile: std::collections::HashSet<String>,
    pub(super) must_stop: bool,
    /// Declared writes under way that have no answer yet.
    pub(super) unanswered: std::collections::BTreeSet<u64>,
    /// One of them will never have one.
    pub(super) answer_lost: bool,
    /// Where a document outside the list was last seen.
    pub(super) left: Option<String>,
    /// Something was done since the page last settled.
    pub(super) acted: bool,
    /// Context of the running step's latest click.
    pub(super) clicked: Option<String>,
    /// The picture that was taken while it settled.
    pub(super) early: super::settling::Early,
    pub(super) suggestions: Vec<crate::policy::Suggestion>,
    /// The latest address that could not be reached, and why: only the proxy knows.
    pub(super) unreached: Option<(String, String)>,
    times: BTreeMap<String, u64>,
}

/// The driver's side of `page`.
pub(super) struct DriverRealm<'a> {
    pub tab: &'a Tab,
    pub deadline: Duration,
    pub watch: &'a Watch,
}

impl page::Realm for DriverRealm<'_> {
    async fn call_function(
        &self,
        context: &str,
        sandbox: &str,
        declaration: &str,
        arguments: Vec<Value>,
        serialization: Option<Value>,
    ) -> Result<Value, page::CallFault> {
        let options = CallOptions {
            serialization,
            deadline: self.deadline,
            ..CallOptions::default()
        };
        self.tab
            .connection()
            .call_function(context, Some(sandbox), declaration, arguments, &options)
            .await
            .map_err(|error| match error {
                DriverError::NoSuchFrame { .. } | DriverError::NoSuchNode { .. } => {
                    page::CallFault::Gone(error.to_string())
                }
                // The page is not busy: it was being left, and what it is left for has not come.
                DriverError::Timeout { .. } if self.watch.asked_for().is_some() => {
                    page::CallFault::Gone(error.to_string())
                }
                DriverError::Timeout { .. } => page::CallFault::TimedOut(error.to_string()),
                other => page::CallFault::Refused(other.to_string()),
            })
    }

    async fn accessibility(&self, context: &str, shared_id: &str) -> Option<Value> {
        self.tab.accessibility(context, shared_id).await
    }
}

impl From<DriverError> for BrokerError {
    fn from(error: DriverError) -> Self {
        match &error {
            DriverError::Lost => Self::Lost(error.to_string()),
            DriverError::Timeout { command, after } => Self::Hung {
                command: (*command).to_owned(),
                seconds: after.as_secs(),
            },
            DriverError::NoSuchFrame { .. } | DriverError::NoSuchNode { .. } => Self::Stale,
            DriverError::PageInterferes { .. } => {
                Self::PageInterferes("a script of ours could not run as written".into())
            }
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<page::ReadError> for BrokerError {
    fn from(error: page::ReadError) -> Self {
        match &error {
            page::ReadError::Call(page::CallFault::Gone(_)) => Self::Stale,
            page::ReadError::Call(page::CallFault::TimedOut(_)) => Self::Hung {
                command: "reading the page".into(),
                seconds: 10,
            },
            page::ReadError::Call(page::CallFault::Refused(why)) if why.contains("lost") => {
                Self::Lost(why.clone())
            }
            _ => Self::PageInterferes(error.to_string()),
        }
    }
}

impl Broker {
    pub async fn open(browser: &Browser, setup: Setup) -> Result<Self, BrokerError> {
        let began = Instant::now();
        let mut context = browser
            .new_context(ContextSettings {
                proxy: setup.proxy.address().to_string(),
                insecure_certs: true,
                viewport: setup.viewport,
                locale: setup.locale,
                time_zone: setup.time_zone,
                downloads: setup.downloads.map_or(Downloads::Deny, Downloads::Folder),
            })
            .await?;
        tokio::try_join!(
            context.add_preload(page::script::INSTALL, Some(page::script::SANDBOX)),
            context.add_preload(NO_WORKERS, None),
            context.add_preload(super::tabs::OPENED_EMPTY, None),
        )?;
        let tab = context.new_tab().await?;
        let events = context
            .events()
            .ok_or_else(|| BrokerError::Other("the context's events were taken already".into()))?;
        let (watch, watching) = Watch::start(&context, events, &tab, setup.allow.clone());
        let mut broker = Self {
            context,
            tab,
            watch,
            watching,
            proxy: setup.proxy,
            network: setup.network,
            gate: setup.gate,
            allow: setup.allow,
            scrubber: setup.scrubber,
            run_scrubber: setup.run_scrubber,
            masks: setup.masks,
            credentials: setup.credentials,
            beginnings: None,
            limits: setup.limits,
            step_time: None,
            generation: 0,
            last: None,
            sought: Vec::new(),
            marks: Vec::new(),
            covers: super::covers::Covers::default(),
            window: None,
            held: false,
            denied: None,
            covered: None,
            departed: 0,
            by_hand: None,
            searched: super::places::Search::default(),
            volatile: std::collections::HashSet::new(),
            must_stop: false,
            unanswered: std::collections::BTreeSet::new(),
            answer_lost: false,
            left: None,
            acted: false,
            clicked: None,
            early: super::settling::Early::default(),
            suggestions: Vec::new(),
            unreached: None,
            times: BTreeMap::new(),
        };
        broker.spent("browser", began);
        Ok(broker)
    }

    pub(super) fn spent(&mut self, part: &str, since: Instant) {
        *self.times.entry(part.to_owned()).or_default() += since.elapsed().as_millis() as u64;
    }

    /// Milliseconds by part, for the report.
    pub fn times(&self) -> BTreeMap<String, u64> {
        self.times.clone()
    }

    pub(super) fn realm(&self) -> DriverRealm<'_> {
        DriverRealm {
            tab: &self.tab,
            deadline: self.limits.command,
            watch: &self.watch,
        }
    }

    // ---- steps -----------------------------------------------------------------------------

    /// Sets the rules of a step: dialogs, tabs, downloads, and its write window.
    pub fn begin_step(&mut self, step: &Step) {
        self.close_window();
        {
            let mut state = self.watch.state();
            // Looking on is no new doing: what the last step set off may still come.
            if !matches!(step.act, Act::Expect(_) | Act::Extract(_)) {
                state.downloads.begin_step(step.download.as_deref());
            }
            state.rules = StepRules {
                dialog: step.dialog.as_ref().map(|d| match d {
                    DialogAnswer::Accept(text) => Answer::Accept(text.clone()),
                    DialogAnswer::Dismiss => Answer::Dismiss,
                }),
                follow_tab: step.opens_tab,
            };
            state.dialogs_answered = 0;
            // A navigation of ours that was cut short is over.
            state.going = false;
        }
        // An entry of ours that was cut short is over.
        if self.by_hand.is_none() {
            self.entered();
        }
        self.searched = super::places::Search::default();
        self.step_time = step.timeout;
        self.clicked = None;
        if let Some(what) = &step.write {
            let window = self.gate().open_window(&what.value);
            self.window = Some(window);
        }
    }

    /// No tab is followed from here on. The step's answer to dialogs and its write window linger until
    /// the next step begins or the page is judged for the end: a request may start a moment after the
    /// click that caused it.
    pub fn end_step(&mut self) {
        self.watch.state().rules.follow_tab = false;
        self.step_time = None;
    }

    /// From here on nothing is covered by the last step's `write:` and `dialog:`.
    pub fn close_window(&mut self) {
        self.watch.state().rules.dialog = None;
        if let Some(window) = self.window.take() {
            self.gate().close_window(window);
        }
    }

    pub(super) fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A refusal came in: nothing more is worth waiting for.
    pub fn must_stop(&self) -> bool {
        self.must_stop
    }

    /// A filled secret is still in the document: no picture, no model, no values.
    pub fn is_protected(&self) -> bool {
        self.held
    }

    /// The scrubber of this scenario.
    pub fn scrubber(&self) -> Scrubber {
        self.scrubber.clone()
    }

    /// Where a credential may be filled, canonical.
    pub fn credential_origin(&self, name: &str) -> Option<String> {
        self.credentials.get(name)?.origin.clone()
    }

    /// A credential's user name as logs may show it (R5).
    pub fn shown_user(&self, name: &str) -> String {
        let user = self
            .credentials
            .get(name)
            .and_then(|c| c.fields.get("username"));
        user.map_or_else(
            || "none".into(),
            |user| crate::secrets::hide_user_name(user.expose()),
        )
    }

    /// Names of the loaded credentials and of their fields.
    pub fn credential_fields(&self) -> Vec<(String, Vec<String>)> {
        self.credentials
            .iter()
            .map(|(name, c)| (name.clone(), c.fields.keys().cloned().collect()))
            .collect()
    }

    /// WebSockets that were opened so far: what they say is judged by nobody.
    pub fn sockets(&self) -> Vec<crate::network::SocketCount> {
        self.proxy.sockets()
    }

    pub fn suggestions(&self) -> &[crate::policy::Suggestion] {
        &self.suggestions
    }

    /// How long something of the running step may take: as written, else so long.
    pub(super) fn step_time(&self, unless_written: Duration) -> Duration {
        self.step_time.unwrap_or(unless_written)
    }

    /// Waits for a dialog of the running step; whether one came. Its rule answers it.
    pub async fn await_dialog(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            let changed = self.watch.changed.notified();
            if self.watch.state().dialogs_answered > 0 {
                return true;
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                return false;
            }
        }
    }

    // ---- reading ---------------------------------------------------------------------------

    pub fn last(&self) -> Option<Arc<Observation>> {
        self.last.clone()
    }

    /// How long ago the driven tab's document was asked for.
    pub fn document_age(&self) -> Duration {
        self.watch.state().navigation_since.elapsed()
    }

    /// Documents the driven tab has loaded so far.
    pub fn documents_loaded(&self) -> u64 {
        self.watch.state().documents
    }

    /// What the next reads have to find for these targets, in place of what was sought before.
    pub fn seek<'a>(&mut self, targets: impl IntoIterator<Item = &'a Target>) {
        self.sought = targets
            .into_iter()
            .filter_map(crate::resolve::sought)
            .collect();
    }

    /// The latest read, or a fresh one where that was not asked for what is sought now.
    pub async fn seen(&mut self) -> Result<Arc<Observation>, BrokerError> {
        match self.last() {
            Some(last) if self.sought.iter().all(|s| last.sought.contains(s)) => Ok(last),
            _ => self.look().await,
        }
    }

    /// Reads the page afresh. A document that goes away in the middle is waited for.
    pub async fn look(&mut self) -> Result<Arc<Observation>, BrokerError> {
        let began = Instant::now();
        let until = began + self.limits.navigation;
        loop {
            self.arrive().await?;
            self.follow().await?;
            self.generation += 1;
            let allow = self.allow.clone();
            let may = move |address: &str| address_allowed(&allow, address);
            let masked = self.masks.iter();
            let masked = masked.filter_map(|(target, _)| crate::resolve::sought(target));
            let sought: Vec<_> = self.sought.iter().cloned().chain(masked).collect();
            let scrub = Scrubbing(&self.scrubber);
            let wave = page::Wave {
                generation: self.generation,
                scrub: &scrub,
                allowed: &may,
                sought: &sought,
            };
            let realm = self.realm();
            let reading = page::observe(&realm, self.tab.id(), &wave);
            match self.unless_leaving(reading).await {
                Some(Ok(page::Reading {
                    mut observation,
                    marks,
                    styled,
                })) => {
                    self.covers = self.hide_masked(&mut observation, &styled).await?;
                    if self.held {
                        without_values(&mut observation);
                    }
                    if is_error_page(&observation.url) {
                        self.judge_error_page().await?;
                    }
                    let observation = Arc::new(observation);
                    self.last = Some(observation.clone());
                    self.marks = marks;
                    self.spent("read", began);
                    return Ok(observation);
                }
                None if Instant::now() < until => {}
                None => return Err(BrokerError::Stale),
                Some(Err(page::ReadError::Call(page::CallFault::Gone(_))))
                    if Instant::now() < until =>
                {
                    sleep(Duration::from_millis(20)).await;
                }
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }

    /// The browsing context a node lives in; refuses nodes of older observations (R39).
    pub(super) fn document_of(&self, id: NodeId) -> Result<String, BrokerError> {
        let last = self.last.as_ref().ok_or(BrokerError::Stale)?;
        if id.generation != last.generation {
            return Err(BrokerError::Stale);
        }
        last.documents
            .get(id.document as usize)
            .map(|d| d.context.clone())
            .ok_or(BrokerError::Stale)
    }

    // ---- end -------------------------------------------------------------------------------

    /// Closes the context with all its tabs and its proxy.
    pub async fn close(self) -> Result<(), BrokerError> {
        self.watching.abort();
        let closed = self.context.close().await;
        self.proxy.shutdown().await;
        match closed {
            Ok(()) | Err(DriverError::Lost) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Frames that policy allows are read; others are named in the error.
pub(super) fn address_allowed(allow: &AllowSet, address: &str) -> bool {
    if address.is_empty() || address.starts_with("about:") {
        return true;
    }
    Url::parse(address).is_ok_and(|url| allow.judge(&url).is_ok())
}

/// The scrubber as the reader needs it.
pub(super) struct Scrubbing<'a>(pub &'a Scrubber);

impl page::Scrub for Scrubbing<'_> {
    fn find(&self, text: &str) -> Vec<(std::ops::Range<usize>, String)> {
        self.0
            .find(text)
            .into_iter()
            .map(|hit| (hit.range, hit.placeholder.to_string()))
            .collect()
    }
}

/// Held (security.md 2.1): structure may be read, no value of any field.
fn without_values(observation: &mut Observation) {
    for document in &mut observation.documents {
        for node in &mut document.nodes {
            node.states.value = None;
        }
    }
}

/// Service workers answer requests past every page-level check, so none is registered (R72).
const NO_WORKERS: &str = "() => { \
  const refuse = () => Promise.reject(new DOMException('Service workers are switched off here', 'SecurityError')); \
  try { if (navigator.serviceWorker) Object.defineProperty(ServiceWorkerContainer.prototype, 'register', { value: refuse, writable: false, configurable: false }); } catch {} \
}";
