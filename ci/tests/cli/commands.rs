//! What each command does and leaves, without a browser.

use super::rig::Suite;

const WRITES: &str = "name: Writes\nstart: http://app.test/\nsteps:\n  - { click: Refund, write: refunds the order }\nexpect: { see: Refunded }\n";

#[test]
fn init_makes_a_suite_that_checks_and_changes_nothing_the_second_time() {
    let suite = Suite::empty();
    let said = suite.say(&["init", "http://localhost:3000"]).code(0);
    assert!(said.out.contains("rehearsal look"), "{}", said.out);
    assert!(
        suite
            .read("scenarios/first.yaml")
            .contains("http://localhost:3000/")
    );
    assert!(suite.read(".gitignore").contains("*.new"), "case 093");
    suite.say(&["check"]).code(0);
    suite.file("scenarios/first.yaml", "mine");
    suite
        .say(&["init", "http://localhost:3000"])
        .code(2)
        .tells(&["first.yaml"]);
    assert_eq!(suite.read("scenarios/first.yaml"), "mine");
    let elsewhere = Suite::empty();
    elsewhere
        .say(&["init", "https://app.example", "--dir", "checks"])
        .code(0);
    elsewhere.say(&["check", "--suite", "checks"]).code(0);
    elsewhere
        .say(&["init", "javascript:alert(1)", "--dir", "bad"])
        .code(2);
    assert!(!elsewhere.path().join("bad").exists());
}

#[test]
fn r84_r91_dry_prints_the_plan_starts_nothing_and_leaves_no_file() {
    let suite = Suite::new();
    suite.file("scenarios/writes.yaml", WRITES);
    let before = suite.files();
    let said = suite.say(&["run", "--dry"]).code(0);
    assert!(said.out.to_lowercase().contains("dry"), "{}", said.out);
    for word in ["sound", "Sign in", "writes", "refunds the order", "refused"] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    assert_eq!(suite.files(), before, "no file, no folder");
    assert!(!suite.path().join("runs").exists());
    let again = suite.say(&["run", "--dry"]).code(0);
    assert_eq!(said.out, again.out, "the same plan, byte for byte");
}

#[test]
fn r83_an_unconfirmed_write_is_refused_before_any_browser() {
    let suite = Suite::with("writes", WRITES);
    let ran = suite.say(&["run"]).code(4);
    for word in ["refunds the order", "--confirm writes"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(
        !ran.out.contains("apt-get"),
        "the driver was not even looked for: {}",
        ran.out
    );
}

#[test]
fn the_gravest_exit_code_wins() {
    // Refused (4) beside a missing driver (3): 3 is graver.
    let suite = Suite::new();
    suite.file("scenarios/writes.yaml", WRITES);
    suite.say(&["run"]).code(3);
    // A scenario with an error (2) keeps all others from running.
    suite.file("scenarios/bad.yaml", "name: a\n");
    suite.say(&["run"]).code(2);
}

#[test]
fn a_goal_without_a_model_is_an_environment_error_before_any_browser() {
    let suite = Suite::with(
        "planned",
        "name: a\nstart: http://app.test/\ngoal: Sign in.\nexpect: { see: Welcome }\n",
    );
    let ran = suite.say(&["run"]).code(3);
    assert!(ran.out.contains("OPENAI_BASE_URL"), "{}", ran.out);
    // Both hold to what is approved, and nothing is.
    for mode in ["--offline", "--locked"] {
        let ran = suite.say(&["run", mode]).code(6);
        assert!(ran.out.contains("no approved lock"), "{}", ran.out);
    }
}

#[test]
fn json_lines_are_the_journal() {
    let suite = Suite::new();
    let ran = suite.say(&["run", "--format", "json"]).code(3);
    let lines: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(
        lines.first().map(|l| &l["event"]),
        Some(&"run_started".into())
    );
    assert_eq!(
        lines.last().map(|l| &l["event"]),
        Some(&"run_finished".into())
    );
    let journal: Vec<serde_json::Value> = suite
        .read("runs/latest/events.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, journal);
}

#[test]
fn replay_builds_the_run_s_own_reports_again() {
    let suite = Suite::new();
    suite.file("scenarios/writes.yaml", WRITES);
    suite.say(&["run"]).code(3);
    let said = suite
        .say(&["replay", "runs/latest", "--out", "again"])
        .code(0);
    let mut compared = 0;
    for name in ["junit.xml", "report.json", "report.html", "summary.md"] {
        if said.out.contains(name) {
            let (one, two) = (format!("runs/latest/{name}"), format!("again/{name}"));
            assert_eq!(suite.read(&one), suite.read(&two), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "{}", said.out);
    suite
        .say(&["replay", "no-such-run"])
        .code(3)
        .tells(&["no-such-run"]);
}

#[test]
fn case_094_accepting_nothing_or_an_unknown_name_is_told() {
    let suite = Suite::new();
    let said = suite.say(&["accept"]).code(0);
    assert!(said.out.contains("nothing is pending"), "{}", said.out);
    suite.file("snapshots/sound/tutorial.md.new", "# Sound\n");
    suite
        .say(&["accept", "sund"])
        .code(2)
        .tells(&["sund", "sound"]);
    assert!(
        suite
            .path()
            .join("snapshots/sound/tutorial.md.new")
            .exists()
    );
    let said = suite.say(&["accept", "sound"]).code(0);
    assert!(
        said.out.contains("snapshots/sound/tutorial.md"),
        "{}",
        said.out
    );
    assert_eq!(suite.read("snapshots/sound/tutorial.md"), "# Sound\n");
}

#[test]
fn case_093_check_names_what_waits_and_what_nobody_owns() {
    let suite = Suite::new();
    suite
        .file("snapshots/sound/tutorial.md.new", "# Sound\n")
        .file("snapshots/gone/tutorial.md", "# Gone\n")
        .file("snapshots/gone/pictures/01-a.png", "");
    suite.say(&["check"]).code(6).tells(&[
        "snapshots/sound",
        "rehearsal review",
        "snapshots/gone",
        "--prune",
    ]);
    suite.say(&["review", "--prune"]).code(0);
    assert!(!suite.path().join("snapshots/gone").exists());
    let said = suite.say(&["check"]).code(6);
    assert!(
        said.err.contains("a pending tutorial waits"),
        "what a scenario owns stays: {}",
        said.err
    );
    suite.say(&["accept"]).code(0);
    suite.say(&["check"]).code(0);
}

#[test]
fn the_schema_takes_the_bundled_scenarios_for_what_they_are() {
    let suite = Suite::new();
    let said = suite.say(&["schema"]).code(0);
    let schema: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert!(schema["$schema"].is_string() && schema["properties"]["steps"].is_object());
    suite.say(&["schema", "report"]).code(0);
    suite
        .say(&["schema", "nonsense"])
        .code(2)
        .tells(&["scenario", "report"]);
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "");
    suite.say(&["check", "--suite", bundled]).code(0);
}

#[test]
fn completions_name_every_command() {
    let suite = Suite::empty();
    for shell in ["bash", "zsh", "fish"] {
        let said = suite.say(&["completions", shell]).code(0);
        for command in ["run", "check", "accept", "doctor"] {
            assert!(said.out.contains(command), "{shell}: {command}");
        }
    }
    suite.say(&["completions", "cmd"]).code(2);
}

#[test]
fn scan_finds_a_credential_s_value_and_says_whose() {
    let suite = Suite::new();
    suite
        .file(
            "rehearsal.toml",
            "[credentials.shop-user]\norigin = \"http://app.test\"\n",
        )
        .file(
            "left/notes.txt",
            "the password is correct-horse-77-battery, they say\n",
        );
    let mut command = suite.command(&["scan", "left"]);
    command
        .env("SHOP_USER_USERNAME", "ada-tester")
        .env("SHOP_USER_PASSWORD", "correct-horse-77-battery");
    let said = super::rig::said(command.output().expect("the program starts")).code(5);
    let all = said.out.clone() + &said.err;
    assert!(
        all.contains("shop-user") && all.contains("notes.txt"),
        "{all}"
    );
    assert!(!all.contains("correct-horse-77-battery"), "{all}");
}

#[test]
fn scan_calls_nothing_clean_that_it_could_not_read() {
    let suite = Suite::new();
    suite.say(&["scan", "absent"]).code(2).tells(&["absent"]);
    suite
        .say(&["scan", "scenarios", "absent"])
        .code(2)
        .tells(&["absent"]);
    let said = suite.say(&["scan", "scenarios/sound.yaml"]).code(0);
    assert!(said.out.contains("1 files searched"), "{}", said.out);
    // Neither waited for nor counted.
    let pipe = suite.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let said = suite.say(&["scan", "pipe"]).code(3);
    assert!(
        said.out.contains("0 files searched") && said.out.contains("1 could not"),
        "{}",
        said.out
    );
    suite.file("rehearsal.toml", "[run]\njbos = 2\n");
    suite.say(&["scan", "scenarios"]).code(2).tells(&["jbos"]);
}

#[test]
fn init_leaves_a_suite_that_is_there_alone() {
    let suite = Suite::new();
    let before = suite.files();
    suite
        .say(&["init"])
        .code(2)
        .tells(&["sound", "nothing was changed", "--dir"]);
    assert_eq!(suite.files(), before);
}

#[test]
fn doctor_tells_a_broken_suite_from_none() {
    let suite = Suite::new();
    suite.file("rehearsal.toml", "[run]\njbos = 2\n");
    let said = suite
        .say(&["doctor"])
        .code(2)
        .tells(&["rehearsal.toml:2:", "jbos"]);
    assert!(!said.out.contains("none here"), "{}", said.out);
    assert!(said.out.contains("browser"), "{}", said.out);
    let said = Suite::empty().say(&["doctor"]);
    assert!(said.out.contains("suite      none here"), "{}", said.out);
}
