//! Server fixtures: started, found ready, reset, torn down on every way out.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::policy::{HostRule, Scheme};
use crate::scenario::{Fixture, FixtureKind, Server, Serves};
use crate::system::{ChildSpec, Guarded, PrivateFolder};

const READY_WITHIN: Duration = Duration::from_secs(15);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A fixture server that is up.
pub struct Running {
    pub name: String,
    pub port: u16,
    pub disposable: bool,
    server: Server,
    /// Ends the process group when dropped.
    process: Option<Guarded>,
    folder: Option<tokio::task::JoinHandle<()>>,
}

/// Why a fixture is not usable; names the fixture and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FixtureError {
    #[error("fixture `{name}`: `{program}` could not be started: {reason}. Is it on PATH?")]
    NotStarted {
        name: String,
        program: String,
        reason: String,
    },
    #[error("fixture `{name}`: {address} did not answer within {seconds} s{said}")]
    NotReady {
        name: String,
        address: String,
        seconds: u64,
        said: String,
    },
    #[error("fixture `{name}` ended at once{said}")]
    Ended { name: String, said: String },
    #[error("fixture `{name}`: reset {request} failed: {reason}")]
    Reset {
        name: String,
        request: String,
        reason: String,
    },
    #[error("fixture `{name}`: {what} is not usable: {reason}")]
    Bad {
        name: String,
        what: String,
        reason: String,
    },
}

/// Replaces `$(port)`, the one variable a fixture file knows.
fn with_port(text: &str, port: u16) -> String {
    text.replace("$(port)", &port.to_string())
}

impl Running {
    pub async fn start(fixture: &Fixture, root: &Path) -> Result<Self, FixtureError> {
        let FixtureKind::Server(server) = &fixture.kind else {
            return Err(FixtureError::Bad {
                name: fixture.name.clone(),
                what: "the fixture".into(),
                reason: "it is a flow, not a server".into(),
            });
        };
        let port = free_port().map_err(|e| FixtureError::Bad {
            name: fixture.name.clone(),
            what: "a free port".into(),
            reason: e.to_string(),
        })?;
        let mut running = Self {
            name: fixture.name.clone(),
            port,
            disposable: server.disposable,
            server: server.clone(),
            process: None,
            folder: None,
        };
        match &server.serves {
            Serves::Folder(folder) => {
                running.folder = Some(serve_folder(root.join(folder), port).await.map_err(
                    |reason| FixtureError::Bad {
                        name: fixture.name.clone(),
                        what: folder.display().to_string(),
                        reason,
                    },
                )?);
            }
            Serves::Command(words) => {
                let words: Vec<String> = words.iter().map(|w| with_port(w, port)).collect();
                running.process = Some(start_process(&fixture.name, &words, root).await?);
                running.until_ready().await?;
            }
        }
        Ok(running)
    }

    async fn until_ready(&mut self) -> Result<(), FixtureError> {
        let address = match &self.server.ready {
            Some(ready) => with_port(ready, self.port),
            None => format!("http://127.0.0.1:{}/", self.port),
        };
        let until = Instant::now() + READY_WITHIN;
        loop {
            let up = match &self.server.ready {
                Some(_) => request("GET", &address)
                    .await
                    .is_ok_and(|status| (200..300).contains(&status)),
                None => TcpStream::connect(("127.0.0.1", self.port)).await.is_ok(),
            };
            if up {
                return Ok(());
            }
            if self
                .process
                .as_ref()
                .is_some_and(|p| p.ended().borrow().is_some())
            {
                return Err(FixtureError::Ended {
                    name: self.name.clone(),
                    said: self.said(),
                });
            }
            if Instant::now() > until {
                return Err(FixtureError::NotReady {
                    name: self.name.clone(),
                    address,
                    seconds: READY_WITHIN.as_secs(),
                    said: self.said(),
                });
            }
            sleep(Duration::from_millis(30)).await;
        }
    }

    fn said(&self) -> String {
        let text = self
            .process
            .as_ref()
            .map(Guarded::error_tail)
            .unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(3).collect();
        if last.is_empty() {
            String::new()
        } else {
            format!(
                "; it said: {}",
                last.into_iter().rev().collect::<Vec<_>>().join(" / ")
            )
        }
    }

    /// Ends the server and waits until nothing of it is left.
    pub async fn stop(self) -> Result<(), String> {
        if let Some(task) = self.folder {
            task.abort();
        }
        match self.process {
            Some(process) => process
                .end()
                .await
                .map_err(|e| format!("fixture `{}`: {e}", self.name)),
            None => Ok(()),
        }
    }

    /// Puts the site back to its first state, where the fixture says how.
    pub async fn reset(&self) -> Result<(), FixtureError> {
        let Some(reset) = &self.server.reset else {
            return Ok(());
        };
        let (method, address) = reset
            .value
            .split_once(' ')
            .unwrap_or(("POST", &reset.value));
        let address = with_port(address.trim(), self.port);
        let fail = |reason: String| FixtureError::Reset {
            name: self.name.clone(),
            request: format!("{method} {address}"),
            reason,
        };
        match request(method, &address).await {
            Ok(status) if (200..400).contains(&status) => Ok(()),
            Ok(status) => Err(fail(format!("status {status}"))),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// Host rules for the names this server is reached under, mapped to where it listens.
    pub fn hosts(&self, default_scheme: Scheme) -> Result<Vec<HostRule>, FixtureError> {
        self.server
            .hosts
            .iter()
            .map(|(name, at)| {
                let bad = |reason: String| FixtureError::Bad {
                    name: self.name.clone(),
                    what: format!("host `{}`", name.value),
                    reason,
                };
                let to: SocketAddr = with_port(&at.value, self.port)
                    .parse()
                    .map_err(|_| bad(format!("`{}` is no address:port", at.value)))?;
                let rule =
                    HostRule::parse(&name.value, default_scheme).map_err(|e| bad(e.to_string()))?;
                Ok(rule.mapped(to))
            })
            .collect()
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()?
        .port())
}

async fn start_process(name: &str, words: &[String], root: &Path) -> Result<Guarded, FixtureError> {
    let fail = |reason: String| FixtureError::NotStarted {
        name: name.to_owned(),
        program: words.first().cloned().unwrap_or_default(),
        reason,
    };
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| fail("`command` is empty".into()))?;
    let program =
        find_program(program, root).ok_or_else(|| fail("there is no such program".into()))?;
    let spec = ChildSpec {
        program,
        arguments: arguments.iter().map(Into::into).collect(),
        environment: std::env::vars_os()
            .filter(|(name, _)| may_pass_on(&name.to_string_lossy()))
            .collect(),
        guard: None,
        working_folder: Some(root.to_owned()),
    };
    let folder = PrivateFolder::session().map_err(|e| fail(e.to_string()))?;
    Guarded::start(&spec, folder)
        .await
        .map_err(|e| fail(e.to_string()))
}

/// A fixture has no need of the credentials and keys this run was given (T9).
fn may_pass_on(variable: &str) -> bool {
    let secret = [
        "_PASSWORD",
        "_USERNAME",
        "_TOTP",
        "_KEY",
        "_TOKEN",
        "_SECRET",
    ]
    .iter()
    .any(|end| variable.ends_with(end));
    !secret || variable.starts_with("FIXTURE_")
}

/// A path in the suite, a program beside our own, or one on PATH.
fn find_program(program: &str, root: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(root.join(program)).filter(|p| p.is_file());
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join(program)));
    beside
        .filter(|p| p.is_file())
        .or_else(|| crate::system::find::which(program))
}

/// One plain request; the status of the answer. Fixtures listen on loopback, so nothing grander is needed.
async fn request(method: &str, address: &str) -> std::io::Result<u16> {
    let bad = |why: &str| std::io::Error::new(std::io::ErrorKind::InvalidInput, why.to_owned());
    let url = url::Url::parse(address).map_err(|e| bad(&e.to_string()))?;
    if url.scheme() != "http" {
        return Err(bad("only http:// addresses can be asked"));
    }
    let (host, port) = (
        url.host_str().ok_or_else(|| bad("no host"))?,
        url.port_or_known_default().unwrap_or(80),
    );
    let ask = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut answer = [0u8; 64];
        let mut got = 0;
        while got < 12 {
            let n = stream.read(&mut answer[got..]).await?;
            if n == 0 {
                break;
            }
            got += n;
        }
        std::str::from_utf8(&answer[..got])
            .ok()
            .and_then(|line| line.split(' ').nth(1)?.get(..3)?.parse().ok())
            .ok_or_else(|| bad("no HTTP answer"))
    };
    timeout(ANSWER_WITHIN, ask)
        .await
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))?
}

/// Serves a folder of static pages on loopback.
async fn serve_folder(folder: PathBuf, port: u16) -> Result<tokio::task::JoinHandle<()>, String> {
    if !folder.is_dir() {
        return Err("there is no such folder".into());
    }
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|e| e.to_string())?;
    let app = axum::Router::new().fallback(move |uri: axum::http::Uri| {
        let folder = folder.clone();
        async move { static_file(&folder, uri.path()).await }
    });
    Ok(tokio::spawn(async move {
        let _ = axum::serve(listener, app).await;
    }))
}

async fn static_file(folder: &Path, path: &str) -> axum::response::Response {
    use axum::http::{StatusCode, header};
    use axum::response::IntoResponse;
    let decoded = percent_encoding::percent_decode_str(path)
        .decode_utf8_lossy()
        .into_owned();
    // Nothing outside the folder, whatever the path says.
    if decoded
        .split('/')
        .any(|part| part == ".." || part.contains('\\'))
    {
        return StatusCode::NOT_FOUND.into_response();
    }
    let mut file = folder.join(decoded.trim_start_matches('/'));
    if file.is_dir() {
        file.push("index.html");
    }
    let kind = match file
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
    {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    match tokio::fs::read(&file).await {
        Ok(bytes) => (
            [
                (header::CONTENT_TYPE, kind),
                (header::CACHE_CONTROL, "no-store"),
            ],
            bytes,
        )
            .into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// All servers of one worker, by name.
pub type Servers = BTreeMap<String, Running>;
