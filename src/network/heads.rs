//! Heads as they are passed on.

use url::Position;

use super::dial::Dialled;
use super::exchange::Passed;
use super::wire::{Framing, ResponseHead};

/// The address as it was judged, the fields as they came, nothing of ours.
pub(super) fn request_bytes(passed: &Passed, site: &Dialled) -> Vec<u8> {
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

/// Hop-by-hop fields are ours to say: how the body is framed, whether the connection goes on.
pub(super) fn response_bytes(head: &ResponseHead, keeps: bool) -> Vec<u8> {
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
