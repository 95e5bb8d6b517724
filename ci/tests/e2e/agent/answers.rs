//! Servers that misbehave, seen through the whole program: what is an outage (exit 3), what is an
//! answer that can't be used (exit 1), what is mended on the way. Cases 117 to 133 in full are the
//! agent room's own tests.

use super::suite::Suite;

const CASES: [(&str, &str, &str, &str); 8] = [
    (
        "busy",
        "limits its rate",
        "passed/completed",
        r#"
  - times: 1
    status: 429
    headers: { retry-after: "0" }
    raw: { error: { message: slow down } }
  - choose: { role: button, name: Light }
    reply: { id: $choose }"#,
    ),
    (
        "quota",
        "has no credit",
        "environment/model_unavailable",
        r#"
  - status: 429
    raw: { error: { code: insufficient_quota, message: no credit left } }"#,
    ),
    (
        "broken",
        "is down",
        "environment/model_unavailable",
        r#"
  - status: 503
    headers: { retry-after: "0" }
    raw: "<html>unavailable</html>""#,
    ),
    (
        "hung",
        "never answers",
        "environment/model_unavailable",
        "
  - hang: true",
    ),
    (
        "prose",
        "only chats",
        "failed/model_answer",
        "
  - reply: I would press the big one.",
    ),
    (
        "cut",
        "stops short",
        "failed/model_answer",
        r#"
  - reply: '{"id": "e'
    finish_reason: length"#,
    ),
    (
        "fenced",
        "likes fences",
        "passed/completed",
        r#"
  - choose: { role: button, name: Light }
    reply: "```json\n{\"id\": \"$choose\"}\n```""#,
    ),
    (
        "silent",
        "thinks only",
        "failed/model_answer",
        r#"
  - raw: { choices: [ { finish_reason: stop, message: { role: assistant, content: null, reasoning_content: '{"id": "e1"}' } } ] }"#,
    ),
];

#[test]
fn cases_117_to_133_outages_exit_with_3_and_useless_answers_with_1() {
    let mut suite = Suite::new();
    suite.page("lamp", "<main><button onclick=\"s.textContent='lamp on'\">Light</button><button>Fan</button><p id=s></p></main>");
    suite.write("rehearsal.toml", "[model]\ntimeout = \"2s\"\n");
    let mut scripts = Vec::new();
    for (id, about, _, rules) in CASES {
        suite.scenario(
            id,
            "lamp",
            &format!(
                "steps: [ Click the thing of the one that {about} ]\nexpect: [ {{ see: lamp on }} ]"
            ),
        );
        scripts.push((about, rules));
    }
    suite.model(&scripts);
    let ran = suite.run(&["--jobs", "2", "--fresh"]);
    for (id, _, end, _) in CASES {
        assert_eq!(ran.end(id), end, "{id}: {}\n{}", ran.finished(id), ran.said);
    }
    assert_eq!(ran.code, 3, "the gravest: {}", ran.said);
    let useless = suite.run(&["prose", "cut", "silent", "--fresh"]);
    assert_eq!(useless.code, 1, "{}", useless.said);
    let message = |id: &str| useless.finished(id)["message"].to_string();
    assert!(
        message("cut").contains("max_tokens") || message("cut").contains("limit"),
        "{}",
        message("cut")
    );
    assert!(
        message("silent").contains("reasoning"),
        "{}",
        message("silent")
    );
}
