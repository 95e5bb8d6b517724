//! Ways to a listed host: a name is resolved once, and only a checked address is connected to.

use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::reach::is_public;
use super::session::Session;
use super::upstream::UpstreamProxy;
use super::wire::{Stream, Wire, read_response};
use crate::policy::{HostRule, Scheme};

#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error(
        "{host} leads to {address}, an address of this machine or its network; if that is meant, list the host as `{{ host: {host}, private: true }}`"
    )]
    Private { host: String, address: IpAddr },
    #[error("the name has no address")]
    Name,
    #[error("can't connect: {0}")]
    Connect(std::io::ErrorKind),
    #[error("no connection in time")]
    Timeout,
    #[error("certificate not trusted: {0}")]
    Certificate(String),
    #[error("TLS failed: {0}")]
    Tls(String),
    #[error("the upstream proxy doesn't answer: {0}")]
    Upstream(String),
}

/// A way to the host of a rule.
pub(super) struct Dialled {
    pub wire: Wire,
    /// Requests must name the whole address: there is another proxy in between.
    pub absolute: bool,
    /// `Proxy-Authorization` for that one.
    pub authorization: Option<String>,
}

/// Opened TLS where the rule says https, for judged requests.
pub(super) async fn dial(session: &Session, rule: &HostRule) -> Result<Dialled, DialError> {
    within(session, async {
        let plain = rule.scheme == Scheme::Http;
        if let (Some(upstream), true, None) = (via(session, rule), plain, literal(rule)) {
            let wire = Wire::new(reach_proxy(upstream).await?);
            return Ok(Dialled {
                wire,
                absolute: true,
                authorization: upstream.authorization.clone(),
            });
        }
        let stream = raw(session, rule).await?;
        let wire = match plain {
            true => Wire::new(stream),
            false => Wire::new(open_tls(session, rule, stream).await?),
        };
        Ok(Dialled {
            wire,
            absolute: false,
            authorization: None,
        })
    })
    .await
}

/// Bytes only, for a tunnel that isn't opened.
pub(super) async fn dial_raw(
    session: &Session,
    rule: &HostRule,
) -> Result<Box<dyn Stream>, DialError> {
    within(session, raw(session, rule)).await
}

async fn within<T>(
    session: &Session,
    dialling: impl Future<Output = Result<T, DialError>>,
) -> Result<T, DialError> {
    match timeout(session.limits.connect, dialling).await {
        Ok(done) => done,
        Err(_) => Err(DialError::Timeout),
    }
}

async fn raw(session: &Session, rule: &HostRule) -> Result<Box<dyn Stream>, DialError> {
    if let Some(address) = rule.connect_to {
        return connect(&[address]).await;
    }
    if let Some(address) = literal(rule) {
        let checked = check(rule, &[SocketAddr::new(address, rule.port)])?;
        return connect(&checked).await;
    }
    match via(session, rule) {
        Some(upstream) => tunnel(upstream, rule).await,
        None => {
            let found = lookup_host((rule.host.as_str(), rule.port))
                .await
                .map_err(|_| DialError::Name)?;
            let found: Vec<SocketAddr> = found.collect();
            connect(&check(rule, &found)?).await
        }
    }
}

/// Private hosts aren't the upstream proxy's business: it would look the name up on its side.
fn via<'a>(session: &'a Session, rule: &HostRule) -> Option<&'a UpstreamProxy> {
    session.upstream.as_ref().filter(|_| !rule.private)
}

fn literal(rule: &HostRule) -> Option<IpAddr> {
    bare(&rule.host).parse().ok()
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

fn check(rule: &HostRule, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, DialError> {
    let kept: Vec<_> = found
        .iter()
        .filter(|address| rule.private || is_public(address.ip()))
        .copied()
        .collect();
    match (kept.is_empty(), found.first()) {
        (false, _) => Ok(kept),
        (true, Some(first)) => Err(DialError::Private {
            host: rule.host.clone(),
            address: first.ip(),
        }),
        (true, None) => Err(DialError::Name),
    }
}

/// One after the other, in the order given; all have been checked.
async fn connect(addresses: &[SocketAddr]) -> Result<Box<dyn Stream>, DialError> {
    let mut last = DialError::Name;
    for address in addresses.iter().take(4) {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Heads are written in one piece; waiting to fill packets only delays them.
                let _ = stream.set_nodelay(true);
                return Ok(Box::new(stream));
            }
            Err(error) => last = DialError::Connect(error.kind()),
        }
    }
    Err(last)
}

async fn open_tls(
    session: &Session,
    rule: &HostRule,
    stream: Box<dyn Stream>,
) -> Result<impl Stream + use<>, DialError> {
    let name = ServerName::try_from(bare(&rule.host).to_owned())
        .map_err(|error| DialError::Tls(error.to_string()))?;
    TlsConnector::from(session.trust.config.clone())
        .connect(name, stream)
        .await
        .map_err(|error| {
            let inner = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<rustls::Error>());
            match inner {
                Some(rustls::Error::InvalidCertificate(why)) => {
                    DialError::Certificate(why.to_string())
                }
                Some(other) => DialError::Tls(other.to_string()),
                None => DialError::Tls(error.kind().to_string()),
            }
        })
}

async fn reach_proxy(upstream: &UpstreamProxy) -> Result<TcpStream, DialError> {
    TcpStream::connect((upstream.host.as_str(), upstream.port))
        .await
        .map_err(|error| DialError::Upstream(error.kind().to_string()))
}

async fn tunnel(upstream: &UpstreamProxy, rule: &HostRule) -> Result<Box<dyn Stream>, DialError> {
    let failed = |what: String| DialError::Upstream(what);
    let mut wire = Wire::new(reach_proxy(upstream).await?);
    let place = format!("{}:{}", rule.host, rule.port);
    let mut ask = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
    if let Some(authorization) = &upstream.authorization {
        ask.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    ask.push_str("\r\n");
    let sent = wire.w.write_all(ask.as_bytes()).await;
    sent.map_err(|error| failed(error.kind().to_string()))?;
    let answer = read_response(&mut wire.r, "CONNECT")
        .await
        .map_err(|error| failed(error.to_string()))?;
    match answer.status {
        200..=299 => Ok(Box::new(wire.join())),
        status => Err(failed(format!(
            "it refused the tunnel with status {status}"
        ))),
    }
}
