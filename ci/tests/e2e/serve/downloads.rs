//! R79: a file comes only with a consent of its own, whether the page says so before or not.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::rig::{Answer, PASSWORD, Serving, Tokens};

const PAGE: &str = r#"<!doctype html><html lang="en"><title>Desk</title><h1>Desk</h1>
<a href="/report">Report</a>
<a href="/plain" download="notes.txt">Notes</a>
<a href="/leak">Accounts</a>
<button onclick="const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['1,2'])); a.download = 'export.csv'; a.click()">Export</button>
<form action="/report" method="get"><button>Sheet</button></form>"#;

const REPORT: &str = "id,total\n1,2\n";

/// Sends the report as a file; notes what was asked of it.
fn site() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address").to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), noted) = (stream, noted.clone()) else {
                continue;
            };
            std::thread::spawn(move || {
                let mut head = BufReader::new(stream.try_clone().expect("a stream")).lines();
                let first = head.next().and_then(Result::ok).unwrap_or_default();
                for line in head.map_while(Result::ok) {
                    if line.is_empty() {
                        break;
                    }
                }
                let path = first
                    .split([' ', '?'])
                    .nth(1)
                    .unwrap_or_default()
                    .to_owned();
                let leak = format!("user,password\nada,{PASSWORD}\n");
                let file = "Content-Disposition: attachment; filename=\"orders 2026.csv\"\r\n";
                let (more, body) = match path.as_str() {
                    "/" => ("", PAGE),
                    "/report" => (file, REPORT),
                    "/leak" => (file, leak.as_str()),
                    _ => ("", "notes"),
                };
                noted.lock().expect("a list").push(path);
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    (at, asked)
}

struct Desk {
    serving: Serving,
    tokens: Tokens,
    session: String,
}

impl Desk {
    fn act(&self, step: &Value) -> Answer {
        let body = json!({ "step": step });
        self.serving.act(&self.tokens.ada, &self.session, body)
    }

    fn approved(&self, step: &Value, asked: &Answer) -> Answer {
        let approval = self.serving.consent(&self.tokens, &self.session, asked);
        let body = json!({ "step": step, "approval": approval });
        self.serving.act(&self.tokens.ada, &self.session, body)
    }
}

/// What stood in the file that was handed over, under a name that is safe anywhere.
fn content(answer: &Answer, name: &str) -> String {
    let file = &answer.body["files"][0];
    assert_eq!(file["name"], name, "{}", answer.raw);
    let path = file["path"].as_str().expect("a path");
    let text = std::fs::read_to_string(path).expect("the file");
    assert_eq!(file["bytes"], text.len(), "{}", answer.raw);
    text
}

fn is_asked(answer: &Answer, risk: &str, name: &str) {
    assert_eq!(
        (answer.status, &answer.body["risk"]),
        (428, &json!(risk)),
        "{}",
        answer.raw
    );
    let told = answer.body["summary"].to_string();
    assert!(
        told.contains(&format!("Downloads the file \\\"{name}\\\"")),
        "{told}"
    );
}

#[test]
fn r79_a_download_is_denied_until_it_is_approved_and_then_comes_once() {
    let (at, asked_of_site) = site();
    let (serving, tokens) = Serving::start(&format!("http://{at}"), &[]);
    let session = serving.open(&tokens.ada, &format!("http://{at}/"));
    let desk = Desk {
        serving,
        tokens,
        session,
    };
    let count = |path: &str| {
        let asked = asked_of_site.lock().expect("a list");
        asked.iter().filter(|p| *p == path).count()
    };

    // Known by its answer alone: denied, asked about, and then foreseen.
    let report = json!({ "click": "link \"Report\"" });
    let asked = desk.act(&report);
    is_asked(&asked, "download", "orders 2026.csv");
    let done = desk.approved(&report, &asked);
    assert_eq!(content(&done, "orders-2026.csv"), REPORT);
    let before = count("/report");
    is_asked(&desk.act(&report), "download", "orders 2026.csv");
    assert_eq!(
        count("/report"),
        before,
        "it was known and asked for all the same"
    );

    // Known before it is asked for.
    let notes = json!({ "click": "link \"Notes\"" });
    let asked = desk.act(&notes);
    is_asked(&asked, "download", "notes.txt");
    assert_eq!(count("/plain"), 0);
    let done = desk.approved(&notes, &asked);
    assert_eq!(
        (content(&done, "notes.txt").as_str(), count("/plain")),
        ("notes", 1)
    );

    // Made by the page's script; by an address; by a form, whose sending is asked for first.
    let export = json!({ "click": "button \"Export\"" });
    let asked = desk.act(&export);
    is_asked(&asked, "download", "export.csv");
    assert_eq!(
        content(&desk.approved(&export, &asked), "export.csv"),
        "1,2"
    );
    let goto = json!({ "goto": "/report" });
    let asked = desk.act(&goto);
    is_asked(&asked, "download", "orders 2026.csv");
    assert_eq!(
        content(&desk.approved(&goto, &asked), "orders-2026.csv"),
        REPORT
    );
    let sheet = json!({ "click": "button \"Sheet\"" });
    let asked = desk.act(&sheet);
    assert_eq!(asked.body["risk"], "submit", "{}", asked.raw);
    let asked = desk.approved(&sheet, &asked);
    is_asked(&asked, "submit", "orders 2026.csv");
    let done = desk.approved(&sheet, &asked);
    assert_eq!(content(&done, "orders-2026.csv"), REPORT);

    // One that holds a value is not handed over.
    let leak = json!({ "click": "link \"Accounts\"" });
    let asked = desk.act(&leak);
    let refused = desk.approved(&leak, &asked);
    assert_eq!(
        (refused.status, &refused.body["reason"]),
        (422, &json!("leak")),
        "{}",
        refused.raw
    );

    let file = done.body["files"][0]["path"]
        .as_str()
        .expect("a path")
        .to_owned();
    assert!(std::path::Path::new(&file).exists());
    let path = format!("/sessions/{}", desk.session);
    desk.serving.call(&desk.tokens.ada, "DELETE", &path, None);
    assert!(
        !std::path::Path::new(&file).exists(),
        "it outlived its session"
    );
    desk.serving.assert_no_values(&[]);
}
