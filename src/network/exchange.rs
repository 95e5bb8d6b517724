//! One request: judged, carried to the site, its answer carried back.

use tokio::time::{Instant, timeout_at};
use url::Url;

use super::answer::{self, Next};
use super::body::{self, PEEK_LIMIT};
use super::browser_own::browser_own;
use super::carry::{Ended, Lane, carry};
use super::events::{Address, BlockedRequest, NetEvent};
use super::fields::Fields;
use super::session::Session;
use super::wire::{Framing, RequestHead, Wire};
use crate::policy::{Denial, HostRule, RequestFacts, Ruling, Suggestion, operations};

/// Why a socket to another place than the secret's is cut or not opened.
const SHUT_OUT: &str = "socket to another host during a sign-in";

/// A request that may go on its way.
pub(super) struct Passed {
    pub rule: HostRule,
    pub head: RequestHead,
    pub url: Url,
    /// Of the body, what has been read to judge it.
    pub peeked: Vec<u8>,
    /// Of the body, what is still to be read.
    pub unread: Framing,
    pub because: Option<String>,
    pub reads: bool,
    pub dest: Option<String>,
    pub socket: bool,
}

/// Why it may not, and what of its body is unread.
enum Stopped {
    Malformed(&'static str),
    Blocked(Box<BlockedRequest>),
    ClientGone,
}

pub(super) async fn exchange(
    session: &Session,
    client: &mut Wire,
    lane: &mut Lane,
    head: RequestHead,
    url: Url,
) -> Next {
    let mut unread = head.framing;
    match admit(session, client, head, url, &mut unread).await {
        Ok(passed) => pass(session, client, lane, passed).await,
        Err(Stopped::ClientGone) => Next::Close,
        Err(Stopped::Blocked(blocked)) => {
            session.log.blocked(*blocked);
            answer::empty(client, 403, unread).await
        }
        Err(Stopped::Malformed(why)) => {
            let mut blocked =
                BlockedRequest::at(crate::policy::Scheme::Http, "", 0, "malformed request");
            blocked.detail = Some(why.to_owned());
            session.log.blocked(blocked);
            answer::empty(client, 400, unread).await
        }
    }
}

async fn admit(
    session: &Session,
    client: &mut Wire,
    head: RequestHead,
    url: Url,
    unread: &mut Framing,
) -> Result<Passed, Stopped> {
    if !host_is(&head.fields, &url) {
        return Err(Stopped::Malformed("Host is not the address's host"));
    }
    let mut facts = facts(&head, &url);
    let stop = |reason: &'static str| {
        let mut blocked = BlockedRequest::request(&url, &head.method, reason);
        blocked.dest = facts.fetch_dest.clone();
        blocked
    };
    // First, whether the place is listed or not: that somebody tried is worth more than where.
    if session.holds_secret(url.as_str()) {
        return Err(Stopped::Blocked(Box::new(stop("secret in url"))));
    }
    let rule = session
        .rule_for(&url)
        .map_err(|denial| Stopped::Blocked(Box::new(denied(stop(denial.reason()), &denial))))?;
    let socket = asks_for_socket(&head);
    if socket && session.shuts_out(&url) {
        return Err(Stopped::Blocked(Box::new(stop(SHUT_OUT))));
    }
    let mut blocked = stop("undeclared write");
    if expects_go_ahead(&head) {
        let go = answer::send(client, b"HTTP/1.1 100 Continue\r\n\r\n").await;
        go.map_err(|_| Stopped::ClientGone)?;
    }
    let carried = session.wants_carried(&facts);
    let peeked = match head.framing {
        Framing::Length(n)
            if n <= PEEK_LIMIT
                && readable(&head)
                && (carried.is_some() || session.wants_operations(&facts)) =>
        {
            let reading = body::read_whole(n, &mut client.r);
            let whole = timeout_at(Instant::now() + session.limits.head, reading).await;
            let Ok(Ok(whole)) = whole else {
                return Err(Stopped::ClientGone);
            };
            facts.operations = operations(facts.content_type.as_deref().unwrap_or(""), &whole);
            facts.carries = carried.is_some_and(|carried| carried.body(&whole));
            *unread = Framing::None;
            whole
        }
        _ => Vec::new(),
    };
    let because = match session.judge(&facts) {
        Ruling::Read | Ruling::Safe { .. } => None,
        Ruling::Write { because } => Some(because),
        Ruling::Stop { note } => {
            blocked.reason = note;
            return Err(Stopped::Blocked(Box::new(blocked)));
        }
        Ruling::Undeclared { suggest, spent } => {
            blocked.suggest = Some(suggest);
            blocked.detail = spent;
            return Err(Stopped::Blocked(Box::new(blocked)));
        }
    };
    Ok(Passed {
        rule,
        peeked,
        unread: *unread,
        because,
        reads: facts.reads(),
        dest: facts.fetch_dest.clone(),
        socket,
        head,
        url,
    })
}

/// Fills in what a denial by the list knows.
pub(super) fn denied(mut blocked: BlockedRequest, denial: &Denial) -> BlockedRequest {
    if let Denial::Host { add, .. } | Denial::Port { add, .. } | Denial::SchemeOfHost { add, .. } =
        denial
    {
        blocked.suggest = Some(Suggestion::Host(add.clone()));
    }
    blocked.browser_own = browser_own(&blocked.host);
    blocked
}

/// Exactly one `Host`, and it is that of the address.
pub(super) fn host_is(fields: &Fields, url: &Url) -> bool {
    let mut named = fields.all("host");
    let (Some(named), None) = (named.next(), named.next()) else {
        return false;
    };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return false;
    };
    let full = format!("{host}:{port}");
    let short = url.port().is_none() && named.eq_ignore_ascii_case(host.as_bytes());
    short || named.eq_ignore_ascii_case(full.as_bytes())
}

fn facts(head: &RequestHead, url: &Url) -> RequestFacts {
    let text = |name: &str| head.fields.text(name);
    let mut overrides: Vec<String> = [
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
    ]
    .into_iter()
    .flat_map(|name| head.fields.all(name))
    .map(|value| String::from_utf8_lossy(value).into_owned())
    .collect();
    overrides.dedup();
    RequestFacts {
        content_type: text("content-type"),
        origin: text("origin"),
        fetch_mode: text("sec-fetch-mode"),
        fetch_dest: text("sec-fetch-dest"),
        // Several different ones are no method at all, hence never a read.
        method_override: (!overrides.is_empty()).then(|| overrides.join(",")),
        ping: head.fields.has("ping-to") || head.fields.has("ping-from"),
        ..RequestFacts::new(head.method.clone(), url.clone())
    }
}

fn readable(head: &RequestHead) -> bool {
    head.fields
        .text("content-encoding")
        .is_none_or(|coding| coding.eq_ignore_ascii_case("identity"))
}

fn expects_go_ahead(head: &RequestHead) -> bool {
    head.fields.lists("expect", "100-continue")
}

fn asks_for_socket(head: &RequestHead) -> bool {
    head.method == "GET"
        && head.framing == Framing::None
        && head.fields.lists("upgrade", "websocket")
        && head.fields.lists("connection", "upgrade")
}

async fn pass(session: &Session, client: &mut Wire, lane: &mut Lane, passed: Passed) -> Next {
    let id = session.log.next_id();
    let flight = session.flights.begin(id);
    let address = Address::of(&passed.url);
    session.log.tell(NetEvent::Started {
        id,
        method: passed.head.method.clone(),
        address: address.clone(),
        dest: passed.dest.clone(),
        at: std::time::Instant::now(),
    });
    if let Some(because) = &passed.because {
        session.log.tell(NetEvent::Wrote {
            id,
            method: passed.head.method.clone(),
            address: address.clone(),
            because: because.clone(),
        });
    }
    let ended = tokio::select! {
        ended = carry(session, client, lane, &passed, id, &flight) => ended,
        () = session.revoked(&passed.rule) => Ended::Cut("the host was taken off the list".to_owned()),
        () = session.shut_out(&passed.url), if passed.socket => {
            session.log.blocked(BlockedRequest::request(&passed.url, &passed.head.method, SHUT_OUT));
            Ended::Short
        }
    };
    match ended {
        Ended::Whole { bytes, next } => {
            session.log.tell(NetEvent::Finished {
                id,
                bytes,
                whole: true,
            });
            next
        }
        Ended::Short => {
            session.log.tell(NetEvent::Finished {
                id,
                bytes: 0,
                whole: false,
            });
            Next::Close
        }
        Ended::Cut(reason) => {
            session.log.tell(NetEvent::Failed {
                id,
                address,
                reason,
            });
            Next::Close
        }
        Ended::NoAnswer {
            status,
            reason,
            unread,
        } => {
            session.log.tell(NetEvent::Failed {
                id,
                address,
                reason,
            });
            answer::empty(client, status, unread).await
        }
        Ended::Private(detail, unread) => {
            let mut blocked =
                BlockedRequest::request(&passed.url, &passed.head.method, "private address");
            blocked.detail = Some(detail);
            blocked.dest = passed.dest;
            session.log.tell(NetEvent::Finished {
                id,
                bytes: 0,
                whole: false,
            });
            session.log.blocked(blocked);
            answer::empty(client, 403, unread).await
        }
    }
}
