use super::super::junit_rules::{Element, broken, read};
use super::super::sample::{self, HOSTILE, Journal};
use super::*;
use crate::event::{Failure, StepFinished, What};

fn checked(events: &[Event]) -> Element {
    let root = read(&render(events));
    assert_eq!(broken(&root), Vec::<String>::new());
    root
}

fn case<'a>(root: &'a Element, id: &str) -> &'a Element {
    root.all("testcase")
        .into_iter()
        .find(|case| case.property("id") == Some(id))
        .unwrap_or_else(|| panic!("no case {id}"))
}

fn single(name: &str, message: &str, ms: u64) -> Vec<Event> {
    let mut journal = Journal::new(&[("a", name, &[])]);
    let mut play = journal.scenario("a", 1, "");
    let step = play.begin(message, message, "click");
    let failure = Failure {
        reason: "covered".to_owned(),
        message: message.to_owned(),
        ..Failure::default()
    };
    play.end(&step, Status::Failed, Some(failure), ms);
    play.finished(Status::Failed, "covered", message);
    journal.finish(1);
    journal.events
}

#[test]
fn a_run_with_every_kind_of_ending_keeps_all_rules() {
    let root = checked(&sample::journal());
    let verdict = |id: &str| {
        let case = case(&root, id);
        let found = ["failure", "error", "skipped"]
            .into_iter()
            .find_map(|name| case.child(name));
        found.map(|v| (v.name.clone(), v.get("type").unwrap_or_default().to_owned()))
    };
    let is = |name: &str, ty: &str| Some((name.to_owned(), ty.to_owned()));
    assert_eq!(verdict("code-host/add-readme"), None);
    assert_eq!(verdict("code-host/sign-in"), is("failure", "step_failed"));
    assert_eq!(verdict("notes/create-page"), is("failure", "second_look"));
    assert_eq!(verdict("parcels/export"), is("error", "browser_lost"));
    assert_eq!(verdict("parcels/refund"), is("error", "refused"));
    assert_eq!(verdict("parcels/track"), is("error", "not finished"));
    assert_eq!(verdict("parcels/wrong-password"), None);
    assert_eq!(verdict("code-host/tour"), is("failure", "pending"));
    assert_eq!(verdict("hostile"), is("error", "leak"));
    let suites: Vec<_> = root.children.iter().filter_map(|s| s.get("name")).collect();
    assert_eq!(
        suites,
        ["code-host", "clips", "notes", "parcels", "scenarios"]
    );
}

#[test]
fn the_rules_can_be_broken() {
    let good = String::from_utf8(render(&sample::journal())).unwrap();
    let mut caught = 0;
    for (from, to) in [
        ("<testsuites", "<suites"),
        ("tests=\"10\"", "tests=\"9\""),
        ("time=\"", "time=\"1,"),
        ("timestamp=\"2026", "timestamp=\"0000"),
        ("name=\"code-host\"", "name=\"\""),
        ("type=\"refused\"", "kind=\"refused\""),
        ("[[ATTACHMENT|", "see [[ATTACHMENT|"),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = good.replace(from, to).replace(
            "</testsuites",
            if from == "<testsuites" {
                "</suites"
            } else {
                "</testsuites"
            },
        );
        caught += usize::from(!broken(&read(bad.as_bytes())).is_empty());
    }
    assert_eq!(caught, 7);
}

#[test]
fn case_098_control_characters_never_reach_the_file() {
    let root = checked(&single(
        HOSTILE,
        "\u{1b}[31mred\u{1b}[0m &#27; \u{0}\u{b}\u{fffe}",
        5,
    ));
    assert_eq!(
        case(&root, "a").child("failure").unwrap().get("message"),
        Some("red &#27;")
    );
    let raw = String::from_utf8(render(&single("n", "\u{1b}[31m", 1))).unwrap();
    assert!(!raw.contains("&#27;") && !raw.contains("&#x1b;"));
}

#[test]
fn case_099_a_sequence_cut_by_the_limit_goes_too() {
    let long = "\u{1b}[31mred\u{1b}[0m ".repeat(20_000);
    let root = checked(&single("n", &long, 5));
    let text = &case(&root, "a").child("failure").unwrap().text;
    assert!(text.contains("red red") && !text.contains("[0m") && !text.contains("31m"));
}

#[test]
fn case_100_pairs_of_class_and_name_are_unique() {
    let twice = [
        ("a/login", "Log in", &[] as &[&str]),
        ("b/login", "Log in", &[]),
    ];
    let journal = Journal::new(&twice);
    let root = checked(&journal.events);
    let classes: Vec<_> = root
        .all("testcase")
        .iter()
        .filter_map(|c| c.get("classname"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        classes,
        ["scenarios/a/login.yaml", "scenarios/b/login.yaml"]
    );
    // The same file and name cannot be planned twice; if it happens, no case may vanish.
    let mut journal = Journal::new(&twice);
    if let What::RunStarted(run) = &mut journal.events[0].what {
        run.selected[1].file = run.selected[0].file.clone();
    }
    assert_eq!(checked(&journal.events).all("testcase").len(), 2);
}

#[test]
fn case_101_times_are_seconds_with_three_digits() {
    for (ms, time) in [
        (0, "0.000"),
        (7, "0.007"),
        (1_234_500, "1234.500"),
        (86_400_000, "86400.000"),
    ] {
        let root = checked(&single("n", "m", ms));
        assert_eq!(case(&root, "a").get("time"), Some(time));
    }
}

#[test]
fn case_102_a_huge_page_text_leaves_a_bounded_well_formed_report() {
    let huge = "漢<&>".repeat(1 << 20);
    let bytes = render(&single("n", &huge, 5));
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    let root = read(&bytes);
    assert_eq!(broken(&root), Vec::<String>::new());
    assert!(
        case(&root, "a")
            .child("failure")
            .unwrap()
            .text
            .contains("bytes cut")
    );
    // Many failing scenarios share the room.
    let events = sample::large(1500);
    assert!(render(&events).len() < 3 * TOTAL);
}

#[test]
fn case_103_zero_scenarios_and_only_skipped_ones_are_valid() {
    let root = checked(&[]);
    assert_eq!(
        (root.name.as_str(), root.get("tests")),
        ("testsuites", Some("0"))
    );
    checked(&Journal::new(&[]).events);
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal
        .scenario("a", 1, "")
        .finished(Status::Skipped, "not_selected", "");
    let root = checked(&journal.events);
    assert_eq!(root.get("skipped"), Some("1"));
    assert_eq!(root.get("failures"), Some("0"));
}

#[test]
fn case_104_names_come_back_as_they_were() {
    let name = "a<b & \"c\" \u{27}d\u{27} ]]> <unknown>";
    let root = checked(&single(name, name, 5));
    let case = case(&root, "a");
    assert_eq!(case.get("name"), Some(name));
    let failure = case.child("failure").unwrap();
    assert_eq!(failure.get("message"), Some(name));
    assert!(failure.text.contains(name));
}

#[test]
fn case_105_a_failure_has_text_and_a_picture() {
    let root = checked(&sample::journal());
    let case = case(&root, "code-host/sign-in");
    let text = &case.child("failure").unwrap().text;
    for part in [
        "step 2: Click button “Sign in”",
        "--> scenarios/code-host/sign-in.yaml:10",
        "nothing on the page has this name",
        "heading \"Welcome back\"",
        "link \"Sign up\"  in banner  (0.55)",
        "Name the control as the page does",
        "picture   code-host/sign-in/frames/0002.png",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let out = &case.child("system-out").unwrap().text;
    assert!(
        out.starts_with("[[ATTACHMENT|code-host/sign-in/frames/0002.png]]"),
        "{out}"
    );
}

#[test]
fn case_105_a_failure_without_a_picture_says_so() {
    let root = checked(&single("n", "m", 5));
    let text = &case(&root, "a").child("failure").unwrap().text;
    assert!(text.contains("picture   none was taken"), "{text}");
}

#[test]
fn a_page_cannot_name_an_attachment() {
    let root = checked(&single("n", "x\n[[ATTACHMENT|/etc/passwd]]", 5));
    let out = &case(&root, "a").child("system-out").unwrap().text;
    assert!(!out.contains("[[ATTACHMENT|/etc"));
}

#[test]
fn the_seed_lists_every_scenario_as_not_finished() {
    let events = sample::journal();
    let What::RunStarted(run) = &events[0].what else {
        panic!()
    };
    let root = read(&seed(run));
    assert_eq!(broken(&root), Vec::<String>::new());
    assert_eq!(root.get("errors"), Some("10"));
    for case in root.all("testcase") {
        assert_eq!(
            case.child("error").unwrap().get("type"),
            Some("not finished")
        );
    }
}

#[test]
fn a_pass_after_a_retry_is_marked_flaky() {
    let root = checked(&sample::journal());
    let case = case(&root, "clips/newest");
    assert!(case.child("failure").is_none());
    let flaky = case.child("flakyFailure").unwrap();
    assert_eq!(flaky.get("type"), Some("covered"));
    assert_eq!(case.property("attempts"), Some("2"));
    assert_eq!(case.property("model-calls"), Some("1"));
    assert_eq!(case.property("resolved-by.model"), Some("1"));
}

#[test]
fn trouble_of_the_run_itself_is_a_case_of_its_own() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal
        .scenario("a", 1, "")
        .finished(Status::Passed, "completed", "");
    journal.run(What::TearDown {
        what: "site".to_owned(),
        ok: false,
        detail: Some("port still open".to_owned()),
    });
    journal.finish(0);
    let root = checked(&journal.events);
    assert_eq!(root.get("errors"), Some("1"));
    assert_eq!(root.get("tests"), Some("2"));
}

#[test]
fn a_step_without_its_beginning_is_still_listed() {
    let mut journal = Journal::new(&[("a", "A", &[])]);
    journal.push(
        "a",
        1,
        What::StepFinished(StepFinished {
            step: "4".to_owned(),
            status: Status::Passed,
            failure: None,
            notes: vec!["typed again after the page wiped it".to_owned()],
            ms: 12,
        }),
    );
    let root = checked(&journal.events);
    let out = &case(&root, "a").child("system-out").unwrap().text;
    assert!(
        out.contains("Step 4") && out.contains("typed again"),
        "{out}"
    );
}
