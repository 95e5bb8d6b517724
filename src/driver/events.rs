//! The browser's one stream of events, sorted by user context.
//!
//! A reader task drains thirtyfour's stream at once (it skips silently when 1,024 wait) and
//! hands each event to the queue of its user context. Only names of events that are needed are
//! subscribed; `log.entryAdded` never is: it serialises whatever the page logs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::bidi::{Connection, DEADLINE};
use super::error::DriverError;
use super::navigation::stands_for;

/// Events every supported driver knows.
const NEEDED: &[&str] = &[
    "browsingContext.contextCreated",
    "browsingContext.contextDestroyed",
    "browsingContext.navigationStarted",
    "browsingContext.navigationFailed",
    "browsingContext.domContentLoaded",
    "browsingContext.load",
    "browsingContext.fragmentNavigated",
    "browsingContext.userPromptOpened",
    "browsingContext.userPromptClosed",
];
/// Events some drivers lack; without them a little comfort is lost, nothing else.
const WELCOME: &[&str] = &[
    "browsingContext.navigationCommitted",
    "browsingContext.navigationAborted",
    "browsingContext.historyUpdated",
    "browsingContext.downloadWillBegin",
    "browsingContext.downloadEnd",
    "input.fileDialogOpened",
    CRASHED,
];
/// BiDi has no word for a crashed page; Chromium's own comes over the same connection. Firefox is told
/// by geckodriver to end with its page, so it is lost (measured).
const CRASHED: &str = "goog:cdp.Inspector.targetCrashed";

/// A page can make events faster than anybody reads them.
const QUEUE: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    Alert,
    Confirm,
    Prompt,
    BeforeUnload,
}

/// One event of one user context. Addresses, names and messages are raw page text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverEvent {
    TabOpened {
        context: String,
        url: String,
        /// The tab that opened it, when a page did.
        opener: Option<String>,
    },
    TabClosed {
        context: String,
    },
    /// The page's process died (case 112). Commands to it time out until it is navigated anew.
    TabCrashed {
        context: String,
    },
    FrameAttached {
        context: String,
        parent: String,
        url: String,
    },
    FrameDetached {
        context: String,
        parent: String,
    },
    /// Anything about a document's way: `context` may be a tab or a frame.
    Navigation {
        context: String,
        navigation: Option<String>,
        url: String,
        phase: NavPhase,
    },
    PromptOpened {
        context: String,
        kind: PromptKind,
        message: String,
        default_value: Option<String>,
    },
    PromptClosed {
        context: String,
        accepted: bool,
    },
    DownloadStarted {
        context: String,
        /// Tells downloads of one page apart.
        download: String,
        url: String,
        suggested_name: String,
    },
    DownloadEnded {
        context: String,
        download: String,
        completed: bool,
        path: Option<String>,
    },
    FileDialogOpened {
        context: String,
        /// Shared id of the file box, when the page has one.
        element: Option<String>,
        multiple: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NavPhase {
    Started,
    Committed,
    Interactive,
    Complete,
    /// Same document, new fragment.
    Fragment,
    /// Same document, `history.pushState` and the like.
    History,
    Failed,
    Aborted,
}

impl DriverEvent {
    /// The tab or frame it happened in.
    pub fn context(&self) -> &str {
        match self {
            DriverEvent::TabOpened { context, .. }
            | DriverEvent::TabClosed { context }
            | DriverEvent::TabCrashed { context }
            | DriverEvent::FrameAttached { context, .. }
            | DriverEvent::FrameDetached { context, .. }
            | DriverEvent::Navigation { context, .. }
            | DriverEvent::PromptOpened { context, .. }
            | DriverEvent::PromptClosed { context, .. }
            | DriverEvent::DownloadStarted { context, .. }
            | DriverEvent::DownloadEnded { context, .. }
            | DriverEvent::FileDialogOpened { context, .. } => context,
        }
    }
}

/// The events of one user context, oldest first.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<DriverEvent>,
    missed: Arc<AtomicU64>,
}

impl Events {
    /// The next event; `None` when the browser is gone or the user context was closed.
    pub async fn next(&mut self) -> Option<DriverEvent> {
        self.receiver.recv().await
    }

    /// What has already arrived, without waiting.
    pub fn drain(&mut self) -> Vec<DriverEvent> {
        std::iter::from_fn(|| self.receiver.try_recv().ok()).collect()
    }

    /// How many events were dropped because nobody read (a page that floods us).
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<DriverEvent>,
    missed: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Tables {
    queues: HashMap<String, Queue>,
    /// Browsing context → user context, and parent for frames.
    contexts: HashMap<String, String>,
    /// Chromium's debugging session → the tab it belongs to: crashes are told by session.
    sessions: HashMap<String, String>,
}

/// Sorts events into queues.
#[derive(Debug, Clone, Default)]
pub(super) struct Demultiplexer(Arc<Mutex<Tables>>);

impl Demultiplexer {
    /// Subscribes and starts the reader; it ends with the connection.
    pub(super) async fn start(connection: &Connection) -> Result<Self, DriverError> {
        let demultiplexer = Self::default();
        let mut stream = connection.bidi().subscribe_raw();
        let reader = demultiplexer.clone();
        let mut lost = connection.lost();
        let asking = connection.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    event = stream.next() => match event {
                        Some(event) => {
                            if let Some(tab) = reader.take(&event.method, &event.params) {
                                tokio::spawn(reader.clone().learn_session(asking.clone(), tab));
                            }
                        }
                        None => break,
                    },
                    _ = lost.wait_for(|lost| *lost) => break,
                }
            }
            // Closing the queues tells every reader that nothing will come any more.
            reader.tables().queues.clear();
        });
        subscribe(connection, NEEDED).await?;
        if subscribe(connection, WELCOME).await.is_err() {
            for event in WELCOME {
                match subscribe(connection, &[*event]).await {
                    Err(DriverError::Command { .. }) | Ok(()) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(demultiplexer)
    }

    pub(super) fn register(&self, user_context: &str) -> Events {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let missed = Arc::new(AtomicU64::new(0));
        self.tables().queues.insert(
            user_context.to_owned(),
            Queue {
                sender,
                missed: missed.clone(),
            },
        );
        Events { receiver, missed }
    }

    pub(super) fn forget(&self, user_context: &str) {
        let mut tables = self.tables();
        tables.queues.remove(user_context);
        tables.contexts.retain(|_, owner| owner != user_context);
        let Tables {
            contexts, sessions, ..
        } = &mut *tables;
        sessions.retain(|_, tab| contexts.contains_key(tab));
    }

    /// Asks for the tab's debugging session; a driver without one just tells no crashes.
    async fn learn_session(self, connection: Connection, tab: String) {
        let asked = json!({"context": tab});
        let answer = connection
            .send("goog:cdp.getSession", asked, DEADLINE)
            .await;
        if let Ok(answer) = answer
            && let Some(session) = answer["session"].as_str()
        {
            let mut tables = self.tables();
            if tables.contexts.contains_key(&tab) {
                tables.sessions.insert(session.to_owned(), tab);
            }
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts an event into its queue. Answers a tab of ours that was just opened.
    fn take(&self, method: &str, params: &Value) -> Option<String> {
        let mut tables = self.tables();
        let event = if method == CRASHED {
            let session = params.get("session").and_then(Value::as_str)?;
            DriverEvent::TabCrashed {
                context: tables.sessions.get(session)?.clone(),
            }
        } else {
            read(method, params)?
        };
        let context = event.context();
        if let Some(owner) = params.get("userContext").and_then(Value::as_str) {
            tables.contexts.insert(context.to_owned(), owner.to_owned());
        }
        let owner = tables.contexts.get(context).cloned()?;
        if matches!(
            event,
            DriverEvent::TabClosed { .. } | DriverEvent::FrameDetached { .. }
        ) {
            tables.contexts.remove(event.context());
            tables.sessions.retain(|_, tab| tab != event.context());
        }
        let queue = tables.queues.get(&owner)?;
        let opened = match &event {
            DriverEvent::TabOpened { context, .. } => Some(context.clone()),
            _ => None,
        };
        if queue.sender.try_send(event).is_err() {
            queue.missed.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }
}

async fn subscribe(connection: &Connection, events: &[&str]) -> Result<(), DriverError> {
    connection
        .send("session.subscribe", json!({"events": events}), DEADLINE)
        .await
        .map(drop)
}

fn read(method: &str, params: &Value) -> Option<DriverEvent> {
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    let context = text("context")?;
    let parent = text("parent");
    let navigation = |phase| {
        Some(DriverEvent::Navigation {
            context: context.clone(),
            navigation: text("navigation"),
            url: text("url").unwrap_or_default(),
            phase,
        })
    };
    // A driver that gives downloads no name (Firefox's) names the navigation that became one, if any
    // did, and its address: a page may start several at once.
    let download = |context: &str| {
        text("download").unwrap_or_else(|| {
            let way = text("navigation").unwrap_or_else(|| context.to_owned());
            format!("{way} {}", text("url").unwrap_or_default())
        })
    };
    match method {
        "browsingContext.contextCreated" => {
            let url = text("url").unwrap_or_default();
            Some(match parent {
                Some(parent) => DriverEvent::FrameAttached {
                    context,
                    parent,
                    url,
                },
                None => DriverEvent::TabOpened {
                    opener: text("originalOpener"),
                    context,
                    url,
                },
            })
        }
        "browsingContext.contextDestroyed" => Some(match parent {
            Some(parent) => DriverEvent::FrameDetached { context, parent },
            None => DriverEvent::TabClosed { context },
        }),
        "browsingContext.navigationStarted" => navigation(NavPhase::Started),
        "browsingContext.navigationCommitted" => match stands_for(&text("url")?) {
            None => navigation(NavPhase::Committed),
            Some(url) => Some(DriverEvent::Navigation {
                navigation: text("navigation"),
                phase: NavPhase::Failed,
                context,
                url,
            }),
        },
        "browsingContext.navigationFailed" => navigation(NavPhase::Failed),
        "browsingContext.navigationAborted" => navigation(NavPhase::Aborted),
        "browsingContext.domContentLoaded" => navigation(NavPhase::Interactive),
        "browsingContext.load" => navigation(NavPhase::Complete),
        "browsingContext.fragmentNavigated" => navigation(NavPhase::Fragment),
        "browsingContext.historyUpdated" => navigation(NavPhase::History),
        "browsingContext.userPromptOpened" => Some(DriverEvent::PromptOpened {
            kind: match params.get("type").and_then(Value::as_str)? {
                "alert" => PromptKind::Alert,
                "confirm" => PromptKind::Confirm,
                "beforeunload" => PromptKind::BeforeUnload,
                _ => PromptKind::Prompt,
            },
            message: text("message").unwrap_or_default(),
            default_value: text("defaultValue"),
            context,
        }),
        "browsingContext.userPromptClosed" => Some(DriverEvent::PromptClosed {
            accepted: params.get("accepted") == Some(&Value::Bool(true)),
            context,
        }),
        "browsingContext.downloadWillBegin" => Some(DriverEvent::DownloadStarted {
            download: download(&context),
            url: text("url").unwrap_or_default(),
            suggested_name: text("suggestedFilename").unwrap_or_default(),
            context,
        }),
        "browsingContext.downloadEnd" => Some(DriverEvent::DownloadEnded {
            download: download(&context),
            completed: text("status").as_deref() == Some("complete"),
            path: text("filepath"),
            context,
        }),
        "input.fileDialogOpened" => Some(DriverEvent::FileDialogOpened {
            element: params
                .pointer("/element/sharedId")
                .and_then(Value::as_str)
                .map(str::to_owned),
            multiple: params.get("multiple") == Some(&Value::Bool(true)),
            context,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(context: &str, user_context: &str) -> Value {
        json!({"context": context, "userContext": user_context, "url": "about:blank",
               "parent": null, "originalOpener": null})
    }

    #[test]
    fn the_page_s_log_is_never_subscribed() {
        assert!(
            NEEDED
                .iter()
                .chain(WELCOME)
                .all(|event| !event.starts_with("log.") && !event.starts_with("network."))
        );
    }

    #[tokio::test]
    async fn events_reach_only_their_own_user_context() {
        let demultiplexer = Demultiplexer::default();
        let mut one = demultiplexer.register("1");
        let mut two = demultiplexer.register("2");
        demultiplexer.take("browsingContext.contextCreated", &created("A", "1"));
        demultiplexer.take("browsingContext.contextCreated", &created("B", "2"));
        demultiplexer.take("browsingContext.contextCreated", &created("C", "default"));
        demultiplexer.take(
            "browsingContext.load",
            &json!({"context": "B", "url": "http://b.test/", "navigation": "n"}),
        );
        demultiplexer.take("browsingContext.load", &json!({"context": "unknown"}));
        let of = |events: Vec<DriverEvent>| -> Vec<String> {
            events.iter().map(|e| e.context().to_owned()).collect()
        };
        assert_eq!(of(one.drain()), ["A"]);
        assert_eq!(of(two.drain()), ["B", "B"]);
    }

    #[tokio::test]
    async fn a_flood_is_counted_and_a_closed_tab_forgotten() {
        let demultiplexer = Demultiplexer::default();
        let mut events = demultiplexer.register("1");
        demultiplexer.take("browsingContext.contextCreated", &created("A", "1"));
        for _ in 0..QUEUE {
            demultiplexer.take("browsingContext.historyUpdated", &json!({"context": "A"}));
        }
        assert_eq!(events.missed(), 1);
        assert_eq!(events.drain().len(), QUEUE);
        demultiplexer.take(
            "browsingContext.contextDestroyed",
            &json!({"context": "A", "parent": null}),
        );
        demultiplexer.take("browsingContext.load", &json!({"context": "A"}));
        assert_eq!(
            events.drain(),
            [DriverEvent::TabClosed {
                context: "A".into()
            }]
        );
        demultiplexer.forget("1");
        assert_eq!(events.next().await, None);
    }

    #[test]
    fn downloads_of_one_page_are_told_apart() {
        let began = |download: &str| {
            let told = json!({"context": "A", "navigation": null, "download": download,
                              "suggestedFilename": "f.txt", "url": "blob:x"});
            read("browsingContext.downloadWillBegin", &told)
        };
        assert_ne!(began("1"), began("2"));
        // Firefox's have no name of their own.
        let of = |method: &str, url: &str| {
            let told =
                json!({"context": "A", "navigation": null, "url": url, "status": "complete"});
            match read(method, &told) {
                Some(
                    DriverEvent::DownloadStarted { download, .. }
                    | DriverEvent::DownloadEnded { download, .. },
                ) => download,
                other => panic!("{other:?}"),
            }
        };
        let began = of("browsingContext.downloadWillBegin", "blob:1");
        assert_eq!(began, of("browsingContext.downloadEnd", "blob:1"));
        assert_ne!(began, of("browsingContext.downloadEnd", "blob:2"));
    }

    #[test]
    fn an_error_page_in_place_of_an_address_is_a_failed_navigation() {
        let committed = |url: &str| {
            let told = json!({"context": "A", "navigation": "n", "url": url});
            match read("browsingContext.navigationCommitted", &told) {
                Some(DriverEvent::Navigation { url, phase, .. }) => (url, phase),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            committed("about:neterror?e=proxyConnectFailure&u=https%3A//evil.test/x&c=UTF-8"),
            ("https://evil.test/x".to_owned(), NavPhase::Failed)
        );
        assert_eq!(
            committed("https://a.test/"),
            ("https://a.test/".to_owned(), NavPhase::Committed)
        );
    }

    #[test]
    fn odd_events_are_ignored_not_fatal() {
        assert_eq!(read("browsingContext.load", &json!({})), None);
        assert_eq!(read("x.y", &json!({"context": "A"})), None);
        assert_eq!(
            read("browsingContext.userPromptOpened", &json!({"context": "A"})),
            None
        );
    }
}
