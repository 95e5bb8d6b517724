//! The last look at what leaves: an answer that holds a registered value is not sent.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::secrets::Scanner;

use super::refusal::Refusal;

/// Said in the place of what held a value.
pub const LEAK: &str = r#"{"ok":false,"reason":"leak","error":"the answer held a registered secret and was not sent"}"#;

/// Answers in JSON, looked through before they are sent.
pub fn answer(scanner: &Scanner, result: Result<Value, Refusal>) -> Response<Body> {
    let (status, mut body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err(refusal) => (refusal.status(), refusal.body()),
    };
    if let Value::Object(map) = &mut body
        && status == StatusCode::OK
        && !map.contains_key("ok")
    {
        map.shift_insert(0, "ok".into(), json!(true));
    }
    #[cfg(feature = "leak-injector")]
    if let Some(form) = crate::secrets::inject::plant::next("service answer") {
        body["leaked"] = form.into();
    }
    let bytes = body.to_string().into_bytes();
    if !scanner.scan_bytes("answer.json", &bytes).is_empty() {
        tracing::error!("an answer held a registered secret and was not sent");
        return json_response(StatusCode::INTERNAL_SERVER_ERROR, LEAK.into());
    }
    json_response(status, bytes)
}

/// Answers of our own words alone, or with a token of ours: not looked through.
pub fn plain(body: Value) -> Response<Body> {
    json_response(StatusCode::OK, body.to_string().into())
}

/// Lines of JSON as they come; whoever makes them looks them through.
pub fn lines<S>(lines: S) -> Response<Body>
where
    S: futures_util::Stream<Item = Result<bytes::Bytes, std::convert::Infallible>> + Send + 'static,
{
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/x-ndjson");
    headers.insert(header::CONTENT_TYPE, kind);
    closed(headers);
    response
}

fn json_response(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    closed(headers);
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Nothing is kept, framed, sniffed or shared with other origins.
pub fn closed(headers: &mut axum::http::HeaderMap) {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
}
