//! Does the browser keep to its proxy? Asked before its first page (security.md 3.3).
//!
//! A switch of a browser can lose its effect with a new version and say nothing (one did). So each
//! browser first opens a page that tries to reach a decoy beside the proxy: over loopback names, a
//! socket, and WebRTC's UDP. If anything arrives there, or WebRTC finds an address to send from, the
//! session is refused.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::driver::{Browser, ContextSettings, Wait};
use crate::network::{Internal, InternalAnswer, Proxy, ProxyConfig};
use crate::policy::{AllowSet, Gate};

use super::settings::RunContext;

/// Can't exist, so nobody else is ever asked for it.
const HOST: &str = "rehearsal-check.invalid";
const WITHIN: Duration = Duration::from_secs(15);

/// `Err` says what was seen, and that no scenario will use this browser.
pub async fn verify(browser: &Browser, context: &RunContext) -> Result<(), String> {
    let fail =
        |what: &str, why: String| format!("network policy could not be established: {what}: {why}");
    let decoy = Decoy::listen(context.bind)
        .await
        .map_err(|e| fail("a decoy", e.to_string()))?;
    let done = Arc::new(Notify::new());
    let mut config = ProxyConfig::new(
        AllowSet::new(Vec::new()),
        Arc::new(Mutex::new(Gate::default())),
        context.authority.clone(),
        context.trust.clone(),
    );
    config.bind = context.bind;
    config.internal = Some(check_page(&decoy, done.clone()));
    let proxy = Proxy::start(config)
        .await
        .map_err(|e| fail("the proxy", e.to_string()))?;
    let opened = open(browser, &proxy).await;
    let answered = match &opened {
        Ok(_) => timeout(WITHIN, done.notified()).await.is_ok(),
        Err(_) => false,
    };
    let closed = match opened {
        Ok(session) => session.close().await.map_err(|e| e.to_string()),
        Err(error) => Err(error),
    };
    proxy.shutdown().await;
    closed.map_err(|e| fail("the check page", e))?;
    match (decoy.hits(), answered) {
        (0, true) => Ok(()),
        (0, false) => Err(fail("the check page", "it did not finish".into())),
        (hits, _) => Err(fail(
            "the browser goes around the proxy",
            format!(
                "{hits} ways out of the check page did not lead through it; no page is opened with this browser. Use one that `rehearsal doctor` knows, with its settings unlocked"
            ),
        )),
    }
}

async fn open(browser: &Browser, proxy: &Proxy) -> Result<crate::driver::UserContext, String> {
    let context = browser
        .new_context(ContextSettings::new(proxy.address()))
        .await
        .map_err(|e| e.to_string())?;
    let tab = context.new_tab().await.map_err(|e| e.to_string())?;
    let went = tab
        .navigate(&format!("http://{HOST}/"), Wait::Interactive, WITHIN)
        .await;
    match went {
        Ok(outcome) => match outcome.failure {
            None => Ok(context),
            Some(failure) => Err(failure.to_string()),
        },
        Err(error) => Err(error.to_string()),
    }
}

fn check_page(decoy: &Decoy, done: Arc<Notify>) -> Internal {
    let (tcp, udp) = decoy.places;
    let hits = decoy.hits.clone();
    let page = include_str!("selfcheck.html")
        .replace("TCP_PLACE", &tcp.to_string())
        .replace("UDP_PLACE", &udp.to_string())
        .replace("TCP_PORT", &tcp.port().to_string());
    Internal {
        host: HOST.into(),
        answer: Arc::new(move |path: &str| {
            match path {
                "/done" => done.notify_one(),
                "/candidate" => drop(hits.fetch_add(1, Ordering::SeqCst)),
                _ => {}
            }
            InternalAnswer {
                status: 200,
                content_type: "text/html; charset=utf-8",
                body: if path == "/" {
                    page.clone().into_bytes()
                } else {
                    Vec::new()
                },
            }
        }),
    }
}

/// Listens where nothing may ever come.
struct Decoy {
    places: (SocketAddr, SocketAddr),
    hits: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Decoy {
    async fn listen(beside: IpAddr) -> std::io::Result<Self> {
        let tcp = TcpListener::bind((beside, 0)).await?;
        let udp = UdpSocket::bind((beside, 0)).await?;
        let places = (tcp.local_addr()?, udp.local_addr()?);
        let hits = Arc::new(AtomicUsize::new(0));
        let (of_tcp, of_udp) = (hits.clone(), hits.clone());
        let tasks = vec![
            tokio::spawn(async move {
                while tcp.accept().await.is_ok() {
                    of_tcp.fetch_add(1, Ordering::SeqCst);
                }
            }),
            tokio::spawn(async move {
                let mut packet = [0u8; 64];
                while udp.recv_from(&mut packet).await.is_ok() {
                    of_udp.fetch_add(1, Ordering::SeqCst);
                }
            }),
        ];
        Ok(Self {
            places,
            hits,
            tasks,
        })
    }

    fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
