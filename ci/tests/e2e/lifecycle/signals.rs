//! SIGINT, SIGTERM, SIGHUP, a second signal (F31, F32, case 109).

use super::site::Site;
use super::suite::{Suite, step_began};

fn waiting(site: &Site) -> Suite {
    let suite = Suite::new();
    suite
        .scenario(
            "a-waits",
            &format!(
                "start: {}\nsteps: [ {{ wait: {{ text: Open sesame }}, timeout: 100s }} ]\nexpect: {{ see: Open }}\n",
                site.at("/gate")
            ),
        )
        .scenario(
            "b-not-begun",
            &format!("start: {}\nexpect: {{ see: Fine }}\n", site.at("/fine")),
        );
    suite
}

fn first_signal(signal: i32, code: i32, name: &str) {
    let site = Site::start();
    let suite = waiting(&site);
    let mut going = suite.start(&["run"]);
    going.until("the waiting step", step_began("a-waits", "1"));
    if signal == libc::SIGINT {
        // F36: the folder is taken while the run goes on.
        let second = suite.run(&["run"]).expect_code(3);
        assert!(
            second.err.contains("another run (process"),
            "{}",
            second.err
        );
    }
    going.signal(signal);
    let ran = going.end().expect_code(code);
    suite.nothing_is_left();
    assert!(suite.session_folders().is_empty());
    let report = suite.report();
    assert_eq!(report["interrupted"], name, "{}", ran.out);
    assert_eq!(report["exit"], code);
    let verdict = |id: &str| suite.verdict(&report, id);
    assert_eq!(
        verdict("a-waits"),
        ("not_finished".into(), "interrupted".into())
    );
    assert_eq!(
        verdict("b-not-begun"),
        ("not_finished".into(), "not_started".into())
    );
    assert_eq!(suite.junit_cases(), ["a-waits", "b-not-begun"]);
    let events = suite.events();
    let last = events.last().expect("events");
    assert_eq!(
        (&last["event"], &last["exit"]),
        (&"run_finished".into(), &code.into())
    );
    assert!(
        suite.latest().join("a-waits/tutorial.md").is_file(),
        "R57: every way out has its write-up"
    );
}

#[test]
fn case_109_sigint_ends_the_run_with_130_and_its_reports() {
    first_signal(libc::SIGINT, 130, "SIGINT");
}

#[test]
fn case_109_sigterm_ends_the_run_with_143_and_its_reports() {
    first_signal(libc::SIGTERM, 143, "SIGTERM");
}

#[test]
fn case_109_sighup_ends_the_run_with_129_and_its_reports() {
    first_signal(libc::SIGHUP, 129, "SIGHUP");
}

#[test]
fn every_long_wait_is_cut_short_by_a_signal() {
    let site = Site::start();
    let suite = Suite::new();
    // A navigation to a server that never answers, and a pause: two workers, one signal.
    suite
        .scenario(
            "hangs",
            &format!("start: {}\nexpect: {{ see: x }}\n", site.at("/hang")),
        )
        .scenario(
            "pauses",
            &format!(
                "start: {}\nsteps: [ {{ wait: {{ seconds: 60 }} }} ]\nexpect: {{ see: x }}\n",
                site.at("/fine")
            ),
        );
    let mut going = suite.start(&["run", "--jobs", "2"]);
    going.until("the pause", step_began("pauses", "1"));
    going.until("the navigation", |e| {
        e["event"] == "step_started" && e["scenario"] == "hangs"
    });
    going.signal(libc::SIGTERM);
    let ran = going.end().expect_code(143);
    assert!(
        !ran.err.contains("did not end within its grace"),
        "{}",
        ran.err
    );
    let report = suite.report();
    for id in ["hangs", "pauses"] {
        assert_eq!(suite.verdict(&report, id).1, "interrupted");
    }
    suite.nothing_is_left();
}

#[test]
fn a_second_signal_ends_everything_at_once() {
    let site = Site::start();
    let suite = waiting(&site);
    // A fixture that holds its end up: without the second signal the run would wait for it.
    suite
        .file(
            "fixtures/stubborn.yaml",
            "command: [bash, -c, \"trap '' TERM; exec 3<>/dev/tcp/127.0.0.1/$(site); while :; do sleep 1; done\"]\n",
        )
        .file(
            "fixtures/stubborn.yaml",
            &format!(
                "command: [bash, stubborn.sh]\nready: http://127.0.0.1:{}/fine\n",
                site.port
            ),
        )
        .file("stubborn.sh", "trap '' TERM\nwhile :; do sleep 1; done\n")
        .scenario(
            "a-waits",
            &format!(
                "start: {}\nfixtures: [stubborn]\nsteps: [ {{ wait: {{ text: Open sesame }}, timeout: 100s }} ]\nexpect: {{ see: Open }}\n",
                site.at("/gate")
            ),
        );
    let mut going = suite.start(&["run"]);
    going.until("the waiting step", step_began("a-waits", "1"));
    going.signal(libc::SIGTERM);
    going.until("the scenario's end", |e| e["event"] == "scenario_finished");
    going.signal(libc::SIGINT);
    going.end().expect_code(130);
    suite.nothing_is_left();
    // Whole, and every scenario is in it.
    assert_eq!(suite.junit_cases(), ["a-waits", "b-not-begun"]);
}
