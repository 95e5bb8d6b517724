//! Fixtures: started as often as their scope says, reset, torn down on every way out, named when
//! they fail; serial scenarios alone; JUnit of a run with every kind of end.

use std::fs;

use super::site::Site;
use super::suite::Suite;

/// A fixture that keeps a diary of its starts and serves the code host.
fn diary(name: &str, scope: &str) -> String {
    format!(
        "scope: {scope}\ncommand: [sh, served.sh, {name}, \"$(port)\"]\nready: http://127.0.0.1:$(port)/health\n\
         hosts: {{ {name}.test: \"127.0.0.1:$(port)\" }}\nreset: POST http://127.0.0.1:$(port)/reset\n"
    )
}

#[test]
fn fixtures_live_as_long_as_their_scope_says_and_fail_by_name() {
    let (site, suite) = (Site::start(), Suite::new());
    let sites = env!("CARGO_BIN_EXE_fixture-sites");
    suite
        .file(
            "served.sh",
            &format!("echo $1 >> diary\nexec {sites} code-host --port $2\n"),
        )
        .file("fixtures/each.yaml", &diary("each", "scenario"))
        .file("fixtures/kept.yaml", &diary("kept", "worker"))
        .file("fixtures/once.yaml", &diary("once", "run"))
        .file(
            "fixtures/no-program.yaml",
            "command: [no-such-program-here]\n",
        )
        .file(
            "fixtures/ends.yaml",
            "command: [sh, -c, \"echo the disk is on strike >&2; exit 7\"]\n",
        )
        .file(
            "fixtures/never-ready.yaml",
            &format!(
                "command: [sleep, \"100\"]\nready: {}\n",
                site.at("/no-such-page")
            ),
        )
        .file(
            "fixtures/no-reset.yaml",
            &format!(
                "command: [sleep, \"100\"]\nready: {}\nreset: POST {}\n",
                site.at("/fine"),
                site.at("/no-such-page")
            ),
        );
    for id in ["p1", "p2", "p3"] {
        // p2 fails: its fixtures are torn down like the others'.
        let sees = if id == "p2" { "no such words" } else { "Cairn" };
        suite.scenario(
            id,
            &format!(
                "fixtures: [each, kept, once]\nstart: http://each.test/\nserial: {}\n\
                 steps: [ {{ goto: \"http://kept.test/\" }}, {{ goto: \"http://once.test/\" }}, {{ expect: {{ see: {sees} }}, timeout: 1s }} ]\nexpect: {{ see: Cairn }}\n",
                id == "p3"
            ),
        );
    }
    for name in ["no-program", "ends", "never-ready", "no-reset"] {
        suite.scenario(
            &format!("with-{name}"),
            &format!(
                "fixtures: [{name}]\nstart: {}\nexpect: {{ see: Fine }}\n",
                site.at("/fine")
            ),
        );
    }
    let ran = suite.run(&["run", "--jobs", "2"]).expect_code(3);
    let report = suite.report();
    assert_eq!(suite.verdict(&report, "p1").0, "passed", "{}", ran.out);
    assert_eq!(suite.verdict(&report, "p2").0, "failed");
    assert_eq!(suite.verdict(&report, "p3").0, "passed", "{}", ran.out);
    let diary = fs::read_to_string(suite.path().join("diary")).expect("the diary");
    let starts = |name: &str| diary.lines().filter(|l| *l == name).count();
    assert_eq!(starts("each"), 3, "one start for each scenario");
    assert!(
        (2..=3).contains(&starts("kept")),
        "one for each worker, the serial one included"
    );
    assert_eq!(starts("once"), 1);
    for (id, words) in [
        ("with-no-program", "no-such-program-here"),
        ("with-ends", "the disk is on strike"),
        ("with-never-ready", "did not answer within"),
        ("with-no-reset", "reset"),
    ] {
        assert_eq!(
            suite.verdict(&report, id),
            ("environment".into(), "fixture".into()),
            "{id}"
        );
        let message = super::suite::scenario(&report, id)["message"].to_string();
        assert!(message.contains(words), "{id}: {message}");
        assert!(
            message.contains(id.trim_start_matches("with-")),
            "{id}: {message}"
        );
    }
    // Serial: begun only after every other scenario's end.
    let events = suite.events();
    let place = |event: &str, id: &str| {
        events
            .iter()
            .position(|e| e["event"] == event && e["scenario"] == id)
            .expect("an event")
    };
    for other in ["p1", "p2", "with-never-ready", "with-ends"] {
        assert!(
            place("scenario_finished", other) < place("scenario_started", "p3"),
            "{other}"
        );
    }
    assert_eq!(suite.junit_cases().len(), 7);
    suite.nothing_is_left();
    assert!(suite.session_folders().is_empty());
}
