//! Answers kept and played again, without a server.

use super::suite::Suite;

const PAGE: &str =
    "<main><button onclick=\"s.textContent='lamp on'\">Light</button><p id=s></p></main>";

#[test]
fn a_tape_gives_the_same_run_and_a_miss_shows_what_changed() {
    let mut suite = Suite::new();
    suite.page("lamp", PAGE);
    suite.scenario(
        "lamp",
        "lamp",
        "goal: Light the lamp.\nexpect: [ { see: lamp on } ]",
    );
    suite.model(&[(
        "Light the lamp",
        r#"
  - when: lamp on
    reply: { reason: It shines., action: done, target: null, value: null }
  - choose: { role: button, name: Light }
    reply: { reason: Press it., action: click, target: $choose, value: null }"#,
    )]);
    let recorded = suite.run(&["--fresh", "--record-model", "tape"]);
    assert_eq!(recorded.code, 0, "{}", recorded.said);
    suite.stop_model();
    let replayed = suite.run(&["--fresh", "--replay-model", "tape"]);
    assert_eq!(replayed.code, 0, "{}", replayed.said);
    assert_eq!(recorded.acts("lamp"), replayed.acts("lamp"));
    for what in ["model_calls", "tokens", "status"] {
        let (a, b) = (
            &recorded.finished("lamp")[what],
            &replayed.finished("lamp")[what],
        );
        assert_eq!(a, b, "{what}");
    }
    suite.page("lamp", &PAGE.replace(">Light<", ">Ignite<"));
    let missed = suite.run(&["--fresh", "--replay-model", "tape"]);
    assert_eq!(missed.code, 3, "{}", missed.said);
    let message = missed.finished("lamp")["message"].to_string();
    assert!(
        message.contains("Ignite") && message.contains("Light"),
        "{message}"
    );
}
