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
        ("get", "/sessions/{id}/read") => ("Text, controls and a masked picture", Value::Null),
        ("post", "/sessions/{id}/act") => (
            "One action: a sentence, a step, or a primitive on an id of the last read",
            action(json!({ "approval": approval() })),
        ),
        ("post", "/sessions/{id}/batch") => (
            "Actions of one page under one consent, in their order; the first that does not hold ends them",
            object(
                &["actions"],
                json!({ "actions": { "type": "array", "items": action(json!({})) }, "approval": approval() }),
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
        ("post", "/revoke-all") => (
            "Close every session of the owner and stop its runs",
            object(&[], json!({})),
        ),
        ("post", "/run") => (
            "Run a recipe",
            object(
                &["entry"],
                json!({
                    "entry": text("Address of the first page"),
                    "hosts": texts("Further hosts it may reach"),
                    "steps": { "type": "array", "items": { "type": "object" }, "description": "goto, type (text, text with secret: true, or secret as name.field), click (write), waitFor" },
                    "extract": { "type": "object" },
                    "confirm": { "oneOf": [{ "type": "boolean" }, { "type": "string" }] },
                    "dry": { "type": "boolean" },
                }),
            ),
        ),
        ("post", "/draft") => (
            "A scenario out of free text; a credential in it goes to the vault after a yes",
            object(
                &["text"],
                json!({ "text": text("What is wanted, in words"), "approval": approval() }),
            ),
        ),
        ("post", "/mcp") => (
            "The same calls as tools for agents: MCP over streamable HTTP, without sessions of its own",
            json!({ "type": "object", "description": "A JSON-RPC message of the Model Context Protocol" }),
        ),
        ("get", "/scenarios") => ("Scenarios of the suite", Value::Null),
        ("post", "/scenarios/run") => (
            "Run one scenario",
            object(
                &["id"],
                json!({ "id": text("Its id"), "approval": approval() }),
            ),
        ),
        ("get", "/runs") => ("The owner's runs", Value::Null),
        ("post", "/runs") => (
            "Run scenarios of the suite; answers when the run has begun",
            object(
                &[],
                json!({
                    "scenarios": texts("Ids, folders or globs; all when none is named"),
                    "tags": texts("With this tag; `!tag` leaves them out"),
                    "shard": text("A part of the selection: 1/3"),
                    "vars": { "type": "object", "additionalProperties": string() },
                    "confirm": texts("Ids whose declared writes are wanted; the approver is asked"),
                    "confirm_writes": { "type": "boolean", "description": "The same for all" },
                    "locked": { "type": "boolean" }, "offline": { "type": "boolean" },
                    "fresh": { "type": "boolean" },
                    "jobs": { "type": ["integer", "null"] }, "retries": { "type": ["integer", "null"] },
                    "repeat": { "type": ["integer", "null"] }, "min_rate": { "type": ["number", "null"] },
                    "fail_on_flaky": { "type": "boolean" },
                    "approval": approval(),
                }),
            ),
        ),
        ("delete", "/runs/{id}") => ("Stop a run; forget one that is over", Value::Null),
        ("get", "/runs/{id}/events") => (
            "Every event of a run from the first on, as it comes: a line of JSON each",
            Value::Null,
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
            "responses": responses(who, answer(method, path)),
        });
        if *who != "nobody" {
            operation["security"] = json!([{ *who: [] }]);
        }
        let mut names = parameters(path);
        if path.ends_with("/events") {
            operation["responses"]["200"]["content"] =
                json!({ "application/x-ndjson": { "schema": { "type": "string" } } });
        }
        if path.ends_with("/batch") {
            let told = json!({
                "stopped_at": { "type": "integer", "description": "The action that was not done, from 1" },
                "done": { "type": "array", "items": acted(json!({})) },
            });
            let all = operation["responses"].as_object_mut().into_iter().flatten();
            for (_, response) in all.filter(|(status, _)| *status != "200") {
                let schema = &mut response["content"]["application/json"]["schema"];
                let own = schema["properties"].take();
                schema["properties"] = and(told.clone(), own);
            }
        }
        if path.ends_with("/read") {
            names.push(json!({ "name": "picture", "in": "query", "required": false, "schema": { "type": "boolean", "default": true } }));
        }
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

/// What each route answers when it is done.
fn answer(method: &str, path: &str) -> Value {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let whole = json!({ "type": "integer" });
    let anything = json!({ "type": "object" });
    let shape = |required: &[&str], properties: Value| {
        let mut properties = properties;
        properties["ok"] = json!({ "type": "boolean" });
        object(&[&["ok"], required].concat(), properties)
    };
    match (method, path) {
        ("get", "/sessions") => shape(
            &["sessions"],
            json!({ "sessions": { "type": "array", "items": object(
                &["session", "name"], json!({ "session": string(), "name": string() })) } }),
        ),
        ("post", "/sessions") => shape(
            &["session", "url", "title"],
            json!({ "session": string(), "url": string(), "title": string() }),
        ),
        ("delete", "/sessions/{id}") => shape(&["closed"], json!({ "closed": string() })),
        ("get", "/sessions/{id}/read") => shape(
            &["url", "title", "text", "candidates", "unread"],
            json!({
                "url": string(), "title": string(), "text": string(), "unread": strings,
                "candidates": { "type": "array", "items": candidate() }, "picture": picture(),
            }),
        ),
        ("post", "/sessions/{id}/act") => acted(json!({ "ok": { "type": "boolean" } })),
        ("post", "/sessions/{id}/batch") => shape(
            &["done"],
            json!({ "done": { "type": "array", "items": acted(json!({})) } }),
        ),
        ("post", "/sessions/{id}/login") => shape(
            &["outcome"],
            json!({ "outcome": { "type": "string", "enum": ["signed_in"] } }),
        ),
        ("post", "/sessions/{id}/extract") => shape(
            &["data", "notes"],
            json!({ "data": anything, "notes": anything }),
        ),
        ("post", "/sessions/{id}/approvals/{approval}/token")
        | ("post", "/approvals/{approval}/token") => shape(
            &["status"],
            json!({ "status": { "type": "string", "enum": ["approved", "pending"] }, "approval": approval() }),
        ),
        ("post", "/revoke-all") => shape(&["closed"], json!({ "closed": whole })),
        ("post", "/run") | ("post", "/scenarios/run") => shape(
            &["mode", "steps"],
            json!({
                "mode": { "type": "string", "enum": ["live", "dry"] },
                "steps": { "type": "array", "items": anything },
                "status": { "type": ["string", "null"] }, "data": {}, "notes": anything,
                "picture": picture(), "error": string(),
                "plan": strings, "writes": { "type": "boolean" }, "digest": string(),
            }),
        ),
        ("post", "/draft") => shape(
            &["scenario"],
            json!({ "scenario": text("YAML"), "credential": text("Its name in the vault") }),
        ),
        ("get", "/scenarios") => shape(
            &["scenarios"],
            json!({ "scenarios": { "type": "array", "items": object(
                &["id", "name", "goal"],
                json!({ "id": string(), "name": string(), "goal": { "type": ["string", "null"] } })) } }),
        ),
        ("get", "/runs") => shape(
            &["runs"],
            json!({ "runs": { "type": "array", "items": run(json!({})) } }),
        ),
        ("post", "/runs") => run(json!({ "ok": { "type": "boolean" } })),
        ("delete", "/runs/{id}") => shape(
            &["run", "state"],
            json!({ "run": string(), "state": { "type": "string", "enum": ["stopping", "forgotten"] } }),
        ),
        ("get", "/approvals/pending") => shape(
            &["pending"],
            json!({ "pending": { "type": "array", "items": object(
                &["id", "owner", "session", "risk", "summary", "expires_in", "picture"],
                json!({
                    "id": string(), "owner": string(), "session": string(), "risk": string(),
                    "summary": strings, "expires_in": whole, "picture": { "type": ["string", "null"] },
                })) } }),
        ),
        ("post", "/approvals/{approval}") => shape(
            &["decision"],
            json!({ "decision": { "type": "string", "enum": ["approved", "denied"] } }),
        ),
        _ => anything,
    }
}

/// What `act` takes.
fn action(more: Value) -> Value {
    let properties = json!({
        "sentence": text("Click Sign in"),
        "step": { "type": "object", "description": "A step of the scenario language" },
        "primitive": { "enum": ["click", "fill", "select", "check", "press", "hover", "scroll_to", "submit"] },
        "id": text("An id of the last read"),
        "text": text("For fill"),
        "option": text("For select"),
        "keys": text("For press"),
        "on": { "type": "boolean" },
        "language": text("Of the sentence; en unless said"),
    });
    object(&[], and(properties, more))
}

fn and(properties: Value, more: Value) -> Value {
    match (properties, more) {
        (Value::Object(mut all), Value::Object(more)) => {
            all.extend(more);
            Value::Object(all)
        }
        (properties, _) => properties,
    }
}

/// What was done, and what was seen to come of it.
fn acted(more: Value) -> Value {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    let file = object(
        &["name", "bytes", "path"],
        json!({
            "name": string(), "bytes": { "type": "integer" },
            "path": text("On this machine; gone with the session"),
        }),
    );
    let properties = json!({
        "did": string(), "effect": { "type": ["string", "null"] }, "notes": strings,
        "sent": strings, "url": string(), "title": string(),
        "files": { "type": "array", "items": file, "description": "Downloads that were consented to" },
    });
    object(&["did", "effect", "notes"], and(properties, more))
}

/// A run that goes on or is over.
fn run(more: Value) -> Value {
    let properties = json!({
        "run": text("Its id"), "state": { "type": "string", "enum": ["running", "finished"] },
        "exit": { "type": ["integer", "null"], "description": "As of `rehearsal run`" },
        "started": string(), "selected": texts("Ids of scenarios"),
        "folder": text("Its journal, reports and pictures, on this machine; gone with the run"),
    });
    object(
        &["run", "state", "exit", "started", "selected", "folder"],
        and(properties, more),
    )
}

/// A control of the page.
fn candidate() -> Value {
    object(
        &["id", "role", "name"],
        json!({
            "id": string(), "role": string(), "name": string(), "value": string(), "place": string(),
            "states": { "type": "object" },
            "options": { "type": "array", "items": { "type": "string" } },
        }),
    )
}

/// Taken, or withheld with the reason.
fn picture() -> Value {
    let whole = json!({ "type": "integer" });
    object(
        &[],
        json!({
            "png": text("base64"), "width": whole, "height": whole, "redactions": whole,
            "withheld": text("Why there is none"),
        }),
    )
}

fn responses(who: &str, answer: Value) -> Value {
    let refused = |what: &str, more: Value| {
        let properties = json!({
            "ok": { "type": "boolean", "const": false },
            "reason": text("A stable word"),
            "error": text("What is wrong and how to mend it"),
        });
        let schema = object(&["ok", "reason", "error"], and(properties, more));
        json!({ "description": what, "content": { "application/json": { "schema": schema } } })
    };
    let refusal = |what: &str| refused(what, json!({}));
    let mut all = json!({
        "200": { "description": "Done; `/run` also answers so when it refuses", "content": { "application/json": { "schema": answer } } },
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
        all["422"] = refused(
            "The page did not allow it, or `unknown_outcome`: what is `sent` left",
            json!({
                "seen": texts("What stands there"), "nearest": { "type": "array", "items": { "type": "object" }, "description": "What was meant, perhaps" },
                "help": text("What to do"), "sent": texts("Requests that left"),
            }),
        );
        all["428"] = refused(
            "A person must approve it first",
            json!({
                "approval_id": string(), "summary": texts("In the broker's words"), "risk": string(),
                "expires_in": { "type": "integer" }, "picture_hash": { "type": ["string", "null"] },
                "approve_at": string(),
            }),
        );
    }
    all
}

fn string() -> Value {
    json!({ "type": "string" })
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
