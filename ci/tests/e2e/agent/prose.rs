//! A model words tutorials: held to the facts, and asked again only when the workflow changed.

use super::suite::{Ran, Suite};

const PAGE: &str = "<main><h1>Quay</h1><button onclick=\"s.textContent='lamp on'\">Light</button>\
     <button onclick=\"s.textContent='horn heard'\">Blow horn</button><p id=s></p></main>";
const QUESTION: &str = "Word the tutorial below";

/// A suite whose model words every tutorial with these two captions.
fn suite(first: &str, second: &str) -> Suite {
    let mut suite = Suite::new();
    suite.page("quay", PAGE);
    steps(&suite, "Light");
    let reply = format!(
        r#"
  - reply:
      title: Greet a ship
      introduction: A keeper greets every ship that comes in.
      steps:
        - {{ picture: 1, caption: "{first}", text: Ships see the quay now. }}
        - {{ picture: 2, caption: "{second}", text: Ships hear it. }}
      conclusion: The ship was greeted."#
    );
    suite.model(&[(QUESTION, &reply)]);
    suite
}

fn steps(suite: &Suite, first: &str) {
    suite.scenario(
        "quay",
        "quay",
        &format!(
            "steps:\n  - click: {first}\n    expect: {{ see: lamp on }}\n  - click: Blow horn\nexpect: [ {{ see: horn heard }} ]\ntutorial: {{ prose: model }}"
        ),
    );
}

fn told(ran: &Ran) -> String {
    ran.file("quay/tutorial.md")
}

#[test]
fn r60_a_model_words_a_tutorial_once_for_each_workflow() {
    let suite = suite("Light the quay", "Press “Blow horn”");
    let first = suite.run(&[]);
    assert_eq!(first.code, 0, "{}", first.said);
    let tutorial = told(&first);
    for words in [
        "# Greet a ship",
        "Ships see the quay now",
        "The ship was greeted",
    ] {
        assert!(tutorial.contains(words), "{words}: {tutorial}");
    }
    assert_eq!(suite.asked().questions(QUESTION).len(), 1);

    // What was approved for this workflow stays, and nobody is asked.
    suite.accept();
    suite.asked().forget();
    let again = suite.run(&[]);
    assert_eq!(again.code, 0, "{}", again.said);
    assert_eq!(suite.asked().questions(QUESTION).len(), 0, "{}", again.said);
    assert_eq!(suite.pending_tutorial("quay"), None);

    // Another workflow: asked again, and proposed.
    suite.page("quay", &PAGE.replace(">Light<", ">Light up<"));
    steps(&suite, "Light up");
    let changed = suite.run(&[]);
    assert_eq!(
        suite.asked().questions(QUESTION).len(),
        1,
        "{}",
        changed.said
    );
    assert!(suite.pending_tutorial("quay").is_some(), "{}", changed.said);
}

#[test]
fn r60_words_that_are_no_facts_are_refused_and_the_rules_stand() {
    let suite = suite("Press “Sink”", "Press “Blow horn”");
    let ran = suite.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.said);
    let tutorial = told(&ran);
    assert!(
        tutorial.contains("Light") && !tutorial.contains("Sink"),
        "{tutorial}"
    );
    assert!(
        ran.said.contains("“Sink”, which did not occur"),
        "{}",
        ran.said
    );
}
