//! Names of what a JSON body asks for: GraphQL operations and JSON-RPC methods.
//!
//! Only names leave here. A body that can be read in two ways names nothing, so it can't pass as
//! one operation and act as another: duplicate keys, a name that the document doesn't hold.

use serde::Deserialize;

/// What stands for an operation that can't be told; no `operation` entry of a scenario equals it.
const UNNAMED: &str = "(unnamed)";

/// Duplicate keys are an error of the derive, which is the point.
#[derive(Deserialize)]
struct Call {
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    query: Option<String>,
    jsonrpc: Option<serde::de::IgnoredAny>,
    method: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Batch(Vec<Call>),
    One(Call),
}

/// One name per call of the body; empty when it isn't JSON that names any. A mutation or
/// subscription is named `mutation Name`, so `operation: [Name]` never calls it a read.
pub fn operations(content_type: &str, body: &[u8]) -> Vec<String> {
    let kind = content_type.split(';').next().unwrap_or("").trim();
    let kind = kind.to_ascii_lowercase();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("json")) {
        return Vec::new();
    }
    // `untagged` goes through a buffer that forgets duplicates; decide by the first byte instead.
    let batch = body.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    let parsed = match batch {
        true => serde_json::from_slice(body).map(Body::Batch),
        false => serde_json::from_slice(body).map(Body::One),
    };
    match parsed {
        Ok(Body::Batch(calls)) => calls.iter().filter_map(name).collect(),
        Ok(Body::One(call)) => name(&call).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

fn name(call: &Call) -> Option<String> {
    let unnamed = || Some(UNNAMED.to_owned());
    match (&call.query, &call.operation_name, &call.method) {
        // Both at once: two servers could read it differently.
        (Some(_), _, Some(_)) | (None, Some(_), Some(_)) => unnamed(),
        (None, None, Some(method)) if call.jsonrpc.is_some() => Some(method.clone()),
        (Some(query), wanted, None) => graphql(query, wanted.as_deref()).or_else(unnamed),
        // A stored query: only its name is sent.
        (None, Some(wanted), None) => Some(wanted.clone()),
        // In a batch an item without a name must not vanish beside one with a name.
        _ => unnamed(),
    }
}

/// The operation of a document that will run, with its kind unless it is a query.
fn graphql(document: &str, wanted: Option<&str>) -> Option<String> {
    let found = definitions(document);
    let mut fitting = found.iter().filter(|(_, name)| match wanted {
        Some(wanted) => name == wanted,
        None => true,
    });
    let (kind, name) = fitting.next()?;
    if fitting.next().is_some() || name.is_empty() {
        return None;
    }
    Some(match kind.as_str() {
        "query" => name.clone(),
        kind => format!("{kind} {name}"),
    })
}

/// Kind and name of each top-level operation; comments, strings and nested braces are passed over.
fn definitions(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut words: Vec<String> = Vec::new();
    let mut rest = document;
    while let Some(c) = rest.chars().next() {
        match c {
            '#' => {
                rest = &rest[rest.find(['\n', '\r']).unwrap_or(rest.len())..];
                continue;
            }
            '"' => {
                rest = after_string(rest);
                continue;
            }
            '{' | '(' | '[' => {
                if depth == 0 && c == '{' {
                    found.extend(definition(&words));
                    words.clear();
                }
                depth += 1;
            }
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 && (c.is_ascii_alphanumeric() || c == '_') => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                words.push(rest[..end].to_owned());
                rest = &rest[end..];
                continue;
            }
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    found
}

/// `query Orders @cached` → query, Orders; a bare `{` is a query without a name.
fn definition(words: &[String]) -> Option<(String, String)> {
    match words {
        [] => Some(("query".to_owned(), String::new())),
        [kind, ..] if kind == "fragment" => None,
        [kind, rest @ ..] => Some((kind.clone(), rest.first().cloned().unwrap_or_default())),
    }
}

fn after_string(text: &str) -> &str {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return match block.find("\"\"\"") {
            Some(end) => &block[end + 3..],
            None => "",
        };
    }
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}
