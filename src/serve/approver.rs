//! The approver's page and its two calls. No owner's token opens them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::audit::Entry;
use super::guard::bearer;
use super::refusal::Refusal;
use super::reply;
use super::routes::body;
use super::service::Service;

const PAGE: &str = include_str!("approver/page.html");
const SCRIPT: &str = include_str!("approver/page.js");
const STYLE: &str = include_str!("approver/page.css");

/// Only what the page itself brings, and talk to us alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

type Shared = State<Arc<Service>>;

/// Open to anyone on this machine: it holds nothing until a token is given.
pub async fn page() -> Response<Body> {
    text("text/html; charset=utf-8", PAGE)
}

pub async fn script() -> Response<Body> {
    text("text/javascript; charset=utf-8", SCRIPT)
}

pub async fn style() -> Response<Body> {
    text("text/css; charset=utf-8", STYLE)
}

fn text(kind: &'static str, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    reply::closed(headers);
    response
}

fn allowed(service: &Service, headers: &HeaderMap) -> Result<(), Refusal> {
    bearer(headers)
        .filter(|token| service.tokens.is_approver(token))
        .map(drop)
        .ok_or(Refusal::Unauthorised)
}

pub async fn pending(State(service): Shared, headers: HeaderMap) -> Response<Body> {
    let answer = allowed(&service, &headers).map(|()| {
        let list: Vec<Value> = service
            .common
            .approvals
            .pending()
            .into_iter()
            .map(|shown| {
                let picture = shown
                    .picture
                    .as_ref()
                    .map(|png| BASE64_STANDARD.encode(png));
                let mut line = json!(shown);
                line["picture"] = json!(picture);
                line
            })
            .collect();
        json!({ "pending": list })
    });
    reply::answer(&service.scanner, answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    decision: Word,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

pub async fn decide(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    let answer = async {
        allowed(&service, &headers)?;
        let Decision { decision } = body(request).await?;
        let approve = decision == Word::Approve;
        if !service.common.approvals.decide(&id, approve) {
            return Err(Refusal::NotFound);
        }
        service.common.audit.write(Entry {
            what: "consent answered",
            result: if approve { "approved" } else { "denied" },
            approval: Some(&id),
            ..Entry::default()
        });
        Ok(json!({ "decision": if approve { "approved" } else { "denied" } }))
    };
    let answer = answer.await;
    reply::answer(&service.scanner, answer)
}
