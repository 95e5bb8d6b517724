//! Opening, reading, going, waiting, closing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::driver::{
    Browser, CallOptions, ContextSettings, Downloads, DriverError, NavFailure, Tab, UserContext,
    Wait,
};
use crate::network::{NetEvent, Proxy};
use crate::page::{self, NodeId, Observation};
use crate::policy::{AllowSet, Gate, WindowId};
use crate::scenario::{DialogAnswer, Step, Target};
use crate::secrets::{Credential, Scrubber};

use super::types::{Answer, Arrival, BrokerError, Happening, Limits};
use super::watch::{StepRules, Watch};

/// Nothing begun or ended on the network for so long: quiet.
const NETWORK_IDLE: Duration = Duration::from_millis(20);
/// No change of the document for two frames: quiet.
pub(super) const DOCUMENT_IDLE_MS: u64 = 32;

/// From a handler's `fetch` to the proxy it takes the browser a few milliseconds.
const AFTER_ACTION: Duration = Duration::from_millis(12);

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
    pub(super) limits: Limits,
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
    pub(super) suggestions: Vec<crate::policy::Suggestion>,
    /// The latest address that could not be reached, and why: only the proxy knows.
    pub(super) unreached: Option<(String, String)>,
    times: BTreeMap<String, u64>,
}

/// The driver's side of `page`.
pub(super) struct DriverRealm<'a> {
    pub tab: &'a Tab,
    pub deadline: Duration,
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
                DriverError::Timeout { .. } => page::CallFault::TimedOut(error.to_string()),
                other => page::CallFault::Refused(other.to_string()),
            })
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

/// A tab that has arrived answers within this.
const TAB_ANSWERS: Duration = Duration::from_secs(2);

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
            limits: setup.limits,
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
        }
    }

    // ---- steps -----------------------------------------------------------------------------

    /// Sets the rules of a step: dialogs, tabs, downloads, and its write window.
    pub fn begin_step(&mut self, step: &Step) {
        self.close_window();
        {
            let mut state = self.watch.state();
            state.rules = StepRules {
                dialog: step.dialog.as_ref().map(|d| match d {
                    DialogAnswer::Accept(text) => Answer::Accept(text.clone()),
                    DialogAnswer::Dismiss => Answer::Dismiss,
                }),
                follow_tab: step.opens_tab,
                download: step.download.is_some(),
            };
            state.dialogs_answered = 0;
        }
        self.searched = super::places::Search::default();
        if let Some(what) = &step.write {
            let window = self.gate().open_window(&what.value);
            self.window = Some(window);
        }
    }

    /// Ends the rules of a step. Its write window lingers until the next step begins or the page is
    /// judged for the end: a request may start a moment after the click that caused it.
    pub fn end_step(&mut self) {
        self.watch.state().rules = StepRules::default();
    }

    /// From here on nothing is covered by the last step's `write:`.
    pub fn close_window(&mut self) {
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
            self.follow().await?;
            self.generation += 1;
            let allow = self.allow.clone();
            let may = move |address: &str| address_allowed(&allow, address);
            let scrub = Scrubbing(&self.scrubber);
            let wave = page::Wave {
                generation: self.generation,
                scrub: &scrub,
                allowed: &may,
                sought: &self.sought,
            };
            let read = page::observe(&self.realm(), self.tab.id(), &wave).await;
            match read {
                Ok(page::Reading {
                    mut observation,
                    marks,
                    styled,
                }) => {
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
                Err(page::ReadError::Call(page::CallFault::Gone(_))) if Instant::now() < until => {
                    self.watch.arrived(until - Instant::now()).await;
                    sleep(Duration::from_millis(20)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Drives the tab the watch says is current.
    pub(super) async fn follow(&mut self) -> Result<(), BrokerError> {
        let current = self.watch.state().current.clone();
        if current.is_empty() {
            return Err(BrokerError::Other("the page closed its last tab".into()));
        }
        if current != self.tab.id() {
            self.tab = self.tab.other(&current);
            self.tab.activate().await?;
            self.last = None;
            self.watch.arrived(self.limits.navigation).await;
            self.open_again_if_deaf().await?;
        }
        // A hidden opener stops painting and clicking (measured): a pop-up does not stay in front.
        if std::mem::take(&mut self.watch.state().behind) {
            self.tab.activate().await?;
        }
        Ok(())
    }

    /// Chromium 156 answers no call into a pop-up that shares the process of its opener and was
    /// opened at an address (measured; a document loaded afterwards is fine): it is opened again.
    async fn open_again_if_deaf(&mut self) -> Result<(), BrokerError> {
        let realm = DriverRealm {
            tab: &self.tab,
            deadline: TAB_ANSWERS,
        };
        let answer = page::call(&realm, self.tab.id(), "twoFrames", &[], None).await;
        if !matches!(
            answer,
            Err(page::ReadError::Call(page::CallFault::TimedOut(_)))
        ) {
            return Ok(());
        }
        let address = self.tab.tree().await?.url;
        if address.starts_with("http") && address_allowed(&self.allow, &address) {
            // Going to the address it is at already would only move to its fragment.
            let within = self.limits.navigation;
            if address.contains('#') {
                self.tab.reload(Wait::Interactive, within).await?;
            } else {
                self.tab
                    .navigate(&address, Wait::Interactive, within)
                    .await?;
            }
            self.watch
                .state()
                .happenings
                .push(Happening::TabOpenedAgain);
        }
        Ok(())
    }

    /// Waits for the tab a step said it opens, and drives it; `false` if none came.
    pub async fn await_tab(&mut self, within: Duration) -> Result<bool, BrokerError> {
        let until = Instant::now() + within;
        loop {
            let watch = self.watch.clone();
            let opened = watch.changed.notified();
            if !self.watch.state().rules.follow_tab {
                break;
            }
            if tokio::time::timeout_at(until, opened).await.is_err() {
                return Ok(false);
            }
        }
        self.settle().await?;
        Ok(true)
    }

    // ---- going -----------------------------------------------------------------------------

    pub async fn goto(&mut self, url: &Url, within: Duration) -> Result<Arrival, BrokerError> {
        let began = Instant::now();
        if let Err(denial) = self.allow.judge(url) {
            self.must_stop = true;
            return Ok(Arrival::Refused {
                reason: denial.to_string(),
                url: page::shown_address(url.as_str()),
            });
        }
        self.last = None;
        self.unreached = None;
        let gone = self
            .tab
            .navigate(url.as_str(), Wait::Interactive, within)
            .await;
        let outcome = match gone {
            Err(DriverError::Timeout { .. }) => {
                self.give_up_navigation().await;
                return Ok(Arrival::Failed {
                    reason: "timeout".into(),
                    message: format!(
                        "{}: the page was not there within {} s",
                        page::shown_address(url.as_str()),
                        within.as_secs()
                    ),
                });
            }
            gone => gone?,
        };
        self.spent("navigate", began);
        if outcome.failure.is_some() {
            self.judge_error_page().await?;
        }
        Ok(self.arrival(outcome, url.as_str()))
    }

    /// The browser shows a page of its own where a site's was refused: what address was that? A
    /// redirect from a listed host to another is told by nothing else (case 153).
    async fn judge_error_page(&mut self) -> Result<(), BrokerError> {
        self.drain_network();
        match self.tab.tree().await {
            Ok(tree) => {
                // Where the browser names the address it was sent to first, or none, the proxy's
                // refusal tells the one that ended there.
                if self.watch.judge(&tree.url)
                    && let Some(address) = self.denied.take()
                {
                    self.watch.judge(&address);
                }
                Ok(())
            }
            // The tab went away meanwhile: nothing of it is shown either.
            Err(DriverError::NoSuchFrame { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn reload(&mut self) -> Result<(), BrokerError> {
        let address = self.last.as_ref().map(|o| o.url.clone());
        self.last = None;
        match address.and_then(|a| Url::parse(&a).ok()) {
            Some(url) => self
                .tab
                .navigate(url.as_str(), Wait::Interactive, self.limits.navigation)
                .await
                .map(drop)?,
            None => self
                .tab
                .reload(Wait::Interactive, self.limits.navigation)
                .await
                .map(drop)?,
        }
        Ok(())
    }

    /// A navigation under way keeps every read of the tab waiting; another one ends it.
    async fn give_up_navigation(&mut self) {
        let _ = self
            .tab
            .navigate("about:blank", Wait::None, Duration::from_secs(2))
            .await;
        self.watch.state().navigating = false;
    }

    /// What the proxy says of an address that could not be reached; the browser saw only an empty answer.
    fn why_unreached(&mut self, asked: &str) -> Option<(&'static str, String)> {
        self.drain_network();
        let (address, why) = self.unreached.take()?;
        let same = |a: &str, b: &str| {
            let origin = |u: &str| Url::parse(u).ok().map(|u| u.origin());
            origin(a) == origin(b)
        };
        same(&address, asked).then(|| {
            let has = |words: &str| why.contains(words);
            let reason = if has("no address") {
                "dns"
            } else if has("certificate") || has("TLS") {
                "tls"
            } else if has("in time") {
                "timeout"
            } else if has("can't connect") {
                "connection_refused"
            } else {
                "disconnected"
            };
            (reason, why)
        })
    }

    fn arrival(&mut self, outcome: crate::driver::NavOutcome, asked: &str) -> Arrival {
        let url = self.scrubber.clean(&outcome.url).as_str().to_owned();
        if let Some(failure) = outcome.failure {
            let reason = match &failure {
                NavFailure::Dns => "dns",
                NavFailure::Refused => "connection_refused",
                NavFailure::Disconnected => "disconnected",
                NavFailure::TimedOut => "timeout",
                NavFailure::Tls => "tls",
                NavFailure::TooManyRedirects => "too_many_redirects",
                NavFailure::UnsafePort => "unsafe_port",
                NavFailure::Blocked => "blocked",
                NavFailure::Aborted => "aborted",
                NavFailure::Other(_) => "load_failed",
            };
            let unclear = matches!(
                failure,
                NavFailure::Other(_) | NavFailure::Blocked | NavFailure::Disconnected
            );
            if unclear && let Some((reason, why)) = self.why_unreached(asked) {
                return Arrival::Failed {
                    reason: reason.into(),
                    message: format!("{}: {why}", page::shown_address(asked)),
                };
            }
            return Arrival::Failed {
                reason: reason.into(),
                message: format!("{}: {failure}", page::shown_address(asked)),
            };
        }
        match Url::parse(&outcome.url) {
            Ok(at) if self.allow.judge(&at).is_err() => {
                self.must_stop = true;
                Arrival::Refused {
                    reason: "the page redirected there, and it is not on the list of hosts".into(),
                    url: page::shown_address(&url),
                }
            }
            Ok(at) => {
                let other = Url::parse(asked).is_ok_and(|a| a.origin() != at.origin());
                let note = other.then(|| format!("redirected to {}", page::shown_address(&url)));
                Arrival::Arrived { url, note }
            }
            Err(_) => Arrival::Failed {
                reason: "load_failed".into(),
                message: "the page has no address".into(),
            },
        }
    }

    // ---- waiting ---------------------------------------------------------------------------

    /// Waits for what the last action set off: a navigation, requests, changes of the document.
    /// Bounded: a page that never goes idle costs `limits.settle` and no more.
    pub async fn settle(&mut self) -> Result<(), BrokerError> {
        let began = Instant::now();
        let until = began + self.limits.settle;
        self.watch.arrived(self.limits.navigation).await;
        self.follow().await?;
        if std::mem::take(&mut self.acted) {
            // What a handler starts (a request, a navigation) is under way two frames later.
            let settled = page::acts::settled(&self.realm(), self.tab.id(), AFTER_ACTION).await;
            let unchanged = match settled {
                Ok(ms) => ms >= DOCUMENT_IDLE_MS,
                Err(page::ReadError::Call(page::CallFault::Gone(_))) => false,
                Err(error) => return Err(error.into()),
            };
            self.watch.arrived(self.limits.navigation).await;
            self.follow().await?;
            if unchanged && self.network_is_quiet() {
                self.drain_network();
                self.spent("settle", began);
                return Ok(());
            }
        }
        loop {
            if self.is_quiet().await || Instant::now() >= until {
                break;
            }
            sleep(Duration::from_millis(15)).await;
            self.watch.arrived(self.limits.navigation).await;
        }
        self.drain_network();
        self.held_settled().await?;
        self.spent("settle", began);
        Ok(())
    }

    /// Requests of the page are under way.
    pub(super) fn fetching(&self) -> bool {
        let network = *self.proxy.quiet().borrow();
        !network.settled(std::time::Instant::now(), Duration::ZERO)
    }

    /// No navigation and no request of the page under way.
    pub(super) fn network_is_quiet(&self) -> bool {
        let network = *self.proxy.quiet().borrow();
        !self.watch.state().navigating && network.settled(std::time::Instant::now(), NETWORK_IDLE)
    }

    /// No request of the page under way and no change of the document for two frames.
    pub async fn is_quiet(&mut self) -> bool {
        if !self.network_is_quiet() {
            return false;
        }
        match page::acts::quiet_since(&self.realm(), self.tab.id()).await {
            Ok(ms) => ms >= DOCUMENT_IDLE_MS,
            Err(_) => false,
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

fn is_error_page(address: &str) -> bool {
    address.starts_with("chrome-error:") || address.starts_with("about:neterror")
}

/// Frames that policy allows are read; others are named in the error.
fn address_allowed(allow: &AllowSet, address: &str) -> bool {
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
