//! Answers the proxy gives itself: always without a word, so that no page can read our reasons.

use std::time::Duration;

use tokio::io::{AsyncWriteExt, sink};
use tokio::time::timeout;

use super::body::copy;
use super::config::InternalAnswer;
use super::wire::{Framing, Wire};

/// What to do with the browser's connection afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Keep,
    Close,
}

/// How much of a refused body is taken in before the connection is closed on it.
const DRAINED: u64 = 1024 * 1024;

/// An empty answer. `unread` is what of the request is still to come: closing on it would make
/// the browser see a reset instead of the answer.
pub(super) async fn empty(client: &mut Wire, status: u16, unread: Framing) -> Next {
    let keep = unread == Framing::None && status == 403;
    let close = if keep { "" } else { "Connection: close\r\n" };
    let word = word(status);
    let head = format!("HTTP/1.1 {status} {word}\r\nContent-Length: 0\r\n{close}\r\n");
    if send(client, head.as_bytes()).await.is_err() {
        return Next::Close;
    }
    if keep {
        return Next::Keep;
    }
    let bounded = match unread {
        Framing::Length(n) => Framing::Length(n.min(DRAINED)),
        other => other,
    };
    // A client that dawdles, or sends chunks for ever, gets its reset.
    let _ = timeout(
        Duration::from_secs(2),
        copy(bounded, &mut client.r, &mut sink()),
    )
    .await;
    let _ = client.w.shutdown().await;
    Next::Close
}

pub(super) async fn internal(client: &mut Wire, answer: InternalAnswer, with_body: bool) -> Next {
    let InternalAnswer {
        status,
        content_type,
        body,
    } = answer;
    let word = word(status);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {word}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    if with_body {
        bytes.extend(body);
    }
    match send(client, &bytes).await {
        Ok(()) => Next::Keep,
        Err(_) => Next::Close,
    }
}

pub(super) async fn send(client: &mut Wire, bytes: &[u8]) -> std::io::Result<()> {
    client.w.write_all(bytes).await?;
    client.w.flush().await
}

fn word(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        _ => "Answer",
    }
}
