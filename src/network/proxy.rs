//! The listener of one user context.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::config::{Mode, ProxyConfig};
use super::connection::serve;
use super::events::{Denied, Log, NetEvent};
use super::flight::Quiet;
use super::session::Session;
use super::sockets::SocketCount;
use super::{NetworkError, install_crypto};
use crate::policy::{AllowSet, Origin};

/// Before accepting is tried again after it failed.
pub(super) const BREATH: Duration = Duration::from_millis(50);

/// Runs until it is shut down or dropped.
pub struct Proxy {
    address: SocketAddr,
    session: Arc<Session>,
    allow: watch::Sender<AllowSet>,
    entering: watch::Sender<Option<Origin>>,
    events: Option<mpsc::UnboundedReceiver<NetEvent>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub async fn start(config: ProxyConfig) -> Result<Self, NetworkError> {
        install_crypto();
        let (listener, address) = listen(SocketAddr::new(config.bind, 0)).await?;
        let (allow, watched) = watch::channel(config.allow.clone());
        let (log, events) = Log::new();
        let (entering, entered) = watch::channel(None);
        let session = Arc::new(Session::new(config, watched, entered, log));
        let accepting = tokio::spawn(accept(listener, session.clone()));
        Ok(Self {
            address,
            session,
            allow,
            entering,
            events: Some(events),
            accepting,
        })
    }

    /// Where the browser is to be sent.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Handed out once.
    pub fn events(&mut self) -> Option<mpsc::UnboundedReceiver<NetEvent>> {
        self.events.take()
    }

    pub fn quiet(&self) -> watch::Receiver<Quiet> {
        self.session.flights.watch()
    }

    pub fn allowed(&self) -> AllowSet {
        self.allow.borrow().clone()
    }

    /// Swaps the list; what runs to a place that is no longer on it is cut at once.
    pub fn set_allow(&self, allow: AllowSet) {
        self.allow.send_replace(allow);
    }

    /// While a secret of `origin` is entered, WebSockets to other places are cut and none is opened.
    pub fn set_entering(&self, origin: Option<Origin>) {
        self.entering.send_replace(origin);
    }

    /// Whether each request is seen, or only which places are called.
    pub fn sees_requests(&self) -> bool {
        self.session.mode == Mode::Inspect
    }

    /// The WebSockets that were opened so far, by place.
    pub fn sockets(&self) -> Vec<SocketCount> {
        self.session.sockets.counts()
    }

    /// What was refused so far, by place.
    pub fn denied(&self) -> Vec<Denied> {
        self.session.log.denied()
    }

    /// Refusals of further places, past those counted each by itself.
    pub fn denied_beyond(&self) -> u64 {
        self.session.log.denied_beyond()
    }

    /// Cuts every connection and waits until the port is free.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), NetworkError> {
    let failed = |source| NetworkError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Connections belong to this task: when it ends they end.
async fn accept(listener: TcpListener, session: Arc<Session>) {
    let room = Arc::new(Semaphore::new(session.limits.connections));
    let mut connections = JoinSet::new();
    loop {
        // At the bound new connections wait in the backlog.
        let Ok(permit) = room.clone().acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let session = session.clone();
                connections.spawn(async move {
                    serve(session, stream).await;
                    drop(permit);
                });
            }
            // Out of file descriptors: those in use will come back, spinning doesn't hasten it.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}
