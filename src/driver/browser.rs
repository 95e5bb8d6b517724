//! A browser shared by many scenarios: one process, one connection, one event reader.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use thirtyfour::WebDriver;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::bidi::Connection;
use super::capabilities::attached;
use super::context::{ContextSettings, UserContext};
use super::error::DriverError;
use super::events::Demultiplexer;
use super::find::BrowserKind;
use super::launch::{self, LaunchSettings, RunningDriver, delete_session, new_session};
use crate::system::proc::{self, ProcessId};
use crate::system::{Guarded, folders};

/// A quit command gets this long before signals speak.
const QUIT_LIMIT: Duration = Duration::from_secs(2);
/// How often a browser of ours is looked at.
const LOOK: Duration = Duration::from_millis(250);
const HEARTBEAT: Duration = Duration::from_secs(2);
const HEARTBEAT_DEADLINE: Duration = Duration::from_secs(20);

/// As the browser itself says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserVersion {
    pub name: String,
    pub version: String,
}

/// A running browser. Dropping it ends the processes too, only without the proof that they
/// are gone: call [`Browser::close`].
#[derive(Debug)]
pub struct Browser {
    shared: Arc<Shared>,
    session: Mutex<Option<Session>>,
    version: BrowserVersion,
    notes: Vec<String>,
}

/// What user contexts and tabs need of their browser.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) connection: Connection,
    pub(super) events: Demultiplexer,
    pub(super) kind: BrowserKind,
}

#[derive(Debug)]
struct Session {
    driver: WebDriver,
    /// `None` for a driver that is not ours.
    process: Option<Guarded>,
}

impl Browser {
    /// Starts a driver and a browser of our own.
    pub async fn launch(settings: &LaunchSettings) -> Result<Self, DriverError> {
        let until = Instant::now() + settings.start_limit;
        let running = match launch::start_driver(settings, until).await {
            Ok(running) => running,
            Err(error) => {
                // The commonest reason deserves its own line.
                if matches!(error, DriverError::NotStarted { .. }) {
                    let (driver, browser) =
                        (settings.driver.as_deref(), settings.browser.as_deref());
                    let found = super::find::find(settings.kind, driver, browser)?;
                    if let Ok(versions) = found.versions().await {
                        found.compare(&versions)?;
                    }
                }
                return Err(error);
            }
        };
        let RunningDriver {
            process,
            address,
            found,
            capabilities,
        } = running;
        let driver = match new_session(&address, settings.kind, capabilities, until).await {
            Ok(driver) => driver,
            Err(error) => {
                let _ = process.kill().await;
                if let Ok(versions) = found.versions().await {
                    found.compare(&versions)?;
                }
                return Err(error);
            }
        };
        process.stop_listening();
        if let Some(browser) = browser_process(&driver) {
            // So that the janitor can find it should guard and runner both be killed.
            let _ = folders::record_owner(process.folder(), "browser", browser.pid);
        }
        let notes = found.notes(settings.sandbox);
        Self::connect(driver, Some(process), settings.kind, notes, until).await
    }

    /// A session on a driver that runs already (Selenium Grid, for instance).
    pub async fn attach(address: &str, settings: &LaunchSettings) -> Result<Self, DriverError> {
        let until = Instant::now() + settings.start_limit;
        let capabilities = attached(settings.kind, settings);
        let driver = new_session(address, settings.kind, capabilities, until).await?;
        Self::connect(driver, None, settings.kind, Vec::new(), until).await
    }

    async fn connect(
        driver: WebDriver,
        process: Option<Guarded>,
        kind: BrowserKind,
        notes: Vec<String>,
        until: Instant,
    ) -> Result<Self, DriverError> {
        let version = version_in(&driver);
        let ended = process.as_ref().map(Guarded::ended);
        let session = Session { driver, process };
        let opened = tokio::time::timeout_at(until, open(&session.driver, ended, kind)).await;
        let shared = match opened {
            Ok(Ok(shared)) => shared,
            failed => {
                let address = launch::without_password(session.driver.server_url().as_str());
                end(session, false).await?;
                return Err(match failed {
                    Ok(Err(error)) => error,
                    _ => DriverError::NoSession {
                        address,
                        browser: kind.name().to_owned(),
                        reason: "its BiDi connection did not open in time".to_owned(),
                    },
                });
            }
        };
        Ok(Self {
            shared: Arc::new(shared),
            session: Mutex::new(Some(session)),
            version,
            notes,
        })
    }

    pub fn version(&self) -> &BrowserVersion {
        &self.version
    }

    pub fn kind(&self) -> BrowserKind {
        self.shared.kind
    }

    /// For the run's header: how this browser differs from a plain start.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn connection(&self) -> &Connection {
        &self.shared.connection
    }

    /// Turns `true` once when the browser or its driver died.
    pub fn lost(&self) -> watch::Receiver<bool> {
        self.shared.connection.lost()
    }

    pub fn is_lost(&self) -> bool {
        *self.lost().borrow()
    }

    /// Lost, or a command went unanswered: not to be used for another scenario.
    pub fn is_doubtful(&self) -> bool {
        self.is_lost() || self.shared.connection.is_doubtful()
    }

    /// The process group of driver and browser; `None` for a driver that is not ours.
    pub async fn process_group(&self) -> Option<i32> {
        let session = self.session.lock().await;
        session.as_ref()?.process.as_ref().map(Guarded::group)
    }

    /// A user context: cookies, proxy and tabs of its own.
    pub async fn new_context(&self, settings: ContextSettings) -> Result<UserContext, DriverError> {
        UserContext::create(self.shared.clone(), settings).await
    }

    /// Quit command, SIGTERM, SIGKILL, each with its limit, and the proof that nothing is left.
    /// Closing twice is fine.
    pub async fn close(&self) -> Result<(), DriverError> {
        self.end(false).await
    }

    /// Without courtesy: SIGKILL at once (second signal, browser that does not answer).
    pub async fn kill(&self) -> Result<(), DriverError> {
        self.end(true).await
    }

    async fn end(&self, at_once: bool) -> Result<(), DriverError> {
        let Some(session) = self.session.lock().await.take() else {
            return Ok(());
        };
        let lost = self.is_doubtful();
        self.shared.connection.mark_lost();
        end(session, at_once || lost).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.shared.connection.mark_lost();
        let Some(session) = self.session.get_mut().take() else {
            return;
        };
        // Ours ends with the pipe; a driver that is not ours must be told.
        if session.process.is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { delete_session(&session.driver, QUIT_LIMIT).await });
        }
    }
}

async fn end(session: Session, at_once: bool) -> Result<(), DriverError> {
    if !at_once || session.process.is_none() {
        delete_session(&session.driver, QUIT_LIMIT).await;
    }
    match session.process {
        Some(process) if at_once => Ok(process.kill().await?),
        Some(process) => Ok(process.end().await?),
        None => Ok(()),
    }
}

async fn open(
    driver: &WebDriver,
    ended: Option<watch::Receiver<Option<i32>>>,
    kind: BrowserKind,
) -> Result<Shared, DriverError> {
    let bidi = driver
        .bidi()
        .await
        .map_err(|error| DriverError::NoSession {
            address: launch::without_password(driver.server_url().as_str()),
            browser: kind.name().to_owned(),
            reason: format!("its BiDi connection failed: {error}"),
        })?;
    let connection = Connection::new(bidi);
    if let Some(mut ended) = ended {
        let with_driver = connection.clone();
        tokio::spawn(async move {
            let _ = ended.wait_for(|code| code.is_some()).await;
            with_driver.mark_lost();
        });
        if let Some(browser) = browser_process(driver) {
            tokio::spawn(watch_process(connection.clone(), browser));
        }
    }
    let events = Demultiplexer::start(&connection).await?;
    tokio::spawn(watch_heart(connection.clone()));
    Ok(Shared {
        connection,
        events,
        kind,
    })
}

/// A dead connection is noticed only by speaking: the stream of events just stays silent.
async fn watch_heart(connection: Connection) {
    let mut lost = connection.lost();
    loop {
        tokio::select! {
            _ = lost.wait_for(|lost| *lost) => return,
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
        let beat = connection.send("session.status", serde_json::json!({}), HEARTBEAT_DEADLINE);
        if let Err(DriverError::Timeout { .. }) = beat.await {
            connection.mark_lost();
        }
    }
}

/// A driver whose browser was killed neither answers nor closes (measured), so a browser on
/// this machine is looked at as a process.
async fn watch_process(connection: Connection, browser: ProcessId) {
    let mut lost = connection.lost();
    while proc::is_running(browser) {
        tokio::select! {
            _ = lost.wait_for(|lost| *lost) => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    connection.mark_lost();
}

/// The browser's own process, as the driver names it.
fn browser_process(driver: &WebDriver) -> Option<ProcessId> {
    let capabilities = driver.handle().capabilities();
    let pid = ["goog:processID", "moz:processID"]
        .iter()
        .find_map(|key| capabilities.get(key).and_then(Value::as_i64))?;
    proc::stat(i32::try_from(pid).ok()?).map(|stat| stat.id())
}

fn version_in(driver: &WebDriver) -> BrowserVersion {
    let capabilities = driver.handle().capabilities();
    let text = |key: &str| {
        capabilities
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned()
    };
    BrowserVersion {
        name: text("browserName"),
        version: text("browserVersion"),
    }
}
