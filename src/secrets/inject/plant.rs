//! Leaks on purpose: puts registered values past the scrubber into a sink of the real program, so
//! that the harness can demand that each is found (security.md 8).
//!
//! The n-th value, in the order of names, is planted in the n-th form: one run then shows every form in
//! one sink, and each hit says which form it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::packed::chunk;
use super::{Form, loose, nth};
use crate::secrets::Secret;

/// Sinks to leak into, between commas. The name is also the mark by which a build with this feature
/// is known.
pub const VARIABLE: &str = "LEAK_INJECTOR_SINKS";

/// Every value a scrubber was told of, by `name.field`.
static KNOWN: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

pub fn remember(label: &str, value: &Secret) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(label.to_owned(), value.duplicate());
}

pub fn asked(sink: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|sinks| sinks.split(',').any(|one| one == sink))
}

/// Forms that can stand among other bytes, a line each; none unless the sink is asked for.
pub fn bytes(sink: &str) -> Vec<u8> {
    planted(sink)
        .into_iter()
        .filter(|form| form.is_loose)
        .flat_map(|form| [form.bytes.as_slice(), b"\n"].concat())
        .collect()
}

/// As [`bytes`], without those that are no text, behind a text.
pub fn onto(sink: &str, mut text: String) -> String {
    for form in planted(sink).into_iter().filter(|form| form.is_loose) {
        if let Ok(form) = String::from_utf8(form.bytes)
            && !form.contains('\0')
        {
            text.push_str(&form);
            text.push('\n');
        }
    }
    text
}

/// A file on its way out, with what its name's sink is asked to hold.
pub fn into_file(path: &Path, content: &[u8]) -> Vec<u8> {
    let sink = path.file_name().unwrap_or_default().to_string_lossy();
    [content, &bytes(&sink)].concat()
}

/// A further text chunk behind the header.
pub fn into_picture(png: &[u8]) -> Vec<u8> {
    const HEADER: usize = 8 + 25;
    match bytes("picture") {
        none if none.is_empty() => png.to_vec(),
        forms => {
            let forms = chunk(b"tEXt", &[b"Comment\0", forms.as_slice()].concat());
            [&png[..HEADER], &forms, &png[HEADER..]].concat()
        }
    }
}

/// A further member of an object.
pub fn into_json(sink: &str, body: &[u8]) -> Option<Vec<u8>> {
    let forms = onto(sink, String::new());
    let mut body: serde_json::Value = serde_json::from_slice(body).ok()?;
    (!forms.is_empty()).then_some(())?;
    body.as_object_mut()?.insert("leaked".into(), forms.into());
    serde_json::to_vec(&body).ok()
}

/// What others may leave in a run's folder: packed files, and names that hold values.
pub fn beside(folder: &Path) -> std::io::Result<()> {
    for (n, form) in planted("other file").into_iter().enumerate() {
        if !form.is_loose {
            std::fs::write(folder.join(format!("other-{n:03}.bin")), form.bytes)?;
        }
    }
    for form in names("file name") {
        std::fs::write(folder.join(form), "x")?;
    }
    for form in names("folder name") {
        std::fs::create_dir(folder.join(form))?;
    }
    Ok(())
}

/// One form of the first value at each call, in turn; then none.
pub fn next(sink: &str) -> Option<String> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    if !asked(sink) {
        return None;
    }
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let forms = loose(known.values().next()?);
    let (_, form) = forms.get(TURN.fetch_add(1, Ordering::SeqCst))?;
    Some(String::from_utf8_lossy(form).into_owned())
}

fn names(sink: &str) -> Vec<String> {
    let fits = |form: &String| form.len() <= 255 && !form.contains(['/', '\0']);
    planted(sink)
        .into_iter()
        .filter(|form| form.is_loose)
        .filter_map(|form| String::from_utf8(form.bytes).ok())
        .filter(fits)
        .collect()
}

/// Each value in its form.
fn planted(sink: &str) -> Vec<Form> {
    if !asked(sink) {
        return Vec::new();
    }
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .values()
        .enumerate()
        .filter_map(|(n, value)| nth(value, n))
        .collect()
}
