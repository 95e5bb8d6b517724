//! A served broker with a folder of state of its own, sites to visit, and a client that says exactly
//! what it is told to say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rehearsal");
const SITES: &str = env!("CARGO_BIN_EXE_fixture-sites");

/// The bundled sites' account, spelled as the sites know it.
pub const USER: &str = "ada-tester";
pub const PASSWORD: &str = "correct-horse-77-battery";

/// A child that ends with the test.
pub struct Running {
    child: Child,
    /// `127.0.0.1:port`
    pub at: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let out = child.stdout.take().expect("its output");
        let mut line = String::new();
        let mut out = BufReader::new(out);
        out.read_line(&mut line).expect("a line");
        let at = line
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("no address in {line:?}"))
            .trim()
            .to_owned();
        // Read on, so that it never waits for us.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Self { child, at }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

pub fn site(name: &str) -> Running {
    let mut command = Command::new(SITES);
    command
        .args([name, "--port", "0"])
        .env_remove("FIXTURE_USER")
        .env_remove("FIXTURE_PASSWORD");
    Running::start(&mut command)
}

pub fn folder_site(folder: &Path) -> Running {
    Running::start(
        Command::new(SITES)
            .args(["serve", "--dir"])
            .arg(folder)
            .args(["--port", "0"]),
    )
}

/// One answer as it came.
pub struct Answer {
    pub status: u16,
    pub raw: String,
    pub body: Value,
}

pub struct Serving {
    pub home: tempfile::TempDir,
    pub service: Running,
    /// Everything any call was answered, headers included.
    pub heard: Mutex<Vec<String>>,
    document: OnceLock<Value>,
}

impl Serving {
    /// `origin`: where the credential `parcels-user` may be filled.
    pub fn start(origin: &str, arguments: &[&str]) -> (Self, Tokens) {
        let home = tempfile::tempdir().expect("a folder");
        let token = |words: &[&str]| {
            let out = command(home.path())
                .args(["serve", "token"])
                .args(words)
                .output()
                .expect("it runs");
            assert!(out.status.success(), "{words:?}");
            String::from_utf8(out.stdout)
                .expect("text")
                .trim()
                .to_owned()
        };
        let tokens = Tokens {
            ada: token(&["add", "ada"]),
            bob: token(&["add", "bob"]),
            approver: token(&["approver"]),
        };
        let suite = home.path().join("suite");
        std::fs::create_dir_all(suite.join("scenarios")).expect("a suite");
        let mut command = command(home.path());
        command
            .args(["serve", "--port", "0", "--suite"])
            .arg(&suite)
            .args(arguments)
            .env("PARCELS_USER_USERNAME", USER)
            .env("PARCELS_USER_PASSWORD", PASSWORD)
            .env("PARCELS_USER_ORIGIN", origin);
        let service = Running::start(&mut command);
        let serving = Self {
            home,
            service,
            heard: Mutex::new(Vec::new()),
            document: OnceLock::new(),
        };
        (serving, tokens)
    }

    pub fn call(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut lines = vec![
            format!("Host: {}", self.service.at),
            format!("Authorization: Bearer {token}"),
        ];
        let body = body.map(|b| b.to_string()).unwrap_or_default();
        if method == "POST" {
            lines.push("Content-Type: application/json".into());
        }
        let answer = self.say(method, path, &lines, &body);
        self.fits_the_document(method, path, &answer);
        answer
    }

    /// Every answer has the shape the OpenAPI document promises for it.
    fn fits_the_document(&self, method: &str, path: &str, answer: &Answer) {
        let document = self.document.get_or_init(|| {
            let host = [format!("Host: {}", self.service.at)];
            self.say("GET", "/openapi.json", &host, "").body
        });
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let wanted: Vec<&str> = template.split('/').collect();
            wanted.len() == parts.len()
                && wanted
                    .iter()
                    .zip(&parts)
                    .all(|(w, p)| w == p || (w.starts_with('{') && !p.is_empty()))
        };
        let paths = document["paths"].as_object().expect("paths");
        let Some(route) = paths
            .iter()
            .find(|(template, _)| *template == path)
            .or_else(|| paths.iter().find(|(template, _)| fits(template)))
        else {
            return;
        };
        let operation = &route.1[method.to_lowercase()];
        if operation.is_null() {
            return;
        }
        let response = &operation["responses"][answer.status.to_string()];
        assert!(
            response.is_object(),
            "{method} {path}: {} is not told of",
            answer.status
        );
        let schema = &response["content"]["application/json"]["schema"];
        if let Err(why) = shaped(schema, &answer.body, "answer") {
            panic!("{method} {path} {}: {why}: {}", answer.status, answer.raw);
        }
    }

    /// Exactly these header lines.
    pub fn say(&self, method: &str, path: &str, lines: &[String], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.service.at).expect("it listens");
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for line in lines {
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.push_str(body);
        // A refused body may not be read to its end; what was answered by then is still there.
        let _ = stream.write_all(text.as_bytes());
        let mut raw = String::new();
        let _ = stream.read_to_string(&mut raw);
        let status = raw
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .unwrap_or_else(|| panic!("no status in {raw:?}"));
        let body = raw.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        self.heard.lock().expect("a list").push(raw.clone());
        Answer { status, raw, body }
    }

    pub fn open(&self, token: &str, start: &str) -> String {
        let answer = self.call(
            token,
            "POST",
            "/sessions",
            Some(json!({ "start": start, "credentials": ["parcels-user"] })),
        );
        assert_eq!(answer.status, 200, "{}", answer.raw);
        answer.body["session"].as_str().expect("an id").to_owned()
    }

    pub fn act(&self, token: &str, session: &str, body: Value) -> Answer {
        self.call(
            token,
            "POST",
            &format!("/sessions/{session}/act"),
            Some(body),
        )
    }

    /// Asks, has it approved, claims: the approval to send along.
    pub fn consent(&self, tokens: &Tokens, session: &str, asked: &Answer) -> Value {
        let id = self.decided(tokens, asked, "approve");
        let claim = format!("/sessions/{session}/approvals/{id}/token");
        let claimed = self.call(&tokens.ada, "POST", &claim, Some(json!({})));
        assert_eq!(claimed.body["status"], "approved", "{}", claimed.raw);
        claimed.body["approval"].clone()
    }

    pub fn decided(&self, tokens: &Tokens, asked: &Answer, decision: &str) -> String {
        assert_eq!(asked.body["reason"], "consent_required", "{}", asked.raw);
        let id = asked.body["approval_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let answer = self.call(
            &tokens.approver,
            "POST",
            &format!("/approvals/{id}"),
            Some(json!({ "decision": decision })),
        );
        assert_eq!(answer.status, 200, "{}", answer.raw);
        id
    }

    pub fn sign_in(&self, tokens: &Tokens, session: &str) {
        let path = format!("/sessions/{session}/login");
        let body = json!({ "credential": "parcels-user" });
        let asked = self.call(&tokens.ada, "POST", &path, Some(body.clone()));
        let mut body = body;
        body["approval"] = self.consent(tokens, session, &asked);
        let done = self.call(&tokens.ada, "POST", &path, Some(body));
        assert_eq!(
            done.body,
            json!({ "ok": true, "outcome": "signed_in" }),
            "{}",
            done.raw
        );
    }

    pub fn audit(&self) -> String {
        let path = self.home.path().join("state/rehearsal/serve/audit.jsonl");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// No answer and no file of ours holds a value, plain or in the commonest disguises (R9, R32).
    pub fn assert_no_values(&self, more: &[&str]) {
        let heard = self.heard.lock().expect("a list").join("\n");
        let heard = [heard, self.audit()].concat();
        let disguises = [
            PASSWORD.to_owned(),
            USER.to_owned(),
            base64::Engine::encode(&base64::prelude::BASE64_STANDARD, PASSWORD),
            PASSWORD.chars().rev().collect(),
            PASSWORD.to_uppercase(),
            PASSWORD.replace('-', "%2D"),
        ];
        for value in disguises
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
        {
            assert!(!heard.contains(value), "a value went out: {value}");
        }
    }
}

/// As much of JSON Schema as the document uses.
fn shaped(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let wanted = &schema["type"];
    let one_of = |kinds: &Vec<Value>| kinds.iter().any(|k| k == kind);
    if !wanted.is_null() && wanted != kind && !wanted.as_array().is_some_and(one_of) {
        return Err(format!("{at} is of type {kind}, not {wanted}"));
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|all| !all.contains(value))
    {
        return Err(format!("{at} is {value}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap_or_default()).is_none() {
            return Err(format!("{at} has no {name}"));
        }
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(own) => shaped(own, part, &format!("{at}.{name}"))?,
            None if schema["additionalProperties"] == false => {
                return Err(format!("{at}.{name} is not told of"));
            }
            None => {}
        }
    }
    for part in value.as_array().into_iter().flatten() {
        shaped(&schema["items"], part, &format!("{at}[]"))?;
    }
    Ok(())
}

pub struct Tokens {
    pub ada: String,
    pub bob: String,
    pub approver: String,
}

/// The program with a home of its own and nothing of whoever runs the tests.
pub fn command(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"));
    command
}

/// Processes that descend from one.
pub fn children_of(pid: u32) -> usize {
    let path = format!("/proc/{pid}/task");
    let mut count = 0;
    for task in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        count += list.split_whitespace().count();
    }
    count
}
