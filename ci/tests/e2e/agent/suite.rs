//! A suite in a folder of its own, a scripted model beside it, and the program run on both.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Test accounts of nobody; what is typed must never be one of the values without being asked.
pub const PASSWORD: &str = "seventeen-gulls-over-quay";

pub struct Suite {
    root: tempfile::TempDir,
    model: Option<ScriptedModel>,
}

/// What a run left behind.
pub struct Ran {
    pub code: i32,
    pub said: String,
    pub folder: PathBuf,
    events: Vec<Value>,
}

impl Suite {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let suite = Self { root, model: None };
        suite.write("rehearsal.toml", "");
        suite.write(
            "fixtures/pages.yaml",
            r#"serve: pages
hosts: { pages.test: "127.0.0.1:$(port)" }
disposable: true
"#,
        );
        suite
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    /// A page with this body.
    pub fn page(&self, name: &str, body: &str) {
        self.write(
            &format!("pages/{name}.html"),
            &format!("<!doctype html><html lang=en><meta charset=utf-8><title>{name}</title><body>{body}</body></html>"),
        );
    }

    /// A page out of the collection of real faults.
    pub fn fault_page(&self, file: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/pages")
            .join(file);
        let text = std::fs::read_to_string(from).expect("the fault's page");
        self.write(&format!("pages/{file}"), &text);
    }

    /// A scenario on a page of this suite; `rest` is everything after `start`.
    pub fn scenario(&self, id: &str, page: &str, rest: &str) {
        self.write(
            &format!("scenarios/{id}.yaml"),
            &format!(
                "name: {id}\nfixtures: [pages]\nstart: http://pages.test/{page}.html\n{rest}\n"
            ),
        );
    }

    /// Starts the model: for each goal or sentence the rules it answers by.
    pub fn model(&mut self, scripts: &[(&str, &str)]) {
        let files: Vec<PathBuf> = scripts
            .iter()
            .enumerate()
            .map(|(n, (about, rules))| {
                let name = format!("model/{n}.yaml");
                let about = serde_json::Value::from(*about);
                self.write(&name, &format!("when: {about}\nrules:\n{rules}\n"));
                self.path().join(name)
            })
            .collect();
        self.model = Some(ScriptedModel::start(&files));
    }

    pub fn asked(&self) -> &ScriptedModel {
        self.model.as_ref().expect("a model was started")
    }

    pub fn stop_model(&mut self) {
        self.model = None;
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let out = tempfile::tempdir_in(self.path()).expect("a folder").keep();
        let mut command = self.command();
        command.arg("run").args(arguments).arg("--out").arg(&out);
        if let Some(model) = &self.model {
            command
                .env("OPENAI_BASE_URL", format!("{}/v1", model.address))
                .env("OPENAI_MODEL", "scripted")
                .env("OPENAI_API_KEY", "none-of-your-business");
        }
        command.envs(environment.iter().copied());
        let output = command.output().expect("the program runs");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let folder = std::fs::read_dir(&out)
            .ok()
            .and_then(|mut entries| entries.next()?.ok())
            .map_or(out, |entry| entry.path());
        let journal = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
        let events = journal
            .lines()
            .map(|line| serde_json::from_str(line).expect("an event a line"))
            .collect();
        Ran {
            code: output.status.code().unwrap_or(-1),
            said,
            folder,
            events,
        }
    }

    pub fn accept(&self) {
        let output = self.command().arg("accept").output().expect("runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearsal"));
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("QUAY_USERNAME", "harbour-master")
            .env("QUAY_PASSWORD", PASSWORD)
            .env("QUAY_ORIGIN", "http://pages.test");
        command
    }

    pub fn pending(&self, id: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(format!("snapshots/{id}/steps.yaml.new"))).ok()
    }

    pub fn pending_tutorial(&self, id: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(format!("snapshots/{id}/tutorial.md.new"))).ok()
    }

    pub fn approved(&self, id: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(format!("snapshots/{id}/steps.yaml"))).ok()
    }
}

impl Ran {
    /// Events of one kind of one scenario, in order.
    pub fn events(&self, scenario: &str, kind: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|e| {
                e["scenario"].as_str().unwrap_or_default() == scenario && e["event"] == kind
            })
            .collect()
    }

    /// `status/reason` of the last attempt.
    pub fn end(&self, scenario: &str) -> String {
        let finished = self.events(scenario, "scenario_finished");
        let last = finished
            .last()
            .unwrap_or_else(|| panic!("{scenario} has no end:\n{}", self.said));
        format!(
            "{}/{}",
            last["status"].as_str().unwrap_or_default(),
            last["reason"].as_str().unwrap_or_default()
        )
    }

    pub fn finished(&self, scenario: &str) -> &Value {
        self.events(scenario, "scenario_finished")
            .last()
            .expect("an end")
    }

    /// What was carried out, in order.
    pub fn acts(&self, scenario: &str) -> Vec<String> {
        let acted = self.events(scenario, "acted").into_iter();
        acted
            .map(|e| e["says"].as_str().unwrap_or_default().to_owned())
            .filter(|says| !says.starts_with("Go to http://pages.test"))
            .collect()
    }

    /// Statuses of all ends, by scenario.
    pub fn ends(&self) -> BTreeMap<String, String> {
        self.events
            .iter()
            .filter(|e| e["event"] == "scenario_finished")
            .filter_map(|e| e["scenario"].as_str())
            .map(|id| (id.to_owned(), self.end(id)))
            .collect()
    }

    pub fn choosers(&self, scenario: &str) -> Vec<String> {
        let resolved = self.events(scenario, "resolved").into_iter();
        resolved
            .map(|e| e["chooser"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

/// `fixture-sites model` on a port of its own.
pub struct ScriptedModel {
    child: Child,
    pub address: String,
}

impl ScriptedModel {
    fn start(scripts: &[PathBuf]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fixture-sites"))
            .args(["model", "--script"])
            .args(scripts)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the scripted model starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("it says where it listens");
        let address = line
            .split_whitespace()
            .last()
            .expect("an address")
            .to_owned();
        Self { child, address }
    }

    /// What the questions of one goal or sentence said, in order: the text of all messages.
    pub fn questions(&self, about: &str) -> Vec<String> {
        self.requests()
            .into_iter()
            .map(|body| {
                let body: Value = serde_json::from_str(&body).expect("JSON was sent");
                let messages = body["messages"].as_array().cloned().unwrap_or_default();
                let texts = messages.iter().map(|m| match &m["content"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                texts.collect::<Vec<_>>().join("\n")
            })
            .filter(|text| text.contains(about))
            .collect()
    }

    /// Bodies as they came.
    pub fn requests(&self) -> Vec<String> {
        let text = http(&self.address, "GET", "/__requests");
        let all: Vec<Value> = serde_json::from_str(&text).expect("a list");
        all.iter()
            .map(|r| r["body"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    pub fn forget(&self) {
        http(&self.address, "POST", "/reset");
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn http(base: &str, method: &str, path: &str) -> String {
    let address = base.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).expect("the model answers");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("sent");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("read");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        return unchunked(body);
    }
    body.to_owned()
}

fn unchunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}
