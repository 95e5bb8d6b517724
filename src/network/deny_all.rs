//! The proxy a browser is launched with: it lets nothing through. What comes here is the browser's
//! own (updates, settings, autofill), since every page lives in a context with a proxy of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::NetworkError;
use super::fields::HeadError;
use super::proxy::{BREATH, listen};
use super::wire::{Wire, read_request};

pub struct DenyAll {
    address: SocketAddr,
    denied: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl DenyAll {
    pub async fn start(bind: IpAddr) -> Result<Self, NetworkError> {
        let (listener, address) = listen(SocketAddr::new(bind, 0)).await?;
        let denied = Arc::new(AtomicU64::new(0));
        let accepting = tokio::spawn(accept(listener, denied.clone()));
        Ok(Self {
            address,
            denied,
            accepting,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests refused so far; nothing else is remembered.
    pub fn denied(&self) -> u64 {
        self.denied.load(Ordering::Relaxed)
    }

    pub async fn shutdown(mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for DenyAll {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, denied: Arc<AtomicU64>) {
    let room = Arc::new(Semaphore::new(64));
    let mut connections = JoinSet::new();
    while let Ok(permit) = room.clone().acquire_owned().await {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let denied = denied.clone();
                connections.spawn(async move {
                    refuse(stream, &denied).await;
                    drop(permit);
                });
            }
            // Out of file descriptors: those in use will come back, spinning doesn't hasten it.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn refuse(stream: TcpStream, denied: &AtomicU64) {
    let mut client = Wire::new(stream);
    let head = timeout(Duration::from_secs(10), read_request(&mut client.r)).await;
    if matches!(head, Ok(Ok(_) | Err(HeadError::Malformed(_)))) {
        denied.fetch_add(1, Ordering::Relaxed);
        let answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = client.w.write_all(answer).await;
        let _ = client.w.shutdown().await;
    }
}
