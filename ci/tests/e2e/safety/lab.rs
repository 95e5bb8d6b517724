//! A suite of its own in a fresh home: the built program is run on it, and everything it wrote,
//! printed or was started with is there to be judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::stage::Stage;

pub struct Lab {
    root: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

/// One run of the program.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// As they came.
    pub raw_stdout: Vec<u8>,
    pub raw_stderr: Vec<u8>,
    /// The folder of the run; absent where none was begun.
    pub folder: Option<PathBuf>,
    pub events: Vec<Value>,
    /// Command lines of every process that was seen while it ran.
    pub command_lines: Vec<Vec<u8>>,
    /// Whether a browser or driver was ever seen below the program.
    pub browser_seen: bool,
}

impl Lab {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let lab = Self {
            root,
            environment: BTreeMap::new(),
        };
        for folder in ["suite/scenarios", "suite/fixtures", "home", "state", "tmp"] {
            std::fs::create_dir_all(lab.path(folder)).expect("a folder");
        }
        lab.write("suite/rehearsal.toml", "");
        lab
    }

    /// A suite whose fixture `stage` is the given server, under these names.
    pub fn on(stage: &Stage, hosts: &[&str], disposable: bool) -> Self {
        let lab = Self::new();
        lab.stage_fixture(stage, hosts, disposable);
        lab
    }

    pub fn stage_fixture(&self, stage: &Stage, hosts: &[&str], disposable: bool) {
        let port = stage.port();
        let hosts: String = hosts
            .iter()
            .map(|host| format!("  \"{host}\": \"127.0.0.1:{port}\"\n"))
            .collect();
        // The server is in this process: the fixture only has to say where it is.
        self.write(
            "suite/fixtures/stage.yaml",
            &format!(
                "scope: run\ncommand: [sleep, \"1000000\"]\nready: http://127.0.0.1:{port}/health\n\
                 hosts:\n{hosts}disposable: {disposable}\n"
            ),
        );
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Leaves everything behind, for a person to look at after a failure.
    pub fn keep(self) -> PathBuf {
        self.root.keep()
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(path, text).expect("a file");
    }

    pub fn scenario(&self, id: &str, text: &str) {
        let text = format!("name: {id}\nfixtures: [stage]\n{text}");
        self.write(&format!("suite/scenarios/{id}.yaml"), &text);
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.into(), value.into());
    }

    /// `NAME_USERNAME`, `NAME_PASSWORD`, `NAME_ORIGIN`.
    pub fn credential(&mut self, name: &str, origin: &str, user: &str, password: &str) {
        let name = name.to_uppercase().replace('-', "_");
        self.set(&format!("{name}_ORIGIN"), origin);
        self.set(&format!("{name}_USERNAME"), user);
        self.set(&format!("{name}_PASSWORD"), password);
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearsal"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // Which browser the tests are run with; Chromium where nothing is said.
            .envs(std::env::var("REHEARSAL_BROWSER").map(|name| ("REHEARSAL_BROWSER", name)))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_CACHE_HOME", self.path("home/cache"))
            .env("XDG_DATA_HOME", self.path("home/data"))
            .envs(&self.environment)
            .current_dir(self.path("suite"))
            .stdin(Stdio::null());
        command
    }

    /// `rehearsal run …`, its processes watched.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        let before: Vec<PathBuf> = self.run_folders();
        let mut command = self.command();
        command.arg("run").args(arguments);
        let (output, command_lines, browser_seen) = watched(command);
        let folder = self
            .run_folders()
            .into_iter()
            .find(|path| !before.contains(path));
        let events = folder
            .as_ref()
            .and_then(|f| std::fs::read_to_string(f.join("events.jsonl")).ok())
            .unwrap_or_default()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            raw_stdout: output.stdout,
            raw_stderr: output.stderr,
            folder,
            events,
            command_lines,
            browser_seen,
        }
    }

    fn run_folders(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("suite/runs"));
        let mut all: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_dir() && !p.is_symlink())
            .collect();
        all.sort();
        all
    }
}

impl Outcome {
    pub fn of<'a>(&'a self, id: &'a str, event: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |e| e["scenario"] == id && e["event"] == event)
    }

    /// `status/reason` of a scenario's last attempt.
    pub fn ended(&self, id: &str) -> String {
        self.of(id, "scenario_finished").last().map_or_else(
            || {
                format!(
                    "never finished; exit {}; {}{}",
                    self.code, self.stdout, self.stderr
                )
            },
            |e| {
                format!(
                    "{}/{}",
                    e["status"].as_str().unwrap_or("?"),
                    e["reason"].as_str().unwrap_or("?")
                )
            },
        )
    }

    /// The failure of the step that failed, whole.
    pub fn failure(&self, id: &str) -> String {
        let steps: Vec<String> = self
            .of(id, "step_finished")
            .filter(|e| !e["failure"].is_null())
            .map(|e| e["failure"].to_string())
            .collect();
        let end = self.of(id, "scenario_finished").last();
        format!("{} {}", steps.join("; "), end.unwrap_or(&Value::Null))
    }

    pub fn folder(&self) -> &Path {
        self.folder.as_deref().expect("a run folder")
    }

    /// Kept pictures of a scenario: step and file.
    pub fn pictures(&self, id: &str) -> Vec<(String, PathBuf)> {
        self.of(id, "frame")
            .filter_map(|e| {
                let file = e["file"].as_str()?;
                Some((
                    e["step"].as_str()?.to_owned(),
                    self.folder().join(id).join(file),
                ))
            })
            .collect()
    }

    /// Every wish that is not met, all at once.
    pub fn check(&self, wishes: &[(&str, &str)]) {
        let missed: Vec<String> = wishes
            .iter()
            .filter(|(id, wish)| self.ended(id) != *wish)
            .map(|(id, wish)| {
                format!(
                    "{id}: wanted {wish}, got {}: {}",
                    self.ended(id),
                    self.failure(id)
                )
            })
            .collect();
        assert!(
            missed.is_empty(),
            "{}\n{}\n{}",
            missed.join("\n"),
            self.stdout,
            self.stderr
        );
    }
}

/// Runs to the end while sampling the command lines of what it starts.
pub fn watched(mut command: Command) -> (std::process::Output, Vec<Vec<u8>>, bool) {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let pid = child.id();
    let done = Arc::new(AtomicBool::new(false));
    let seen: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let sampler = {
        let (done, seen) = (done.clone(), seen.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let mut seen = seen.lock().expect("the list");
                for line in command_lines_below(pid) {
                    if !seen.contains(&line) {
                        seen.push(line);
                    }
                }
                drop(seen);
                std::thread::sleep(Duration::from_millis(50));
            }
        })
    };
    let output = child.wait_with_output().expect("the program ends");
    done.store(true, Ordering::Relaxed);
    sampler.join().expect("the sampler");
    let seen = std::mem::take(&mut *seen.lock().expect("the list"));
    let browser = seen.iter().any(|line| {
        let line = String::from_utf8_lossy(line);
        line.contains("chromedriver") || line.contains("geckodriver")
    });
    (output, seen, browser)
}

/// `/proc/*/cmdline` of a process and all it started.
fn command_lines_below(root: u32) -> Vec<Vec<u8>> {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if let Some(parent) = parent {
            parents.insert(pid, parent);
        }
    }
    let below = |mut pid: u32| {
        for _ in 0..32 {
            if pid == root {
                return true;
            }
            match parents.get(&pid) {
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    parents
        .keys()
        .filter(|pid| below(**pid))
        .filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok())
        .collect()
}

/// Letters and digits that OCR reads well, random each time.
pub fn canary(length: usize) -> String {
    const SAFE: &[u8] = b"ACDEFHKLMNPRTVWXY3479";
    let mut bytes = vec![0u8; length];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
        .iter()
        .map(|b| SAFE[*b as usize % SAFE.len()] as char)
        .collect()
}

/// Every file below a folder.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}
