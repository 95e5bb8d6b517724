//! A judged request on its way: sent to the site, its answer brought back, both at the same time.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional, join,
};
use tokio::time::timeout;

use super::answer::Next;
use super::body::{self, CopyError};
use super::dial::{DialError, Dialled, dial};
use super::events::NetEvent;
use super::exchange::Passed;
use super::fields::HeadError;
use super::flight::Flight;
use super::heads::{request_bytes, response_bytes};
use super::session::Session;
use super::sockets::Messages;
use super::wire::{Framing, ResponseHead, Wire, read_response};
use crate::policy::{HostRule, LOGIN};

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

/// How the way up ends.
enum Sending {
    SiteGone,
    ClientGone,
}

/// The request on its way up, kept going beside whatever else is waited for.
struct Beside<'a, F> {
    sending: Pin<&'a mut F>,
    ended: bool,
}

impl<F: Future<Output = Sending>> Beside<'_, F> {
    /// Resolves only when the browser is gone. A site that no longer listens may still have
    /// answered before it hung up.
    async fn client_gone(&mut self) {
        if !self.ended {
            match self.sending.as_mut().await {
                Sending::ClientGone => return,
                Sending::SiteGone => self.ended = true,
            }
        }
        std::future::pending().await
    }
}

async fn once(
    session: &Session,
    client: &mut Wire,
    mut site: Dialled,
    passed: &Passed,
    id: u64,
    flight: &Flight,
) -> Once {
    let request = request_bytes(passed, &site);
    let sent = AtomicBool::new(false);
    let both_ways = {
        let sending = pin!(send(
            passed,
            &request,
            &mut client.r,
            &mut site.wire.w,
            &sent
        ));
        let mut beside = Beside {
            sending,
            ended: false,
        };
        let answering = answer_of(session, passed, &mut site.wire.r, &sent);
        let head = tokio::select! {
            head = answering => head,
            () = beside.client_gone() => Err(Once::Ended(Ended::Cut("the browser gave up".to_owned()), None)),
        };
        let head = match head {
            Ok(head) => head,
            Err(once) => return once,
        };
        tell_answer(session, id, &head);
        if matches!(head.status, 307 | 308) && passed.because.as_deref() == Some(LOGIN) {
            session.login_redirected();
        }
        if head.status == 101 || streams(&head) {
            flight.is_stream();
        }
        let keeps =
            head.framing != Framing::UntilClose && !passed.head.fields.lists("connection", "close");
        let receiving = receive(&head, keeps, &mut site.wire.r, &mut client.w);
        let received = tokio::select! {
            received = receiving => received,
            () = beside.client_gone() => Err(CopyError::Writing),
        };
        let Ok(bytes) = received else {
            return Once::Ended(Ended::Short, None);
        };
        let sent = sent.load(Ordering::Relaxed);
        // `None`: no longer HTTP.
        (head.status != 101).then_some((bytes, keeps && sent, head.keeps && sent))
    };
    match both_ways {
        Some((bytes, client_keeps, site_keeps)) => {
            let next = if client_keeps {
                Next::Keep
            } else {
                Next::Close
            };
            if next == Next::Close {
                let _ = client.w.shutdown().await;
            }
            Once::Ended(Ended::Whole { bytes, next }, site_keeps.then_some(site))
        }
        None => {
            let said = Messages::new(&mut client.r, session.sockets.opened(&passed.url));
            let mut page = join(said, &mut client.w);
            let mut server = join(&mut site.wire.r, &mut site.wire.w);
            let ended = copy_bidirectional(&mut page, &mut server).await;
            let bytes = ended.map_or(0, |(_, down)| down);
            let next = Next::Close;
            Once::Ended(Ended::Whole { bytes, next }, None)
        }
    }
}

/// Sends the request, then waits for the browser to hang up.
async fn send<R, W>(
    passed: &Passed,
    request: &[u8],
    from: &mut R,
    to: &mut W,
    sent: &AtomicBool,
) -> Sending
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if to.write_all(request).await.is_err() {
        return Sending::SiteGone;
    }
    match body::copy(passed.unread, from, to).await {
        Ok(_) => {}
        Err(CopyError::Reading) => return Sending::ClientGone,
        Err(CopyError::Writing) => return Sending::SiteGone,
    }
    if to.flush().await.is_err() {
        return Sending::SiteGone;
    }
    sent.store(true, Ordering::Relaxed);
    gone(from).await;
    Sending::ClientGone
}

/// The head of the answer, or what its lack comes to.
async fn answer_of<R>(
    session: &Session,
    passed: &Passed,
    from: &mut R,
    sent: &AtomicBool,
) -> Result<ResponseHead, Once>
where
    R: AsyncBufRead + Unpin,
{
    let mut reading = pin!(read_response(from, &passed.head.method));
    let head = loop {
        match timeout(session.limits.answer, reading.as_mut()).await {
            Ok(head) => break head,
            Err(_) if sent.load(Ordering::Relaxed) => {
                return Err(no_answer(
                    504,
                    "no answer in time".to_owned(),
                    Framing::None,
                ));
            }
            // A slow upload is not a slow site.
            Err(_) => {}
        }
    };
    let unread = match sent.load(Ordering::Relaxed) {
        true => Framing::None,
        false => passed.unread,
    };
    match head {
        Ok(head) if head.status == 407 || (head.status == 101 && !passed.socket) => {
            let reason = format!("the site answered with status {}", head.status);
            Err(no_answer(502, reason, unread))
        }
        Ok(head) => Ok(head),
        Err(HeadError::Closed) => Err(Once::Stale),
        Err(error) => Err(no_answer(
            502,
            format!("the answer is no HTTP: {error}"),
            unread,
        )),
    }
}

fn no_answer(status: u16, reason: String, unread: Framing) -> Once {
    let ended = Ended::NoAnswer {
        status,
        reason,
        unread,
    };
    Once::Ended(ended, None)
}

async fn receive<R, W>(
    head: &ResponseHead,
    keeps: bool,
    from: &mut R,
    to: &mut W,
) -> Result<u64, CopyError>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let bytes = response_bytes(head, keeps);
    to.write_all(&bytes).await.map_err(|_| CopyError::Writing)?;
    to.flush().await.map_err(|_| CopyError::Writing)?;
    body::copy(head.framing, from, to).await
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
