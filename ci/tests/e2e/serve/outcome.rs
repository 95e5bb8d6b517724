//! What was sent is never told as if nothing had happened (063), and a popup outside asks (R76).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::rig::{Serving, Tokens};

const PAGE: &str = r#"<!doctype html><html lang="en"><title>Desk</title><h1>Desk</h1>
<button onclick="post('/quiet')">Quiet</button>
<button onclick="post('/slow').then((r) => out.textContent = r.ok ? 'slow is stored' : 'slow was stopped')">Slow</button>
<button onclick="post('/lost').catch(() => {})">Lost</button>
<button onclick="post('/one'); post('/two')">Two</button>
<button onclick="post('/late').catch(() => {}); setTimeout(() => post('/stray'), 300)">Late</button>
<button onclick="window.open('http://localhost:9/inside?x=1')">Pop</button>
<output id="out"></output>
<script>async function post(path) { return fetch(path, { method: 'POST', body: 'x' }); }</script>"#;

/// A site that notes every POST; `/slow` takes its time, `/lost` hangs up, `/late` once `released`.
fn site() -> (String, Arc<Mutex<Vec<String>>>) {
    site_until(Arc::default())
}

fn site_until(released: Arc<AtomicBool>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address").to_string();
    let posts = Arc::new(Mutex::new(Vec::new()));
    let noted = posts.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), noted, released) = (stream, noted.clone(), released.clone())
            else {
                continue;
            };
            std::thread::spawn(move || {
                let mut read = BufReader::new(stream.try_clone().expect("a stream"));
                let mut first = String::new();
                let mut length = 0;
                read.read_line(&mut first).expect("a line");
                loop {
                    let mut line = String::new();
                    let read = read.read_line(&mut line).unwrap_or(0);
                    let lower = line.to_ascii_lowercase();
                    if let Some(n) = lower.strip_prefix("content-length:") {
                        length = n.trim().parse().unwrap_or(0);
                    }
                    if read == 0 || line == "\r\n" {
                        break;
                    }
                }
                let mut body = vec![0; length];
                let _ = read.read_exact(&mut body);
                if let Some(path) = first.strip_prefix("POST ") {
                    let path = path.split(' ').next().unwrap_or_default().to_owned();
                    noted.lock().expect("a list").push(path.clone());
                    match path.as_str() {
                        "/lost" => return,
                        "/late" => {
                            while !released.load(Ordering::Relaxed) {
                                std::thread::sleep(Duration::from_millis(10));
                            }
                            return;
                        }
                        "/slow" => std::thread::sleep(Duration::from_secs(4)),
                        _ => {}
                    }
                }
                let page = if first.starts_with("GET / ") {
                    PAGE
                } else {
                    "ok"
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                    page.len()
                );
            });
        }
    });
    (at, posts)
}

struct Approved<'a> {
    serving: &'a Serving,
    tokens: &'a Tokens,
    session: &'a str,
}

impl Approved<'_> {
    /// Clicks, has what was stopped approved, and clicks again with the approval.
    fn click(&self, name: &str) -> super::rig::Answer {
        let mut body = json!({ "step": { "click": format!("button \"{name}\"") } });
        let asked = self
            .serving
            .act(&self.tokens.ada, self.session, body.clone());
        body["approval"] = self.serving.consent(self.tokens, self.session, &asked);
        self.serving.act(&self.tokens.ada, self.session, body)
    }
}

#[test]
fn an_approved_write_that_was_sent_is_never_told_as_no_effect() {
    let (at, posts) = site();
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let session = serving.open(&tokens.ada, &format!("http://{at}/"));
    let approved = Approved {
        serving: &serving,
        tokens: &tokens,
        session: &session,
    };
    let sent = || std::mem::take(&mut *posts.lock().expect("a list"));

    let quiet = approved.click("Quiet");
    assert_eq!(quiet.status, 200, "{}", quiet.raw);
    assert_eq!(
        quiet.body["sent"],
        json!([format!("POST http://{at}/quiet")])
    );
    assert!(
        quiet.body["notes"]
            .to_string()
            .contains("nothing was seen to change"),
        "{}",
        quiet.raw
    );
    assert_eq!(sent(), ["/quiet"]);

    let slow = approved.click("Slow");
    assert_eq!(slow.status, 200, "{}", slow.raw);
    assert!(
        slow.body["effect"].to_string().contains("slow is stored"),
        "{}",
        slow.raw
    );
    assert_eq!(sent(), ["/slow"]);

    let lost = approved.click("Lost");
    assert_eq!(
        (lost.status, &lost.body["reason"]),
        (422, &json!("unknown_outcome")),
        "{}",
        lost.raw
    );
    assert_eq!(lost.body["sent"], json!([format!("POST http://{at}/lost")]));
    assert_eq!(sent(), ["/lost"]);

    let two = approved.click("Two");
    // Whether the other one was stopped or never tried: what left is told.
    assert_ne!(two.body["reason"], "no_effect", "{}", two.raw);
    assert_eq!(
        two.body["sent"].as_array().map(Vec::len),
        Some(1),
        "{}",
        two.raw
    );
    assert_eq!(sent().len(), 1);
}

#[test]
fn an_answer_that_never_came_is_not_missed_by_the_next_action() {
    let released = Arc::new(AtomicBool::new(false));
    let (at, posts) = site_until(released.clone());
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let session = serving.open(&tokens.ada, &format!("http://{at}/"));
    let approved = Approved {
        serving: &serving,
        tokens: &tokens,
        session: &session,
    };
    // Its second request was not approved: the action ends on that, its first one still open.
    let late = approved.click("Late");
    assert_ne!(late.status, 200, "{}", late.raw);
    assert_eq!(*posts.lock().expect("a list"), ["/late"]);
    released.store(true, Ordering::Relaxed);
    let quiet = approved.click("Quiet");
    assert_eq!(quiet.status, 200, "{}", quiet.raw);
    assert_eq!(
        quiet.body["sent"],
        json!([format!("POST http://{at}/quiet")])
    );
}

#[test]
fn r76_a_popup_outside_the_list_asks_for_its_host_and_nothing_more() {
    let (at, _) = site();
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let session = serving.open(&tokens.ada, &format!("http://{at}/"));
    let body = json!({ "step": { "click": "button \"Pop\"" } });
    let asked = serving.act(&tokens.ada, &session, body);
    assert_eq!(
        (asked.status, &asked.body["risk"]),
        (428, &json!("new_host")),
        "{}",
        asked.raw
    );
    let summary = asked.body["summary"].to_string();
    assert!(summary.contains("localhost:9"), "{summary}");
    assert!(!summary.contains("inside"), "{summary}");
    let waiting = serving.call(&tokens.approver, "GET", "/approvals/pending", None);
    assert_eq!(waiting.body["pending"].as_array().map(Vec::len), Some(1));
}
