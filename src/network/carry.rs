//! A judged request on its way: sent to the site, its answer brought back, both at the same time.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, copy_bidirectional, join};
use tokio::time::Instant;
use url::Position;

use super::answer::Next;
use super::body::{self, CopyError};
use super::dial::{DialError, Dialled, dial};
use super::events::NetEvent;
use super::exchange::Passed;
use super::flight::Flight;
use super::session::Session;
use super::wire::{Framing, HeadError, ResponseHead, Wire, read_response};
use crate::policy::HostRule;

/// The connection to the site that the last request left open. One browser connection has one, so
/// nothing of one connection can end up in another.
#[derive(Default)]
pub(super) struct Lane(Option<(HostRule, Dialled)>);

impl Lane {
    /// Only for what may be asked twice: a kept connection can die while the request is under way.
    fn take(&mut self, rule: &HostRule, repeatable: bool) -> Option<Dialled> {
        let (kept, dialled) = self.0.take()?;
        (repeatable && kept == *rule).then_some(dialled)
    }
}

pub(super) enum Ended {
    Whole {
        bytes: u64,
        next: Next,
    },
    /// Broke after its head had been passed on.
    Short,
    /// Broke with nobody left to tell.
    Cut(String),
    NoAnswer {
        status: u16,
        reason: String,
        unread: Framing,
    },
    Private(String, Framing),
}

pub(super) async fn carry(
    session: &Session,
    client: &mut Wire,
    lane: &mut Lane,
    passed: &Passed,
    id: u64,
    flight: &Flight,
) -> Ended {
    let repeatable = passed.reads && passed.head.framing == Framing::None && !passed.socket;
    if let Some(kept) = lane.take(&passed.rule, repeatable) {
        match once(session, client, kept, passed, id, flight).await {
            Once::Stale => {}
            Once::Ended(ended, kept) => return keep(lane, passed, ended, kept),
        }
    }
    let fresh = match dial(session, &passed.rule).await {
        Ok(fresh) => fresh,
        Err(error @ DialError::Private { .. }) => {
            return Ended::Private(error.to_string(), passed.unread);
        }
        Err(error) => {
            let status = if matches!(error, DialError::Timeout) {
                504
            } else {
                502
            };
            let (reason, unread) = (error.to_string(), passed.unread);
            return Ended::NoAnswer {
                status,
                reason,
                unread,
            };
        }
    };
    match once(session, client, fresh, passed, id, flight).await {
        Once::Stale => Ended::NoAnswer {
            status: 502,
            reason: "the site closed the connection without an answer".to_owned(),
            unread: Framing::None,
        },
        Once::Ended(ended, kept) => keep(lane, passed, ended, kept),
    }
}

fn keep(lane: &mut Lane, passed: &Passed, ended: Ended, kept: Option<Dialled>) -> Ended {
    lane.0 = kept.map(|dialled| (passed.rule.clone(), dialled));
    ended
}

enum Once {
    /// The connection ended before the first byte of an answer.
    Stale,
    Ended(Ended, Option<Dialled>),
}

/// What comes of sending, which runs beside the answer for as long as it does.
enum Sending {
    SiteGone,
    ClientGone,
}

async fn once(
    session: &Session,
    client: &mut Wire,
    mut site: Dialled,
    passed: &Passed,
    id: u64,
    flight: &Flight,
) -> Once {
    let method = &passed.head.method;
    let request = request_bytes(passed, &site);
    let all_sent = AtomicBool::new(false);
    let sent = || all_sent.load(Ordering::Relaxed);
    let finished = {
        let mut sending = pin!(async {
            if site.wire.w.write_all(&request).await.is_err() {
                return Sending::SiteGone;
            }
            match body::copy(passed.unread, &mut client.r, &mut site.wire.w).await {
                Ok(_) => {}
                Err(CopyError::Reading(_)) => return Sending::ClientGone,
                Err(CopyError::Writing(_)) => return Sending::SiteGone,
            }
            if site.wire.w.flush().await.is_err() {
                return Sending::SiteGone;
            }
            all_sent.store(true, Ordering::Relaxed);
            gone(&mut client.r).await;
            Sending::ClientGone
        });
        let mut sending_ended = false;
        // The clock runs from the last byte sent; a slow upload is not a slow site.
        let head = {
            let mut answer = pin!(read_response(&mut site.wire.r, method));
            let mut deadline = Instant::now() + session.limits.answer;
            loop {
                let was_sent = sent();
                tokio::select! {
                    head = &mut answer => break head,
                    how = &mut sending, if !sending_ended => match how {
                        // It may have answered before it hung up.
                        Sending::SiteGone => sending_ended = true,
                        Sending::ClientGone => {
                            return Once::Ended(Ended::Cut("the browser gave up".to_owned()), None);
                        }
                    },
                    () = tokio::time::sleep_until(deadline) => {
                        if was_sent || sending_ended {
                            let reason = "no answer in time".to_owned();
                            let unread = Framing::None;
                            return Once::Ended(Ended::NoAnswer { status: 504, reason, unread }, None);
                        }
                        deadline = Instant::now() + session.limits.answer;
                    }
                }
            }
        };
        let head = match head {
            Ok(head) => head,
            Err(HeadError::Closed) => return Once::Stale,
            Err(error) => {
                let reason = format!("the answer is no HTTP: {error}");
                let unread = if sent() { Framing::None } else { passed.unread };
                return Once::Ended(
                    Ended::NoAnswer {
                        status: 502,
                        reason,
                        unread,
                    },
                    None,
                );
            }
        };
        let upgraded = head.status == 101;
        if (upgraded && !passed.socket) || head.status == 407 {
            let reason = format!("the site answered with status {}", head.status);
            let unread = Framing::None;
            return Once::Ended(
                Ended::NoAnswer {
                    status: 502,
                    reason,
                    unread,
                },
                None,
            );
        }
        tell_answer(session, id, &head);
        if upgraded || streams(&head) {
            flight.is_stream();
        }
        let client_keeps =
            head.framing != Framing::UntilClose && !passed.head.fields.lists("connection", "close");
        let bytes = response_bytes(&head, client_keeps);
        let mut receiving = pin!(async {
            client
                .w
                .write_all(&bytes)
                .await
                .map_err(CopyError::Writing)?;
            client.w.flush().await.map_err(CopyError::Writing)?;
            body::copy(head.framing, &mut site.wire.r, &mut client.w).await
        });
        let received = loop {
            tokio::select! {
                received = &mut receiving => break received,
                how = &mut sending, if !sending_ended => match how {
                    Sending::SiteGone => sending_ended = true,
                    Sending::ClientGone => return Once::Ended(Ended::Short, None),
                },
            }
        };
        match received {
            Ok(bytes) if !upgraded => {
                let keep = client_keeps && sent();
                let next = if keep { Next::Keep } else { Next::Close };
                let reusable = head.keeps && sent();
                Some((bytes, next, reusable))
            }
            Ok(_) => None,
            Err(_) => return Once::Ended(Ended::Short, None),
        }
    };
    match finished {
        Some((bytes, next, reusable)) => {
            if next == Next::Close {
                let _ = client.w.shutdown().await;
            }
            Once::Ended(Ended::Whole { bytes, next }, reusable.then_some(site))
        }
        None => {
            let mut page = join(&mut client.r, &mut client.w);
            let mut server = join(&mut site.wire.r, &mut site.wire.w);
            let ended = copy_bidirectional(&mut page, &mut server).await;
            let bytes = ended.map_or(0, |(_, down)| down);
            let next = Next::Close;
            Once::Ended(Ended::Whole { bytes, next }, None)
        }
    }
}

/// Resolves when the client hangs up. A further request is left alone until its turn.
async fn gone<R: AsyncBufRead + Unpin>(client: &mut R) {
    let waiting = matches!(client.fill_buf().await, Ok(bytes) if !bytes.is_empty());
    if waiting {
        std::future::pending::<()>().await;
    }
}

fn streams(head: &ResponseHead) -> bool {
    let kind = head.fields.text("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or("").trim();
    kind.eq_ignore_ascii_case("text/event-stream")
        || kind.eq_ignore_ascii_case("multipart/x-mixed-replace")
}

fn tell_answer(session: &Session, id: u64, head: &ResponseHead) {
    session.log.tell(NetEvent::Answered {
        id,
        status: head.status,
        content_type: head.fields.text("content-type"),
        content_disposition: head.fields.text("content-disposition"),
        redirect: head.fields.text("location"),
    });
}

/// The address as it was judged, the fields as they came, nothing of ours.
fn request_bytes(passed: &Passed, site: &Dialled) -> Vec<u8> {
    let head = &passed.head;
    let target = match site.absolute {
        true => &passed.url[..Position::AfterQuery],
        false => &passed.url[Position::BeforePath..Position::AfterQuery],
    };
    let mut bytes = format!("{} {target} HTTP/1.1\r\n", head.method).into_bytes();
    head.fields.write_end_to_end(&mut bytes);
    if head.framing == Framing::Chunked {
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    if passed.socket {
        bytes.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\n");
    }
    if let Some(authorization) = &site.authorization {
        bytes.extend_from_slice(format!("Proxy-Authorization: {authorization}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&passed.peeked);
    bytes
}

fn response_bytes(head: &ResponseHead, keeps: bool) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {} ", head.status).into_bytes();
    bytes.extend_from_slice(&head.reason);
    bytes.extend_from_slice(b"\r\n");
    head.fields.write_end_to_end(&mut bytes);
    if head.framing == Framing::Chunked {
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    if head.status == 101 {
        bytes.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\n");
    } else if !keeps {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}
