//! Pass rates over repeated attempts, and retries.

use super::suite::Suite;

const PAGE: &str =
    "<main><button onclick=\"s.textContent='lamp on'\">Light</button><p id=s></p></main>";
const RULES: &str = r#"
  - times: 1
    reply: { reason: I can't see a way., action: stuck, target: null, value: null }
  - when: lamp on
    reply: { reason: It shines., action: done, target: null, value: null }
  - choose: { role: button, name: Light }
    reply: { reason: Press it., action: click, target: $choose, value: null }"#;

fn suite() -> Suite {
    let mut suite = Suite::new();
    suite.page("lamp", PAGE);
    suite.scenario(
        "lamp",
        "lamp",
        "goal: Light the lamp.\nexpect: [ { see: lamp on } ]",
    );
    suite.model(&[("Light the lamp", RULES)]);
    suite
}

#[test]
fn r66_a_rate_has_its_interval_a_minimum_gates_and_a_retry_that_passes_is_flaky() {
    let suite = suite();
    let ran = suite.run(&[
        "--fresh",
        "--repeat",
        "4",
        "--jobs",
        "2",
        "--min-rate",
        "0.25",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.said);
    let rated = ran.events("lamp", "rated");
    assert_eq!(rated.len(), 1);
    assert_eq!(
        (rated[0]["passed"].as_u64(), rated[0]["of"].as_u64()),
        (Some(3), Some(4))
    );
    let (low, high) = (
        rated[0]["low"].as_f64().unwrap_or(0.0),
        rated[0]["high"].as_f64().unwrap_or(0.0),
    );
    assert!(
        (low - 0.3006).abs() < 1e-3 && (high - 0.9544).abs() < 1e-3,
        "{low} {high}"
    );
    let junit = ran.file("junit.xml");
    assert_eq!(junit.matches("<testcase").count(), 1, "{junit}");
    for part in ["pass-rate", "3/4", "model-calls", "tokens"] {
        assert!(junit.contains(part), "{part} is not in\n{junit}");
    }
    // How runs ended, each with its own evidence.
    let failed: Vec<u64> = ran
        .events("lamp", "scenario_finished")
        .iter()
        .filter(|e| e["status"] == "stuck")
        .filter_map(|e| e["attempt"].as_u64())
        .collect();
    assert_eq!(failed.len(), 1);
    let folder = if failed[0] == 1 {
        "lamp".to_owned()
    } else {
        format!("lamp/attempt-{}", failed[0])
    };
    assert!(
        !ran.file(&format!("{folder}/tutorial.md")).is_empty(),
        "evidence of the failed attempt"
    );
    assert!(
        ran.file("report.html").contains("3 of 4"),
        "the report says the rate"
    );

    suite.asked().forget();
    let ran = suite.run(&["--fresh", "--repeat", "3", "--min-rate", "0.9"]);
    assert_eq!(ran.code, 1, "the lower bound is below: {}", ran.said);

    suite.asked().forget();
    let ran = suite.run(&["--fresh", "--retries", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.said);
    assert_eq!(
        ran.events("lamp", "scenario_finished").len(),
        2,
        "every attempt is kept"
    );
    assert!(
        ran.file("junit.xml").contains("flaky"),
        "{}",
        ran.file("junit.xml")
    );
    suite.asked().forget();
    let ran = suite.run(&["--fresh", "--retries", "1", "--fail-on-flaky"]);
    assert_eq!(ran.code, 1, "{}", ran.said);
}
