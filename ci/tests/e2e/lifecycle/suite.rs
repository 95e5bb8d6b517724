//! A suite in a temporary folder, the program run on it, and what it left behind.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Nothing waited for in these tests takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Suite {
    dir: TempDir,
}

/// A run that has ended.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A run that goes on.
pub struct Going {
    pub child: Child,
    runs: PathBuf,
}

impl Suite {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(dir.path().join("tmp")).expect("a folder");
        fs::create_dir(dir.path().join("scenarios")).expect("a folder");
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    /// A scenario file; one without steps only opens its start page.
    pub fn scenario(&self, id: &str, text: &str) -> &Self {
        let steps = match text.contains("steps:") {
            true => "",
            false => "steps: [ { expect: { url: \"**\" }, timeout: 1s } ]\n",
        };
        self.file(
            &format!("scenarios/{id}.yaml"),
            &format!("name: {id}\n{text}{steps}"),
        )
    }

    /// The program, with an environment of its own: what it starts can be told by its `TMPDIR`.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearsal"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("tmp"))
            .env("TMPDIR", self.path().join("tmp"))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().expect("the program starts"))
    }

    /// Starts a run and gives control back at once.
    pub fn start(&self, args: &[&str]) -> Going {
        let child = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Going {
            child,
            runs: self.path().join("runs"),
        }
    }

    /// The newest run's folder.
    pub fn latest(&self) -> PathBuf {
        latest(&self.path().join("runs")).expect("a run folder")
    }

    pub fn report(&self) -> Value {
        let text = fs::read_to_string(self.latest().join("report.json")).expect("report.json");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Status and reason of one scenario in a report.
    pub fn verdict(&self, report: &Value, id: &str) -> (String, String) {
        let scenario = scenario(report, id);
        let word = |key: &str| scenario[key].as_str().unwrap_or_default().to_owned();
        (word("status"), word("reason"))
    }

    /// Every line of the journal that can be read; the torn one at the end may be missing.
    pub fn events(&self) -> Vec<Value> {
        events(&self.latest())
    }

    /// Names of the test cases in the JUnit file, by both parsers, which must agree.
    pub fn junit_cases(&self) -> Vec<String> {
        let bytes = fs::read(self.latest().join("junit.xml")).expect("junit.xml");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let tree = roxmltree::Document::parse(&text).expect("the first parser reads it");
        let cases: Vec<String> = tree
            .descendants()
            .filter(|n| n.has_tag_name("testcase"))
            .map(|n| n.attribute("name").unwrap_or_default().to_owned())
            .collect();
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut again = Vec::new();
        loop {
            use quick_xml::events::Event::{Empty, Eof, Start};
            match reader.read_event().expect("the second parser reads it") {
                Eof => break,
                Start(tag) | Empty(tag) if tag.name().as_ref() == "testcase" => {
                    let name = tag.try_get_attribute("name").expect("attributes");
                    let value = name.map(|n| {
                        n.normalized_value(quick_xml::XmlVersion::Implicit1_0)
                            .expect("a value")
                            .into_owned()
                    });
                    again.push(value.unwrap_or_default());
                }
                _ => {}
            }
        }
        assert_eq!(cases, again, "two parsers, one reading");
        cases
    }

    /// Living processes that hold this suite's temporary folder in their arguments or environment.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let needle = self.path().join("tmp").to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("/proc").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
                continue;
            };
            let read = |name: &str| {
                let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let state = read("stat");
            let zombie = state
                .rsplit(')')
                .next()
                .is_some_and(|s| s.trim().starts_with('Z'));
            let line = read("cmdline");
            if !zombie && (line.contains(&needle) || read("environ").contains(&needle)) {
                found.push((pid, line));
            }
        }
        found
    }

    /// Waits until nothing of a run is alive; promise G gives ten seconds after the runner's end.
    pub fn nothing_is_left(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < until, "still alive: {left:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Session folders of a run (profiles, guards) that still lie about.
    pub fn session_folders(&self) -> Vec<String> {
        fs::read_dir(self.path().join("tmp"))
            .expect("a folder")
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("rehearsal"))
            .collect()
    }
}

pub fn scenario<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["scenarios"]
        .as_array()
        .and_then(|all| all.iter().find(|s| s["id"] == id))
        .unwrap_or_else(|| panic!("{id} is not in the report"))
}

impl Ran {
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Going {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child of this test that was not waited for yet.
        unsafe { libc::kill(self.pid(), signal) };
    }

    /// Waits until an event holds; the run must go on until then.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) {
        wait_for(what, || {
            if let Some(code) = self.child.try_wait().expect("a child") {
                let mut said = String::new();
                for pipe in [
                    self.child.stdout.take().map(boxed),
                    self.child.stderr.take().map(boxed),
                ] {
                    let _ = pipe.map(|mut p| p.read_to_string(&mut said));
                }
                panic!("the run ended ({code}) before {what}: {said}");
            }
            latest(&self.runs).is_some_and(|folder| events(&folder).iter().any(&holds))
        });
    }

    pub fn end(self) -> Ran {
        ran(self.child.wait_with_output().expect("its output"))
    }
}

fn boxed(pipe: impl Read + 'static) -> Box<dyn Read> {
    Box::new(pipe)
}

pub fn step_began(scenario: &'static str, step: &'static str) -> impl Fn(&Value) -> bool {
    move |e| e["event"] == "step_started" && e["scenario"] == scenario && e["step"] == step
}

pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn latest(runs: &Path) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(runs)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir() && !p.is_symlink() && p.join("events.jsonl").is_file())
        .collect();
    folders.sort();
    folders.pop()
}

fn events(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(1);
    lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match serde_json::from_str(line) {
            Ok(event) => Some(event),
            Err(_) if at == last => None,
            Err(error) => panic!("line {} of the journal: {error}", at + 1),
        })
        .collect()
}
