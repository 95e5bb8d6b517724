//! The routes, and what each takes.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, Response};
use axum::routing::{any, delete, get, post};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::scenario::Extract;

use super::act::{ActBody, Approval, BatchBody};
use super::audit::Entry;
use super::guard::{self, Doors};
use super::refusal::Refusal;
use super::service::{Drafting, Opening, Service};
use super::session::{Answer, Ask};
use super::starting::RunWish;
use super::{approver, mcp, opening, reply};

/// Larger bodies are refused unread.
const BODY: usize = 256 << 10;
/// A body that drips in slower than this is refused.
const BODY_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

type Shared = State<Arc<Service>>;

/// Method, path and whose token opens it; the OpenAPI document is held against this.
pub const ROUTES: &[(&str, &str, &str)] = &[
    ("get", "/openapi.json", "nobody"),
    ("get", "/sessions", "owner"),
    ("post", "/sessions", "owner"),
    ("delete", "/sessions/{id}", "owner"),
    ("get", "/sessions/{id}/read", "owner"),
    ("post", "/sessions/{id}/act", "owner"),
    ("post", "/sessions/{id}/batch", "owner"),
    ("post", "/sessions/{id}/login", "owner"),
    ("post", "/sessions/{id}/extract", "owner"),
    ("post", "/sessions/{id}/approvals/{approval}/token", "owner"),
    ("post", "/approvals/{approval}/token", "owner"),
    ("post", "/revoke-all", "owner"),
    ("post", "/run", "owner"),
    ("post", "/draft", "owner"),
    ("post", "/mcp", "owner"),
    ("get", "/scenarios", "owner"),
    ("post", "/scenarios/run", "owner"),
    ("get", "/runs", "owner"),
    ("post", "/runs", "owner"),
    ("delete", "/runs/{id}", "owner"),
    ("get", "/runs/{id}/events", "owner"),
    ("get", "/approvals/pending", "approver"),
    ("post", "/approvals/{approval}", "approver"),
];

pub fn router(service: Arc<Service>, doors: Doors) -> Router {
    let base = doors.base();
    let doors = (service.clone(), Arc::new(doors));
    let routes = calls(service.clone(), doors.clone());
    let inside = mcp::Inside {
        service,
        routes: routes.clone(),
        base,
    };
    Router::new()
        .route("/mcp", any(mcp::over_http))
        .with_state(inside)
        .layer(axum::middleware::from_fn_with_state(doors, guard::stand))
        .merge(routes)
}

fn calls(service: Arc<Service>, doors: (Arc<Service>, Arc<Doors>)) -> Router {
    Router::new()
        .route("/openapi.json", get(openapi))
        .route("/sessions", get(list).post(open))
        .route("/sessions/{id}", delete(close))
        .route("/sessions/{id}/read", get(read))
        .route("/sessions/{id}/act", post(act))
        .route("/sessions/{id}/batch", post(batch))
        .route("/sessions/{id}/login", post(login))
        .route("/sessions/{id}/extract", post(extract))
        .route("/sessions/{id}/approvals/{approval}/token", post(claim))
        .route("/approvals/{approval}/token", post(claim_outside))
        .route("/revoke-all", post(revoke_all))
        .route("/run", post(run))
        .route("/draft", post(draft))
        .route("/scenarios", get(scenarios))
        .route("/scenarios/run", post(run_scenario))
        .route("/runs", get(list_runs).post(start_run))
        .route("/runs/{id}", delete(end_run))
        .route("/runs/{id}/events", get(follow))
        .route("/approvals", get(approver::page))
        .route("/approvals/page.js", get(approver::script))
        .route("/approvals/page.css", get(approver::style))
        .route("/approvals/pending", get(approver::pending))
        .route("/approvals/{approval}", post(approver::decide))
        .fallback(nothing)
        .method_not_allowed_fallback(nothing)
        .with_state(service)
        .layer(axum::middleware::from_fn_with_state(doors, guard::stand))
}

pub fn owner(service: &Service, headers: &HeaderMap) -> Result<String, Refusal> {
    guard::bearer(headers)
        .and_then(|token| service.tokens.owner_of(token))
        .ok_or(Refusal::Unauthorised)
}

/// Who asks, where the session is theirs. Asked before a body is read: what a stranger sends costs
/// nothing and tells nothing.
fn holder(service: &Service, headers: &HeaderMap, id: &str) -> Result<String, Refusal> {
    let owner = owner(service, headers)?;
    service.holds(&owner, id)?;
    Ok(owner)
}

/// The body as one JSON value of its shape. Errors name places, not values.
pub async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Refusal> {
    parsed(&bytes(request.into_body()).await?)
}

pub async fn bytes(body: Body) -> Result<Vec<u8>, Refusal> {
    let read = tokio::time::timeout(BODY_WITHIN, to_bytes(body, BODY));
    match read.await {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => Err(Refusal::TooLarge),
        Err(_) => Err(Refusal::TimedOut),
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    super::json::read(bytes, "the body").map_err(Refusal::Malformed)
}

async fn answered(service: &Service, work: impl Future<Output = Answer>) -> Response<Body> {
    reply::answer(&service.scanner, work.await)
}

async fn nothing(State(service): Shared) -> Response<Body> {
    reply::answer(&service.scanner, Err(Refusal::NotFound))
}

async fn openapi() -> Response<Body> {
    reply::plain(super::openapi::document())
}

async fn list(State(service): Shared, headers: HeaderMap) -> Response<Body> {
    answered(&service, async {
        Ok(service.list(&owner(&service, &headers)?))
    })
    .await
}

async fn open(State(service): Shared, headers: HeaderMap, request: Request) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        let opening: Opening = body(request).await?;
        service.open(&owner, opening).await
    })
    .await
}

async fn close(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        service.close(&owner, &id).await
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    #[serde(default)]
    picture: Option<bool>,
}

async fn read(
    State(service): Shared,
    Path(id): Path<String>,
    wish: Result<Query<Reading>, QueryRejection>,
    headers: HeaderMap,
) -> Response<Body> {
    answered(&service, async {
        let owner = holder(&service, &headers, &id)?;
        let Ok(Query(wish)) = wish else {
            return Err(Refusal::malformed(
                "`read` takes `picture=true` or `picture=false`",
            ));
        };
        let picture = wish.picture.unwrap_or(true);
        service.call(&owner, &id, Ask::Read { picture }).await
    })
    .await
}

async fn act(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    answered(&service, async {
        let owner = holder(&service, &headers, &id)?;
        let wish: ActBody = body(request).await?;
        service.call(&owner, &id, Ask::Act(Box::new(wish))).await
    })
    .await
}

async fn batch(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    answered(&service, async {
        let owner = holder(&service, &headers, &id)?;
        let wish: BatchBody = body(request).await?;
        service.call(&owner, &id, Ask::Batch(wish)).await
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    credential: String,
    approval: Option<Approval>,
}

async fn login(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    answered(&service, async {
        let owner = holder(&service, &headers, &id)?;
        let wish: Login = body(request).await?;
        let ask = Ask::Login {
            credential: wish.credential,
            approval: wish.approval,
        };
        service.call(&owner, &id, ask).await
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Extraction {
    extract: Value,
}

async fn extract(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    answered(&service, async {
        let owner = holder(&service, &headers, &id)?;
        let wish: Extraction = body(request).await?;
        let extract = extraction(&service, wish.extract)?;
        let ask = Ask::Extract(Box::new(extract));
        service.call(&owner, &id, ask).await
    })
    .await
}

/// Read by the language, as under a scenario's `extract:`.
fn extraction(service: &Service, written: Value) -> Result<Extract, Refusal> {
    let document = json!({
        "name": "a call", "start": "http://localhost/",
        "steps": [{ "expect": { "url": "**" } }], "expect": { "url": "**" },
        "extract": written,
    });
    opening::scenario_of(&document, "call", service.lexicons())?
        .extract
        .ok_or_else(|| Refusal::malformed("`extract` is empty"))
}

async fn claim(
    State(service): Shared,
    Path((id, approval)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    match holder(&service, &headers, &id) {
        Ok(owner) => give(&service, &owner, &id, &approval),
        Err(refusal) => reply::answer(&service.scanner, Err(refusal)),
    }
}

/// For what is asked outside any session: a scenario's confirmation.
async fn claim_outside(
    State(service): Shared,
    Path(approval): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    match owner(&service, &headers) {
        Ok(owner) => give(&service, &owner, "", &approval),
        Err(refusal) => reply::answer(&service.scanner, Err(refusal)),
    }
}

fn give(service: &Service, owner: &str, session: &str, approval: &str) -> Response<Body> {
    match service.common.approvals.claim(owner, session, approval) {
        Ok(Some(token)) => reply::plain(
            json!({ "ok": true, "status": "approved", "approval": { "id": approval, "token": token.expose() } }),
        ),
        Ok(None) => reply::answer(&service.scanner, Ok(json!({ "status": "pending" }))),
        Err(why) => {
            service.common.audit.write(Entry {
                what: "consent claimed",
                result: "refused",
                owner: Some(owner),
                approval: Some(approval),
                why: Some(why.to_string()),
                ..Entry::default()
            });
            reply::answer(&service.scanner, Err(Refusal::ConsentInvalid))
        }
    }
}

async fn revoke_all(State(service): Shared, headers: HeaderMap) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        service.revoke_all(&owner).await
    })
    .await
}

async fn run(State(service): Shared, headers: HeaderMap, request: Request) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        let bytes = bytes(request.into_body()).await?;
        service.run_recipe(&owner, &bytes).await
    })
    .await
}

async fn draft(State(service): Shared, headers: HeaderMap, request: Request) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        let wish: Drafting = body(request).await?;
        service.draft(&owner, wish).await
    })
    .await
}

async fn scenarios(State(service): Shared, headers: HeaderMap) -> Response<Body> {
    answered(&service, async {
        owner(&service, &headers)?;
        service.scenarios()
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunScenario {
    id: String,
    approval: Option<Approval>,
}

async fn run_scenario(
    State(service): Shared,
    headers: HeaderMap,
    request: Request,
) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        let wish: RunScenario = body(request).await?;
        service
            .run_scenario(&owner, &wish.id, wish.approval.as_ref())
            .await
    })
    .await
}

async fn list_runs(State(service): Shared, headers: HeaderMap) -> Response<Body> {
    answered(&service, async {
        Ok(service.list_runs(&owner(&service, &headers)?))
    })
    .await
}

async fn start_run(State(service): Shared, headers: HeaderMap, request: Request) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        let wish: RunWish = body(request).await?;
        service.start_run(&owner, wish).await
    })
    .await
}

async fn end_run(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    answered(&service, async {
        let owner = owner(&service, &headers)?;
        service.end_run(&owner, &id)
    })
    .await
}

async fn follow(
    State(service): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let events = owner(&service, &headers).and_then(|owner| service.follow(&owner, &id));
    match events {
        Ok(events) => reply::lines(events),
        Err(refusal) => reply::answer(&service.scanner, Err(refusal)),
    }
}
