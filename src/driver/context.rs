//! A user context: one scenario's cookies, storage, proxy, tabs and events.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::bidi::{Connection, DEADLINE};
use super::browser::Shared;
use super::capabilities::manual_proxy;
use super::error::DriverError;
use super::events::Events;
use super::find::BrowserKind;
use super::tab::Tab;

/// What a page may do with downloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Downloads {
    #[default]
    Deny,
    Folder(PathBuf),
}

#[derive(Debug, Clone)]
pub struct ContextSettings {
    /// The context's own proxy, `host:port`. Not optional: without one a page would go out by
    /// the launch proxy, which denies everything anyway.
    pub proxy: String,
    /// Trust the run's own authority, which the proxy shows pages.
    pub insecure_certs: bool,
    pub viewport: (u32, u32),
    /// As BCP 47, for instance "en-GB".
    pub locale: Option<String>,
    /// As in the time zone database, for instance "Europe/London".
    pub time_zone: Option<String>,
    pub downloads: Downloads,
}

impl ContextSettings {
    pub fn new(proxy: impl ToString) -> Self {
        Self {
            proxy: proxy.to_string(),
            insecure_certs: false,
            viewport: (1280, 800),
            locale: None,
            time_zone: None,
            downloads: Downloads::Deny,
        }
    }
}

/// Closed with [`UserContext::close`]; dropped unclosed it is removed in the background.
#[derive(Debug)]
pub struct UserContext {
    id: String,
    shared: Arc<Shared>,
    events: Option<Events>,
    viewport: (u32, u32),
    open: bool,
}

impl UserContext {
    pub(super) async fn create(
        shared: Arc<Shared>,
        settings: ContextSettings,
    ) -> Result<Self, DriverError> {
        const COMMAND: &str = "browser.createUserContext";
        let answer = shared
            .connection
            .send(COMMAND, creation(&settings, shared.kind), DEADLINE)
            .await?;
        let id = answer["userContext"]
            .as_str()
            .ok_or(DriverError::Malformed {
                command: COMMAND,
                what: "no user context",
            })?
            .to_owned();
        let events = shared.events.register(&id);
        let context = Self {
            id,
            shared,
            events: Some(events),
            viewport: settings.viewport,
            open: true,
        };
        // Dropped on failure, which removes it again.
        context.prepare(&settings).await?;
        Ok(context)
    }

    async fn prepare(&self, settings: &ContextSettings) -> Result<(), DriverError> {
        let contexts = json!([self.id]);
        let (method, params) = self.downloading(&settings.downloads);
        let mut commands = vec![self.send(method, params)];
        if let Some(locale) = &settings.locale {
            commands.push(self.send(
                "emulation.setLocaleOverride",
                json!({"locale": locale, "userContexts": contexts}),
            ));
        }
        if let Some(zone) = &settings.time_zone {
            commands.push(self.send(
                "emulation.setTimezoneOverride",
                json!({"timezone": zone, "userContexts": contexts}),
            ));
        }
        try_join_all(commands).await.map(drop)
    }

    /// What pages may do with downloads from now on.
    pub async fn set_downloads(&self, downloads: &Downloads) -> Result<(), DriverError> {
        let (method, params) = self.downloading(downloads);
        self.send(method, params).await.map(drop)
    }

    fn downloading(&self, downloads: &Downloads) -> (&'static str, Value) {
        let behaviour = match downloads {
            Downloads::Deny => json!({"type": "denied"}),
            Downloads::Folder(path) => json!({"type": "allowed", "destinationFolder": path}),
        };
        (
            "browser.setDownloadBehavior",
            json!({"downloadBehavior": behaviour, "userContexts": [self.id]}),
        )
    }

    async fn send(&self, method: &'static str, params: Value) -> Result<Value, DriverError> {
        self.shared.connection.send(method, params, DEADLINE).await
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn connection(&self) -> &Connection {
        &self.shared.connection
    }

    /// The context's events; can be taken once.
    pub fn events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// A new tab with the context's viewport, in a window of its own: what hangs or comes to the
    /// front in one context is nothing to another. Chromium gives each context its window itself;
    /// Firefox puts all into one, where one tab paints and none comes after one that hangs (measured).
    pub async fn new_tab(&self) -> Result<Tab, DriverError> {
        const COMMAND: &str = "browsingContext.create";
        let kind = match self.shared.kind {
            BrowserKind::Chromium => "tab",
            BrowserKind::Firefox => "window",
        };
        let answer = self
            .send(
                COMMAND,
                json!({"type": kind, "userContext": self.id, "background": false}),
            )
            .await?;
        let id = answer["context"].as_str().ok_or(DriverError::Malformed {
            command: COMMAND,
            what: "no context",
        })?;
        let tab = self.tab(id);
        tab.set_viewport(self.viewport.0, self.viewport.1).await?;
        Ok(tab)
    }

    /// A handle to a tab known by its id (from an event, for instance).
    pub fn tab(&self, context: &str) -> Tab {
        Tab::new(self.shared.connection.clone(), context.to_owned())
    }

    /// The context's tabs, in the browser's order.
    pub async fn tabs(&self) -> Result<Vec<Tab>, DriverError> {
        let answer = self
            .send("browsingContext.getTree", json!({"maxDepth": 0}))
            .await?;
        let nodes = answer["contexts"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(nodes
            .iter()
            .filter(|node| node["userContext"].as_str() == Some(&self.id))
            .filter_map(|node| node["context"].as_str())
            .map(|id| self.tab(id))
            .collect())
    }

    /// Runs `function` in every new document of this context before the page's own scripts.
    /// With `sandbox: None` it runs in the page's realm. Answers the script's id.
    pub async fn add_preload(
        &self,
        function: &str,
        sandbox: Option<&str>,
    ) -> Result<String, DriverError> {
        const COMMAND: &str = "script.addPreloadScript";
        let mut params = json!({"functionDeclaration": function, "userContexts": [self.id]});
        if let Some(sandbox) = sandbox {
            params["sandbox"] = json!(sandbox);
        }
        let answer = self.send(COMMAND, params).await?;
        answer["script"]
            .as_str()
            .map(str::to_owned)
            .ok_or(DriverError::Malformed {
                command: COMMAND,
                what: "no script",
            })
    }

    /// Closes all its tabs and forgets its cookies and storage. A context that is gone already
    /// (lost browser) is closed.
    pub async fn close(mut self) -> Result<(), DriverError> {
        self.open = false;
        self.shared.events.forget(&self.id);
        match remove(&self.shared.connection, &self.id).await {
            Err(DriverError::Lost) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for UserContext {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        self.shared.events.forget(&self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (connection, id) = (self.shared.connection.clone(), self.id.clone());
            runtime.spawn(async move { remove(&connection, &id).await });
        }
    }
}

async fn remove(connection: &Connection, id: &str) -> Result<(), DriverError> {
    connection
        .send(
            "browser.removeUserContext",
            json!({"userContext": id}),
            Duration::from_secs(5),
        )
        .await
        .map(drop)
}

fn creation(settings: &ContextSettings, kind: BrowserKind) -> Value {
    json!({
        "acceptInsecureCerts": settings.insecure_certs,
        "proxy": manual_proxy(kind, &settings.proxy),
        "unhandledPromptBehavior": {"default": "ignore"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_context_has_its_own_proxy_loopback_included() {
        let asked = creation(
            &ContextSettings::new("127.0.0.1:8888"),
            BrowserKind::Chromium,
        );
        assert_eq!(asked["proxy"]["sslProxy"], json!("127.0.0.1:8888"));
        assert_eq!(asked["proxy"]["noProxy"], json!(["<-loopback>"]));
        assert_eq!(asked["acceptInsecureCerts"], json!(false));
        assert_eq!(asked["unhandledPromptBehavior"]["default"], json!("ignore"));
    }
}
