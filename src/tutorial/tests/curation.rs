//! What is told, merged and left out.

use super::journal::*;
use crate::event::{Event, Status, What};
use crate::tutorial::{Tutorial, curate, json, markdown};

fn captions(tutorial: &Tutorial) -> Vec<String> {
    tutorial.steps.iter().map(|s| s.caption.plain()).collect()
}

#[test]
fn r61_failures_waits_and_skipped_steps_are_left_out_and_micro_actions_merged() {
    let tutorial = curate(&add_readme());
    assert_eq!(
        captions(&tutorial),
        [
            "Click Sign in",
            "Sign in with the code-host-user account",
            "Click demo",
            "Click Add a README",
            "Fill in File content and Commit message, then click Commit changes",
        ]
    );
    assert_eq!(tutorial.steps[4].actions.len(), 3);
    assert_eq!(tutorial.steps[4].places, ["7", "8", "10"]);
    assert!(!tutorial.partial());
}

#[test]
fn equal_events_give_equal_bytes_whatever_the_clock_and_the_run() {
    let events = add_readme();
    let mut later = events.clone();
    for event in &mut later {
        event.time = "2027-01-01T00:00:00.000Z".into();
        event.at_ms += 90_000;
        match &mut event.what {
            What::StepFinished(done) => done.ms *= 3,
            What::ScenarioFinished(done) => done.ms *= 3,
            _ => {}
        }
    }
    let (a, b) = (curate(&events), curate(&later));
    assert_eq!(json(&a), json(&b));
    assert_eq!(markdown(&a), markdown(&b));
}

#[test]
fn only_the_last_attempt_is_told() {
    let mut failed: Vec<Event> = {
        let mut play = Play::new("Add", "Add.", HOME);
        play.step(Do {
            verb: "click",
            says: "Click button \"Old\"",
            role: "button",
            name: "Old",
            on: HOME,
            to: HOME,
            ..Do::default()
        });
        play.finish(Status::Failed, "gone", Some("1"), None)
    };
    let second: Vec<Event> = add_readme()
        .into_iter()
        .map(|e| Event { attempt: 2, ..e })
        .collect();
    failed.extend(second);
    assert_eq!(curate(&failed), curate(&add_readme()));
}

#[test]
fn a_search_is_one_step() {
    let mut play = Play::new("Find a clip", "Find it.", "http://clips.test/");
    let on = "http://clips.test/";
    play.step(Do {
        verb: "click",
        says: "Click searchbox \"Search clips\"",
        role: "searchbox",
        name: "Search clips",
        on,
        to: on,
        ..Do::default()
    })
    .step(Do {
        verb: "fill",
        says: "Fill searchbox \"Search clips\" with \"low tide\"",
        role: "searchbox",
        name: "Search clips",
        value: Some("low tide"),
        on,
        to: on,
        ..Do::default()
    })
    .step(Do {
        verb: "press",
        says: "Press Enter in searchbox \"Search clips\"",
        role: "searchbox",
        name: "Search clips",
        value: Some("Enter"),
        on,
        to: "http://clips.test/results?q=low+tide",
        ..Do::default()
    });
    let tutorial = curate(&play.finish(Status::Passed, "", None, None));
    assert_eq!(captions(&tutorial), ["Search for low tide"]);
    assert_eq!(
        tutorial.steps[0].actions.len(),
        2,
        "the click into the box goes without saying"
    );
}

#[test]
fn the_same_click_again_is_told_with_a_number() {
    let mut play = Play::new("Page", "Page.", "http://parcels.test/orders");
    for n in 0..4 {
        let (on, to) = (
            format!("http://parcels.test/orders?p={n}"),
            format!("http://parcels.test/orders?p={}", n + 1),
        );
        play.step(Do {
            verb: "click",
            says: "Click link \"Next\"",
            role: "link",
            name: "Next",
            on: &on,
            to: &to,
            ..Do::default()
        });
    }
    assert_eq!(
        captions(&curate(&play.finish(Status::Passed, "", None, None))),
        ["Click Next 4 times"]
    );
}

#[test]
fn long_workflows_are_merged_to_seven_pictures_and_keep_what_matters() {
    let mut play = Play::new("Long", "Long.", HOME);
    for n in 0..20 {
        let (on, to, name) = (
            format!("http://code.test/p{n}"),
            format!("http://code.test/p{}", n + 1),
            format!("Part {n}"),
        );
        let write = (n == 13).then_some("creates a page");
        play.step(Do {
            verb: "click",
            says: "Click link",
            role: "link",
            name: &name,
            on: &on,
            to: &to,
            write,
            ..Do::default()
        });
    }
    play.looked(HOME, &["see: Done"]);
    let tutorial = curate(&play.finish(Status::Passed, "", None, None));
    assert!(
        (3..=7).contains(&tutorial.steps.len()),
        "{:?}",
        captions(&tutorial)
    );
    assert!(tutorial.pictures().count() <= 7);
    assert!(tutorial.result.is_some(), "the end state has its picture");
    let told: usize = tutorial.steps.iter().map(|s| s.actions.len().max(1)).sum();
    assert_eq!(told, 20, "every action is still told");
    assert!(
        captions(&tutorial).iter().any(|c| c.contains("Part 13")),
        "{:?}",
        captions(&tutorial)
    );
}

#[test]
fn the_wished_number_of_pictures_is_kept() {
    let mut events = add_readme();
    if let What::ScenarioStarted(started) = &mut events[0].what {
        started.tutorial_pictures = Some(3);
        started.tutorial_title = Some("A title of my own".into());
    }
    let tutorial = curate(&events);
    assert_eq!(
        (tutorial.pictures().count(), tutorial.title.as_str()),
        (3, "A title of my own")
    );
}

#[test]
fn notes_are_captions_and_picture_wishes_hold() {
    let mut play = Play::new("N", "N.", HOME);
    play.step(Do {
        verb: "click",
        says: "Click button \"A\"",
        role: "button",
        name: "A",
        on: HOME,
        to: HOME,
        note: Some("Open the menu of *your* account."),
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click button \"B\"",
        role: "button",
        name: "B",
        on: HOME,
        to: HOME,
        picture: Some("drop"),
        ..Do::default()
    });
    let tutorial = curate(&play.finish(Status::Passed, "", None, None));
    assert_eq!(
        captions(&tutorial),
        ["Open the menu of *your* account", "Click B"]
    );
    assert_eq!(tutorial.steps[0].actions[0].plain(), "Click A");
    assert!(tutorial.steps[0].picture.is_some() && tutorial.steps[1].picture.is_none());
}

#[test]
fn planner_steps_are_told_by_role_and_name_and_failed_turns_are_not() {
    let mut play = Play::new("P", "P.", HOME);
    let planner = Some("planner");
    play.step(Do {
        verb: "click",
        says: "click link “Wrong”",
        role: "link",
        name: "Wrong",
        on: HOME,
        to: HOME,
        by: planner,
        status: Some(Status::Failed),
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click tab \"Files\"",
        role: "tab",
        name: "Files",
        on: HOME,
        to: REPO,
        by: planner,
        ..Do::default()
    })
    .step(Do {
        verb: "scroll",
        says: "Scroll the page",
        on: REPO,
        to: REPO,
        by: planner,
        ..Do::default()
    });
    assert_eq!(
        captions(&curate(&play.finish(Status::Passed, "", None, None))),
        ["Open the tab Files"]
    );
}

#[test]
fn r65_the_introduction_says_how_sign_in_happened() {
    for (how, says) in [
        (
            Some("credential"),
            "You sign in with the code-host-user account.",
        ),
        (
            Some("already signed in"),
            "You are already signed in with the code-host-user account.",
        ),
        (Some("human"), "A person signs in by hand."),
    ] {
        let mut events = add_readme();
        for event in &mut events {
            if let What::ScenarioFinished(done) = &mut event.what {
                done.signed_in_by = how.map(Into::into);
            }
        }
        let tutorial = curate(&events);
        let text: String = tutorial.introduction.iter().map(|w| w.plain()).collect();
        assert!(text.contains(says), "{text}");
        assert_eq!(tutorial.signed_in_by.as_deref(), how);
    }
}

#[test]
fn r65_who_is_signed_in_already_has_no_step_for_it() {
    let mut events = add_readme();
    let signs_in = |says: &str| says.starts_with("Sign in with");
    assert!(captions(&curate(&events)).iter().any(|c| signs_in(c)));
    events.retain(|e| !matches!(&e.what, What::Acted(acted) if signs_in(&acted.says)));
    let told = captions(&curate(&events));
    assert!(!told.iter().any(|c| signs_in(c)), "{told:?}");
}

#[test]
fn r57_a_run_that_stopped_says_how_far_it_got_and_why() {
    let mut play = Play::new("S", "S.", HOME);
    play.step(Do {
        verb: "click",
        says: "Click link \"Sign in\"",
        role: "link",
        name: "Sign in",
        on: HOME,
        to: LOGIN,
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click button \"Save\"",
        role: "button",
        name: "Save",
        on: LOGIN,
        to: LOGIN,
        status: Some(Status::Failed),
        ..Do::default()
    });
    let text = markdown(&curate(&play.finish(
        Status::Failed,
        "no button named “Save” on the page",
        Some("2"),
        None,
    )));
    assert!(text.contains("**Partial.**"), "{text}");
    assert!(
        text.contains(
            "This run stopped at step 2: Click button \"Save\". No button named “Save” on the page."
        ),
        "{text}"
    );
    assert!(text.contains("Click **Sign in**"), "{text}");
    assert!(
        text.contains("![The page where the run stopped](pictures/02-stopped.png)"),
        "{text}"
    );
    assert!(
        !text.contains("## Result"),
        "a run that stopped has no result: {text}"
    );
}

#[test]
fn r57_a_journal_without_an_end_still_makes_a_tutorial() {
    let mut events = add_readme();
    events.truncate(events.len() / 2);
    let tutorial = curate(&events);
    assert!(tutorial.partial() && !tutorial.steps.is_empty());
    assert!(curate(&[]).partial());
    for end in 0..add_readme().len() {
        let _ = markdown(&curate(&add_readme()[..end]));
    }
}

#[test]
fn fixtures_set_up_and_are_not_told_but_their_account_is() {
    let mut play = Play::new("F", "F.", HOME);
    play.step(Do {
        verb: "login",
        says: "Sign in with notes-user",
        written: "login: notes-user",
        on: LOGIN,
        to: HOME,
        by: Some("fixture"),
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: "Click button \"New page\"",
        role: "button",
        name: "New page",
        on: HOME,
        to: HOME,
        ..Do::default()
    });
    let tutorial = curate(&play.finish(Status::Passed, "", None, Some("credential")));
    assert_eq!(captions(&tutorial), ["Click New page"]);
    assert_eq!(tutorial.account.as_deref(), Some("notes-user"));
}

#[test]
fn a_click_that_opens_a_page_is_shown_on_the_page_it_was_on() {
    let events = add_readme();
    let tutorial = curate(&events);
    let url_of = |file: &str| {
        events.iter().find_map(|e| match &e.what {
            What::Frame(f) if f.file.as_deref() == Some(file) => Some(f.url.clone()),
            _ => None,
        })
    };
    let commit = tutorial.steps[4].picture.as_ref().expect("picture");
    assert_eq!(url_of(&commit.frame).as_deref(), Some(EDIT));
    assert_eq!(
        commit.marks.iter().map(|m| m.number).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let login = tutorial.steps[1].picture.as_ref().expect("picture");
    assert_eq!(
        url_of(&login.frame).as_deref(),
        Some(LOGIN),
        "the form, not the page behind it"
    );
}

#[test]
fn the_result_says_what_was_expected_in_words() {
    let says = |line: &str| {
        let mut play = Play::new("R", "R.", HOME);
        play.looked(HOME, &[line]);
        let tutorial = curate(&play.finish(Status::Passed, "", None, None));
        tutorial
            .conclusion
            .iter()
            .map(|w| w.plain())
            .collect::<String>()
    };
    for (line, wanted) in [
        (
            "url: http://code.test/demo",
            "The address is http://code.test/demo.",
        ),
        ("title: Demo", "The page is called Demo."),
        ("see: It is done.", "The page shows It is done."),
        (
            "not_see: Quick setup",
            "The page does not show Quick setup.",
        ),
        ("element: heading \"demo\"", "There is a heading demo."),
        (
            "element: textbox \"Name\", value: Ada, T.",
            "There is a textbox Name with the value Ada, T.",
        ),
        (
            "element: radio \"Private\", checked: true",
            "There is a radio Private, which is chosen.",
        ),
        (
            "element: checkbox \"Mail\", checked: false",
            "There is a checkbox Mail, which is not ticked.",
        ),
        (
            "element: link \"The \\\"A\\\"\", within: navigation \"Pages\"",
            "There is a link The \"A\" in the navigation Pages.",
        ),
        (
            "element: row \"x\", count: 3",
            "There is a row x (count: 3).",
        ),
        ("no_element: button \"Save\"", "There is no button Save."),
        ("{ see: Done }", "The page shows Done."),
        ("download: orders.csv", "The file orders.csv is downloaded."),
        ("data: { orders: { count: 45 } }", ""),
    ] {
        assert_eq!(says(line), wanted, "{line}");
    }
}
