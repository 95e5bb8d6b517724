//! Two servers on loopback: one that plays a list of answers, one that writes raw bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// One scripted answer.
#[derive(Clone)]
pub struct Says {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl From<Value> for Says {
    fn from(body: Value) -> Self {
        Self::json(200, body)
    }
}

impl Says {
    pub fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".into())],
            body: body.to_string(),
        }
    }
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.into())],
            body: body.into(),
        }
    }
}

/// Decides on a request's body; `None`: the next of the list.
type Rule = Box<dyn Fn(&Value) -> Option<Says> + Send + Sync>;

#[derive(Default)]
struct Script {
    rule: Option<Rule>,
    answers: Mutex<VecDeque<Says>>,
    got: Mutex<Vec<(String, HeaderMap, String)>>,
}

/// Plays its answers in order and repeats the last.
pub struct Server {
    pub base: String,
    script: Arc<Script>,
}

impl Server {
    pub async fn playing<S: Into<Says>>(answers: impl IntoIterator<Item = S>) -> Self {
        let answers = answers.into_iter().map(Into::into).collect();
        Self::start(None, answers).await
    }

    pub async fn ruled(rule: impl Fn(&Value) -> Option<Says> + Send + Sync + 'static) -> Self {
        Self::start(Some(Box::new(rule)), VecDeque::new()).await
    }

    async fn start(rule: Option<Rule>, answers: VecDeque<Says>) -> Self {
        let script = Arc::new(Script {
            rule,
            answers: Mutex::new(answers),
            got: Mutex::default(),
        });
        let app = Router::new().fallback(answer).with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { base, script }
    }

    /// Bodies of the requests, in order.
    pub fn bodies(&self) -> Vec<Value> {
        self.raw()
            .iter()
            .map(|b| serde_json::from_str(b).unwrap())
            .collect()
    }

    pub fn raw(&self) -> Vec<String> {
        let got = self.script.got.lock().unwrap();
        got.iter().map(|(_, _, body)| body.clone()).collect()
    }

    pub fn paths(&self) -> Vec<String> {
        let got = self.script.got.lock().unwrap();
        got.iter().map(|(path, _, _)| path.clone()).collect()
    }

    pub fn header(&self, request: usize, name: &str) -> Option<String> {
        let got = self.script.got.lock().unwrap();
        Some(got[request].1.get(name)?.to_str().unwrap().to_owned())
    }

    pub fn calls(&self) -> usize {
        self.script.got.lock().unwrap().len()
    }

    /// The user's message of a request.
    pub fn prompt(&self, request: usize) -> String {
        let body = &self.bodies()[request];
        body["messages"][1]["content"].as_str().unwrap().to_owned()
    }
}

async fn answer(
    State(script): State<Arc<Script>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    script
        .got
        .lock()
        .unwrap()
        .push((uri.to_string(), headers, text));
    let ruled = script.rule.as_ref().and_then(|rule| rule(&value));
    let says = ruled.unwrap_or_else(|| {
        let mut answers = script.answers.lock().unwrap();
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().expect("an answer is left"),
        }
    });
    let mut response = says.body.into_response();
    *response.status_mut() = StatusCode::from_u16(says.status).unwrap();
    for (name, value) in says.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// What a raw server does with a connection once the request is there.
#[derive(Clone)]
pub enum Raw {
    /// Nothing, for ever.
    Silence,
    /// A good head, then a byte now and then for ever.
    Drip(Duration),
    /// A good head and the beginning, then nothing.
    Stall,
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// A good head and a body without end.
    Flood,
}

/// Each connection gets the next behaviour, the last one repeated.
pub async fn raw_server(behaviours: Vec<Raw>) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let served = Arc::new(Mutex::new(0));
    let count = served.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let nth = {
                let mut count = count.lock().unwrap();
                *count += 1;
                *count - 1
            };
            let does = behaviours[nth.min(behaviours.len() - 1)].clone();
            tokio::spawn(async move {
                let mut request = vec![0; 16 * 1024];
                let _ = socket.read(&mut request).await;
                behave(socket, does).await;
            });
        }
    });
    (base, served)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

async fn behave(mut socket: tokio::net::TcpStream, does: Raw) {
    match does {
        Raw::Silence => std::future::pending().await,
        Raw::Bytes(bytes) => {
            let _ = socket.write_all(&bytes).await;
            let _ = socket.shutdown().await;
        }
        Raw::Stall => {
            let _ = socket.write_all(HEAD).await;
            let _ = socket.write_all(b"{\"choices\":").await;
            std::future::pending().await
        }
        Raw::Drip(every) => {
            let _ = socket.write_all(HEAD).await;
            while socket.write_all(b" ").await.is_ok() {
                tokio::time::sleep(every).await;
            }
        }
        Raw::Flood => {
            let _ = socket.write_all(HEAD).await;
            let block = vec![b' '; 64 * 1024];
            while socket.write_all(&block).await.is_ok() {}
        }
    }
}
