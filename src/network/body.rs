//! Bodies passing through: counted, re-framed, flushed as they come, never kept.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::wire::Framing;

/// The most that is read of a body to name its operations.
pub(super) const PEEK_LIMIT: u64 = 1024 * 1024;

/// Which end failed: a lost client ends everything, a lost site is told to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyError {
    Reading,
    Writing,
}

/// Copies one body and returns its bytes. Ends exactly where the framing says.
pub(super) async fn copy<R, W>(
    framing: Framing,
    from: &mut R,
    to: &mut W,
) -> std::result::Result<u64, CopyError>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match framing {
        Framing::None => Ok(0),
        Framing::Length(n) => copy_exact(n, from, to).await,
        Framing::Chunked => copy_chunks(from, to).await,
        Framing::UntilClose => copy_to_end(from, to).await,
    }
}

async fn copy_exact<R, W>(
    total: u64,
    from: &mut R,
    to: &mut W,
) -> std::result::Result<u64, CopyError>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut left = total;
    while left > 0 {
        let available = from.fill_buf().await.map_err(|_| CopyError::Reading)?;
        if available.is_empty() {
            return Err(CopyError::Reading);
        }
        let take = available
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        write(to, &available[..take]).await?;
        from.consume(take);
        left -= take as u64;
    }
    Ok(total)
}

async fn copy_to_end<R, W>(from: &mut R, to: &mut W) -> std::result::Result<u64, CopyError>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut total = 0;
    loop {
        let available = from.fill_buf().await.map_err(|_| CopyError::Reading)?;
        if available.is_empty() {
            return Ok(total);
        }
        let take = available.len();
        write(to, available).await?;
        from.consume(take);
        total += take as u64;
    }
}

/// Chunk borders are read and written anew: extensions and trailers don't pass.
async fn copy_chunks<R, W>(from: &mut R, to: &mut W) -> std::result::Result<u64, CopyError>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut total = 0;
    loop {
        let line = read_line(from).await.map_err(|_| CopyError::Reading)?;
        let size = chunk_size(&line).map_err(|_| CopyError::Reading)?;
        if size == 0 {
            break;
        }
        write(to, format!("{size:x}\r\n").as_bytes()).await?;
        total += copy_exact(size, from, to).await?;
        if !read_line(from)
            .await
            .map_err(|_| CopyError::Reading)?
            .is_empty()
        {
            return Err(CopyError::Reading);
        }
        write(to, b"\r\n").await?;
    }
    let mut trailers = 0;
    loop {
        let line = read_line(from).await.map_err(|_| CopyError::Reading)?;
        if line.is_empty() {
            break;
        }
        trailers += line.len();
        if trailers > super::wire::HEAD_LIMIT {
            return Err(CopyError::Reading);
        }
    }
    write(to, b"0\r\n\r\n").await?;
    Ok(total)
}

/// Reads a body of known length whole; the caller has checked the limit.
pub(super) async fn read_whole<R: AsyncBufRead + Unpin>(
    length: u64,
    from: &mut R,
) -> Result<Vec<u8>> {
    let mut whole = vec![0; usize::try_from(length.min(PEEK_LIMIT)).unwrap_or(0)];
    from.read_exact(&mut whole).await?;
    Ok(whole)
}

async fn write<W: AsyncWrite + Unpin>(
    to: &mut W,
    bytes: &[u8],
) -> std::result::Result<(), CopyError> {
    to.write_all(bytes).await.map_err(|_| CopyError::Writing)?;
    to.flush().await.map_err(|_| CopyError::Writing)
}

/// Without its line end, which must be a carriage return and a line feed.
async fn read_line<R: AsyncBufRead + Unpin>(from: &mut R) -> Result<Vec<u8>> {
    const LINE_LIMIT: u64 = 4096;
    let mut line = Vec::new();
    from.take(LINE_LIMIT).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\r\n") {
        Some(text) => Ok(text.to_vec()),
        None if line.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
        None => Err(bad("chunk line without its end")),
    }
}

fn chunk_size(line: &[u8]) -> Result<u64> {
    let digits = line.split(|b| *b == b';').next().unwrap_or(b"");
    let text = std::str::from_utf8(digits).unwrap_or("");
    let text = text.trim_end_matches([' ', '\t']);
    if text.is_empty() || text.len() > 15 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad("chunk size is not a number"));
    }
    u64::from_str_radix(text, 16).map_err(|_| bad("chunk size is not a number"))
}

fn bad(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
