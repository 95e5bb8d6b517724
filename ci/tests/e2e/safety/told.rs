//! What a run tells of a typed secret, and when it takes pictures (R16, R25, R50, R59).

use super::lab::{Lab, Outcome, canary};
use super::stage::{LOGIN, Stage};

const USER: &str = "ada.lovelace@example.test";

/// The lines of an attempt between the start and the end of a step: kind of event, and the event.
fn of_step<'a>(run: &'a Outcome, id: &str, step: &str) -> Vec<&'a serde_json::Value> {
    let own = run.events.iter().filter(|e| e["scenario"] == id);
    own.filter(|e| e["step"] == step).collect()
}

#[test]
fn r16_r25_r59_steps_are_told_and_pictured_but_never_a_secret() {
    let password = canary(16);
    let stage = Stage::open(&password);
    stage.page("*", "/login", &format!("<title>Sign in</title>{LOGIN}"));
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let mut lab = Lab::on(&stage, &["shop.test"], true);
    lab.credential("shop", "http://shop.test", USER, &password);
    lab.scenario(
        "by-login",
        "start: http://shop.test/login\ncredentials: [shop]\nsteps:\n  - login: shop\nexpect: [ { see: Orders } ]\n",
    );
    lab.scenario(
        "by-hand",
        "start: http://shop.test/login\ncredentials: [shop]\nsteps:\n  - fill: User\n    credential: shop.username\n\
         \x20 - fill: Password\n    credential: shop.password\n  - click: Sign in\nexpect: [ { see: Orders } ]\n",
    );
    lab.scenario(
        "by-key",
        "start: http://shop.test/home\nsteps:\n  - press: Escape\nexpect: [ { see: Orders } ]\n",
    );
    let run = lab.run(&["--fresh"]);
    run.check(&[
        ("by-login", "passed/completed"),
        ("by-hand", "passed/completed"),
        ("by-key", "passed/completed"),
    ]);
    // A key is named where nothing else is: a tutorial says which one.
    let pressed = of_step(&run, "by-key", "1");
    assert!(
        pressed
            .iter()
            .any(|e| e["event"] == "acted" && e["value"] == "Escape"),
        "{pressed:?}"
    );
    // Where it was typed is said, what was typed is not.
    let says = |id: &str, step: &str| {
        let lines = of_step(&run, id, step);
        let acted = lines.iter().find(|e| e["event"] == "acted");
        acted.expect("it acted")["says"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    for (id, step, place) in [("by-login", "1", "shop"), ("by-hand", "2", "Password")] {
        let says = says(id, step);
        assert!(says.contains(place) && says.contains("[HIDDEN]"), "{says}");
    }
    assert!(!run.stdout.contains(&password));
    // No picture from the first key until the page that answers; a filled field has none at all.
    let frames = |id: &str, step: &str| -> Vec<&serde_json::Value> {
        let lines = of_step(&run, id, step);
        lines
            .into_iter()
            .filter(|e| e["event"] == "frame")
            .collect()
    };
    let of_login = frames("by-login", "1");
    assert_eq!(of_login.len(), 1, "{of_login:?}");
    assert_eq!(of_login[0]["url"], "http://shop.test/home");
    let filled = frames("by-hand", "2");
    assert!(!filled.is_empty());
    for frame in filled {
        assert!(
            frame["file"].is_null() && frame["withheld"].is_string(),
            "{frame}"
        );
    }
    // Every other step has its picture, with words, address and a file.
    for (id, step) in [("by-login", "1"), ("by-hand", "1"), ("by-hand", "3")] {
        let [frame] = frames(id, step)[..] else {
            panic!("one picture of {id} {step}")
        };
        let file = frame["file"].as_str().unwrap_or_default();
        assert!(
            run.folder().join(id).join(file).is_file(),
            "{id} {step}: {frame}"
        );
        assert!(
            frame["url"]
                .as_str()
                .is_some_and(|url| url.starts_with("http://shop.test/"))
        );
        assert!(!says(id, step).is_empty());
    }
}

#[test]
fn r50_where_no_person_is_a_hand_off_fails_at_once_and_by_name() {
    let stage = Stage::open("");
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    let mut lab = Lab::on(&stage, &["shop.test"], true);
    lab.scenario(
        "handed",
        "start: http://shop.test/home\nsteps:\n  - wait_for_user: enter the code\nexpect: [ { see: Orders } ]\n",
    );
    for (ci, why) in [("", "--headed"), ("true", "CI is set")] {
        lab.set("CI", ci);
        let run = lab.run(&["--fresh"]);
        run.check(&[("handed", "failed/human_needed")]);
        let failure = run.failure("handed");
        assert!(failure.contains(why), "{failure}");
    }
}
