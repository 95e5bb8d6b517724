//! A value in every form a leak can have, made apart from the code that looks for it.
//!
//! For the harness that proves the scanner can see. Only in builds with the feature
//! `leak-injector` and in tests: a release must not be able to do this.
#![cfg(any(test, feature = "leak-injector"))]

#[cfg(all(feature = "leak-injector", not(debug_assertions)))]
compile_error!("`leak-injector` is for the leak harness: a release has no such feature");

mod packed;
#[cfg(feature = "leak-injector")]
pub mod plant;

use base64::Engine;
use base64::engine::general_purpose as base64_of;
use unicode_normalization::UnicodeNormalization;

use super::encodings;
use super::value::Secret;

/// Name of the form and bytes that hold the value in it, with ordinary text around.
pub fn variants(secret: &Secret) -> Vec<(String, Vec<u8>)> {
    let mut out = loose(secret);
    out.extend(packed::packed(secret.expose().as_bytes()));
    out
}

/// One of [`variants`].
#[cfg(feature = "leak-injector")]
pub struct Form {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Can stand in the middle of other bytes.
    pub is_loose: bool,
}

#[cfg(feature = "leak-injector")]
pub fn nth(secret: &Secret, n: usize) -> Option<Form> {
    let mut forms = loose(secret);
    let is_loose = n < forms.len();
    if !is_loose {
        forms.extend(packed::packed(secret.expose().as_bytes()));
    }
    let (name, bytes) = (n < forms.len()).then(|| forms.swap_remove(n))?;
    Some(Form {
        name,
        bytes,
        is_loose,
    })
}

/// Those that can stand in the middle of other bytes; the rest are files of their own.
pub fn loose(secret: &Secret) -> Vec<(String, Vec<u8>)> {
    let value = secret.expose();
    let mut out: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, inner: Vec<u8>| {
        out.push((
            name.to_owned(),
            [b"before [", inner.as_slice(), b"] after"].concat(),
        ));
    };
    for (name, text) in text_variants(value) {
        add(&name, text.into_bytes());
    }
    for (name, big) in [("UTF-16LE", false), ("UTF-16BE", true)] {
        let bytes = |u: u16| {
            if big {
                u.to_be_bytes()
            } else {
                u.to_le_bytes()
            }
        };
        add(name, value.encode_utf16().flat_map(bytes).collect());
    }
    out
}

fn text_variants(value: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut add = |name: &str, text: String| out.push((name.to_owned(), text));
    let each = |f: &dyn Fn(char) -> String| value.chars().map(f).collect::<String>();
    let bytes = |f: &dyn Fn(u8) -> String| value.bytes().map(f).collect::<String>();
    let between = |s: &str| value.chars().map(String::from).collect::<Vec<_>>().join(s);
    let title = |upper: bool| {
        let mut flip = upper;
        each(&|c| c.to_string())
            .chars()
            .map(|c| {
                flip = !flip;
                if flip {
                    c.to_ascii_uppercase()
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect::<String>()
    };
    add("raw", value.into());
    add("upper case", value.to_uppercase());
    add("lower case", value.to_lowercase());
    add("mixed case", title(true));
    add("reversed", value.chars().rev().collect());
    add("rot13", encodings::rot13(value));
    add("NFC", value.nfc().collect());
    add("NFD", value.nfd().collect());
    add("NFKC", value.nfkc().collect());
    add("NFKD", value.nfkd().collect());
    for (name, s) in [
        ("spaces", " "),
        ("line ends", "\n"),
        ("tabs", "\t"),
        ("zero width", "\u{200b}"),
        ("soft hyphens", "\u{ad}"),
        ("no-break", "\u{a0}"),
        ("terminal colours", "\u{1b}[32m"),
        ("direction marks", "\u{202e}"),
        ("word joiners", "\u{2060}"),
    ] {
        add(&format!("split by {name}"), between(s));
    }
    for (name, s) in [
        ("tags", "</b><b>"),
        ("elements", "</span>\n  <span class=\"k\">"),
        ("table cells", " | "),
        ("JSON strings", "\",\""),
        ("event chunks", "\ndata: "),
        ("commas", ", "),
    ] {
        add(&format!("split by {name}"), between(s));
    }
    let half = value
        .char_indices()
        .nth(value.chars().count() / 2)
        .map_or(0, |(i, _)| i);
    add(
        "two tags",
        format!("<td>{}</td><td>{}</td>", &value[..half], &value[half..]),
    );
    add(
        "two lines",
        format!("{}\n{}", &value[..half], &value[half..]),
    );
    add("percent, every byte", bytes(&|b| format!("%{b:02X}")));
    add("percent, lower", bytes(&|b| format!("%{b:02x}")));
    add(
        "percent, some",
        each(&|c| {
            if c.is_ascii_lowercase() {
                c.into()
            } else {
                c.to_string().bytes().map(|b| format!("%{b:02X}")).collect()
            }
        }),
    );
    add("percent, twice", bytes(&|b| format!("%25{b:02X}")));
    add(
        "percent, %u",
        value.encode_utf16().map(|u| format!("%u{u:04X}")).collect(),
    );
    add("percent, component", encodings::percent_component(value));
    add(
        "percent, component, twice",
        encodings::percent_component(&encodings::percent_component(value)),
    );
    add(
        "form",
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
    );
    add(
        "query",
        url::form_urlencoded::Serializer::new(String::new())
            .append_pair("q", value)
            .finish(),
    );
    add("HTML, decimal", each(&|c| format!("&#{};", c as u32)));
    add("HTML, hex", each(&|c| format!("&#x{:x};", c as u32)));
    add("HTML, HEX", each(&|c| format!("&#X{:X};", c as u32)));
    add("HTML, padded", each(&|c| format!("&#{:05};", c as u32)));
    add(
        "HTML, named",
        value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#039;"),
    );
    add("JSON", serde_json::Value::from(value).to_string());
    add(
        "JSON in JSON",
        serde_json::Value::from(serde_json::Value::from(value).to_string()).to_string(),
    );
    add(
        "JSON, slash",
        serde_json::Value::from(value)
            .to_string()
            .replace('/', "\\/"),
    );
    add(
        "\\u",
        value
            .encode_utf16()
            .map(|u| format!("\\u{u:04x}"))
            .collect(),
    );
    add(
        "\\U",
        value
            .encode_utf16()
            .map(|u| format!("\\u{u:04X}"))
            .collect(),
    );
    add("\\u{}", each(&|c| format!("\\u{{{:x}}}", c as u32)));
    add(
        "\\x",
        each(&|c| {
            if (c as u32) < 256 {
                format!("\\x{:02x}", c as u32)
            } else {
                c.escape_default().to_string()
            }
        }),
    );
    add("CSS", each(&|c| format!("\\{:x} ", c as u32)));
    add("CSS, six", each(&|c| format!("\\{:06x}", c as u32)));
    add("Rust debug", format!("{value:?}"));
    add("Rust default", value.escape_default().to_string());
    add("shell", format!("'{}'", value.replace('\'', "'\\''")));
    for (name, engine) in [
        ("base64", &base64_of::STANDARD),
        ("base64 url", &base64_of::URL_SAFE),
        ("base64 bare", &base64_of::STANDARD_NO_PAD),
        ("base64 url bare", &base64_of::URL_SAFE_NO_PAD),
    ] {
        for (offset, before) in ["", "u", "u:"].iter().enumerate() {
            for after in ["", "\u{7f}", "@host"] {
                let text = format!("{before}{value}{after}");
                add(&format!("{name} at {offset}"), engine.encode(text));
            }
        }
    }
    let once = base64_of::STANDARD.encode(value);
    add("base64, twice", base64_of::STANDARD.encode(once));
    for (offset, before) in ["", "a", "ab", "abc", "abcd"].iter().enumerate() {
        add(
            &format!("base32 at {offset}"),
            encodings::base32(format!("{before}{value}~").as_bytes()),
        );
    }
    for (name, before, s) in [
        ("plain", "", ""),
        ("colons", "", ":"),
        ("spaces", "", " "),
        ("\\x", "\\x", ""),
        ("0x", "0x", ", "),
    ] {
        let hex = |upper: bool| {
            let one = |b: u8| {
                if upper {
                    format!("{before}{b:02X}")
                } else {
                    format!("{before}{b:02x}")
                }
            };
            value.bytes().map(one).collect::<Vec<_>>().join(s)
        };
        add(&format!("hex, {name}"), hex(false));
        add(&format!("HEX, {name}"), hex(true));
    }
    add(
        "quoted-printable",
        bytes(&|b| {
            if b == b'=' || !(b' '..=b'~').contains(&b) {
                format!("={b:02X}")
            } else {
                (b as char).into()
            }
        }),
    );
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    use sha2::Digest;
    add("SHA-1", hex(&sha1::Sha1::digest(value)));
    add("SHA-256", hex(&sha2::Sha256::digest(value)));
    add(
        "SHA-256, base64",
        base64_of::STANDARD.encode(sha2::Sha256::digest(value)),
    );
    out
}
