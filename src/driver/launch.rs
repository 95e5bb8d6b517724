//! Starting a driver of our own under the guard, and a session on it.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use thirtyfour::{Capabilities, WebDriver};
use tokio::time::Instant;

use super::capabilities::capabilities;
use super::error::DriverError;
use super::find::{BrowserKind, Found, Sandbox, find};
use super::http::Client;
use crate::system::guard::CANNOT_START;
use crate::system::{ChildSpec, Guarded, PrivateFolder};

/// How a browser is started.
#[derive(Debug, Clone)]
pub struct LaunchSettings {
    pub kind: BrowserKind,
    /// Named by setting; otherwise looked for on PATH.
    pub driver: Option<PathBuf>,
    pub browser: Option<PathBuf>,
    pub sandbox: Sandbox,
    pub headed: bool,
    pub viewport: (u32, u32),
    /// Takes the browser's own calls and denies them; `host:port`. Without one they go to a
    /// port nobody serves. Pages never use it: each user context has its own.
    pub proxy: Option<String>,
    /// Where the proxies of the user contexts listen.
    pub proxies_at: IpAddr,
    /// From starting the driver to a session: the whole of it.
    pub start_limit: Duration,
    /// The guard's program, when this process is not `rehearsal`.
    pub guard: Option<PathBuf>,
}

impl Default for LaunchSettings {
    fn default() -> Self {
        Self {
            kind: BrowserKind::default(),
            driver: None,
            browser: None,
            sandbox: Sandbox::default(),
            headed: false,
            viewport: (1280, 800),
            proxy: None,
            proxies_at: IpAddr::V4(Ipv4Addr::LOCALHOST),
            start_limit: Duration::from_secs(30),
            guard: None,
        }
    }
}

/// A driver of ours that answers on a port of its own choice.
#[derive(Debug)]
pub(super) struct RunningDriver {
    pub(super) process: Guarded,
    pub(super) address: String,
    pub(super) found: Found,
    pub(super) capabilities: Map<String, Value>,
}

/// The driver picks its own port, and binds it twice (IPv4 and IPv6): another program may hold the
/// second, so it sometimes ends at once. Each start picks anew; more starts than this mean that
/// something else is wrong.
const STARTS: usize = 6;
const PORT_TAKEN: &str = "Address already in use";

/// Starts the driver on port 0 and reads the port from what it says, so that neither a
/// parallel run nor a stranger can hold it (case 111), and the driver that answers is ours.
pub(super) async fn start_driver(
    settings: &LaunchSettings,
    until: Instant,
) -> Result<RunningDriver, DriverError> {
    let found = find(
        settings.kind,
        settings.driver.as_deref(),
        settings.browser.as_deref(),
    )?;
    let mut starts = 1;
    loop {
        match start_once(settings, &found, until).await {
            Err(DriverError::NotStarted { reason, .. })
                if reason.contains(PORT_TAKEN) && starts < STARTS && Instant::now() < until =>
            {
                starts += 1;
            }
            ended => return ended,
        }
    }
}

async fn start_once(
    settings: &LaunchSettings,
    found: &Found,
    until: Instant,
) -> Result<RunningDriver, DriverError> {
    let folder = PrivateFolder::session()?;
    let profile = folder.sub("profile")?;
    let home = folder.sub("home")?;
    let temporary = folder.sub("t")?;
    let spec = ChildSpec {
        program: found.driver.clone(),
        arguments: driver_arguments(found.kind),
        environment: environment(&home, &temporary, settings.headed, |name| {
            std::env::var_os(name)
        }),
        guard: settings.guard.clone(),
        working_folder: None,
    };
    let capabilities = capabilities(found, settings, &profile);
    let mut process = Guarded::start(&spec, folder).await?;
    match read_port(&mut process, until).await {
        Ok(port) => Ok(RunningDriver {
            process,
            address: format!("http://127.0.0.1:{port}/"),
            found: found.clone(),
            capabilities,
        }),
        Err(reason) => {
            let said = process.error_tail();
            let _ = process.kill().await;
            let reason = match said.lines().next_back() {
                Some(last) if !last.is_empty() => format!("{reason}; it said: {last}"),
                _ => reason,
            };
            Err(DriverError::NotStarted {
                program: found.driver.display().to_string(),
                reason,
            })
        }
    }
}

fn driver_arguments(kind: BrowserKind) -> Vec<OsString> {
    match kind {
        BrowserKind::Chromium => vec!["--port=0".into()],
        BrowserKind::Firefox => [
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--websocket-port",
            "0",
        ]
        .map(OsString::from)
        .to_vec(),
    }
}

/// What driver and browser may know of our environment: no key, no proxy, no home of the user.
fn environment(
    home: &Path,
    temporary: &Path,
    headed: bool,
    ours: impl Fn(&str) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let mut names = vec!["PATH", "LANG", "LC_ALL", "TZ"];
    if headed {
        names.extend([
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "XAUTHORITY",
            "XDG_RUNTIME_DIR",
        ]);
    }
    let mut environment: Vec<(OsString, OsString)> = names
        .into_iter()
        .filter_map(|name| Some((OsString::from(name), ours(name)?)))
        .collect();
    // Without a locale that knows more than ASCII Chromium refuses downloads with other names.
    let mut said = ["LC_ALL", "LANG"].into_iter().filter_map(&ours);
    let said = said.find(|said| !said.is_empty());
    if !said.is_some_and(|said| said.to_string_lossy().to_uppercase().contains("UTF")) {
        environment.retain(|(name, _)| name != "LC_ALL");
        environment.push(("LC_ALL".into(), "C.UTF-8".into()));
    }
    for (name, value) in [("HOME", home), ("TMPDIR", temporary)] {
        environment.push((name.into(), OsStr::new(value).to_owned()));
    }
    environment
}

async fn read_port(process: &mut Guarded, until: Instant) -> Result<u16, String> {
    while let Some(line) = process.next_line(until).await {
        if let Some(reason) = line.strip_prefix(CANNOT_START) {
            return Err(reason.to_owned());
        }
        if let Some(port) = port_in(&line) {
            return Ok(port);
        }
    }
    let code = *process.ended().borrow();
    Err(match code {
        // The output's end is seen a moment before the guard's own.
        _ if Instant::now() < until => {
            let code = wait_for_code(process).await.or(code);
            match code {
                Some(code) => format!("it ended at once (exit code {code}) without naming a port"),
                None => "it closed its output without naming a port".to_owned(),
            }
        }
        _ => "it named no port in time; is this a WebDriver server?".to_owned(),
    })
}

async fn wait_for_code(process: &Guarded) -> Option<i32> {
    let mut ended = process.ended();
    let waited = tokio::time::timeout(
        Duration::from_secs(2),
        ended.wait_for(|code| code.is_some()),
    )
    .await;
    waited.ok()?.ok().and_then(|code| *code)
}

/// chromedriver: "… was started successfully on port 35093."; geckodriver: "… Listening on
/// 127.0.0.1:4444".
fn port_in(line: &str) -> Option<u16> {
    let after = line
        .split_once("started successfully on port ")
        .or_else(|| line.split_once("Listening on 127.0.0.1:"))?
        .1;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|port| *port != 0)
}

/// Makes a session within its own limit (case 113). A session that comes after we gave up is
/// deleted at once, so that it does not hold a slot nobody uses (case 114).
pub(super) async fn new_session(
    address: &str,
    kind: BrowserKind,
    capabilities: Map<String, Value>,
    until: Instant,
) -> Result<WebDriver, DriverError> {
    let no_session = |reason: String| DriverError::NoSession {
        address: without_password(address),
        browser: kind.name().to_owned(),
        reason,
    };
    let client = Client::new(Duration::from_secs(600)).map_err(|e| no_session(e.to_string()))?;
    // Without the slash the last part of a prefix ("/wd/hub") would be replaced, not kept.
    let base = format!("{}/", address.trim_end_matches('/'));
    let connecting = WebDriver::builder(base, Capabilities::from(capabilities))
        .client(client)
        .connect();
    let mut task = tokio::spawn(async move {
        let driver = connecting.await?;
        // thirtyfour's drop would block the runtime; the session is ended by us, always.
        let _ = driver.clone().leak();
        Ok::<_, thirtyfour::error::WebDriverError>(driver)
    });
    match tokio::time::timeout_at(until, &mut task).await {
        Ok(Ok(Ok(driver))) => Ok(driver),
        Ok(Ok(Err(error))) => Err(no_session(first_line(&error.to_string()))),
        Ok(Err(error)) => Err(no_session(error.to_string())),
        Err(_) => {
            tokio::spawn(async move {
                if let Ok(Ok(driver)) = task.await {
                    let _ = delete_session(&driver, Duration::from_secs(10)).await;
                }
            });
            Err(no_session(
                "no answer within the limit; is this the address of a WebDriver server, with its \
                 path?"
                    .to_owned(),
            ))
        }
    }
}

/// Deletes the session; `false` when that was not confirmed in time.
pub(super) async fn delete_session(driver: &WebDriver, limit: Duration) -> bool {
    let delete = driver
        .handle()
        .cmd(thirtyfour::common::command::Command::DeleteSession);
    matches!(tokio::time::timeout(limit, delete).await, Ok(Ok(_)))
}

/// Driver errors are walls of text with stack traces: the sentence that says it is kept.
fn first_line(text: &str) -> String {
    let telling = [
        "session not created",
        "unknown error",
        "cannot find",
        "failed",
    ];
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default().to_owned();
    lines
        .find(|line| {
            telling
                .iter()
                .any(|word| line.to_lowercase().contains(word))
        })
        .map(|line| line.chars().take(300).collect())
        .unwrap_or(first)
}

pub(super) fn without_password(address: &str) -> String {
    match url::Url::parse(address) {
        Ok(mut url) => {
            let _ = url.set_password(None);
            let _ = url.set_username("");
            url.to_string()
        }
        Err(_) => "the address given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_both_drivers_words() {
        assert_eq!(
            port_in("ChromeDriver was started successfully on port 35093."),
            Some(35093)
        );
        assert_eq!(
            port_in("1790000000000\tgeckodriver\tINFO\tListening on 127.0.0.1:40123"),
            Some(40123)
        );
        assert_eq!(port_in("Starting ChromeDriver 156.0 on port 0"), None);
        assert_eq!(port_in("started successfully on port 99999."), None);
        assert_eq!(port_in("started successfully on port 0."), None);
    }

    #[test]
    fn driver_and_browser_get_nothing_of_our_environment_but_the_listed() {
        let ours = |name: &str| Some(OsString::from(format!("ours-{name}.UTF-8")));
        let names = |headed| -> Vec<String> {
            environment(Path::new("/h"), Path::new("/t"), headed, ours)
                .into_iter()
                .map(|(name, _)| name.into_string().unwrap())
                .collect()
        };
        assert_eq!(
            names(false),
            ["PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR"]
        );
        assert!(names(true).contains(&"DISPLAY".to_owned()));
        for poor in [None, Some(OsString::from("C"))] {
            let told = environment(Path::new("/h"), Path::new("/t"), false, |name| {
                poor.clone().filter(|_| name != "PATH")
            });
            let all: Vec<_> = told.iter().filter(|(name, _)| name == "LC_ALL").collect();
            assert_eq!(all, [&("LC_ALL".into(), "C.UTF-8".into())], "{poor:?}");
        }
        let home = environment(Path::new("/h"), Path::new("/t"), false, ours)
            .into_iter()
            .find(|(name, _)| name == "HOME");
        assert_eq!(home.unwrap().1, "/h");
    }

    #[test]
    fn an_address_is_said_without_its_password() {
        assert_eq!(
            without_password("http://me:hunter2@grid.test:4444/wd/hub"),
            "http://grid.test:4444/wd/hub"
        );
    }

    #[test]
    fn one_line_of_a_wall_of_text() {
        let wall = "\n Status: 500\n State: x\n session not created: This version of ChromeDriver \
                    only supports Chrome version 114\n#0 0x55\n#1 0x56";
        assert_eq!(
            first_line(wall),
            "session not created: This version of ChromeDriver only supports Chrome version 114"
        );
    }
}
