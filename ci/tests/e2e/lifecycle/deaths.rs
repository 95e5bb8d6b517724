//! Deaths: of the runner, of a driver, of everything at once (F1, F2, F33, cases 108 and 110).

use super::site::Site;
use super::suite::{Suite, scenario, step_began, wait_for};

fn kill(pid: i32) {
    // SAFETY: a process that this test's own run started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Processes of a suite whose own program has this name.
fn programs(suite: &Suite, name: &str) -> Vec<i32> {
    let own = |line: &str| line.split(' ').next().is_some_and(|p| p.ends_with(name));
    let all = suite.processes();
    all.into_iter()
        .filter(|(_, line)| own(line))
        .map(|(pid, _)| pid)
        .collect()
}

fn gate(site: &Site) -> String {
    format!(
        "start: {}\nsteps: [ {{ wait: {{ text: Open sesame }}, timeout: 100s }} ]\nexpect: {{ see: Open sesame }}\n",
        site.at("/gate")
    )
}

#[test]
fn case_110_a_killed_runner_leaves_whole_files_and_no_process() {
    let (site, suite) = (Site::start(), Suite::new());
    let fine = format!("start: {}\nexpect: {{ see: Fine }}\n", site.at("/fine"));
    suite
        .scenario("a-fine", &fine)
        .scenario("b-waits", &gate(&site))
        .scenario("c-never-begun", &fine);
    let mut going = suite.start(&["run"]);
    going.until("the waiting step", step_began("b-waits", "1"));
    going.signal(libc::SIGKILL);
    going.end();
    suite.nothing_is_left();
    assert_eq!(suite.junit_cases(), ["a-fine", "b-waits", "c-never-begun"]);
    let junit = std::fs::read_to_string(suite.latest().join("junit.xml")).expect("junit.xml");
    assert_eq!(junit.matches("<error").count(), 2, "{junit}");
    let events = suite.events();
    assert!(
        events
            .iter()
            .any(|e| e["event"] == "scenario_finished" && e["scenario"] == "a-fine")
    );
    assert!(events.iter().all(|e| e["event"] != "run_finished"));
    // The reports of what there is can still be made.
    let folder = suite.latest();
    suite
        .run(&["replay", &folder.to_string_lossy(), "--out", "again"])
        .expect_code(0);
    assert!(suite.path().join("again/report.json").is_file());
}

#[test]
fn case_110_the_next_start_removes_what_nobody_could_clear_up() {
    let (site, suite) = (Site::start(), Suite::new());
    suite.scenario("a", &gate(&site));
    let mut going = suite.start(&["run"]);
    going.until("the waiting step", step_began("a", "1"));
    // Runner and guards die in one stroke, so nobody clears up.
    going.signal(libc::SIGSTOP);
    for (pid, _) in suite.processes() {
        kill(pid);
    }
    going.end();
    suite.nothing_is_left();
    let stale = suite.session_folders();
    assert!(
        !stale.is_empty(),
        "the profile of the killed run lies about"
    );
    site.open_gate();
    suite.run(&["run"]).expect_code(0);
    assert!(
        suite.session_folders().is_empty(),
        "{:?}",
        suite.session_folders()
    );
}

#[test]
fn a_lost_browser_costs_one_start_and_never_repeats_a_write() {
    let (site, suite) = (Site::start(), Suite::new());
    suite
        .scenario("reads", &gate(&site))
        .scenario(
            "writes",
            &format!(
                "start: {}\nserial: true\nsteps:\n  - click: Send\n    write: sends the order\n  - wait: {{ text: never }}\n    timeout: 100s\nexpect: {{ see: x }}\n",
                site.at("/order")
            ),
        )
        .scenario(
            "z-next",
            &format!("start: {}\nserial: true\nexpect: {{ see: Fine }}\n", site.at("/fine")),
        );
    let mut going = suite.start(&["run", "--confirm-writes"]);
    going.until("the waiting step", step_began("reads", "1"));
    let before = programs(&suite, "chromedriver");
    assert_eq!(before.len(), 1);
    kill(before[0]);
    going.until("another attempt", |e| {
        e["event"] == "step_started" && e["scenario"] == "reads" && e["attempt"] == 2
    });
    site.open_gate();
    going.until("the step after the write", step_began("writes", "2"));
    // This time the browser itself dies, not its driver.
    let mut browsers = Vec::new();
    wait_for("the browser's processes", || {
        browsers = suite
            .processes()
            .into_iter()
            .filter(|(_, line)| line.contains("--user-data-dir=") && !line.contains("--type="))
            .filter(|(_, line)| !line.contains("chromedriver"))
            .map(|(pid, _)| pid)
            .collect();
        !browsers.is_empty()
    });
    for pid in browsers {
        kill(pid);
    }
    let ran = going.end().expect_code(3);
    let report = suite.report();
    let attempts = |id: &str| scenario(&report, id)["attempts"].as_array().map(Vec::len);
    assert_eq!(suite.verdict(&report, "reads").0, "passed", "{}", ran.out);
    assert_eq!(attempts("reads"), Some(2));
    let first = &scenario(&report, "reads")["attempts"][0];
    assert_eq!(first["reason"], "browser_lost");
    assert_eq!(
        suite.verdict(&report, "writes"),
        ("environment".into(), "browser_lost".into()),
        "{}",
        ran.out
    );
    assert_eq!(attempts("writes"), Some(1), "a write is never repeated");
    assert_eq!(site.posts(), 1);
    assert_eq!(suite.verdict(&report, "z-next").0, "passed");
    suite.nothing_is_left();
}

#[test]
fn case_111_eight_runs_at_once_all_pass() {
    let site = Site::start();
    let suites: Vec<Suite> = (0..8)
        .map(|_| {
            let suite = Suite::new();
            suite.scenario(
                "fine",
                &format!("start: {}\nexpect: {{ see: Fine }}\n", site.at("/fine")),
            );
            suite
        })
        .collect();
    let going: Vec<_> = suites.iter().map(|s| s.start(&["run"])).collect();
    for run in going {
        run.end().expect_code(0);
    }
    for suite in &suites {
        suite.nothing_is_left();
    }
}
