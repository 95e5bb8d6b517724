//! Pages and servers that misbehave cost their own scenario, never another one.

use super::site::Site;
use super::suite::{Suite, scenario};

#[test]
fn faults_of_pages_and_servers_stay_in_their_own_scenario() {
    let (site, suite) = (Site::start(), Suite::new());
    let start = |path: &str| format!("start: {}\n", site.at(path));
    let fine = format!(
        "{}expect: {{ element: heading \"Fine\" }}\n",
        start("/fine")
    );
    let never = "expect: { see: never to be seen }\n";
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a port");
    suite
        .scenario("a-fine", &fine)
        .scenario("redirect-loop", &(start("/loop") + never))
        .scenario("name-unknown", &format!("start: http://no-such-host.invalid/\n{never}"))
        .scenario("refused", &format!("start: http://{closed}/\n{never}"))
        .scenario("hanging-server", &(start("/hang") + never))
        .scenario("dripping-server", &(start("/drip") + never))
        .scenario(
            "alert-storm",
            &(start("/storm") + "steps: [ { click: Storm } ]\nexpect: { see: Storm }\n"),
        )
        .scenario(
            "alerts-expected",
            &(start("/storm")
                + "steps: [ { click: Breeze, dialog: accept } ]\nexpect: { element: button \"Calm\" }\n"),
        )
        .scenario(
            "popup-storm",
            &(start("/popups") + "steps: [ { click: Open many } ]\nexpect: { see: Popups }\n"),
        )
        .scenario(
            "download",
            &(start("/files")
                + "steps: [ { click: Orders, download: \"*.csv\" } ]\nexpect: [ { download: \"*.csv\" } ]\n"),
        )
        .scenario(
            "download-unasked",
            &(start("/files") + "steps: [ { click: Orders } ]\nexpect: { see: Files }\n"),
        )
        .scenario(
            "link-to-nowhere",
            &(start("/leads") + "steps: [ { click: Nowhere, timeout: 1s } ]\n" + never),
        )
        .scenario(
            "goto-nowhere",
            &(start("/leads") + "steps: [ { goto: /hang, timeout: 1s } ]\n" + never),
        )
        .scenario(
            "link-to-a-story",
            &(start("/leads")
                + "steps: [ { click: Story }, { click: Begin } ]\nexpect: { see: Read }\n"),
        )
        .scenario(
            "story",
            &(start("/story") + "steps: [ { click: Begin } ]\nexpect: { see: Read }\n"),
        )
        .scenario("reloading", &(start("/again-and-again") + never))
        // These run one after the other on one worker, after all others.
        .scenario(
            "x-spin",
            &(start("/spin")
                + "serial: true\nsteps: [ { click: Spin }, { click: Spin } ]\nexpect: { see: Spin }\n"),
        )
        .scenario("y-after-spin", &format!("serial: true\n{fine}"));
    let ran = suite.run(&["run", "--jobs", "2"]).expect_code(1);
    let report = suite.report();
    let verdict = |id: &str| suite.verdict(&report, id);
    let passed = |id: &str| assert_eq!(verdict(id).0, "passed", "{id}: {}", ran.out);
    let failed = |id: &str, reason: &str| {
        let (status, why) = verdict(id);
        assert_eq!(
            (status.as_str(), why.as_str()),
            ("failed", reason),
            "{id}: {}",
            ran.out
        );
    };
    passed("a-fine");
    failed("redirect-loop", "too_many_redirects");
    failed("name-unknown", "dns");
    failed("refused", "connection_refused");
    failed("hanging-server", "timeout");
    for (id, step) in [("link-to-nowhere", "1"), ("goto-nowhere", "1")] {
        failed(id, "timeout");
        let took = suite
            .events()
            .iter()
            .find(|e| e["event"] == "step_finished" && e["scenario"] == id && e["step"] == step)
            .and_then(|e| e["ms"].as_u64());
        assert!(took.is_some_and(|ms| ms < 5000), "{id} took {took:?} ms");
    }
    // A page that goes on for ever is used as far as it came.
    passed("link-to-a-story");
    passed("story");
    failed("alert-storm", "unexpected_dialog");
    passed("alerts-expected");
    passed("download");
    failed("x-spin", "page_hung");
    passed("y-after-spin");
    // A server that never ends its page is read as far as it came.
    assert!(["failed", "not_completed"].contains(&verdict("dripping-server").0.as_str()));
    assert!(["failed", "not_completed"].contains(&verdict("reloading").0.as_str()));
    let opened = suite
        .events()
        .iter()
        .filter(|e| e["event"] == "tab_opened" && e["scenario"] == "popup-storm")
        .count();
    // On a slow machine two hundred windows hang the page itself; they are told of either way.
    assert!((1..=16).contains(&opened), "{opened} popups were let live");
    let storm = verdict("popup-storm");
    assert!(
        storm.0 == "passed" || (storm.0 == "failed" && storm.1 == "page_hung"),
        "{storm:?}"
    );
    let refused = suite.events().iter().any(|e| {
        e["event"] == "download" && e["scenario"] == "download-unasked" && e["accepted"] == false
    });
    assert!(refused, "a download nobody asked for is refused and told");
    assert_eq!(
        scenario(&report, "x-spin")["attempts"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(suite.junit_cases().len(), 18);
    suite.nothing_is_left();
    assert!(
        suite.session_folders().is_empty(),
        "{:?}",
        suite.session_folders()
    );
}

/// `ends` makes a scenario that must end that way: to complete, or to end in another way, fails it.
#[test]
fn a_scenario_that_must_not_complete_and_does_has_failed() {
    let (site, suite) = (Site::start(), Suite::new());
    let click = |what: &str, ends: &str| {
        format!(
            "start: {}\nsteps: [ {{ click: {what}, timeout: 1s }} ]\nends: {ends}\n",
            site.at("/fine")
        )
    };
    suite
        .scenario(
            "met",
            &click("Absent", "{ status: failed, reason: not_found, step: 1 }"),
        )
        .scenario(
            "reason",
            &click("Absent", "{ status: failed, reason: covered }"),
        )
        .scenario(
            "step",
            &(click("Again", "{ status: failed, reason: not_found, step: 1 }").replace(
                "timeout: 1s }",
                "timeout: 1s }, { click: Absent, timeout: 1s }",
            )),
        )
        .scenario("status", &click("Absent", "stuck"))
        .scenario(
            "completes",
            &click("Again", "{ status: failed, reason: not_found }"),
        );
    let ran = suite.run(&["run", "--fresh", "--jobs", "2"]).expect_code(1);
    let report = suite.report();
    assert_eq!(suite.verdict(&report, "met").0, "passed", "{}", ran.out);
    for (id, reason) in [
        ("reason", "not_found"),
        ("step", "not_found"),
        ("status", "not_found"),
        ("completes", "ends_unmet"),
    ] {
        let wanted = ("failed".to_owned(), reason.to_owned());
        assert_eq!(suite.verdict(&report, id), wanted, "{id}: {}", ran.out);
    }
    for said in [
        "4 failed",
        "it completed, although `ends` wants it failed (not_found)",
        "`ends` wants it stuck",
        "`ends` wants it failed (covered)",
    ] {
        assert!(ran.out.contains(said), "`{said}` is missing in {}", ran.out);
    }
    let junit = std::fs::read_to_string(suite.latest().join("junit.xml")).expect("junit.xml");
    assert!(junit.contains("failures=\"4\""), "{junit}");
    assert!(junit.contains("ends_unmet"), "{junit}");
}
