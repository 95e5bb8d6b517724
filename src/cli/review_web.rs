//! `rehearsal review --web`: a local page with what is pending, side by side, and two buttons each.
//!
//! Loopback only, behind a path nobody can guess; a foreign Host or Origin gets nothing (T18).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path as Param, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use crate::secrets::Scanner;
use crate::snapshot::{self, Item, Kind, PictureChange, ReviewItem, SnapshotError};

use super::exit;
use super::known;
use super::review::{NO_DIFFERENCE, Volatile};
use super::say::Say;

struct Page {
    root: PathBuf,
    /// Part of every address; whoever doesn't have it sees nothing.
    key: String,
    port: u16,
    scanner: Scanner,
    volatile: Volatile,
}

#[derive(Deserialize)]
struct Verdict {
    id: String,
    kind: String,
    verdict: String,
}

pub async fn serve(root: &Path, scanner: Scanner, volatile: Volatile, say: Say) -> i32 {
    let listener = match tokio::net::TcpListener::bind(("127.0.0.1", 0)).await {
        Ok(listener) => listener,
        Err(error) => {
            return say.fail(
                exit::ENVIRONMENT,
                &format!("no port could be opened: {error}"),
            );
        }
    };
    let port = listener.local_addr().map_or(0, |a| a.port());
    let mut random = [0u8; 16];
    if getrandom::fill(&mut random).is_err() {
        return say.fail(exit::ENVIRONMENT, "the system gives no random numbers");
    }
    let key: String = random.iter().map(|b| format!("{b:02x}")).collect();
    let page = Arc::new(Page {
        root: root.to_owned(),
        key: key.clone(),
        port,
        scanner,
        volatile,
    });
    let app = Router::new()
        .route("/{key}/", get(overview))
        .route("/{key}/decide", post(decide))
        .route("/{key}/picture/{side}/{*path}", get(picture))
        .with_state(page);
    say.line(&format!(
        "review at  http://127.0.0.1:{port}/{key}/   (Ctrl-C ends it)"
    ));
    let ended = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    match axum::serve(listener, app)
        .with_graceful_shutdown(ended)
        .await
    {
        Ok(()) if snapshot::pending(root).is_empty() => exit::PASSED,
        Ok(()) => exit::PENDING,
        Err(error) => say.fail(exit::ENVIRONMENT, &error.to_string()),
    }
}

impl Page {
    fn items(&self) -> Result<Vec<ReviewItem>, SnapshotError> {
        snapshot::items(&self.root, snapshot::pending(&self.root), &|id| {
            self.volatile.of(id)
        })
    }

    fn may(&self, key: &str, headers: &HeaderMap) -> bool {
        let own = [
            format!("127.0.0.1:{}", self.port),
            format!("localhost:{}", self.port),
        ];
        let host = headers
            .get(header::HOST)
            .and_then(|h| h.to_str().ok())
            .unwrap_or_default();
        let origin_fits = headers.get(header::ORIGIN).is_none_or(|o| {
            o.to_str()
                .is_ok_and(|o| own.iter().any(|h| o == format!("http://{h}")))
        });
        // Lengths are equal and public; the comparison tells nothing by its time.
        use subtle::ConstantTimeEq;
        bool::from(key.as_bytes().ct_eq(self.key.as_bytes()))
            && own.iter().any(|h| h == host)
            && origin_fits
    }
}

fn nothing() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

async fn overview(
    State(page): State<Arc<Page>>,
    Param(key): Param<String>,
    headers: HeaderMap,
) -> Response {
    if !page.may(&key, &headers) {
        return nothing();
    }
    match page.items() {
        Ok(items) => safe(Html(render(&items))),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// No script, nothing from elsewhere, nothing kept.
fn safe(html: Html<String>) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; frame-ancestors 'none'";
    (
        [
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::CACHE_CONTROL, "no-store"),
            // Without any referrer a browser sends its forms with `Origin: null`, which is nobody's.
            (header::REFERRER_POLICY, "same-origin"),
        ],
        html,
    )
        .into_response()
}

async fn decide(
    State(page): State<Arc<Page>>,
    Param(key): Param<String>,
    headers: HeaderMap,
    Form(verdict): Form<Verdict>,
) -> Response {
    if !page.may(&key, &headers) {
        return nothing();
    }
    let Some(kind) = Kind::ALL.into_iter().find(|k| k.word() == verdict.kind) else {
        return nothing();
    };
    let item = Item {
        id: verdict.id,
        kind,
    };
    let done = if verdict.verdict == "accept" {
        let clean = |path: &Path, bytes: &[u8]| known::clean(&page.scanner, path, bytes);
        snapshot::accept_checked(
            &page.root,
            std::slice::from_ref(&item.id),
            Some(kind),
            &clean,
        )
        .map(drop)
    } else {
        snapshot::reject(&page.root, &item)
    };
    match done {
        Ok(()) => Redirect::to(&format!("/{key}/")).into_response(),
        Err(error) => (StatusCode::CONFLICT, error.to_string()).into_response(),
    }
}

/// Pictures of pending items alone, by their own names.
async fn picture(
    State(page): State<Arc<Page>>,
    Param((key, side, path)): Param<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    if !page.may(&key, &headers) {
        return nothing();
    }
    let Some((id, name)) = path.rsplit_once('/') else {
        return nothing();
    };
    let items = page.items().unwrap_or_default();
    let file = items
        .iter()
        .filter(|i| i.id == id)
        .flat_map(|i| &i.pictures)
        .filter_map(|p| match side.as_str() {
            "approved" => p.approved.as_ref(),
            _ => p.pending.as_ref(),
        })
        .find(|file| file.ends_with(name));
    match file.and_then(|f| std::fs::read(f).ok()) {
        Some(bytes) => (
            [
                (header::CONTENT_TYPE, "image/png"),
                (header::CACHE_CONTROL, "no-store"),
            ],
            bytes,
        )
            .into_response(),
        None => nothing(),
    }
}

fn render(items: &[ReviewItem]) -> String {
    let mut body = String::new();
    if items.is_empty() {
        body.push_str("<p class=\"done\">Nothing is pending.</p>");
    }
    for item in items {
        let (id, kind) = (escape(&item.id), item.kind.word());
        body.push_str(&format!("<article aria-labelledby=\"{id}-{kind}\"><h2 id=\"{id}-{kind}\">{id} <small>{kind}</small></h2>"));
        if item.diff.is_empty() {
            body.push_str(&format!("<p>{NO_DIFFERENCE}</p>"));
        } else {
            body.push_str(&difference(&item.diff));
        }
        for change in &item.pictures {
            body.push_str(&pair(&id, change));
        }
        for (verdict, label) in [("accept", "Accept"), ("reject", "Reject")] {
            body.push_str(&format!(
                "<form method=\"post\" action=\"decide\"><input type=\"hidden\" name=\"id\" value=\"{id}\"><input type=\"hidden\" name=\"kind\" value=\"{kind}\">\
                 <button name=\"verdict\" value=\"{verdict}\" class=\"{verdict}\">{label} {kind} of {id}</button></form>"
            ));
        }
        body.push_str("</article>");
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Review: {} pending</title><style>{STYLE}</style></head><body><main><h1>Review</h1><p>{} pending</p>{body}</main></body></html>",
        items.len(),
        items.len()
    )
}

fn difference(diff: &str) -> String {
    let mut html = String::from("<pre>");
    for line in diff.lines() {
        let class = match line.as_bytes().first() {
            Some(b'+') => "added",
            Some(b'-') => "removed",
            _ => "same",
        };
        html.push_str(&format!(
            "<span class=\"{class}\">{}</span>\n",
            escape(line)
        ));
    }
    html.push_str("</pre>");
    html
}

/// Approved and pending side by side; `id` is escaped.
fn pair(id: &str, change: &PictureChange) -> String {
    let side = |side: &str, file: Option<&PathBuf>| {
        let shown = match file.and_then(|f| f.file_name()) {
            Some(name) => {
                let name = escape(&name.to_string_lossy());
                format!(
                    "<img src=\"picture/{side}/{id}/{name}\" alt=\"{name}, {side}\" loading=\"lazy\">"
                )
            }
            None => "<p>not there</p>".to_owned(),
        };
        format!("<figure>{shown}<figcaption>{side}</figcaption></figure>")
    };
    format!(
        "<section class=\"pair\">{}{}</section>",
        side("approved", change.approved.as_ref()),
        side("pending", change.pending.as_ref())
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#d9dee5;--add:#e3f4ea;--del:#fbe6e6;--ink:#1b2430;--bg:#f5f7f9;--card:#fff}\
@media (prefers-color-scheme:dark){:root{--line:#303a46;--add:#12301f;--del:#3a1a1a;--ink:#e4e9ef;--bg:#12161b;--card:#1a2027}}\
body{margin:0;font:16px/1.5 system-ui,sans-serif;background:var(--bg);color:var(--ink)}main{max-width:72rem;margin:2rem auto;padding:0 1rem}\
article{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem;margin:1.25rem 0}h2 small{font-weight:400;opacity:.7}\
pre{overflow:auto;border:1px solid var(--line);border-radius:6px;padding:.75rem;font-size:.875rem}.added{background:var(--add)}.removed{background:var(--del)}\
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin:1rem 0}figure{margin:0}img{max-width:100%;border:1px solid var(--line)}\
form{display:inline-block;margin:.25rem .5rem .25rem 0}button{font:inherit;padding:.5rem .9rem;border-radius:6px;border:1px solid var(--line);cursor:pointer}.accept{background:#17683f;color:#fff;border-color:#17683f}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_text_stays_text() {
        let item = ReviewItem {
            id: "a<b".into(),
            kind: Kind::Tutorial,
            diff: "+<img src=x onerror=alert(1)>\n".into(),
            pictures: Vec::new(),
        };
        let html = render(&[item]);
        assert!(!html.contains("<img src=x"), "{html}");
        assert!(html.contains("a&lt;b"));
    }
}
