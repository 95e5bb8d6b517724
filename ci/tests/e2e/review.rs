//! Reviewing in a real browser: what stands on the page is clicked, not sent by a client of our own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A suite with one pending tutorial and its approved one.
fn waiting() -> tempfile::TempDir {
    let suite = tempfile::tempdir().expect("a folder");
    let put = |path: &str, text: &str| {
        let path = suite.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    put(
        "scenarios/book.yaml",
        "name: Book\nstart: http://ferry.test/\nvolatile: [ '/T-\\d+/' ]\nsteps: [ { click: Save } ]\n\
         expect: [ { see: done } ]\ntutorial: true\n",
    );
    put(
        "snapshots/book/tutorial.md",
        "# Book\n\n## 1. Click **T-12**\n\n## 2. Click **Save**\n",
    );
    put(
        "snapshots/book/tutorial.md.new",
        "# Book\n\n## 1. Click **T-99**\n\n## 2. Click **Keep**\n",
    );
    suite
}

struct Served(Child, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In a suite that is its home as well, with nothing of whoever runs the tests.
fn program(suite: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearsal"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", suite)
        .current_dir(suite);
    command
}

fn serve(suite: &Path) -> Served {
    let mut child = program(suite)
        .args(["review", "--web"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let said = BufReader::new(child.stdout.take().expect("its output"));
    let address = said
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            let word = line.split_whitespace().find(|w| w.starts_with("http://"))?;
            Some(word.to_owned())
        })
        .expect("an address");
    Served(child, address)
}

/// Clicks a button of the review page as a scenario would, and sees that nothing is left.
fn click(address: &str, button: &str) {
    let (suite, tmp) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let file = suite.path().join("scenarios/decide.yaml");
    fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
    let scenario = format!(
        "name: Decide\nstart: {address}\nsteps:\n  - expect: {{ not_see: T-99 }}\n  - click: {button}\n    \
         write: decides what waits\nexpect: [ {{ see: Nothing is pending }} ]\n"
    );
    fs::write(file, scenario).expect("a scenario");
    let ran = program(suite.path())
        .args(["run", "--confirm-writes", "--out"])
        .arg(tmp.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let text = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{text}");
}

#[test]
fn accepting_on_the_page_takes_over_what_waits() {
    let suite = waiting();
    let served = serve(suite.path());
    click(&served.1, "Accept tutorial of book");
    let folder = suite.path().join("snapshots/book");
    let approved = fs::read_to_string(folder.join("tutorial.md")).expect("approved");
    assert!(approved.contains("Keep"), "{approved}");
    assert!(!folder.join("tutorial.md.new").exists());
}

#[test]
fn rejecting_on_the_page_leaves_what_is_approved() {
    let suite = waiting();
    let served = serve(suite.path());
    click(&served.1, "Reject tutorial of book");
    let folder = suite.path().join("snapshots/book");
    let approved = fs::read_to_string(folder.join("tutorial.md")).expect("approved");
    assert!(approved.contains("Save"), "{approved}");
    assert!(!folder.join("tutorial.md.new").exists());
}
