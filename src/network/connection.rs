//! One connection of the browser: plain requests in absolute form, or a tunnel.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::answer::{self, Next};
use super::carry::Lane;
use super::config::Mode;
use super::dial::{DialError, dial_raw};
use super::events::{Address, BlockedRequest, NetEvent};
use super::exchange::{denied, exchange, host_is};
use super::fields::HeadError;
use super::session::Session;
use super::wire::{Framing, RequestHead, Stream, Wire, read_request};
use crate::policy::{HostRule, Scheme};

pub(super) async fn serve(session: Arc<Session>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut client = Wire::new(stream);
    let mut lane = Lane::default();
    while let Some(head) = next_head(&session, &mut client, None).await {
        if head.method == "CONNECT" {
            return tunnel(&session, client, head).await;
        }
        let next = match absolute(&head.target) {
            Some(url) => plain(&session, &mut client, &mut lane, head, url).await,
            None => malformed(&session, &mut client, None, "not an absolute http address").await,
        };
        if next == Next::Close {
            return;
        }
    }
}

/// `None`: ended, silent, or malformed and told so.
async fn next_head(
    session: &Session,
    client: &mut Wire,
    inside: Option<&HostRule>,
) -> Option<RequestHead> {
    // Waiting for a request to begin is cheap and long, for it to end is neither.
    let begun = timeout(session.limits.idle, client.r.fill_buf()).await;
    if !matches!(begun, Ok(Ok(bytes)) if !bytes.is_empty()) {
        return None;
    }
    match timeout(session.limits.head, read_request(&mut client.r)).await {
        Ok(Ok(head)) => Some(head),
        Ok(Err(HeadError::Malformed(why))) => {
            malformed(session, client, inside, why).await;
            None
        }
        Ok(Err(HeadError::Closed | HeadError::Broken)) | Err(_) => None,
    }
}

async fn malformed(
    session: &Session,
    client: &mut Wire,
    inside: Option<&HostRule>,
    why: &str,
) -> Next {
    let mut blocked = match inside {
        Some(rule) => BlockedRequest::at(rule.scheme, &rule.host, rule.port, "malformed request"),
        None => BlockedRequest::at(Scheme::Http, "", 0, "malformed request"),
    };
    blocked.detail = Some(why.to_owned());
    session.log.blocked(blocked);
    answer::empty(client, 400, Framing::None).await
}

/// `http://…` alone: browsers send everything else through a tunnel.
fn absolute(target: &str) -> Option<Url> {
    let url = Url::parse(target).ok()?;
    (url.scheme() == "http").then_some(url)
}

async fn plain(
    session: &Session,
    client: &mut Wire,
    lane: &mut Lane,
    head: RequestHead,
    url: Url,
) -> Next {
    let internal = session.internal.as_ref();
    if let Some(internal) = internal.filter(|i| url.host_str() == Some(&i.host)) {
        let reads = matches!(head.method.as_str(), "GET" | "HEAD");
        if !reads || head.framing != Framing::None || !host_is(&head.fields, &url) {
            return answer::empty(client, 400, head.framing).await;
        }
        let given = (internal.answer)(url.path());
        return answer::internal(client, given, head.method == "GET").await;
    }
    exchange(session, client, lane, head, url).await
}

/// What a CONNECT line asks for, in canonical form; `None` where it isn't exactly that.
fn authority(target: &str) -> Option<(String, u16)> {
    let (_, port) = target.rsplit_once(':')?;
    let port: u16 = port
        .parse()
        .ok()
        .filter(|n| *n > 0 && !port.starts_with('+'))?;
    let url = Url::parse(&format!("https://{target}/")).ok()?;
    let host = url.host_str()?.to_owned();
    let same = format!("{host}:{port}").eq_ignore_ascii_case(target);
    same.then_some((host, port))
}

async fn tunnel(session: &Arc<Session>, mut client: Wire, head: RequestHead) {
    let place = authority(&head.target).filter(|(host, port)| {
        let full = format!("{host}:{port}");
        let named = head.fields.text("host");
        head.framing == Framing::None
            && named.is_none_or(|named| {
                named.eq_ignore_ascii_case(&full) || named.eq_ignore_ascii_case(host)
            })
    });
    let Some((host, port)) = place else {
        malformed(
            session,
            &mut client,
            None,
            "CONNECT without a plain host and port",
        )
        .await;
        return;
    };
    if session.holds_secret(&head.target) {
        let blocked = BlockedRequest::at(Scheme::Https, &host, port, "secret in url");
        session.log.blocked(blocked);
        refuse_tunnel(&mut client).await;
        return;
    }
    let encrypted = session.rule(Scheme::Https, &host, port);
    let open = session.rule(Scheme::Http, &host, port);
    if let (Err(denial), Err(of_http)) = (&encrypted, &open) {
        // Port 80 is for WebSockets without TLS, everything else most likely for HTTPS.
        let (scheme, denial) = match port {
            80 => (Scheme::Http, of_http),
            _ => (Scheme::Https, denial),
        };
        let blocked = BlockedRequest::at(scheme, &host, port, denial.reason());
        session.log.blocked(denied(blocked, denial));
        refuse_tunnel(&mut client).await;
        return;
    }
    if answer::send(&mut client, b"HTTP/1.1 200 OK\r\n\r\n")
        .await
        .is_err()
    {
        return;
    }
    match (begins_tls(session, &mut client).await, encrypted, open) {
        (Some(true), Ok(rule), _) => {
            let inside = async {
                match session.mode {
                    Mode::Inspect => opened(session, client, &rule).await,
                    Mode::Tunnel => closed(session, client, &rule).await,
                }
            };
            unless_revoked(session, &rule, inside).await;
        }
        (Some(false), _, Ok(rule)) => {
            unless_revoked(session, &rule, requests(session, client, &rule)).await;
        }
        (Some(tls), ..) => {
            let scheme = if tls { Scheme::Https } else { Scheme::Http };
            let blocked = BlockedRequest::at(scheme, &host, port, "scheme not listed");
            session.log.blocked(blocked);
        }
        (None, ..) => {}
    }
}

async fn refuse_tunnel(client: &mut Wire) {
    let _ = answer::send(
        client,
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    )
    .await;
    let _ = client.w.shutdown().await;
}

async fn unless_revoked(session: &Session, rule: &HostRule, inside: impl Future<Output = ()>) {
    tokio::select! {
        () = inside => {}
        () = session.revoked(rule) => {}
    }
}

/// A TLS handshake begins with 0x16; no HTTP method does. `None`: nothing came.
async fn begins_tls(session: &Session, client: &mut Wire) -> Option<bool> {
    match timeout(session.limits.idle, client.r.fill_buf()).await {
        Ok(Ok([first, ..])) => Some(*first == 0x16),
        _ => None,
    }
}

async fn opened(session: &Session, client: Wire, rule: &HostRule) {
    let config = match session.authority.server_config(&rule.host) {
        Ok(config) => config,
        Err(error) => return failed(session, rule, error.to_string()),
    };
    let accepting = TlsAcceptor::from(config).accept(client.join());
    // Browsers open connections ahead of need and drop them: a handshake that fails asked nothing.
    if let Ok(Ok(stream)) = timeout(session.limits.head, accepting).await {
        requests(session, Wire::new(stream), rule).await;
    }
}

/// Requests inside a tunnel: in origin form, all for the tunnel's place.
async fn requests(session: &Session, mut client: Wire, rule: &HostRule) {
    let mut lane = Lane::default();
    while let Some(head) = next_head(session, &mut client, Some(rule)).await {
        let base = format!("{}://{}:{}", rule.scheme, rule.host, rule.port);
        let url = match head.target.starts_with('/') {
            true => Url::parse(&format!("{base}{}", head.target)).ok(),
            false => None,
        };
        let next = match url {
            Some(url) => exchange(session, &mut client, &mut lane, head, url).await,
            None => {
                malformed(
                    session,
                    &mut client,
                    Some(rule),
                    "request inside a tunnel without a path",
                )
                .await
            }
        };
        if next == Next::Close {
            return;
        }
    }
}

/// A tunnel whose inside isn't looked at.
async fn closed(session: &Session, client: Wire, rule: &HostRule) {
    let id = session.log.next_id();
    let flight = session.flights.begin(id);
    flight.is_stream();
    let mut site = match dial_raw(session, rule).await {
        Ok(site) => site,
        Err(error @ DialError::Private { .. }) => {
            let mut blocked =
                BlockedRequest::at(rule.scheme, &rule.host, rule.port, "private address");
            blocked.detail = Some(error.to_string());
            return session.log.blocked(blocked);
        }
        Err(error) => return failed(session, rule, error.to_string()),
    };
    session.log.tell(NetEvent::Started {
        id,
        method: "CONNECT".to_owned(),
        address: place(rule),
        dest: None,
        at: std::time::Instant::now(),
    });
    let mut client: Box<dyn Stream> = Box::new(client.join());
    let ended = copy_bidirectional(&mut client, &mut site).await;
    session.log.tell(NetEvent::Finished {
        id,
        bytes: ended.as_ref().map_or(0, |(_, down)| *down),
        whole: ended.is_ok(),
    });
}

fn failed(session: &Session, rule: &HostRule, reason: String) {
    let (id, address) = (session.log.next_id(), place(rule));
    session.log.tell(NetEvent::Failed {
        id,
        address,
        reason,
    });
}

fn place(rule: &HostRule) -> Address {
    Address {
        url: rule.to_string(),
        query: None,
    }
}
