//! The OpenAPI document, put together by hand and held against the routes by a test.

use serde_json::{Map, Value, json};

use super::routes::ROUTES;

/// What each route is for: summary, body schema (`null`: none).
fn told(method: &str, path: &str) -> (&'static str, Value) {
    match (method, path) {
        ("get", "/openapi.json") => ("This document", Value::Null),
        ("get", "/sessions") => ("The owner's sessions", Value::Null),
        ("post", "/sessions") => (
            "Open a page in a session of its own",
            object(
                &["start"],
                json!({
                    "start": text("Address of the first page"),
                    "hosts": texts("Further hosts it may reach"),
                    "credentials": texts("Names of credentials it may use"),
                    "name": text("For lists"),
                }),
            ),
        ),
        ("delete", "/sessions/{id}") => ("Close one session", Value::Null),
        ("get", "/sessions/{id}/read") => (
            "Text, controls and a masked picture; ?picture=false leaves it out",
            Value::Null,
        ),
        ("post", "/sessions/{id}/act") => (
            "One action: a sentence, a step, or a primitive on an id of the last read",
            object(
                &[],
                json!({
                    "sentence": text("Click Sign in"),
                    "step": { "type": "object", "description": "A step of the scenario language" },
                    "primitive": { "enum": ["click", "fill", "select", "check", "press", "hover", "scroll_to", "submit"] },
                    "id": text("An id of the last read"),
                    "text": text("For fill"),
                    "option": text("For select"),
                    "keys": text("For press"),
                    "on": { "type": "boolean" },
                    "language": text("Of the sentence; en unless said"),
                    "approval": approval(),
                }),
            ),
        ),
        ("post", "/sessions/{id}/login") => (
            "Sign in with a named credential",
            object(
                &["credential"],
                json!({ "credential": text("Its name"), "approval": approval() }),
            ),
        ),
        ("post", "/sessions/{id}/extract") => (
            "Read data off the page",
            object(
                &["extract"],
                json!({ "extract": { "type": "object", "description": "As under a scenario's `extract:`" } }),
            ),
        ),
        ("post", "/sessions/{id}/approvals/{approval}/token")
        | ("post", "/approvals/{approval}/token") => (
            "The token of an approved question, once; or `pending`",
            object(&[], json!({})),
        ),
        ("post", "/revoke-all") => ("Close every session of the owner", object(&[], json!({}))),
        ("post", "/run") => (
            "Run a recipe",
            object(
                &["entry"],
                json!({
                    "entry": text("Address of the first page"),
                    "hosts": texts("Further hosts it may reach"),
                    "steps": { "type": "array", "items": { "type": "object" }, "description": "goto, type (text or secret), click (write), waitFor" },
                    "extract": { "type": "object" },
                    "confirm": { "oneOf": [{ "type": "boolean" }, { "type": "string" }] },
                    "dry": { "type": "boolean" },
                }),
            ),
        ),
        ("get", "/scenarios") => ("Scenarios of the suite", Value::Null),
        ("post", "/scenarios/run") => (
            "Run one scenario",
            object(
                &["id"],
                json!({ "id": text("Its id"), "approval": approval() }),
            ),
        ),
        ("get", "/approvals/pending") => ("What waits for the approver", Value::Null),
        ("post", "/approvals/{approval}") => (
            "The approver's answer",
            object(
                &["decision"],
                json!({ "decision": { "enum": ["approve", "deny"] } }),
            ),
        ),
        _ => ("", Value::Null),
    }
}

pub fn document() -> Value {
    let mut paths = Map::new();
    for (method, path, who) in ROUTES {
        let (summary, body) = told(method, path);
        let mut operation = json!({
            "summary": summary,
            "operationId": operation_id(method, path),
            "responses": responses(who),
        });
        if *who != "nobody" {
            operation["security"] = json!([{ *who: [] }]);
        }
        let names = parameters(path);
        if !names.is_empty() {
            operation["parameters"] = json!(names);
        }
        if !body.is_null() {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": body } },
            });
        }
        let entry = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        entry[*method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "rehearsal broker", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "securitySchemes": {
            "owner": { "type": "http", "scheme": "bearer" },
            "approver": { "type": "http", "scheme": "bearer" },
        } },
    })
}

fn operation_id(method: &str, path: &str) -> String {
    let words: Vec<&str> = path
        .split(['/', '{', '}', '.', '-'])
        .filter(|w| !w.is_empty())
        .collect();
    format!("{method}_{}", words.join("_"))
}

fn parameters(path: &str) -> Vec<Value> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect()
}

fn responses(who: &str) -> Value {
    let refusal = |what: &str| {
        json!({ "description": what, "content": { "application/json": { "schema": {
            "type": "object", "required": ["ok", "reason", "error"], "properties": {
                "ok": { "const": false },
                "reason": text("A stable word"),
                "error": text("What is wrong and how to mend it"),
            },
        } } } })
    };
    let mut all = json!({
        "200": { "description": "Done; `/run` also answers so when it refuses", "content": { "application/json": { "schema": { "type": "object" } } } },
        "400": refusal("The call can't be understood"),
        "403": refusal("Host, Origin or consent is not right"),
        "404": refusal("No such thing, or another owner's"),
        "429": refusal("A limit is reached"),
        "503": refusal("Browser, vault or model is not there"),
    });
    if who != "nobody" {
        all["401"] = refusal("No valid token");
    }
    if who == "owner" {
        all["413"] = refusal("The body is too large");
        all["415"] = refusal("The body is not declared as JSON");
        all["408"] = refusal("It took too long");
        all["422"] = refusal("The page did not allow it");
        all["428"] = refusal("A person must approve it first");
    }
    all
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

fn texts(what: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": what })
}

fn approval() -> Value {
    object(
        &["id", "token"],
        json!({ "id": text("approval_id of the question"), "token": text("Claimed after approval") }),
    )
}
