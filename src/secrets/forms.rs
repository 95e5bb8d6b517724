//! The forms a value can take once it has been through a page, a URL, a JSON body or a log.
//!
//! Forms that are text are replaced by the scrubber, wherever they come from. Forms that are bytes
//! and no text (UTF-16, a bare hash) can only be searched for, and a hit fails the run.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Digest;
use unicode_normalization::UnicodeNormalization;

use super::encodings::{
    base32, byte_or_unit, cased, hex_join, percent_component, quoted_printable, rot13, units, whole,
};
use super::scrub::Kind;

/// What may be done about a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Text the scrubber replaces.
    Redact,
    /// Bytes that are no text: searched for; a hit is a leak.
    ScanOnly,
}

/// Where a form counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Anywhere,
    /// Only where no letter or digit touches it: short values turn up in ordinary words.
    Word,
}

pub struct Form {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub remedy: Remedy,
    pub edge: Edge,
}

/// From this length (in bytes) a value is matched inside words, loosely and re-encoded at any offset.
pub const LONG: usize = 8;
/// Below this length a value is not matched page-wide at all.
pub const SHORTEST: usize = 4;

struct List {
    forms: Vec<Form>,
    edge: Edge,
}

impl List {
    fn add(&mut self, name: &'static str, bytes: impl Into<Vec<u8>>, remedy: Remedy) {
        let bytes = bytes.into();
        let edge = self.edge;
        if bytes.len() >= SHORTEST && !self.forms.iter().any(|f| f.bytes == bytes) {
            self.forms.push(Form {
                name,
                bytes,
                remedy,
                edge,
            });
        }
    }
    fn text(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, text.into(), Remedy::Redact);
    }
    fn bytes(&mut self, name: &'static str, bytes: impl Into<Vec<u8>>) {
        self.add(name, bytes, Remedy::ScanOnly);
    }
    /// The text with its hex digits in either case.
    fn both_cases(&mut self, name: &'static str, make: impl Fn(bool) -> String) {
        self.text(name, make(false));
        self.text(name, make(true));
    }
}

/// Every form of `value`, each byte string once, under the name of the first form that has it.
/// Empty for values too short to be told from ordinary text.
pub fn forms(value: &str, kind: Kind) -> Vec<Form> {
    if value.chars().count() < SHORTEST {
        return Vec::new();
    }
    let long = value.len() >= LONG;
    let mut list = List {
        forms: Vec::new(),
        edge: edge(value, kind),
    };
    list.text("raw", value);
    if kind == Kind::Otp {
        grouped(&mut list, value);
        return list.forms;
    }
    cases(&mut list, value);
    normal_forms(&mut list, value);
    lines(&mut list, value);
    percent(&mut list, value);
    entities(&mut list, value);
    escapes(&mut list, value);
    digits(&mut list, value);
    encodings(&mut list, value, long);
    if long && kind != Kind::Username {
        disguised(&mut list, value);
    }
    list.forms
}

/// Where a value counts. A long name with a sign in it (`anna@mail.test`) is no part of an ordinary
/// word, unlike a name of letters alone.
pub fn edge(value: &str, kind: Kind) -> Edge {
    let told_apart = match kind {
        Kind::Password | Kind::Key | Kind::Cookie => true,
        Kind::Username => value.chars().any(|c| !c.is_alphanumeric()),
        Kind::Otp => false,
    };
    match told_apart && value.len() >= LONG {
        true => Edge::Anywhere,
        false => Edge::Word,
    }
}

/// One-time codes are shown in groups of three or four.
fn grouped(list: &mut List, value: &str) {
    for size in [3, 4] {
        for between in [" ", "-", "\u{a0}"] {
            let chars: Vec<char> = value.chars().collect();
            let groups: Vec<String> = chars.chunks(size).map(|c| c.iter().collect()).collect();
            list.text("grouped", groups.join(between));
        }
    }
}

fn cases(list: &mut List, value: &str) {
    list.text("upper case", value.to_uppercase());
    list.text("lower case", value.to_lowercase());
}

fn normal_forms(list: &mut List, value: &str) {
    list.text("NFC", value.nfc().collect::<String>());
    list.text("NFD", value.nfd().collect::<String>());
    list.text("NFKC", value.nfkc().collect::<String>());
    list.text("NFKD", value.nfkd().collect::<String>());
}

/// The lines of a value of several lines, without the frame of a PEM block.
fn lines(list: &mut List, value: &str) {
    if !value.contains('\n') {
        return;
    }
    for line in value.lines().map(str::trim) {
        if line.len() >= LONG && !line.starts_with("-----") {
            list.text("one line", line);
        }
    }
    list.text("CRLF", value.replace('\n', "\r\n"));
}

fn percent(list: &mut List, value: &str) {
    let component = percent_component(value);
    let all: String = value.bytes().map(|b| format!("%{b:02X}")).collect();
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let strict = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    for (name, text) in [
        ("percent", &component),
        ("percent, strict", &strict),
        ("form", &form),
        ("percent, every byte", &all),
    ] {
        list.both_cases(name, |upper| cased(text.clone(), upper));
        list.both_cases("percent, twice", |upper| {
            cased(text.replace('%', "%25"), upper)
        });
    }
}

fn entities(list: &mut List, value: &str) {
    for apostrophe in ["&#39;", "&#x27;", "&apos;", "'"] {
        for slash in ["/", "&#x2F;", "&#47;"] {
            let text: String = value
                .chars()
                .map(|c| match c {
                    '&' => "&amp;".into(),
                    '<' => "&lt;".into(),
                    '>' => "&gt;".into(),
                    '"' => "&quot;".into(),
                    '\'' => apostrophe.into(),
                    '/' => slash.into(),
                    c => c.to_string(),
                })
                .collect();
            list.text("HTML, named", text);
        }
    }
    let each = |f: &dyn Fn(u32) -> String| value.chars().map(|c| f(c as u32)).collect::<String>();
    list.text("HTML, decimal", each(&|c| format!("&#{c};")));
    list.text("HTML, hex", each(&|c| format!("&#x{c:x};")));
    list.text("HTML, hex", each(&|c| format!("&#x{c:X};")));
}

fn escapes(list: &mut List, value: &str) {
    let json = serde_json::Value::from(value).to_string();
    let json = json[1..json.len() - 1].to_owned();
    list.text("JSON, slash", json.replace('/', "\\/"));
    let ascii = |upper: bool| {
        json.chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    units(c, upper)
                }
            })
            .collect::<String>()
    };
    list.both_cases("JSON, ASCII", ascii);
    list.both_cases("JavaScript, \\u", |upper| {
        value.chars().map(|c| units(c, upper)).collect()
    });
    list.both_cases("JavaScript, \\x", |upper| {
        value.chars().map(|c| byte_or_unit(c, upper)).collect()
    });
    list.text("JSON", json.clone());
    list.text("JSON in JSON", {
        let twice = serde_json::Value::from(json.as_str()).to_string();
        twice[1..twice.len() - 1].to_owned()
    });
    let css = |f: &dyn Fn(u32) -> String| value.chars().map(|c| f(c as u32)).collect::<String>();
    list.text("CSS", css(&|c| format!("\\{c:x} ")));
    list.text("CSS", css(&|c| format!("\\{c:06x}")));
    let debug = format!("{value:?}");
    list.text("Rust, debug", debug[1..debug.len() - 1].to_owned());
    list.text("Rust, default", value.escape_default().to_string());
    list.text("shell", value.replace('\'', "'\\''"));
    list.text("SQL", value.replace('\'', "''"));
}

fn digits(list: &mut List, value: &str) {
    for (before, between) in [
        ("", ""),
        ("", ":"),
        ("", " "),
        ("", "-"),
        ("\\x", ""),
        ("0x", ", "),
    ] {
        list.both_cases("hex", |upper| {
            hex_join(value.as_bytes(), before, between, upper)
        });
    }
}

fn encodings(list: &mut List, value: &str, long: bool) {
    let bytes = value.as_bytes();
    for engine in [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        list.text("base64", engine.encode(bytes));
    }
    list.text("base32", base32(bytes));
    list.text("base32", base32(bytes).to_lowercase());
    if !long {
        return;
    }
    for offset in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let padded = [&[0; 3][..offset], bytes].concat();
            let text = engine.encode(&padded);
            list.text("base64 inside", whole(&text, offset, bytes.len(), 6));
        }
    }
    for offset in 0..5 {
        let padded = [&[0; 5][..offset], bytes].concat();
        let text = base32(&padded);
        list.text("base32 inside", whole(&text, offset, bytes.len(), 5));
    }
}

/// What nobody reads at a glance, but anybody with a minute.
fn disguised(list: &mut List, value: &str) {
    let bytes = value.as_bytes();
    let little: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = value.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for engine in [&STANDARD, &STANDARD_NO_PAD] {
        list.text("base64 of UTF-16", engine.encode(&little));
        list.text("base64 of UTF-16", engine.encode(&big));
    }
    list.text("hex of UTF-16", hex_join(&little, "", "", false));
    list.text("hex of UTF-16", hex_join(&big, "", "", false));
    list.text("percent of UTF-16", hex_join(&little, "%", "", true));
    list.text("percent of UTF-16", hex_join(&big, "%", "", true));
    list.bytes("UTF-16LE", little);
    list.bytes("UTF-16BE", big);
    list.text("reversed", value.chars().rev().collect::<String>());
    list.text("rot13", rot13(value));
    let inner = STANDARD.encode(bytes);
    for inner in [inner.as_str(), inner.trim_end_matches('=')] {
        list.text("base64, twice", STANDARD.encode(inner));
        list.text("base64, twice", STANDARD_NO_PAD.encode(inner));
    }
    list.text("quoted-printable", quoted_printable(value));
    let hashes = [
        ("SHA-1", sha1::Sha1::digest(bytes).to_vec()),
        ("SHA-256", sha2::Sha256::digest(bytes).to_vec()),
    ];
    for (name, hash) in hashes {
        list.text(name, hex_join(&hash, "", "", false));
        list.text(name, hex_join(&hash, "", "", true));
        list.text(name, STANDARD_NO_PAD.encode(&hash));
        list.text(name, URL_SAFE_NO_PAD.encode(&hash));
        list.bytes(name, hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_inside_holds_at_every_offset_with_any_neighbours() {
        let value = "TILLER-3030/x";
        let list = forms(value, Kind::Password);
        for before in ["", "a", "bc", "user:"] {
            for after in ["", "!", "??", "@host"] {
                let text = STANDARD.encode(format!("{before}{value}{after}"));
                assert!(
                    list.iter().any(|f| f.remedy == Remedy::Redact
                        && text.contains(std::str::from_utf8(&f.bytes).expect("text"))),
                    "{before:?} {after:?}"
                );
            }
        }
    }

    #[test]
    fn redactable_forms_are_text_and_values_too_short_have_none() {
        for value in ["abcd", "päss wörd\"<&>'\\/+=%\t", "12345678"] {
            for form in forms(value, Kind::Password) {
                if form.remedy == Remedy::Redact {
                    assert!(std::str::from_utf8(&form.bytes).is_ok(), "{}", form.name);
                }
            }
        }
        assert!(forms("abc", Kind::Password).is_empty());
        assert!(forms("漢字é", Kind::Password).is_empty());
    }

    #[test]
    fn one_line_of_a_block_is_a_form_and_its_frame_is_not() {
        let list = forms(
            "-----BEGIN KEY-----\nMIIabcdefgh\n-----END KEY-----",
            Kind::Password,
        );
        let lines: Vec<_> = list.iter().filter(|f| f.name == "one line").collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].bytes, b"MIIabcdefgh");
    }
}
