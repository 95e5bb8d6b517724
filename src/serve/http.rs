//! The listener: loopback only, bounded in connections, heads and time (F44).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::guard::Doors;
use super::routes::router;
use super::service::Service;

const CONNECTIONS: usize = 128;
/// For a request's head; a client that drips it is let go.
const HEAD: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 32 << 10;
const HEADERS: usize = 64;
/// Calls that are being answered at the end have so long: whoever follows a run hears how it ended.
const LAST: Duration = Duration::from_secs(10);

/// Bound and not serving yet.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Port 0 takes a free one.
    pub async fn on(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Serves until `stop` resolves, and then until no connection is left: none holds the service any more.
pub async fn serve(listening: Listening, service: Arc<Service>, stop: impl Future<Output = ()>) {
    let doors = Doors::new(listening.port(), &service.options.origins);
    let router = router(service, doors);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let (ending, ended) = watch::channel(false);
    tokio::pin!(stop);
    loop {
        // At the bound new connections wait in the backlog.
        let permit = tokio::select! {
            permit = room.clone().acquire_owned() => permit,
            () = &mut stop => break,
        };
        let Ok(permit) = permit else { break };
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listening.listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors: those in use come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let router = router.clone();
        let mut ended = ended.clone();
        connections.spawn(async move {
            let _permit = permit;
            let service = TowerToHyperService::new(Incoming(router));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BYTES)
                .max_headers(HEADERS)
                .serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            // What goes wrong on a connection is its client's to see.
            tokio::select! {
                _ = connection.as_mut() => {}
                _ = ended.changed() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
        });
    }
    let _ = ending.send(true);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST, all).await.is_err() {
        connections.shutdown().await;
    }
}

/// The router, for hyper's own kind of body.
#[derive(Clone)]
struct Incoming(axum::Router);

impl tower_service::Service<hyper::Request<hyper::body::Incoming>> for Incoming {
    type Response = axum::http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = axum::routing::future::RouteFuture<std::convert::Infallible>;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        tower_service::Service::<hyper::Request<Body>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, request: hyper::Request<hyper::body::Incoming>) -> Self::Future {
        self.0.call(request.map(Body::new))
    }
}
