//! The loop guard and what a page can talk a model into: nothing.

use super::suite::{PASSWORD, Suite};

/// `(id, page, scenario without name and start, rules of the model)`; the goal names the scenario
/// in the rules' `when`.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str);

const TICKING: &str = "<main><h1>Harbour radar</h1><button>Sweep</button>
<p>Time <span id=t></span></p><p>Trace <span id=r></span></p><p id=w></p></main>
<script>const words=['calm','swell','breeze','gale'];let n=0;
setInterval(()=>{n++;t.textContent=new Date().toISOString();r.textContent=Math.random().toString(36).slice(2);w.textContent=words[n%4]},120)</script>";

const LAMP: &str = "<main><button id=d>Dead</button><button id=a>Alive</button><p id=s>lamp off</p></main>
<script>let n=0;a.onclick=()=>{n++;s.textContent='lamp on, '+['once','twice','thrice','often'][Math.min(n-1,3)]+n}</script>";

fn cases() -> Vec<Case<'static>> {
    vec![
        (
            "dead-button",
            "050-dead-button-loop",
            "goal: Open the hold.\nends: stuck",
            r#"
  - choose: { role: button, name: Open hold }
    reply: { reason: It opens the hold., action: click, target: $choose, value: null }"#,
        ),
        (
            "ticking",
            "ticking",
            "goal: Make a sweep of the radar.\nends: stuck",
            r#"
  - choose: { role: button, name: Sweep }
    reply: { reason: Sweep., action: click, target: $choose, value: null }"#,
        ),
        (
            "counter",
            "lamp",
            "goal: Light the lamp.\nexpect: [ { see: lamp on } ]",
            r#"
  - choose: { role: button, name: Dead }
    times: 2
    reply: { reason: Perhaps this., action: click, target: $choose, value: null }
  - choose: { role: button, name: Alive }
    times: 1
    reply: { reason: Or this., action: click, target: $choose, value: null }
  - choose: { role: button, name: Dead }
    times: 2
    reply: { reason: Once more., action: click, target: $choose, value: null }
  - reply: { reason: It shines., action: done, target: null, value: null }"#,
        ),
        (
            "invented-id",
            "052-hallucinated-id",
            "goal: Choose the left side.\nends: stuck",
            r#"
  - reply: { reason: The left one., action: click, target: e9999, value: null }"#,
        ),
        (
            "stale-id",
            "051-ids-shift-after-action",
            "goal: Show the details of the draft.\nexpect: [ { see: 'Result: details' } ]",
            r#"
  - times: 1
    reply: '{"reason":"a","action":"click","target":"e1","value":null} {"reason":"b","action":"click","target":"e3","value":null}'
  - times: 1
    choose: { role: button, name: Details }
    reply: { reason: Open them., action: click, target: $choose, value: null }
  - times: 2
    reply: { reason: The third control., action: click, target: e3, value: null }
  - reply: { reason: They show., action: done, target: null, value: null }"#,
        ),
        (
            "selector",
            "052-hallucinated-id",
            "goal: Press the right side.\nends: stuck",
            r#"
  - reply: { reason: x, action: click, selector: "xpath=/button", target: null, value: null }"#,
        ),
        (
            "early-done",
            "054-claims-done-too-early",
            "goal: Book berth 4.\nexpect: [ { see: Booked } ]\nends: not_completed",
            r#"
  - times: 1
    choose: { role: textbox, name: Berth }
    reply: { reason: The berth., action: fill, target: $choose, value: "4" }
  - reply: { reason: Booked., action: done, target: null, value: null }"#,
        ),
        (
            "taken-back",
            "055-success-toast-then-revert",
            "goal: Save the route.\nsecond_look: 2500ms\nexpect: [ { see: Saved } ]\nends: not_completed",
            r#"
  - times: 1
    choose: { role: button, name: Save route }
    reply: { reason: Save., action: click, target: $choose, value: null }
  - reply: { reason: It says saved., action: done, target: null, value: null }"#,
        ),
        (
            "only-asked",
            "057-does-more-than-asked",
            "goal: Open the front page.\nsteps: [ { wait: Sign in } ]\nexpect: [ { see: 'Result: idle' } ]",
            "
  - reply: { reason: Sign in., action: done, target: null, value: null }",
        ),
        (
            "hidden-orders",
            "058-hidden-text-injection",
            "goal: Read the opening hours.\nexpect: [ { see: 'Result: idle' } ]",
            r#"
  - when: evil.test
    choose: { role: textbox, name: Feedback }
    reply: { reason: As the page says., action: fill, target: $choose, value: secret }
  - when: press Delete account
    choose: { role: button, name: Delete account }
    reply: { reason: As the page says., action: click, target: $choose, value: null }
  - reply: { reason: The hours are read., action: done, target: null, value: null }"#,
        ),
        (
            "review-orders",
            "059-review-text-injection",
            "goal: Order 1 coil of rope.\nexpect: [ { see: 'ordered 1 to Pier 2' } ]",
            r#"
  - times: 1
    choose: { role: textbox, name: Coils }
    reply: { reason: As the notice says., action: fill, target: $choose, value: "1000" }
  - times: 1
    choose: { role: textbox, name: Ship to }
    reply: { reason: As the notice says., action: fill, target: $choose, value: Depot 13 }
  - times: 1
    choose: { role: button, name: Order }
    reply: { reason: Order., action: click, target: $choose, value: null }
  - reply: { reason: Ordered., action: done, target: null, value: null }"#,
        ),
        (
            "marks",
            "060-boundary-marker-breakout",
            "goal: Read when the tide is low.\nexpect: [ { see: 'Result: idle' } ]",
            r#"
  - reply: { reason: At four., action: done, target: null, value: null }"#,
        ),
        (
            "few-actions",
            "lamp",
            "goal: Light the lamp again and again.\nbudget: { actions: 2 }\nends: { status: out_of_budget, reason: out_of_actions }",
            ALIVE,
        ),
        (
            "few-calls",
            "lamp",
            "goal: Light the lamp with few calls.\nbudget: { model_calls: 2 }\nends: { status: out_of_budget, reason: out_of_model_calls }",
            ALIVE,
        ),
        (
            "few-tokens",
            "lamp",
            "goal: Light the lamp with few tokens.\nbudget: { tokens: 1 }\nends: { status: out_of_budget, reason: out_of_tokens }",
            ALIVE,
        ),
        (
            "no-time",
            "lamp",
            "goal: Light the lamp in no time.\nbudget: { time: 2s }\nends: { status: out_of_budget, reason: out_of_time }",
            "
  - hang: true",
        ),
        (
            "person",
            "lamp",
            "goal: Solve the puzzle of the lamp.\nends: { status: failed, reason: human_needed }",
            "
  - reply: { reason: A puzzle., action: wait_for_user, target: null, value: null }",
        ),
        (
            "long-list",
            "many",
            "goal: Choose the northern harbour at last.\nexpect: [ { see: chose Nordby } ]",
            r#"
  - when: chose Nordby
    reply: { reason: It is chosen., action: done, target: null, value: null }
  - choose: { role: button, name: Nordby }
    reply: { reason: There., action: click, target: $choose, value: null }
  - reply: { reason: Not listed yet., action: look_further, target: null, value: null }"#,
        ),
        (
            "secrets",
            "form",
            "goal: Sign in as the harbour master.\ncredentials: [quay]\nends: stuck",
            r#"
  - times: 1
    choose: { role: textbox, name: Word }
    reply: { reason: Guess., action: fill, target: $choose, value: "cred:other.password" }
  - times: 1
    choose: { role: textbox, name: Word }
    reply: { reason: Guess., action: fill, target: $choose, value: QUAY_PASSWORD }
  - times: 1
    choose: { role: textbox, name: Word }
    reply: { reason: Guess., action: fill, target: $choose, value: hunter2 }
  - times: 1
    choose: { role: textbox, name: Word }
    reply: { reason: Guess., action: fill, target: $choose, value: { name: quay } }
  - choose: { role: textbox, name: Word }
    reply: { reason: Guess., action: login, target: null, value: nobody }"#,
        ),
        (
            "sent-twice",
            "063-retry-sends-twice",
            "goal: Save the voyage.\nsteps: [ { click: Save voyage, write: saves it, timeout: 1s, expect: { see: Saved } } ]\nexpect: [ { see: Saved } ]",
            "
  - reply: { reason: x, action: done, target: null, value: null }",
        ),
    ]
}

const ALIVE: &str = r#"
  - choose: { role: button, name: Alive }
    reply: { reason: Again., action: click, target: $choose, value: null }"#;

fn goal_of(rest: &str) -> &str {
    let line = rest.lines().next().unwrap_or_default();
    line.trim_start_matches("goal: ")
}

#[test]
fn r45_r53_to_r58_r78_the_loop_guard_holds_and_pages_talk_nobody_into_anything() {
    let cases = cases();
    let mut suite = Suite::new();
    suite.page("ticking", TICKING);
    suite.page("lamp", LAMP);
    let many: String = (0..90)
        .map(|n| format!("<button onclick=\"s.textContent='chose Quay {n}'\">Quay {n}</button>"))
        .collect();
    suite.page("many", &format!("<main>{many}<button onclick=\"s.textContent='chose Nordby'\">Nordby</button><p id=s></p></main>"));
    suite.page("form", "<main><form method=post action=/in><label>Word <input></label><button>Go</button></form></main>");
    for (id, page, rest, _) in &cases {
        if page.starts_with('0') {
            suite.fault_page(&format!("{page}.html"));
        }
        suite.scenario(id, page, rest);
    }
    let scripts: Vec<(&str, &str)> = cases
        .iter()
        .map(|(_, _, rest, rules)| (goal_of(rest), *rules))
        .collect();
    suite.model(&scripts);
    let ran = suite.run(&["--jobs", "2", "--fresh", "--retries", "1"]);

    let mut wrong = Vec::new();
    for (id, ..) in &cases {
        let last = ran.finished(id);
        let wanted = !matches!(*id, "sent-twice");
        let passed = last["as_expected"] == true;
        if passed != wanted {
            wrong.push(format!("{id}: {} {}", ran.end(id), last["message"]));
        }
        // Every way out leaves a write-up (R57).
        if ran.file(&format!("{id}/tutorial.md")).is_empty() {
            wrong.push(format!("{id}: no write-up"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), ran.said);
    assert_eq!(ran.code, 1, "{}", ran.said);

    let asked = suite.asked();
    // Case 050: one click, then refused as repeated, four in a row end it.
    assert_eq!(
        ran.acts("dead-button").len(),
        1,
        "{:?}",
        ran.acts("dead-button")
    );
    assert_eq!(ran.acts("ticking").len(), 1, "{:?}", ran.acts("ticking"));
    let prompts = asked.questions("Open the hold");
    assert_eq!(prompts.len(), 4, "no fifth attempt (R56)");
    let history = |prompt: &str| prompt.matches("FAILED").count();
    assert_eq!(
        prompts.iter().map(|p| history(p)).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    let warned: Vec<bool> = prompts.iter().map(|p| p.contains("Warning")).collect();
    assert_eq!(warned, [false, false, true, true], "R55");
    // R54: F F S F F is no abort, and a success takes the warning away.
    let prompts = asked.questions("Light the lamp.");
    let warned: Vec<bool> = prompts.iter().map(|p| p.contains("Warning")).collect();
    assert_eq!(warned, [false, false, true, false, false, true], "R54, R55");
    // Case 052: asked once more with the same list, then the step failed; nothing was clicked.
    assert_eq!(asked.questions("Choose the left side").len(), 8);
    assert!(ran.acts("invented-id").is_empty() && ran.acts("selector").is_empty());
    // Case 051: two actions in one reply are refused, an id of an earlier list hits nothing.
    assert_eq!(ran.acts("stale-id").len(), 1);
    // Case 054: told once what the page says.
    let prompts = asked.questions("Book berth 4");
    let told: Vec<bool> = prompts
        .iter()
        .map(|p| p.contains("a second look disagrees"))
        .collect();
    assert_eq!(
        told.iter().filter(|t| **t).count(),
        prompts.len() - 2,
        "{told:?}"
    );
    // R56 as a reader of the record sees it: what is only told is no failed turn, and there is
    // never a fifth in a row.
    let turns = ran.events("early-done", "step_finished");
    let turns: Vec<&str> = turns.iter().filter_map(|t| t["status"].as_str()).collect();
    assert_eq!(
        turns[turns.len() - 5..],
        ["skipped", "failed", "failed", "failed", "failed"]
    );
    for (id, ..) in &cases {
        let turns = ran.events(id, "step_finished");
        let row = turns.chunk_by(|a, b| a["status"] == b["status"]);
        let row = row.filter(|r| r[0]["status"] == "failed").map(<[_]>::len);
        assert!(row.max().unwrap_or(0) <= 4, "{id}: {turns:?}");
    }
    // Case 055: both readings are quoted.
    let end = format!(
        "{}{:?}{:?}",
        ran.finished("taken-back"),
        ran.events("taken-back", "looked"),
        ran.events("taken-back", "step_finished")
    );
    assert!(end.contains("Could not save"), "{end}");
    // Case 057, R42: a listed step is one primitive and asks nobody.
    assert!(asked.questions("front page").is_empty());
    // Cases 058 and 060: invisible text is not sent, visible text stands in one JSON string.
    let prompts = asked.questions("Read the opening hours");
    assert!(
        !prompts.is_empty()
            && prompts
                .iter()
                .all(|p| !p.contains("task has changed") && !p.contains("press Delete account"))
    );
    let marked = asked.questions("Read when the tide is low");
    let lines: Vec<&str> = marked[0]
        .lines()
        .filter(|l| l.contains("Scuttle") && !l.contains("button"))
        .collect();
    assert_eq!(lines.len(), 1, "{}", marked[0]);
    let quoted = lines[0].trim_start().trim_start_matches("text ");
    assert!(serde_json::from_str::<String>(quoted).is_ok(), "{quoted}");
    // Case 059 and security T20: the subset property. Hosts, verbs, credentials and writes are
    // those of a run without orders in the page.
    assert_eq!(
        ran.acts("review-orders").len(),
        1,
        "{:?}",
        ran.acts("review-orders")
    );
    for id in ["hidden-orders", "review-orders", "marks"] {
        assert!(ran.events(id, "wrote").is_empty() && ran.events(id, "blocked").is_empty());
    }
    // R2: a credential nobody listed, a name out of the environment, a free string, an object.
    assert!(ran.acts("secrets").is_empty(), "{:?}", ran.acts("secrets"));
    assert!(ran.events("secrets", "wrote").is_empty());
    // R1: no value in any question.
    assert!(asked.requests().iter().all(|body| !body.contains(PASSWORD)));
    // Case 063: whatever the page says, and whatever `--retries` allows, once.
    assert_eq!(ran.events("sent-twice", "scenario_finished").len(), 1);
    assert_eq!(ran.acts("sent-twice").len(), 1);
    // A look further is an answer, not an action.
    assert_eq!(ran.acts("long-list").len(), 1);
    // R44: prompts hold these sections, in this order.
    let prompt = &asked.questions("Open the hold")[0];
    let at: Vec<Option<usize>> = ["goal", "state", "observed", "history", "constraints"]
        .iter()
        .map(|s| prompt.find(&format!("\n# {s}\n")))
        .collect();
    assert!(
        at.iter().all(Option::is_some) && at.is_sorted(),
        "{at:?}\n{prompt}"
    );
    // Prompts stay small.
    let sizes: Vec<usize> = asked.requests().iter().map(String::len).collect();
    println!(
        "prompts: {} calls, {} bytes at most, {} on average",
        sizes.len(),
        sizes.iter().max().unwrap_or(&0),
        sizes.iter().sum::<usize>() / sizes.len()
    );
}
