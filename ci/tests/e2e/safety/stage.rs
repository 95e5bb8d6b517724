//! The site of these tests: pages under any host name, every request kept as it came. What it
//! received is the judge, not what the program says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub host: String,
    pub path: String,
    pub body: String,
}

#[derive(Default)]
struct Inner {
    pages: BTreeMap<(String, String), String>,
    received: Vec<Received>,
    password: String,
}

#[derive(Clone)]
pub struct Stage {
    inner: Arc<Mutex<Inner>>,
    address: SocketAddr,
    _runtime: Arc<tokio::runtime::Runtime>,
}

impl Stage {
    /// Serves on a free port; a sign-in is accepted with this password.
    pub fn open(password: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let inner = Arc::new(Mutex::new(Inner {
            password: password.into(),
            ..Inner::default()
        }));
        let app = axum::Router::new()
            .fallback(answer)
            .with_state(inner.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            inner,
            address,
            _runtime: Arc::new(runtime),
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A page at `host` (`*` for all).
    pub fn page(&self, host: &str, path: &str, html: &str) {
        let html = format!("<!doctype html><html lang=en><meta charset=utf-8>{html}</html>");
        let mut inner = self.inner.lock().expect("the stage");
        inner.pages.insert((host.into(), path.into()), html);
    }

    pub fn received(&self) -> Vec<Received> {
        self.inner.lock().expect("the stage").received.clone()
    }

    /// Requests that could have changed something, as `METHOD host/path`.
    pub fn writes(&self) -> Vec<String> {
        self.received()
            .iter()
            .filter(|r| !matches!(r.method.as_str(), "GET" | "HEAD" | "OPTIONS"))
            .map(|r| format!("{} {}{}", r.method, r.host, r.path))
            .collect()
    }
}

async fn answer(State(inner): State<Arc<Mutex<Inner>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = host_of(&parts.headers);
    let path = parts.uri.path().to_owned();
    if path == "/health" {
        return "ok".into_response();
    }
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut inner = inner.lock().expect("the stage");
    inner.received.push(Received {
        method: parts.method.to_string(),
        host: host.clone(),
        path: parts
            .uri
            .path_and_query()
            .map(|p| p.to_string())
            .unwrap_or_default(),
        body: body.clone(),
    });
    if parts.method == "POST" && path.starts_with("/session") {
        return signed_in(&inner.password, &path, &body);
    }
    if parts.method != "GET" {
        return html("<title>Taken</title><h1>Taken</h1>");
    }
    if let Some(to) = path.strip_prefix("/redirect/") {
        return redirect(&format!("http://{to}"));
    }
    if path == "/file.csv" {
        return (
            [
                (header::CONTENT_TYPE, "text/csv"),
                (header::CONTENT_DISPOSITION, "attachment"),
            ],
            "a,b\n1,2\n",
        )
            .into_response();
    }
    if let Some(name) = path.strip_prefix("/pages/") {
        return bundled(name);
    }
    let at = |host: &str| inner.pages.get(&(host.to_owned(), path.clone())).cloned();
    match at(&host).or_else(|| at("*")) {
        Some(page) => html(&page),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// `/session…`: right password → the page named behind it, else the form again with an alert.
fn signed_in(password: &str, path: &str, body: &str) -> Response {
    let fields: BTreeMap<String, String> = url::form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    let given = fields
        .get("password")
        .or(fields.get("code"))
        .cloned()
        .unwrap_or_default();
    let next = path.strip_prefix("/session").unwrap_or_default();
    match next {
        // The second of two pages.
        "/user" => redirect("/login-password"),
        "/code" if given.len() == 6 => redirect("/home"),
        "/to-code" if given == password => redirect("/login-code"),
        "" if given == password => redirect("/home"),
        // A page that keeps its form.
        "/stay" if given == password => html(&format!("<title>Shop</title><h1>Orders</h1>{LOGIN}")),
        _ => html(&format!(
            "<title>Sign in</title><p role=alert>Wrong password, not {}</p>{}",
            given.replace('<', "&lt;"),
            LOGIN
        )),
    }
}

/// A plain form, posted to its own origin.
pub const LOGIN: &str = "<h1>Sign in</h1><form method=post action=/session>\
    <label>User <input name=username autocomplete=username></label>\
    <label>Password <input name=password type=password autocomplete=current-password></label>\
    <button>Sign in</button></form>";

fn redirect(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_owned())]).into_response()
}

fn html(text: &str) -> Response {
    let kind = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (kind, Body::from(text.to_owned())).into_response()
}

fn bundled(name: &str) -> Response {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pages");
    if name.contains('/') {
        return StatusCode::NOT_FOUND.into_response();
    }
    match std::fs::read(folder.join(name)) {
        Ok(bytes) if name.ends_with(".js") => {
            ([(header::CONTENT_TYPE, "text/javascript")], bytes).into_response()
        }
        Ok(bytes) => html(&String::from_utf8_lossy(&bytes)),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

fn host_of(headers: &HeaderMap) -> String {
    headers
        .get(header::HOST)
        .and_then(|h| h.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}
