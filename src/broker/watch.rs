//! What happens beside the commands: dialogs, tabs, navigations, downloads.
//!
//! A dialog stops every command of its page, so it is answered by a task of its own, by the rules of
//! the step that is running (security.md F12, F13).

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use crate::driver::{DriverEvent, Events, NavPhase, PromptKind, Tab, UserContext, is_error_page};
use crate::policy::AllowSet;

use super::downloads::Downloads;
use super::types::{Answer, Happening};

/// A step may answer so many dialogs; a page that opens more is not answered for ever.
const DIALOGS: u32 = 3;
/// Windows of one session; more are closed as they come.
const TABS: usize = 8;

/// A document that arrived and is not parsed by then streams on; what it has is there to be used.
const PARSES_WITHIN: Duration = Duration::from_secs(3);

/// A read overtaken by a navigation is answered by the next document, if that comes so soon.
const ANSWERED_WITHIN: Duration = Duration::from_millis(500);

/// Rules of the running step.
#[derive(Debug, Clone, Default)]
pub struct StepRules {
    pub dialog: Option<Answer>,
    pub follow_tab: bool,
}

/// How far the driven tab's latest navigation is.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// None is under way.
    There,
    /// Nothing came yet: the driver answers no call into the page (measured).
    Asked { url: String },
    /// The document came and is being parsed.
    Parsing { since: Instant },
}

impl Way {
    /// Until when it is waited for, at most; `None`: it is not waited for.
    fn waits(&self, limit: Instant) -> Option<Instant> {
        match self {
            Self::There => None,
            Self::Asked { .. } => Some(limit),
            Self::Parsing { since } => Some(limit.min(*since + PARSES_WITHIN)),
        }
        .filter(|until| Instant::now() < *until)
    }
}

#[derive(Debug)]
pub struct State {
    pub rules: StepRules,
    pub dialogs_answered: u32,
    pub happenings: Vec<Happening>,
    /// Open tabs in the order they came; the last of the followed ones is driven.
    pub tabs: Vec<String>,
    pub current: String,
    /// Context and element of the file field whose dialog opened last.
    pub file_field: Option<(String, String)>,
    /// A tab nobody asked for opened in front of the driven one.
    pub behind: bool,
    /// The current tab's navigation.
    pub way: Way,
    /// We navigate: a question whether to leave is ours to accept.
    pub going: bool,
    pub navigation_since: Instant,
    /// Documents the current tab has loaded so far.
    pub documents: u64,
    pub downloads: Downloads,
    pub last_event: Instant,
    /// The driven tab's renderer died.
    pub crashed: bool,
    allow: AllowSet,
}

/// Shared between the broker and the task that reads events.
#[derive(Clone)]
pub struct Watch {
    state: Arc<Mutex<State>>,
    pub changed: Arc<Notify>,
}

impl State {
    /// A tab opens empty and goes to its address a moment later.
    fn tab_goes(&mut self, context: &str, address: &str) {
        for happening in &mut self.happenings {
            if let Happening::TabOpened { tab, url, .. } = happening
                && tab == context
            {
                address.clone_into(url);
            }
        }
    }
}

impl Watch {
    pub fn start(
        context: &UserContext,
        mut events: Events,
        first: &Tab,
        allow: AllowSet,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let state = State {
            rules: StepRules::default(),
            dialogs_answered: 0,
            happenings: Vec::new(),
            tabs: vec![first.id().to_owned()],
            current: first.id().to_owned(),
            behind: false,
            file_field: None,
            way: Way::There,
            going: false,
            navigation_since: Instant::now(),
            documents: 0,
            downloads: Downloads::default(),
            last_event: Instant::now(),
            crashed: false,
            allow,
        };
        let watch = Self {
            state: Arc::new(Mutex::new(state)),
            changed: Arc::new(Notify::new()),
        };
        let reader = watch.clone();
        let tabs = TabMaker {
            connection: context.tab(first.id()),
        };
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                reader.take(event, &tabs).await;
                reader.changed.notify_waiters();
            }
        });
        (watch, task)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(&self, event: DriverEvent, tabs: &TabMaker) {
        self.state().last_event = Instant::now();
        match event {
            DriverEvent::PromptOpened {
                context,
                kind,
                message,
                ..
            } => self.answer(tabs, &context, kind, message).await,
            DriverEvent::TabOpened {
                context,
                url,
                opener: _,
            } => self.tab_opened(tabs, context, url).await,
            DriverEvent::TabClosed { context } => self.tab_closed(&context),
            DriverEvent::Navigation {
                context,
                url,
                phase,
                ..
            } => self.navigation(tabs, &context, &url, phase).await,
            DriverEvent::DownloadStarted {
                download,
                suggested_name,
                ..
            } => self.state().downloads.begins(download, suggested_name),
            DriverEvent::DownloadEnded {
                download,
                completed,
                path,
                ..
            } => {
                let mut state = self.state();
                let path = path.as_deref().map(Path::new);
                let ended = state.downloads.ends(&download, completed, path);
                state.happenings.push(ended);
            }
            DriverEvent::TabCrashed { context } => {
                let mut state = self.state();
                if state.current == context {
                    state.crashed = true;
                    state.way = Way::There;
                }
            }
            DriverEvent::FrameAttached { .. }
            | DriverEvent::FrameDetached { .. }
            | DriverEvent::PromptClosed { .. } => {}
            DriverEvent::FileDialogOpened {
                context, element, ..
            } => self.state().file_field = element.map(|element| (context, element)),
        }
    }

    async fn answer(&self, tabs: &TabMaker, context: &str, kind: PromptKind, message: String) {
        let (accept, text, said, expected) = {
            let mut state = self.state();
            let within = state.dialogs_answered < DIALOGS;
            let rule = state.rules.dialog.clone().filter(|_| within);
            state.dialogs_answered += 1;
            match (kind, rule) {
                // Leaving is what was asked for.
                (PromptKind::BeforeUnload, _) if state.going => (true, None, "accepted", true),
                (_, Some(Answer::Accept(text))) => (true, text, "accepted", true),
                (_, Some(Answer::Dismiss)) => (false, None, "dismissed", true),
                (_, None) => (false, None, "dismissed", false),
            }
        };
        self.state().happenings.push(Happening::Dialog {
            text: message,
            answer: said.into(),
            expected,
        });
        let _ = tabs
            .tab(context)
            .handle_prompt(accept, text.as_deref())
            .await;
    }

    async fn tab_opened(&self, tabs: &TabMaker, context: String, url: String) {
        // Ours is the first one; whatever else comes the page has opened, also without an opener
        // to show for it.
        if self.state().tabs.contains(&context) {
            return;
        }
        let too_many = {
            let mut state = self.state();
            let too_many = state.tabs.len() >= TABS;
            let followed = state.rules.follow_tab && !too_many;
            if !too_many {
                state.tabs.push(context.clone());
            }
            if followed {
                state.current.clone_from(&context);
                state.way = Way::There;
                state.rules.follow_tab = false;
                state.documents += 1;
            }
            state.behind |= !followed;
            if !too_many {
                state.happenings.push(Happening::TabOpened {
                    tab: context.clone(),
                    url: url.clone(),
                    followed,
                });
            } else if !state.happenings.contains(&Happening::TooManyTabs) {
                state.happenings.push(Happening::TooManyTabs);
            }
            too_many
        };
        let allowed = self.judge(&url);
        if too_many || !allowed {
            let _ = tabs.tab(&context).close().await;
        }
    }

    fn tab_closed(&self, context: &str) {
        let mut state = self.state();
        state.tabs.retain(|t| t != context);
        if state.current == context {
            state.current = state.tabs.last().cloned().unwrap_or_default();
            state.happenings.push(Happening::TabClosed);
            state.way = Way::There;
            state.documents += 1;
        }
    }

    async fn navigation(&self, tabs: &TabMaker, context: &str, url: &str, phase: NavPhase) {
        let top = self.state().tabs.iter().any(|t| t == context);
        if !top {
            return;
        }
        {
            let mut state = self.state();
            if state.current == context {
                match phase {
                    NavPhase::Started => {
                        state.way = Way::Asked {
                            url: url.to_owned(),
                        };
                        state.navigation_since = Instant::now();
                    }
                    NavPhase::Committed => {
                        state.documents += 1;
                        state.way = Way::Parsing {
                            since: Instant::now(),
                        };
                    }
                    NavPhase::Interactive
                    | NavPhase::Complete
                    | NavPhase::Failed
                    | NavPhase::Aborted => state.way = Way::There,
                    NavPhase::Fragment | NavPhase::History => {}
                }
            }
            if matches!(phase, NavPhase::Started | NavPhase::Committed) {
                state.tab_goes(context, url);
            }
        }
        let current = self.state().current == context;
        // What a page makes itself passes no proxy, and where such a window shares nothing with its opener
        // nothing more is told of it (measured).
        let made = url.starts_with("blob:") || url.starts_with("data:");
        let judged = match phase {
            NavPhase::Committed | NavPhase::Failed => true,
            NavPhase::Started => made && !current,
            _ => false,
        };
        if judged && !self.judge(url) && !current {
            let _ = tabs.tab(context).close().await;
        }
    }

    /// The list as it is from now on.
    pub fn allow(&self, allow: AllowSet) {
        self.state().allow = allow;
    }

    /// Whether a top document may stay; notes it if not. The proxy is the boundary; this is the
    /// second line, and the one that can say where the page went.
    pub(super) fn judge(&self, address: &str) -> bool {
        if address.is_empty() || address == "about:blank" || is_error_page(address) {
            return true;
        }
        let mut state = self.state();
        let allowed = Url::parse(address).is_ok_and(|url| state.allow.judge(&url).is_ok());
        if !allowed
            && !state
                .happenings
                .iter()
                .any(|h| matches!(h, Happening::LeftHosts { url } if url == address))
        {
            state.happenings.push(Happening::LeftHosts {
                url: address.to_owned(),
            });
        }
        allowed
    }

    /// Waits until no navigation of the current tab is under way, at most `limit`; `false` if nothing
    /// came by then. A document that arrived and streams on is there.
    pub async fn arrived(&self, limit: Duration) -> bool {
        let limit = Instant::now() + limit;
        loop {
            let changed = self.changed.notified();
            let Some(until) = self.state().way.waits(limit) else {
                return !matches!(self.state().way, Way::Asked { .. });
            };
            let _ = tokio::time::timeout_at(until, changed).await;
        }
    }

    /// A navigation is under way.
    pub fn navigating(&self) -> bool {
        let now = Instant::now();
        self.state().way.waits(now + PARSES_WITHIN).is_some()
    }

    /// Resolves once a document after the first `seen` came and streams on.
    pub async fn streams(&self, seen: u64) {
        self.once(|state| match state.way {
            Way::Parsing { since } if state.documents > seen => Some(since + PARSES_WITHIN),
            _ => None,
        })
        .await;
    }

    /// Resolves once the current document is being left for one that takes its time.
    pub async fn leaving(&self) {
        self.once(|state| match state.way {
            Way::Asked { .. } => Some(state.navigation_since + ANSWERED_WITHIN),
            Way::There | Way::Parsing { .. } => None,
        })
        .await;
    }

    /// Resolves at the time `when` names, if it still names it then.
    async fn once(&self, when: impl Fn(&State) -> Option<Instant>) {
        loop {
            let changed = self.changed.notified();
            let at = when(&self.state());
            match at {
                Some(at) if Instant::now() >= at => return,
                Some(at) => drop(tokio::time::timeout_at(at, changed).await),
                None => changed.await,
            }
        }
    }

    /// The address that was asked for and has not come.
    pub fn asked_for(&self) -> Option<String> {
        match &self.state().way {
            Way::Asked { url } => Some(url.clone()),
            Way::There | Way::Parsing { .. } => None,
        }
    }
}

/// Makes handles for tabs named in events.
struct TabMaker {
    connection: Tab,
}

impl TabMaker {
    fn tab(&self, context: &str) -> Tab {
        self.connection.other(context)
    }
}
