//! Encodings as pure functions of text and bytes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What `encodeURIComponent` leaves alone.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

pub fn cased(text: String, upper: bool) -> String {
    if upper { text } else { lower_codes(&text) }
}

/// Lower-cases the digits of percent codes only.
pub fn lower_codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = 0u32;
    for c in text.chars() {
        if c == '%' {
            left = 3;
        }
        out.push(if left > 0 { c.to_ascii_lowercase() } else { c });
        left = left.saturating_sub(1);
    }
    out
}

pub fn percent_component(value: &str) -> String {
    utf8_percent_encode(value, COMPONENT).to_string()
}

pub fn units(c: char, upper: bool) -> String {
    let mut buffer = [0; 2];
    c.encode_utf16(&mut buffer)
        .iter()
        .map(|u| {
            if upper {
                format!("\\u{u:04X}")
            } else {
                format!("\\u{u:04x}")
            }
        })
        .collect()
}

pub fn byte_or_unit(c: char, upper: bool) -> String {
    match (c as u32, upper) {
        (code @ 0..=0xff, true) => format!("\\x{code:02X}"),
        (code @ 0..=0xff, false) => format!("\\x{code:02x}"),
        _ => units(c, upper),
    }
}

pub fn hex_join(bytes: &[u8], before: &str, between: &str, upper: bool) -> String {
    let one = |b: &u8| {
        if upper {
            format!("{before}{b:02X}")
        } else {
            format!("{before}{b:02x}")
        }
    };
    bytes.iter().map(one).collect::<Vec<_>>().join(between)
}

/// The characters of an encoding with `bits` per character that hold nothing but the value:
/// those at its borders mix in bits of its neighbours and differ from place to place.
pub fn whole(text: &str, offset: usize, length: usize, bits: usize) -> &str {
    let first = (offset * 8).div_ceil(bits);
    let end = (offset + length) * 8 / bits;
    &text[first..end]
}

/// RFC 4648 base32 without padding.
pub fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::new();
    let (mut held, mut bits) = (0u32, 0);
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(ALPHABET[(held >> bits) as usize & 31] as char);
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(ALPHABET[(held << (5 - bits)) as usize & 31] as char);
    }
    out
}

pub fn rot13(value: &str) -> String {
    let turn = |c: char, first: u8| ((c as u8 - first + 13) % 26 + first) as char;
    value
        .chars()
        .map(|c| match c {
            'a'..='z' => turn(c, b'a'),
            'A'..='Z' => turn(c, b'A'),
            c => c,
        })
        .collect()
}

pub fn quoted_printable(value: &str) -> String {
    value
        .bytes()
        .map(|b| match b {
            b' '..=b'~' if b != b'=' => (b as char).to_string(),
            b => format!("={b:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_follows_the_rfc() {
        for (plain, coded) in [
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(plain.as_bytes()), coded);
        }
    }
}
