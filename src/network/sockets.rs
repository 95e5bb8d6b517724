//! WebSockets that pass: how many to which place, and how many messages the page sent. What they say
//! is not judged, so that much is told (R74).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use url::Url;

/// Places counted each by itself; listed hosts are few, ports and schemes fewer.
#[derive(Debug, Default)]
pub(super) struct Sockets(Mutex<BTreeMap<String, (u32, Arc<AtomicU64>)>>);

/// The sockets of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketCount {
    /// `wss://host:port`, the usual port left away.
    pub place: String,
    pub opened: u32,
    /// Messages the page sent.
    pub sent: u64,
}

impl Sockets {
    /// Counts one more; what is given counts its messages.
    pub fn opened(&self, url: &Url) -> Arc<AtomicU64> {
        let origin = url.origin().ascii_serialization();
        let place = match origin.strip_prefix("http") {
            Some(rest) => format!("ws{rest}"),
            None => origin,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (opened, sent) = all.entry(place).or_default();
        *opened += 1;
        sent.clone()
    }

    pub fn counts(&self) -> Vec<SocketCount> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |(place, (opened, sent)): (&String, &(u32, Arc<AtomicU64>))| SocketCount {
            place: place.clone(),
            opened: *opened,
            sent: sent.load(Ordering::Relaxed),
        };
        all.iter().map(count).collect()
    }
}

/// The page's side of a socket, its messages counted as they are read.
pub(super) struct Messages<R> {
    inner: R,
    frames: Frames,
    sent: Arc<AtomicU64>,
}

impl<R> Messages<R> {
    pub fn new(inner: R, sent: Arc<AtomicU64>) -> Self {
        let frames = Frames::default();
        Self {
            inner,
            frames,
            sent,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Messages<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let ended = self.frames.take(&buf.filled()[before..]);
        self.sent.fetch_add(ended, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

/// Reads frame borders (RFC 6455, 5.2) out of a stream that comes in pieces of any size.
#[derive(Debug, Default)]
struct Frames {
    head: Vec<u8>,
    /// Of the payload, what is still to come.
    left: u64,
}

impl Frames {
    /// How many messages begin in the next bytes: data frames but continuations.
    fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut messages = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len() as u64);
                self.left -= skipped;
                bytes = &bytes[skipped as usize..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            if let Some(payload) = payload(&self.head) {
                messages += u64::from(matches!(self.head[0] & 0x0f, 1 | 2));
                self.left = payload;
                self.head.clear();
            }
        }
        messages
    }
}

/// The payload's length once the head of a frame is whole, its mask included.
fn payload(head: &[u8]) -> Option<u64> {
    let second = *head.get(1)?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let wide = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    if head.len() < 2 + wide + mask {
        return None;
    }
    let long = head[2..2 + wide].iter();
    Some(match wide {
        0 => u64::from(second & 0x7f),
        _ => long.fold(0, |length, byte| length << 8 | u64::from(*byte)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A masked frame as a browser sends it.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut bytes = vec![first];
        match length {
            0..126 => bytes.push(0x80 | length as u8),
            126..65536 => {
                bytes.push(0x80 | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            _ => {
                bytes.push(0x80 | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend([1, 2, 3, 4]);
        bytes.resize(bytes.len() + length, 0x81);
        bytes
    }

    #[test]
    fn r74_messages_are_counted_wherever_their_bytes_are_cut() {
        let stream = [
            frame(0x81, 0),
            frame(0x82, 125),
            // A ping, a close, and one message in two frames.
            frame(0x89, 3),
            frame(0x01, 126),
            frame(0x80, 70_000),
            frame(0x88, 2),
        ]
        .concat();
        for size in [1, 2, 7, 1000, stream.len()] {
            let mut frames = Frames::default();
            let messages: u64 = stream.chunks(size).map(|part| frames.take(part)).sum();
            assert_eq!(messages, 3, "in pieces of {size}");
        }
    }
}
