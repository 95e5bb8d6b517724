//! Header fields: read strictly, asked by name, passed on without those of this hop.

#[derive(Debug, thiserror::Error)]
pub(super) enum HeadError {
    /// Ended before the first byte: nothing was asked.
    #[error("connection closed")]
    Closed,
    #[error("{0}")]
    Malformed(&'static str),
    #[error("connection broke inside the headers")]
    Broken,
}

/// Header fields in order, values as bytes.
#[derive(Debug, Default, Clone)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.0
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// The first value, as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.all(name).next()?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Whether a comma list holds a word.
    pub fn lists(&self, name: &str, word: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(|b| *b == b','))
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Writes what is meant for the other end. Fields of this hop are left out, so are those the
    /// sender names in `Connection`, except the ones that say where and how long a message is.
    pub fn write_end_to_end(&self, out: &mut Vec<u8>) {
        for (name, value) in &self.0 {
            let kept = ["host", "content-length"]
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own));
            let hop = HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop));
            if hop || (!kept && self.lists("connection", name)) {
                continue;
            }
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }
}

const HOP: [&str; 10] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-authenticate",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
];

pub(super) fn split_line(block: &[u8]) -> (&[u8], &[u8]) {
    let end = block
        .iter()
        .position(|b| *b == b'\n')
        .map_or(block.len(), |at| at + 1);
    let (line, rest) = block.split_at(end);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

pub(super) fn parse_fields(mut rest: &[u8]) -> Result<Fields, HeadError> {
    let mut fields = Vec::new();
    loop {
        let (line, after) = split_line(rest);
        rest = after;
        if line.is_empty() {
            return Ok(Fields(fields));
        }
        if matches!(line[0], b' ' | b'\t') {
            return Err(HeadError::Malformed("folded header line"));
        }
        let colon = line
            .iter()
            .position(|b| *b == b':')
            .ok_or(HeadError::Malformed("header line without a colon"))?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().copied().all(is_token) {
            return Err(HeadError::Malformed("header name is not a token"));
        }
        if value
            .iter()
            .any(|b| (*b < 0x20 && *b != b'\t') || *b == 0x7f)
        {
            return Err(HeadError::Malformed("control character in a header"));
        }
        fields.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
    }
}

pub(super) fn length(fields: &Fields) -> Result<Option<u64>, HeadError> {
    let mut values = fields.all("content-length");
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value).unwrap_or("");
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match (values.next(), digits.then(|| text.parse().ok()).flatten()) {
        (None, Some(n)) => Ok(Some(n)),
        _ => Err(HeadError::Malformed("length is not one number")),
    }
}

pub(super) fn chunked(fields: &Fields) -> Result<bool, HeadError> {
    let mut values = fields.all("transfer-encoding");
    match (values.next(), values.next()) {
        (None, _) => Ok(false),
        (Some(value), None) if value.eq_ignore_ascii_case(b"chunked") => Ok(true),
        _ => Err(HeadError::Malformed("transfer encoding other than chunked")),
    }
}

pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
