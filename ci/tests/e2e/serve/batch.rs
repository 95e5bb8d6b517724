//! R33: one gate for the actions of one page, each good for itself, in their order and no further than
//! the page stays what it was.

use serde_json::{Value, json};

use super::rig::{Answer, Running, Serving, Tokens, folder_site};

/// `Other` changes a field that was set before; `Sneaky` one that nobody set.
const PAGE: &str = r#"<!doctype html><html lang="en"><title>Desk</title><h1>Desk</h1>
<form action="/sent.html" method="get">
<input type="hidden" name="to" value="me">
<p><label>Note <input name="note" value="one"></label></p>
<p><label><input type="checkbox" name="urgent"> Urgent</label></p>
<p><label>Other <input name="other" oninput="form.note.value = 'evil'"></label></p>
<p><label>Sneaky <input name="sneaky" oninput="form.to.value = 'evil'"></label></p>
<p><button>File</button></p>
</form>
<p><a href="http://localhost:9/">Elsewhere</a></p>"#;

const SENT: &str = r#"<!doctype html><html lang="en"><title>Sent</title><h1>Sent</h1><output id="q"></output>
<script>document.getElementById('q').textContent = 'got ' + location.search;</script>"#;

struct Desk {
    serving: Serving,
    tokens: Tokens,
    session: String,
    _site: Running,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("index.html"), PAGE).expect("a page");
        std::fs::write(folder.path().join("sent.html"), SENT).expect("a page");
        let site = folder_site(folder.path());
        let (serving, tokens) = Serving::start("http://parcels.test", &[]);
        let session = serving.open(&tokens.ada, &format!("http://{}/index.html", site.at));
        Self {
            serving,
            tokens,
            session,
            _site: site,
            _folder: folder,
        }
    }

    fn batch(&self, actions: &[Value], approval: Option<&Value>) -> Answer {
        let mut body = json!({ "actions": actions });
        if let Some(approval) = approval {
            body["approval"] = approval.clone();
        }
        let path = format!("/sessions/{}/batch", self.session);
        self.serving
            .call(&self.tokens.ada, "POST", &path, Some(body))
    }

    fn consent(&self, asked: &Answer) -> Value {
        self.serving.consent(&self.tokens, &self.session, asked)
    }

    /// Back to the page as it was.
    fn fresh(&self) {
        let body = json!({ "step": { "goto": "/index.html" } });
        let answer = self.serving.act(&self.tokens.ada, &self.session, body);
        assert_eq!(answer.body["ok"], true, "{}", answer.raw);
    }

    fn read(&self) -> Value {
        let path = format!("/sessions/{}/read?picture=false", self.session);
        self.serving.call(&self.tokens.ada, "GET", &path, None).body
    }

    fn is_unsent(&self) {
        let page = self.read();
        assert!(page["url"].to_string().contains("/index.html"), "{page}");
    }
}

fn stopped(answer: &Answer, at: usize, reason: &str) {
    let told = &answer.body;
    assert_eq!(
        (&told["stopped_at"], &told["reason"]),
        (&json!(at), &json!(reason)),
        "{}",
        answer.raw
    );
    assert_eq!(
        told["done"].as_array().map(Vec::len),
        Some(at - 1),
        "{}",
        answer.raw
    );
}

#[test]
fn r33_one_gate_shows_every_action_and_each_is_used_up_in_its_turn() {
    let desk = Desk::open();
    let fill = json!({ "sentence": "Fill Note with \"two\"" });
    let check = json!({ "step": { "check": "Urgent" } });
    let file = json!({ "step": { "click": "button \"File\"" } });
    let all = [fill.clone(), check.clone(), file.clone()];

    let asked = desk.batch(&all, None);
    assert_eq!(
        (asked.status, &asked.body["risk"]),
        (428, &json!("submit")),
        "{}",
        asked.raw
    );
    let waiting = desk
        .serving
        .call(&desk.tokens.approver, "GET", "/approvals/pending", None);
    let waiting = waiting.body["pending"].as_array().expect("a list").clone();
    assert_eq!(waiting.len(), 1, "one gate");
    assert!(waiting[0]["picture"].is_string());
    let lines: Vec<&str> = waiting[0]["summary"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let places: Vec<usize> = [
        "1. Fill textbox \"Note\" with \"two\".",
        "2. Check checkbox \"Urgent\".",
        "3. Click button \"File\".",
    ]
    .iter()
    .map(|says| {
        lines
            .iter()
            .position(|l| l == says)
            .unwrap_or_else(|| panic!("{says}: {lines:?}"))
    })
    .collect();
    assert!(places.is_sorted(), "{lines:?}");
    for told in [
        "Sends a form: GET",
        "note: as action 1 leaves it",
        "urgent: as action 2 leaves it",
        "to: hidden by the page",
    ] {
        assert!(lines.iter().any(|l| l.contains(told)), "{told}: {lines:?}");
    }
    desk.is_unsent();
    assert!(
        desk.read()["candidates"].to_string().contains("\"one\""),
        "filled before the yes"
    );

    let given = desk.consent(&asked);
    let done = desk.batch(&all, Some(&given));
    assert_eq!(
        done.body["done"].as_array().map(Vec::len),
        Some(3),
        "{}",
        done.raw
    );
    let text = desk.read()["text"].to_string();
    assert!(text.contains("got ?to=me&note=two&urgent=on"), "{text}");
    // Used up, each of them.
    desk.fresh();
    stopped(&desk.batch(&all, Some(&given)), 1, "consent_invalid");
    desk.is_unsent();

    // Out of order: nothing is done, and the order that was approved is worth nothing any more.
    let asked = desk.batch(&all, None);
    let given = desk.consent(&asked);
    stopped(
        &desk.batch(&[check.clone(), fill.clone(), file.clone()], Some(&given)),
        1,
        "consent_invalid",
    );
    stopped(&desk.batch(&all, Some(&given)), 1, "consent_invalid");
    // One of a batch is not one alone.
    let asked = desk.batch(&[file.clone(), check.clone()], None);
    let mut alone = file.clone();
    alone["approval"] = desk.consent(&asked);
    let alone = desk.serving.act(&desk.tokens.ada, &desk.session, alone);
    assert_eq!(alone.body["reason"], "consent_invalid", "{}", alone.raw);
    desk.is_unsent();
    let audit = desk.serving.audit();
    assert!(audit.contains("the action is another one"), "{audit}");

    // What needs no consent needs no gate; another owner has no such session.
    assert_eq!(desk.batch(&[fill.clone(), check], None).body["ok"], true);
    let path = format!("/sessions/{}/batch", desk.session);
    let body = json!({ "actions": [fill] });
    let foreign = desk
        .serving
        .call(&desk.tokens.bob, "POST", &path, Some(body));
    assert_eq!(foreign.status, 404, "{}", foreign.raw);
}

#[test]
fn r33_r81_a_batch_stops_where_the_page_changed_and_says_so() {
    let desk = Desk::open();
    let fill = |name: &str| json!({ "step": { "fill": name, "with": "two" } });
    let file = json!({ "step": { "click": "button \"File\"" } });
    let refill = |page: &str| {
        let candidates = desk.read()["candidates"].to_string();
        assert!(candidates.contains(page), "{page}: {candidates}");
    };
    // A field that was set changes again; then one that the batch never named.
    for actions in [
        vec![fill("Note"), fill("Other"), file.clone()],
        vec![fill("Sneaky"), file.clone()],
    ] {
        let last = actions.len();
        let asked = desk.batch(&actions, None);
        let given = desk.consent(&asked);
        let told = desk.batch(&actions, Some(&given));
        stopped(&told, last, "consent_invalid");
        let says = format!("action {last} of {last} was not done");
        assert!(
            told.body["error"].to_string().contains(&says),
            "{}",
            told.raw
        );
        refill("two");
        desk.is_unsent();
        desk.fresh();
    }
    assert!(
        desk.serving
            .audit()
            .contains("the page changed since it was approved")
    );
    // A middle one that is not there is told before anybody is asked.
    let missing = [
        fill("Note"),
        json!({ "step": { "click": "button \"Nothing\"" } }),
        file.clone(),
    ];
    let told = desk.batch(&missing, None);
    assert_eq!(
        (&told.body["stopped_at"], &told.body["reason"]),
        (&json!(2), &json!("not_found")),
        "{}",
        told.raw
    );
    let away = [
        file.clone(),
        json!({ "step": { "click": "link \"Elsewhere\"" } }),
    ];
    let told = desk.batch(&away, None);
    assert_eq!(
        (&told.body["stopped_at"], &told.body["reason"]),
        (&json!(2), &json!("malformed")),
        "{}",
        told.raw
    );
    let waiting = desk
        .serving
        .call(&desk.tokens.approver, "GET", "/approvals/pending", None);
    assert_eq!(waiting.body["pending"], json!([]));
    let mut own = file;
    own["approval"] = json!({ "id": "x", "token": "y" });
    assert_eq!(desk.batch(&[own], None).body["reason"], "malformed");
    assert_eq!(desk.batch(&[], None).body["reason"], "malformed");
    desk.is_unsent();
}
