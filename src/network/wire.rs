//! Heads of HTTP/1.1 messages, read strictly.
//!
//! The rules are those of RFC 9112 without its allowances: a request that two readers could take
//! for different ones (bare line feeds, folded lines, two lengths, length beside chunks) is refused,
//! because the site behind the proxy might be the other reader.

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader, ReadHalf, WriteHalf,
};

use super::fields::{Fields, HeadError, chunked, is_token, length, parse_fields, split_line};

/// Anything that can be spoken through: a socket, TLS, TLS inside a tunnel.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Two halves, so that a body can go up while its answer comes down.
pub(super) struct Wire {
    pub r: BufReader<ReadHalf<Box<dyn Stream>>>,
    pub w: WriteHalf<Box<dyn Stream>>,
}

impl Wire {
    pub fn new(stream: impl Stream + 'static) -> Self {
        let boxed: Box<dyn Stream> = Box::new(stream);
        let (r, w) = tokio::io::split(boxed);
        let r = BufReader::with_capacity(16 * 1024, r);
        Self { r, w }
    }

    /// One stream again, with what has been read ahead.
    pub fn join(self) -> impl Stream {
        tokio::io::join(self.r, self.w)
    }
}

pub(super) const HEAD_LIMIT: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug)]
pub(super) struct RequestHead {
    pub method: String,
    pub target: String,
    pub fields: Fields,
    pub framing: Framing,
}

#[derive(Debug)]
pub(super) struct ResponseHead {
    pub status: u16,
    pub reason: Vec<u8>,
    pub fields: Fields,
    pub framing: Framing,
    pub keeps: bool,
}

pub(super) async fn read_request<R>(reader: &mut R) -> Result<RequestHead, HeadError>
where
    R: AsyncBufRead + Unpin,
{
    let block = read_block(reader, true).await?;
    let (line, rest) = split_line(&block);
    let line =
        std::str::from_utf8(line).map_err(|_| HeadError::Malformed("request line is not ASCII"))?;
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::Malformed("request line has not three parts"));
    };
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err(HeadError::Malformed("method is not a token"));
    }
    if target.is_empty() || !target.bytes().all(|b| b.is_ascii_graphic()) || target.contains('#') {
        return Err(HeadError::Malformed(
            "request target holds forbidden characters",
        ));
    }
    if version != "HTTP/1.1" {
        return Err(HeadError::Malformed("only HTTP/1.1 is spoken here"));
    }
    let fields = parse_fields(rest)?;
    let framing = match (length(&fields)?, chunked(&fields)?) {
        (Some(_), true) => return Err(HeadError::Malformed("length and chunks at once")),
        (Some(0), false) | (None, false) => Framing::None,
        (Some(n), false) => Framing::Length(n),
        (None, true) => Framing::Chunked,
    };
    Ok(RequestHead {
        method: method.to_owned(),
        target: target.to_owned(),
        fields,
        framing,
    })
}

/// `to_method`: the answer to HEAD has no body whatever it says. Passes over 1xx, except 101.
pub(super) async fn read_response<R>(
    reader: &mut R,
    to_method: &str,
) -> Result<ResponseHead, HeadError>
where
    R: AsyncBufRead + Unpin,
{
    // Endless interim answers are a way of never answering.
    for _ in 0..16 {
        let block = read_block(reader, false).await?;
        let head = parse_response(&block, to_method)?;
        if head.status == 101 || head.status >= 200 {
            return Ok(head);
        }
    }
    Err(HeadError::Malformed("too many interim answers"))
}

fn parse_response(block: &[u8], to_method: &str) -> Result<ResponseHead, HeadError> {
    let malformed = HeadError::Malformed("answer has no status line");
    let (line, rest) = split_line(block);
    let rest_of_line = match line.strip_prefix(b"HTTP/1.") {
        Some([b'0' | b'1', b' ', rest @ ..]) => rest,
        _ => return Err(malformed),
    };
    let (digits, reason) = rest_of_line.split_at(rest_of_line.len().min(3));
    let status = std::str::from_utf8(digits)
        .ok()
        .and_then(|d| d.parse::<u16>().ok());
    let Some(status @ 100..=999) = status else {
        return Err(malformed);
    };
    if !(reason.is_empty() || reason[0] == b' ') {
        return Err(malformed);
    }
    let mut fields = parse_fields(rest)?;
    let (length, chunked) = (length(&fields)?, chunked(&fields)?);
    if chunked {
        // RFC 9112, 6.3: chunks win; what is passed on must not hold both.
        fields.remove("content-length");
    }
    let bodiless = to_method == "HEAD" || matches!(status, 100..=199 | 204 | 304);
    let framing = match (bodiless, chunked, length) {
        (true, ..) => Framing::None,
        (_, true, _) => Framing::Chunked,
        (_, _, Some(0)) => Framing::None,
        (_, _, Some(n)) => Framing::Length(n),
        (_, _, None) => Framing::UntilClose,
    };
    let old = line.starts_with(b"HTTP/1.0");
    let keeps = match old {
        true => fields.lists("connection", "keep-alive"),
        false => !fields.lists("connection", "close"),
    };
    let reason = reason.trim_ascii_start().to_vec();
    Ok(ResponseHead {
        status,
        reason,
        keeps: keeps && framing != Framing::UntilClose,
        fields,
        framing,
    })
}

/// Up to and with the empty line. Strict: a line feed needs its carriage return.
async fn read_block<R>(reader: &mut R, strict: bool) -> Result<Vec<u8>, HeadError>
where
    R: AsyncBufRead + Unpin,
{
    let mut block: Vec<u8> = Vec::new();
    let mut line_starts = 0;
    loop {
        let available = match reader.fill_buf().await {
            Ok(available) if !available.is_empty() => available,
            _ if block.is_empty() => return Err(HeadError::Closed),
            _ => return Err(HeadError::Broken),
        };
        let mut used = 0;
        let mut done = false;
        for &byte in available {
            used += 1;
            if block.last() == Some(&b'\r') && byte != b'\n' {
                return Err(HeadError::Malformed("carriage return inside a line"));
            }
            if byte == b'\n' && strict && block.last() != Some(&b'\r') {
                return Err(HeadError::Malformed("line feed without carriage return"));
            }
            block.push(byte);
            if block.len() > HEAD_LIMIT {
                return Err(HeadError::Malformed("headers over 64 KiB"));
            }
            if byte == b'\n' {
                let line = &block[line_starts..];
                done = matches!(line, b"\r\n" | b"\n");
                line_starts = block.len();
                if done {
                    break;
                }
            }
        }
        reader.consume(used);
        if done {
            return Ok(block);
        }
    }
}
