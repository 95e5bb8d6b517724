//! The room's Rust side against scripted answers; the JavaScript is held by `ci/tests/e2e`.

use std::ops::Range;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::acts::{self, Obstacle, Purpose};
use super::*;

/// Answers by function name, one after the other; an unknown call is an error.
struct Script {
    answers: Mutex<Vec<(String, &'static str, Value)>>,
    calls: Mutex<Vec<(String, String)>>,
}

impl Script {
    fn new(answers: Vec<(&str, &'static str, Value)>) -> Self {
        Self {
            answers: Mutex::new(
                answers
                    .into_iter()
                    .map(|(context, name, value)| (context.to_owned(), name, value))
                    .collect(),
            ),
            calls: Mutex::default(),
        }
    }
}

impl Realm for Script {
    async fn call_function(
        &self,
        context: &str,
        sandbox: &str,
        declaration: &str,
        arguments: Vec<Value>,
        _: Option<Value>,
    ) -> Result<Value, CallFault> {
        assert_eq!(sandbox, script::SANDBOX);
        let name = if declaration == script::INSTALL {
            "install".to_owned()
        } else {
            arguments[0]["value"].as_str().unwrap().to_owned()
        };
        self.calls
            .lock()
            .unwrap()
            .push((context.to_owned(), name.clone()));
        let mut answers = self.answers.lock().unwrap();
        let at = answers
            .iter()
            .position(|(c, n, _)| c == context && *n == name);
        match at {
            Some(at) => Ok(answers.remove(at).2),
            None => Err(CallFault::Refused(format!("{name} in {context}"))),
        }
    }
}

fn text(value: Value) -> Value {
    json!({"type": "string", "value": value.to_string()})
}

/// A document with one button, one text field in a frame path and a heading.
fn answer(url: &str) -> Value {
    json!({
        "v": "x", "generation": 3, "url": url, "title": "Pier", "ready": true, "focus": 1,
        "text": "Größe\u{7f}matrose@pier.test sign in",
        "roles": ["heading", "textbox", "button"], "tags": ["h1", "input", "button"], "frames": [["Inner"]],
        "parent": [0, 0, 0], "kind": [0, 1, 2], "kinds": [0, 0, 1048578, 1, 1, 3, 2, 2, 1048579], "name": "\u{7f}Berth\u{7f}",
        "start": [0, 6, 18], "length": [5, 0, 7], "rect": [0, 0, 10, 10, 0, 0, -1, -1, 1, 2, 3, 4],
        "frame": [-1, 0, -1],
        "type": [[1], "text"], "testId": [[], ""], "href": [[], ""], "hints": [[1, 2], "berth"],
        "value": [[1], "matrose@pier.test"], "options": [[], ""], "disabledBy": [[], ""], "level": [0, 1],
        "column": [[], ""], "styled": [[], ""], "unread": [], "owned": [], "suspects": 0, "sought": []
    })
}

fn all(_: &str) -> bool {
    true
}

fn wave<'a>(scrub: &'a dyn Scrub, allowed: &'a (dyn Fn(&str) -> bool + Sync)) -> Wave<'a> {
    Wave {
        generation: 3,
        scrub,
        allowed,
        sought: &[],
    }
}

struct Mate;
impl Scrub for Mate {
    fn find(&self, text: &str) -> Vec<(Range<usize>, String)> {
        text.match_indices("matrose@pier.test")
            .map(|(at, hit)| (at..at + hit.len(), "‹pier.username›".to_owned()))
            .collect()
    }
}

#[tokio::test]
async fn a_read_is_decoded_with_byte_ranges_and_names_from_text() {
    let realm = Script::new(vec![("top", "read", text(answer("http://pier.test/")))]);
    let reading = observe(&realm, "top", &wave(&Nothing, &all)).await.unwrap();
    let page = &reading.observation;
    let nodes: Vec<_> = page.nodes().collect();
    assert_eq!(nodes[0].1.name, "Größe");
    assert_eq!(page.text_of(nodes[0].0), "Größe");
    assert_eq!(nodes[2].1.name, "sign in");
    assert_eq!(page.text_of(nodes[2].0), "sign in");
    assert_eq!(nodes[1].1.name, "Berth");
    assert_eq!(nodes[1].1.frames, ["Inner"]);
    assert_eq!(nodes[1].1.rect, None);
    assert_eq!(nodes[0].1.states.level, Some(1));
    assert_eq!(page.documents[0].focus, Some(1));
    assert_eq!(reading.marks, [Vec::<u32>::new()]);
}

#[tokio::test]
async fn a_registered_value_leaves_neither_text_nor_values_and_places_follow() {
    let realm = Script::new(vec![("top", "read", text(answer("http://pier.test/")))]);
    let reading = observe(&realm, "top", &wave(&Mate, &all)).await.unwrap();
    let page = &reading.observation;
    assert!(!format!("{page:?}").contains("matrose"));
    let nodes: Vec<_> = page.nodes().collect();
    assert_eq!(page.text_of(nodes[2].0), "sign in");
    assert_eq!(nodes[1].1.states.value.as_deref(), Some("‹pier.username›"));
    // UTF-16 places in the page's own text: "Größe\n" has 6 units.
    assert_eq!(reading.marks, [vec![6, 23]]);
}

#[tokio::test]
async fn r18_an_element_a_style_sheet_writes_a_value_into_is_named() {
    let mut read = answer("http://pier.test/");
    read["styled"] = json!([[2, 5], "Hi matrose@pier.test\u{7f}new"]);
    let realm = Script::new(vec![("top", "read", text(read))]);
    let reading = observe(&realm, "top", &wave(&Mate, &all)).await.unwrap();
    let nodes: Vec<u32> = reading.styled.iter().map(|id| id.node).collect();
    assert_eq!(nodes, [2]);
}

#[tokio::test]
async fn an_absent_reader_is_installed_once() {
    let realm = Script::new(vec![
        (
            "top",
            "read",
            json!({"type": "string", "value": script::ABSENT}),
        ),
        ("top", "install", json!({"type": "undefined"})),
        ("top", "read", text(answer("http://pier.test/"))),
    ]);
    observe(&realm, "top", &wave(&Nothing, &all)).await.unwrap();
    let calls = realm.calls.lock().unwrap();
    let names: Vec<&str> = calls.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["read", "install", "read"]);
}

#[tokio::test]
async fn case_020_a_frame_of_another_origin_is_read_in_its_own_context() {
    let mut top = answer("http://shop.test/");
    top["owned"] = json!([[2, "https://pay.test/form"]]);
    let windows =
        json!({"type": "array", "value": [{"type": "window", "value": {"context": "pay"}}]});
    let realm = Script::new(vec![
        ("top", "read", text(top)),
        ("top", "frameWindows", windows),
        ("pay", "read", text(answer("https://pay.test/form"))),
    ]);
    let page = observe(&realm, "top", &wave(&Nothing, &all))
        .await
        .unwrap()
        .observation;
    assert_eq!(page.documents.len(), 2);
    let owner = page.documents[1].owner.unwrap();
    assert_eq!((owner.document, owner.node), (0, 2));
    assert_eq!(page.documents[1].nodes[0].frames, ["sign in"]);
    assert_eq!(page.documents[1].nodes[1].frames, ["sign in", "Inner"]);
}

#[tokio::test]
async fn case_020_a_frame_the_policy_forbids_is_named_and_not_listed() {
    let mut top = answer("http://shop.test/");
    top["owned"] = json!([[2, "https://ads.test/x"]]);
    let windows =
        json!({"type": "array", "value": [{"type": "window", "value": {"context": "ads"}}]});
    let realm = Script::new(vec![
        ("top", "read", text(top)),
        ("top", "frameWindows", windows),
        ("ads", "read", text(answer("https://ads.test/x"))),
    ]);
    let allowed = |url: &str| !url.contains("ads.test");
    let page = observe(&realm, "top", &wave(&Nothing, &allowed))
        .await
        .unwrap()
        .observation;
    assert_eq!(page.documents.len(), 1);
    assert_eq!(page.unread[0].kind, UnreadKind::FrameNotAllowed);
    assert_eq!(page.unread[0].what, "https://ads.test/x");
}

#[tokio::test]
async fn an_answer_of_another_shape_is_an_error_not_a_panic() {
    for (key, value) in [
        ("kind", json!([0])),
        ("parent", json!([1, 0, 0])),
        ("level", json!([99, 1])),
        ("kind", json!([0, 1, 77])),
        ("kinds", json!([0, 0, 0, 77, 0, 0, 0, 0, 0])),
        ("generation", json!(2)),
    ] {
        let mut bad = answer("http://pier.test/");
        bad[key] = value;
        let realm = Script::new(vec![("top", "read", text(bad))]);
        let result = observe(&realm, "top", &wave(&Nothing, &all)).await;
        assert!(matches!(result, Err(ReadError::Shape { .. })), "{key}");
    }
}

#[tokio::test]
async fn case_032_an_obstacle_says_what_covers() {
    let id = NodeId {
        generation: 3,
        document: 0,
        node: 2,
    };
    let realm = Script::new(vec![
        (
            "top",
            "prepare",
            text(json!({"ok": false, "reason": "covered", "by": "dialog \"Cookie choices\""})),
        ),
        (
            "top",
            "prepare",
            text(json!({"ok": false, "reason": "disabled", "by": "fieldset \"Cargo\""})),
        ),
        (
            "top",
            "prepare",
            text(json!({"ok": true, "x": 4.5, "y": 2, "via": "label"})),
        ),
    ]);
    let mut said = Vec::new();
    for _ in 0..2 {
        let obstacle = acts::prepare(&realm, "top", id, Purpose::Click)
            .await
            .unwrap()
            .unwrap_err();
        said.push(obstacle.to_string());
    }
    assert_eq!(
        said,
        [
            "covered by dialog \"Cookie choices\"",
            "disabled by fieldset \"Cargo\""
        ]
    );
    let point = acts::prepare(&realm, "top", id, Purpose::Click)
        .await
        .unwrap()
        .unwrap();
    assert!(point.on_label && point.x == 4.5);
    assert_eq!(Obstacle::Disabled(None).to_string(), "disabled");
}
