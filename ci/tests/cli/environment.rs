//! What the machine lacks: exit 3 and the command that mends it; odd environments.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use super::rig::{Suite, said};

fn program(suite: &Suite, name: &str, script: &str) {
    let path = format!("no-programs/{name}");
    suite.file(&path, format!("#!/bin/sh\n{script}\n"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(suite.path().join(path), mode).expect("a mode");
}

#[test]
fn case_092_no_driver_is_told_with_the_command_that_installs_it() {
    let suite = Suite::new();
    let ran = suite.say(&["run"]).code(3);
    for word in ["chromedriver", "apt-get install chromium chromium-driver"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    let said = suite.say(&["doctor"]).code(3);
    assert!(
        said.out
            .contains("apt-get install chromium chromium-driver"),
        "{}",
        said.out
    );
}

#[test]
fn case_106_a_driver_of_another_version_is_one_clear_line() {
    let suite = Suite::new();
    program(&suite, "chromium", "echo Chromium 119.0.6045.105");
    program(
        &suite,
        "chromedriver",
        "case $1 in --version) echo ChromeDriver 114.0.5735.90; exit;; esac; exit 1",
    );
    let said = suite.say(&["doctor"]).code(3);
    for word in ["114.0.5735.90", "119.0.6045.105"] {
        assert!(said.out.contains(word), "{}", said.out);
    }
    let ran = suite.say(&["run"]).code(3);
    for word in ["chromedriver", "114.0.5735.90", "119.0.6045.105"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
}

#[test]
fn a_driver_that_says_nothing_sensible_is_an_environment_error() {
    let suite = Suite::new();
    program(&suite, "chromium", "echo Chromium 119.0.6045.105");
    program(
        &suite,
        "chromedriver",
        "case $1 in --version) echo ChromeDriver 119.0.6045.105; exit;; esac; echo garbage; echo the disk is on strike >&2; exit 7",
    );
    let ran = suite.say(&["run"]).code(3);
    assert!(ran.out.contains("chromedriver"), "{}", ran.out);
}

#[test]
fn a_webdriver_server_that_is_not_there_is_an_environment_error() {
    let suite = Suite::new();
    let ran = suite
        .say(&["run", "--webdriver", "http://127.0.0.1:1"])
        .code(3);
    assert!(ran.out.contains("127.0.0.1:1"), "{}", ran.out);
}

#[test]
fn an_output_folder_that_is_none_ends_the_run_before_any_browser() {
    let suite = Suite::new();
    suite.file("a-file", "x");
    symlink(suite.path().join("tmp"), suite.path().join("a-link")).expect("a link");
    for out in ["a-file", "a-link", "a-file/below"] {
        suite.say(&["run", "--out", out]).code(3).tells(&[out]);
    }
    // /proc takes no folders, whoever asks.
    suite
        .say(&["run", "--out", "/proc/runs"])
        .code(3)
        .tells(&["/proc/runs"]);
    suite
        .say(&["run", "--junit", "tmp"])
        .code(3)
        .tells(&["tmp"]);
    suite
        .say(&["run", "--html", "a-file/report.html"])
        .code(3)
        .tells(&["a-file"]);
}

#[test]
fn r64_a_closed_standard_output_is_no_panic_and_loses_nothing() {
    let suite = Suite::new();
    for args in [
        &["run"][..],
        &["run", "--format", "json"],
        &["schema"],
        &["completions", "bash"],
        &["check"],
        &["--help"],
        &["doctor"],
    ] {
        let mut child = suite
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let said = said(child.wait_with_output().expect("an end"));
        assert!(said.code.is_some(), "{args:?}: no death by a signal");
        assert!(said.code != Some(101), "{args:?}: {}", said.err);
        assert!(
            !said.err.contains("internal error"),
            "{args:?}: {}",
            said.err
        );
    }
    let report = suite.read("runs/latest/report.json");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["exit"], 3);
}

#[test]
fn odd_environments_work_or_are_told_cleanly() {
    let suite = Suite::new();
    let run = |set: &dyn Fn(&mut Command) -> &mut Command| {
        let mut command = suite.command(&["check"]);
        set(&mut command);
        let said = said(command.output().expect("the program starts"));
        assert_eq!(said.code, Some(0), "{}", said.err);
    };
    run(&|c| c.env_remove("HOME"));
    run(&|c| c.env("HOME", "/proc"));
    run(&|c| c.env("TMPDIR", "/no/such/folder"));
    run(&|c| c.env("TERM", "dumb").env("COLUMNS", "12"));
    run(&|c| c.env("COLUMNS", "many").env("LANG", "xx_YY.latin1"));
    run(&|c| c.env("TZ", "Nowhere/City"));
    let mut command = suite.command(&["run"]);
    command
        .env("TMPDIR", "/no/such/folder")
        .env_remove("HOME")
        .env("COLUMNS", "1");
    let ran = said(command.output().expect("the program starts"));
    assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("internal error"), "{}", ran.err);
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let suite = Suite::with("bad", "name: a\n");
    let plain = suite.say(&["check"]);
    assert!(!plain.err.contains('\u{1b}'), "{}", plain.err);
    let coloured = suite.say(&["check", "--color", "always"]);
    assert!(coloured.err.contains('\u{1b}'), "{}", coloured.err);
}

#[test]
fn fixtures_and_guards_of_a_failed_start_leave_nothing() {
    let suite = Suite::new();
    program(&suite, "chromium", "echo Chromium 119.0.6045.105");
    program(&suite, "chromedriver", "exit 1");
    suite.say(&["run"]).code(3);
    let left: Vec<_> = fs::read_dir(suite.path().join("tmp"))
        .expect("a folder")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The first lines name scenarios that need the value only later.
#[test]
fn r1_a_value_from_a_command_is_known_before_the_first_line() {
    const VALUE: &str = "K7-harbour-TILLER-3030";
    let suite = Suite::with(
        "signs-in",
        &format!(
            "name: Signs in with {VALUE}\nstart: http://app.test/\ncredentials: [app-user]\nsteps: [ {{ login: app-user }} ]\nexpect: {{ see: Welcome }}\n"
        ),
    );
    suite.file(
        "rehearsal.toml",
        format!(
            "[credentials.app-user]\norigin = \"http://app.test\"\ncommand = {{ username = [\"/bin/echo\", \"marisol\"], password = [\"/bin/echo\", \"{VALUE}\"] }}\n"
        ),
    );
    let said = suite.say(&["run"]).code(5);
    assert!(!said.out.contains(VALUE), "{}", said.out);
    assert!(said.out.contains("‹app-user.password›"), "{}", said.out);
    let written: Vec<String> = suite.files();
    let runs: Vec<&String> = written.iter().filter(|f| f.starts_with("runs/")).collect();
    assert!(
        runs.iter().any(|f| f.ends_with("/events.jsonl")),
        "{runs:?}"
    );
    for file in runs.iter().filter(|f| !f.ends_with("/latest")) {
        assert!(!suite.read(file).contains(VALUE), "{file}");
    }
}
