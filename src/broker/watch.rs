//! What happens beside the commands: dialogs, tabs, navigations, downloads.
//!
//! A dialog stops every command of its page, so it is answered by a task of its own, by the rules of
//! the step that is running (security.md F12, F13).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use crate::driver::{DriverEvent, Events, NavPhase, PromptKind, Tab, UserContext};
use crate::policy::AllowSet;

use super::types::{Answer, Happening};

/// A step may answer so many dialogs; a page that opens more is not answered for ever.
const DIALOGS: u32 = 3;
/// Windows of one session; more are closed as they come.
const TABS: usize = 8;

/// Rules of the running step.
#[derive(Debug, Clone, Default)]
pub struct StepRules {
    pub dialog: Option<Answer>,
    pub follow_tab: bool,
    pub download: bool,
}

/// A download on its way.
#[derive(Debug, Clone)]
pub struct Coming {
    pub name: String,
    pub accepted: bool,
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
    /// Navigations of the current tab under way.
    pub navigating: bool,
    pub navigation_since: Instant,
    /// Documents the current tab has loaded so far.
    pub documents: u64,
    pub downloads: BTreeMap<String, Coming>,
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
            navigating: false,
            navigation_since: Instant::now(),
            documents: 0,
            downloads: BTreeMap::new(),
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
                context,
                navigation,
                suggested_name,
                ..
            } => {
                let mut state = self.state();
                let accepted = state.rules.download;
                state.downloads.insert(
                    navigation.unwrap_or(context),
                    Coming {
                        name: suggested_name,
                        accepted,
                    },
                );
            }
            DriverEvent::DownloadEnded {
                context,
                navigation,
                completed,
                path,
            } => {
                let mut state = self.state();
                let coming = state.downloads.remove(&navigation.unwrap_or(context));
                let name = coming.as_ref().map(|c| c.name.clone()).unwrap_or_default();
                let accepted = completed && coming.is_some_and(|c| c.accepted);
                let bytes = path
                    .as_ref()
                    .and_then(|p| std::fs::metadata(p).ok())
                    .map_or(0, |m| m.len());
                state.happenings.push(Happening::Download {
                    name,
                    path: path.map(Into::into),
                    bytes,
                    accepted,
                });
            }
            DriverEvent::TabCrashed { context } => {
                let mut state = self.state();
                if state.current == context {
                    state.crashed = true;
                    state.navigating = false;
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
                // Leaving is what a step asked for.
                (PromptKind::BeforeUnload, _) => (true, None, "accepted", true),
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
                state.rules.follow_tab = false;
                state.documents += 1;
            }
            state.behind |= !followed;
            if !too_many {
                state.happenings.push(Happening::TabOpened {
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
            state.navigating = false;
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
                        state.navigating = true;
                        state.navigation_since = Instant::now();
                    }
                    NavPhase::Committed => state.documents += 1,
                    NavPhase::Interactive
                    | NavPhase::Complete
                    | NavPhase::Failed
                    | NavPhase::Aborted => state.navigating = false,
                    NavPhase::Fragment | NavPhase::History => {}
                }
            }
        }
        if matches!(phase, NavPhase::Committed | NavPhase::Failed) && !self.judge(url) {
            let current = self.state().current == context;
            if !current {
                let _ = tabs.tab(context).close().await;
            }
        }
    }

    /// The list as it is from now on.
    pub fn allow(&self, allow: AllowSet) {
        self.state().allow = allow;
    }

    /// Whether a top document may stay; notes it if not. The proxy is the boundary; this is the
    /// second line, and the one that can say where the page went.
    pub(super) fn judge(&self, address: &str) -> bool {
        if address.is_empty()
            || address == "about:blank"
            || address.starts_with("chrome-error:")
            || address.starts_with("about:neterror")
        {
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

    /// Waits until no navigation of the current tab is under way, at most `limit`.
    pub async fn arrived(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let notified = self.changed.notified();
            if !self.state().navigating {
                return true;
            }
            if tokio::time::timeout_at(until, notified).await.is_err() {
                return !self.state().navigating;
            }
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
