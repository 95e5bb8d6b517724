//! What bytes hold, by their content: packed things are unpacked, pictures give up their text.
//!
//! Packed and picture bytes are never searched as they are: in enough noise any short value
//! turns up by chance.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use serde_json::Value;

/// Unpacked bytes beyond this are not looked at, and that is said.
const LARGEST: u64 = 256 << 20;

/// A piece to search, or to look into again.
pub struct Part {
    pub what: &'static str,
    pub bytes: Vec<u8>,
}

/// What became of some bytes.
pub enum Content {
    /// Search these bytes themselves.
    Plain,
    /// Search these instead.
    Parts(Vec<Part>),
    /// Nothing here can look inside.
    Unread(&'static str),
}

pub fn look(bytes: &[u8]) -> Content {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(b"\x89PNG\r\n\x1a\n") {
        Content::Parts(png(bytes))
    } else if starts(b"\xff\xd8\xff") {
        Content::Parts(jpeg(bytes))
    } else if starts(b"\x1f\x8b") {
        packed("gzip", gzip(bytes))
    } else if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") {
        zip(bytes).map_or(Content::Unread("a damaged zip file"), Content::Parts)
    } else if starts(b"\x28\xb5\x2f\xfd") {
        Content::Unread("zstd")
    } else if starts(b"\xfd7zXZ\0") {
        Content::Unread("xz")
    } else if starts(b"%PDF-") {
        Content::Parts(pdf(bytes))
    } else if matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) {
        // Two ordinary bytes: only a stream that unpacks to its end is one.
        match inflate(ZlibDecoder::new(bytes)) {
            Some(inner) => Content::Parts(vec![part("zlib", inner)]),
            None => Content::Plain,
        }
    } else {
        Content::Plain
    }
}

/// The strings of a JSON text, or of lines of it, each on a line of its own; `None` where what stands
/// written is all there is to read. JSON escapes the escapes of its texts once more.
pub fn strings(text: &str) -> Option<String> {
    let might_be = text.contains('\\') && text.trim_start().starts_with(['{', '[', '"']);
    might_be.then_some(())?;
    let values: Vec<Value> = match serde_json::from_str(text) {
        Ok(value) => vec![value],
        Err(_) => text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
    };
    let mut out = String::new();
    values.iter().for_each(|value| gather(value, &mut out));
    Some(out)
}

fn gather(value: &Value, out: &mut String) {
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    match value {
        Value::String(text) => line(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(members) => {
            members.keys().for_each(|key| line(key));
            members.values().for_each(|member| gather(member, out));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn part(what: &'static str, bytes: Vec<u8>) -> Part {
    Part { what, bytes }
}

fn packed(what: &'static str, parts: Option<Vec<Part>>) -> Content {
    parts.map_or(Content::Unread(what), Content::Parts)
}

fn inflate(from: impl Read) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut out).ok()?;
    (out.len() as u64 <= LARGEST).then_some(out)
}

/// The start of a stream counts also when its end is missing.
fn inflate_start(from: impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = from.take(LARGEST);
    let mut block = [0; 8192];
    while let Ok(n @ 1..) = from.read(&mut block) {
        out.extend_from_slice(&block[..n]);
    }
    out
}

fn gzip(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut parts = Vec::new();
    if let Some(header) = decoder.header() {
        for text in [header.filename(), header.comment(), header.extra()] {
            parts.extend(text.map(|t| part("gzip header", t.to_vec())));
        }
    }
    parts.push(part("gzip", inflate(&mut decoder)?));
    Some(parts)
}

fn be32(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?) as usize)
}

fn le(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + length)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |n, b| (n << 8) | usize::from(*b)),
    )
}

/// Every chunk but the pixels, and whatever hides behind the end.
fn png(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 8;
    while let (Some(length), Some(kind)) = (be32(bytes, at), bytes.get(at + 4..at + 8)) {
        let end = at.saturating_add(8).saturating_add(length);
        let data = &bytes[(at + 8).min(bytes.len())..end.min(bytes.len())];
        match kind {
            b"IDAT" | b"fdAT" | b"PLTE" | b"IHDR" => {}
            b"zTXt" | b"iCCP" | b"iTXt" => {
                let (keyword, inner) = png_text(data);
                parts.push(part("PNG text", keyword.to_vec()));
                parts.push(part("PNG packed text", inner));
            }
            _ => parts.push(part("PNG text", data.to_vec())),
        }
        at = end.saturating_add(4);
        if kind == b"IEND" {
            break;
        }
    }
    if let Some(rest) = bytes.get(at..).filter(|r| !r.is_empty()) {
        parts.push(part("behind the picture", rest.to_vec()));
    }
    parts
}

/// Keyword, zero, perhaps more, then perhaps a packed stream: its start is found by trying.
fn png_text(data: &[u8]) -> (&[u8], Vec<u8>) {
    for start in (0..data.len().min(400)).filter(|at| data[*at] == 0x78) {
        let inner = inflate_start(ZlibDecoder::new(&data[start..]));
        if !inner.is_empty() {
            return (&data[..start], inner);
        }
    }
    (data, Vec::new())
}

/// Every segment before the picture data.
fn jpeg(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 2;
    while let Some([0xff, marker, high, low]) = bytes.get(at..at + 4) {
        if *marker == 0xda {
            break;
        }
        let length = usize::from(*high) << 8 | usize::from(*low);
        let end = (at + 2 + length).min(bytes.len());
        if matches!(marker, 0xe0..=0xef | 0xfe) {
            parts.push(part("JPEG text", bytes[(at + 4).min(end)..end].to_vec()));
        }
        at += 2 + length.max(2);
    }
    // Picture data holds no end mark; what stands behind the last one is no picture.
    if let Some(end) = bytes.windows(2).rposition(|w| w == b"\xff\xd9")
        && end + 2 < bytes.len()
    {
        parts.push(part("behind the picture", bytes[end + 2..].to_vec()));
    }
    parts
}

/// The document itself and its packed streams.
fn pdf(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    // Without its mark, so that the rest is searched and not taken for a document again.
    let mut at = b"%PDF-".len();
    let find = |from: usize, what: &[u8]| {
        let rest = bytes.get(from..)?;
        Some(from + rest.windows(what.len()).position(|w| w == what)?)
    };
    while let Some(mark) = find(at, b"stream") {
        let start = mark
            + 6
            + bytes[mark + 6..]
                .iter()
                .take_while(|b| b"\r\n".contains(b))
                .count();
        let end = find(start, b"endstream").unwrap_or(bytes.len());
        plain.extend_from_slice(&bytes[at..start]);
        let inner = inflate_start(ZlibDecoder::new(&bytes[start..end]));
        if inner.is_empty() {
            plain.extend_from_slice(&bytes[start..end]);
        } else {
            parts.push(part("PDF stream", inner));
        }
        at = (end + 9).min(bytes.len());
    }
    plain.extend_from_slice(&bytes[at..]);
    parts.push(part("PDF", plain));
    parts
}

/// By its directory, which also lists entries whose sizes were not known when they were written.
fn zip(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    parts.push(part("zip comment", bytes.get(end + 22..)?.to_vec()));
    let mut at = le(bytes, end + 16, 4)?;
    for _ in 0..le(bytes, end + 10, 2)? {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let method = le(bytes, at + 10, 2)?;
        let size = le(bytes, at + 20, 4)?;
        let tail = le(bytes, at + 28, 2)? + le(bytes, at + 30, 2)? + le(bytes, at + 32, 2)?;
        parts.push(part(
            "zip entry's name",
            bytes.get(at + 46..at + 46 + tail)?.to_vec(),
        ));
        let local = le(bytes, at + 42, 4)?;
        let start = local + 30 + le(bytes, local + 26, 2)? + le(bytes, local + 28, 2)?;
        let data = bytes.get(start..start + size)?;
        parts.push(match method {
            0 => part("zip", data.to_vec()),
            8 => part("zip", inflate(DeflateDecoder::new(data))?),
            _ => return None,
        });
        at += 46 + tail;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_broken_containers_do_no_harm() {
        for magic in [
            &b"\x89PNG\r\n\x1a\n"[..],
            b"\xff\xd8\xff\xe1",
            b"\x1f\x8b",
            b"PK\x03\x04",
            b"PK\x05\x06",
            b"%PDF-stream\n",
            b"\x78\x9c",
        ] {
            for tail in [
                &b""[..],
                b"\xff",
                &[0xff; 40],
                &[0; 40],
                b"\0\0\0\x05tEXtab",
            ] {
                let _ = look(&[magic, tail].concat());
            }
        }
        assert!(matches!(look(b"x\x01 plain text"), Content::Plain));
        assert!(matches!(
            look(b"\x28\xb5\x2f\xfdrest"),
            Content::Unread("zstd")
        ));
        assert!(matches!(look(b"\x1f\x8brest"), Content::Unread("gzip")));
    }
}
