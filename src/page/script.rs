//! The reader's source and how it is called.
//!
//! The source is one function declaration, put together from `js/*.js` at compile time. It is installed
//! once per document, in the sandbox [`SANDBOX`]; as a preload script (`script.addPreloadScript` with
//! the same sandbox) or on the first call that finds it absent.

use serde_json::{Value, json};

/// Name of the BiDi sandbox (isolated world) the reader lives in.
pub const SANDBOX: &str = "rehearsal";

/// Told apart from an older reader left in a document by a former build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a call answers in a document that has no reader yet.
pub const ABSENT: &str = "__absent";

/// Installs the reader: a declaration without arguments, fit for `script.callFunction` and
/// `script.addPreloadScript`. Does nothing where this version is already there.
pub const INSTALL: &str = concat!(
    "() => { 'use strict';\nconst VERSION = '",
    env!("CARGO_PKG_VERSION"),
    "';\nif (globalThis.__rehearsal && globalThis.__rehearsal.version === VERSION) return;\n",
    include_str!("js/dom.js"),
    include_str!("js/style.js"),
    include_str!("js/role.js"),
    include_str!("js/name.js"),
    include_str!("js/state.js"),
    include_str!("js/read.js"),
    include_str!("js/act.js"),
    include_str!("js/field.js"),
    include_str!("js/mask.js"),
    include_str!("js/extract.js"),
    include_str!("js/login.js"),
    include_str!("js/api.js"),
    include_str!("js/places.js"),
    "}"
);

/// Calls a function of the reader: its name, its arguments as one JSON text, and the nodes it takes after them.
/// (An array or object handed over as such costs a round trip of its own for each level of it: measured.)
pub const CALL: &str = concat!(
    "(name, rest, ...nodes) => { const reader = globalThis.__rehearsal; ",
    "return reader && reader.version === '",
    env!("CARGO_PKG_VERSION"),
    "' ? reader[name](...JSON.parse(rest), ...nodes) : '__absent'; }"
);

/// What [`CALL`] takes, as BiDi local values. Node references (`{"sharedId": …}`) stand after all others.
pub fn arguments(name: &str, arguments: &[Value]) -> Vec<Value> {
    let is_node = |value: &Value| value.get("sharedId").is_some();
    let plain = arguments.iter().take_while(|value| !is_node(value)).count();
    let (plain, nodes) = arguments.split_at(plain);
    let text = |text: String| json!({"type": "string", "value": text});
    let mut list = vec![text(name.to_owned()), text(json!(plain).to_string())];
    list.extend(nodes.iter().cloned());
    list
}

/// Text of a remote string.
pub fn remote_text(value: &Value) -> Option<&str> {
    (value["type"] == "string")
        .then(|| value["value"].as_str())
        .flatten()
}

/// Shared id of a remote node.
pub fn remote_node(value: &Value) -> Option<&str> {
    (value["type"] == "node")
        .then(|| value["sharedId"].as_str())
        .flatten()
}

/// Context id of a remote window.
pub fn remote_window(value: &Value) -> Option<&str> {
    (value["type"] == "window")
        .then(|| value["value"]["context"].as_str())
        .flatten()
}

/// Items of a remote array.
pub fn remote_items(value: &Value) -> &[Value] {
    value["value"].as_array().map_or(&[], Vec::as_slice)
}
