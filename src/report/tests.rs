use proptest::prelude::*;

use super::sample::{self, Journal};
use super::*;
use crate::event::{Event, Status, What};

/// Scenario ids with the status each got.
fn statuses(events: &[Event]) -> Vec<(String, Status)> {
    RunReport::fold(events)
        .scenarios
        .into_iter()
        .map(|scenario| (scenario.id, scenario.status))
        .collect()
}

#[test]
fn scenarios_stand_in_plan_order_with_their_final_status() {
    let found = statuses(&sample::journal());
    let found: Vec<_> = found
        .iter()
        .map(|(id, status)| (id.as_str(), *status))
        .collect();
    assert_eq!(
        found,
        [
            ("code-host/add-readme", Status::Passed),
            ("code-host/sign-in", Status::Failed),
            ("clips/newest", Status::Passed),
            ("notes/create-page", Status::Disagreed),
            ("parcels/export", Status::Environment),
            ("parcels/refund", Status::Refused),
            ("parcels/track", Status::NotFinished),
            ("parcels/wrong-password", Status::Passed),
            ("code-host/tour", Status::Pending),
            ("hostile", Status::Leak),
        ]
    );
}

#[test]
fn a_pass_after_a_failed_try_is_flaky_and_an_expected_end_passes() {
    let report = RunReport::fold(&sample::journal());
    assert!(report.scenarios[2].flaky);
    assert!(report.scenarios[7].as_expected);
    assert_eq!(report.counts.flaky, 1);
    assert_eq!(report.counts.passed, 3);
    assert_eq!(report.counts.scenarios, 10);
}

#[test]
fn the_exit_code_is_the_gravest() {
    assert_eq!(exit_code(&sample::journal()), exit::LEAK);
    assert_eq!(exit_code(&[]), exit::USAGE);
    assert_eq!(exit_code(&sample::large(3)), exit::FAILED);
}

#[test]
fn a_failed_repeat_is_not_washed_away_by_a_later_pass() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    for (attempt, status) in [
        (1, Status::Passed),
        (2, Status::Failed),
        (3, Status::Passed),
    ] {
        journal
            .scenario("a", attempt, "Do it.")
            .finished(status, "completed", "");
    }
    assert_eq!(statuses(&journal.events)[0].1, Status::Failed);
    let rated = |holds| {
        What::Rated(crate::event::Rated {
            passed: 2,
            of: 3,
            low: 0.21,
            high: 0.94,
            minimum: Some(0.2),
            holds,
        })
    };
    journal.push("a", 3, rated(true));
    assert_eq!(statuses(&journal.events)[0].1, Status::Passed);
    journal.push("a", 3, rated(false));
    assert_eq!(statuses(&journal.events)[0].1, Status::Failed);
}

/// Statuses a scenario can end with by itself, and the exit code of each where it was not wanted.
const ENDINGS: [(Status, i32); 8] = [
    (Status::Passed, exit::FAILED),
    (Status::Failed, exit::FAILED),
    (Status::Stuck, exit::FAILED),
    (Status::OutOfBudget, exit::FAILED),
    (Status::NotCompleted, exit::FAILED),
    (Status::Disagreed, exit::FAILED),
    (Status::Refused, exit::REFUSED),
    (Status::Environment, exit::ENVIRONMENT),
];

/// One scenario that ended so, once.
fn ended(status: Status, as_expected: bool) -> Vec<Event> {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal.scenario("a", 1, "Do it.").ended(
        status,
        "the_reason",
        "it came to something",
        as_expected,
    );
    journal.events
}

#[test]
fn whatever_an_end_is_it_passes_when_it_was_wanted_and_fails_when_not() {
    for (status, unwanted) in ENDINGS {
        assert_eq!(exit_code(&ended(status, true)), exit::PASSED, "{status:?}");
        assert_eq!(exit_code(&ended(status, false)), unwanted, "{status:?}");
    }
}

#[test]
fn an_unwanted_end_fails_in_every_report() {
    for (status, _) in ENDINGS {
        for wanted in [true, false] {
            let events = ended(status, wanted);
            let said = format!("{status:?}, wanted: {wanted}");
            let files: std::collections::BTreeMap<_, _> = render_all(&events, &Options::default())
                .into_iter()
                .map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
                .collect();
            let sum = |key| {
                let tree = roxmltree::Document::parse(&files["junit.xml"]).unwrap();
                let count = tree.root_element().attribute(key).unwrap_or("0");
                count.parse::<u32>().unwrap()
            };
            assert_eq!(
                sum("failures") + sum("errors"),
                u32::from(!wanted),
                "{said}"
            );
            let json: serde_json::Value = serde_json::from_str(&files["report.json"]).unwrap();
            let scenario = &json["scenarios"][0];
            assert_eq!(scenario["status"] == "passed", wanted, "{said}");
            assert_eq!(json["counts"]["passed"] == 1, wanted, "{said}");
            assert_eq!(json["exit"] == 0, wanted, "{said}");
            let told = wanted || files["report.html"].contains("it came to something");
            assert!(told, "{said}");
            let mut out = Vec::new();
            let mut console = Console::new(Style::default(), &mut out);
            events.iter().for_each(|event| console.event(event));
            console.finish(&Outputs::default());
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.contains("1 passed"), wanted, "{said}: {text}");
            assert_eq!(
                text.contains("it came to something"),
                !wanted,
                "{said}: {text}"
            );
        }
    }
}

#[test]
fn a_must_fail_scenario_that_completes_is_not_washed_away_by_repeating_it() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    for (attempt, as_expected) in [(1, true), (2, false), (3, true)] {
        let status = match as_expected {
            true => Status::Failed,
            false => Status::Passed,
        };
        journal
            .scenario("a", attempt, "Do it.")
            .ended(status, "the_reason", "", as_expected);
    }
    assert_eq!(statuses(&journal.events)[0].1, Status::Failed);
}

#[test]
fn r68_an_unfinished_scenario_still_shows_what_was_done() {
    let report = RunReport::fold(&sample::journal());
    let track = &report.scenarios[6];
    assert_eq!(track.status, Status::NotFinished);
    let last = track.last().unwrap();
    assert_eq!(last.steps.len(), 2);
    assert_eq!(last.steps[1].status, Status::NotFinished);
    assert_eq!(last.choosers["exact"], 2);
    assert!(last.evidence().is_some());
}

#[test]
fn r69_the_picture_of_the_end_state_is_no_step() {
    let mut journal = sample::Journal::new(&[("a", "a.yaml", &[])]);
    let mut play = journal.scenario("a", 1, "See it.");
    play.pass("Click button “Go”", "click: Go", "click", "Go");
    play.looks([true, true], "see: done", ["it is there", "it is there"]);
    play.frame(crate::event::END, "http://code.test/demo");
    play.finished(Status::Passed, "completed", "");
    let report = RunReport::fold(&journal.events);
    let attempt = report.scenarios[0].last().unwrap();
    assert_eq!(attempt.steps.len(), 1, "{:?}", attempt.steps);
    assert!(attempt.end.is_some());
    assert_eq!(attempt.evidence(), attempt.end.as_ref());
    let html = html::render(&journal.events, &Default::default());
    assert!(!html.contains("Step end") && html.contains("The page at the end"));
}

#[test]
fn a_healed_target_shows_in_the_word_of_a_pass() {
    let mut events = sample::journal();
    for event in &mut events {
        if let What::Resolved(how) = &mut event.what {
            how.healed = Some("approved as link \"Sign in\"".to_owned());
        }
    }
    let report = RunReport::fold(&events);
    let words: Vec<_> = report.scenarios.iter().map(block::word).collect();
    assert_eq!(words[..3], ["healed", "failed", "flaky"]);
}

#[test]
fn a_scenario_refused_before_the_browser_has_its_reason_everywhere() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    let message = "Its plan holds a write that nobody confirmed.";
    let mut play = journal.scenario("a", 1, "Do it.");
    play.finished(Status::Refused, "unconfirmed_write", message);
    journal.finish(4);
    assert_eq!(exit_code(&journal.events), exit::REFUSED);
    for (path, bytes) in render_all(&journal.events, &Options::default()) {
        let text = String::from_utf8(bytes).unwrap().replace("&#46;", ".");
        assert!(text.contains(message), "{path}");
    }
}

#[test]
fn a_tear_down_that_failed_spoils_a_pass() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal
        .scenario("a", 1, "Do it.")
        .finished(Status::Passed, "completed", "");
    let torn = |ok| What::TearDown {
        what: "site".to_owned(),
        ok,
        detail: None,
    };
    journal.push("a", 1, torn(true));
    assert_eq!(statuses(&journal.events)[0].1, Status::Passed);
    journal.push("a", 1, torn(false));
    assert_eq!(statuses(&journal.events)[0].1, Status::Environment);
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal
        .scenario("a", 1, "Do it.")
        .finished(Status::Passed, "completed", "");
    journal.run(torn(false));
    journal.finish(0);
    assert_eq!(exit_code(&journal.events), exit::ENVIRONMENT);
}

/// Any interleaving that keeps the order inside each `(scenario, attempt)`.
fn interleaved(events: &[Event], choices: &[usize]) -> Vec<Event> {
    let mut lanes: Vec<Vec<Event>> = Vec::new();
    for event in events {
        let same = |lane: &&mut Vec<Event>| {
            lane[0].scenario == event.scenario && lane[0].attempt == event.attempt
        };
        match lanes.iter_mut().find(same) {
            Some(lane) => lane.push(event.clone()),
            None => lanes.push(vec![event.clone()]),
        }
    }
    lanes.iter_mut().for_each(|lane| lane.reverse());
    let mut out = Vec::new();
    let mut choices = choices.iter().cycle();
    while !lanes.is_empty() {
        let at = choices.next().unwrap() % lanes.len();
        out.extend(lanes[at].pop());
        lanes.retain(|lane| !lane.is_empty());
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn interleaving_of_scenarios_changes_no_byte(
        choices in proptest::collection::vec(0usize..1000, 1..60)
    ) {
        let events = sample::journal();
        let shuffled = interleaved(&events, &choices);
        prop_assert_eq!(events.len(), shuffled.len());
        let options = Options { run_folder: "runs/now".to_owned(), ..Options::default() };
        prop_assert!(render_all(&events, &options) == render_all(&shuffled, &options));
    }

    #[test]
    fn a_journal_cut_anywhere_still_renders(at in 0usize..200) {
        let events = sample::journal();
        let events = &events[..at.min(events.len())];
        for (path, bytes) in render_all(events, &Options::default()) {
            prop_assert!(!bytes.is_empty(), "{} is empty", path);
            prop_assert!(std::str::from_utf8(&bytes).is_ok());
        }
    }
}
