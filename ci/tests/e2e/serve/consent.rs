//! What needs a person's yes, and what that yes is worth.

use serde_json::{Value, json};

use super::rig::{Serving, Tokens, command, folder_site, site};

/// A page whose buttons send by script, whose links lead away, and which changes at a wish.
const PAGE: &str = r#"<!doctype html><html lang="en"><title>Desk</title><h1>Desk</h1>
<p role="status" id="out">nothing sent</p>
<button onclick="send('/approved')">Archive</button>
<button onclick="document.getElementById('b').textContent='Archive all'">Rename</button>
<button onclick="document.getElementById('note').value='other'">Refill</button>
<form action="/sent.html" method="get"><label>Note <input id="note" name="note" value="one"></label><button id="b">File</button></form>
<a href="http://localhost:9/elsewhere">Elsewhere</a>
<script>async function send(path) { let told; try { told = (await fetch(path, { method: 'POST', body: 'x' })).status; } catch (e) { told = 'stopped'; } document.getElementById('out').textContent = 'sent: ' + told; }</script>"#;

struct Desk {
    serving: Serving,
    tokens: Tokens,
    session: String,
    _site: super::rig::Running,
    _folder: tempfile::TempDir,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("index.html"), PAGE).expect("a page");
    std::fs::write(
        folder.path().join("sent.html"),
        "<!doctype html><html lang=en><title>Sent</title><h1>Sent</h1>",
    )
    .expect("a page");
    let site = folder_site(folder.path());
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let session = serving.open(&tokens.ada, &format!("http://{}/index.html", site.at));
    Desk {
        serving,
        tokens,
        session,
        _site: site,
        _folder: folder,
    }
}

impl Desk {
    fn act(&self, body: Value) -> super::rig::Answer {
        self.serving.act(&self.tokens.ada, &self.session, body)
    }

    fn click(&self, name: &str) -> Value {
        json!({ "step": { "click": format!("button \"{name}\"") } })
    }

    fn with(&self, body: Value, approval: &Value) -> super::rig::Answer {
        let mut body = body;
        body["approval"] = approval.clone();
        self.act(body)
    }

    fn text(&self) -> String {
        let path = format!("/sessions/{}/read?picture=false", self.session);
        let read = self.serving.call(&self.tokens.ada, "GET", &path, None);
        read.body["text"].as_str().expect("text").to_owned()
    }
}

#[test]
fn r79_r80_r81_submit_post_and_new_hosts_need_a_consent_that_holds_for_one_action() {
    let desk = desk();
    let (serving, tokens) = (&desk.serving, &desk.tokens);

    // A submit, foreseen: nothing is sent before the yes, and a replay is worth nothing.
    let file = desk.click("File");
    let asked = desk.act(file.clone());
    assert_eq!(
        (asked.status, &asked.body["risk"]),
        (428, &json!("submit")),
        "{}",
        asked.raw
    );
    assert!(
        asked.body["summary"]
            .as_array()
            .is_some_and(|lines| lines.contains(&json!("note: \"one\""))),
        "{}",
        asked.raw
    );
    let waiting = serving.call(&tokens.approver, "GET", "/approvals/pending", None);
    assert!(
        waiting.body["pending"][0]["picture"].is_string(),
        "R33: {}",
        waiting.raw.len()
    );
    let id = asked.body["approval_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let claim = format!("/sessions/{}/approvals/{id}/token", desk.session);
    // Before the answer there is no token; another owner never gets one.
    let early = serving.call(&tokens.ada, "POST", &claim, Some(json!({})));
    assert_eq!(early.body["status"], "pending", "{}", early.raw);
    let foreign = serving.call(&tokens.bob, "POST", &claim, Some(json!({})));
    assert_eq!(foreign.status, 404, "{}", foreign.raw);
    let given = serving.consent(tokens, &desk.session, &asked);
    let token = given["token"].as_str().expect("a token");
    assert!(token.starts_with("rhc_") && token.len() > 40);
    assert!(
        serving
            .call(&tokens.ada, "POST", &claim, Some(json!({})))
            .body["approval"]
            .is_null(),
        "given out twice"
    );

    // For another action it isn't; and it is used up by trying.
    let other = desk.with(desk.click("Archive"), &given);
    assert_eq!(other.body["reason"], "consent_invalid", "{}", other.raw);
    assert_eq!(
        desk.with(file.clone(), &given).body["reason"],
        "consent_invalid"
    );
    assert!(desk.text().contains("Desk"), "it was sent");

    // R81: a change of the form's value kills it, a change elsewhere doesn't.
    let asked = desk.act(file.clone());
    let given = serving.consent(tokens, &desk.session, &asked);
    assert_eq!(desk.act(desk.click("Refill")).body["ok"], true);
    assert_eq!(
        desk.with(file.clone(), &given).body["reason"],
        "consent_invalid"
    );
    // So does a reload.
    let asked = desk.act(file.clone());
    let given = serving.consent(tokens, &desk.session, &asked);
    assert_eq!(
        desk.act(json!({ "step": { "goto": "/index.html" } })).body["ok"],
        true
    );
    assert_eq!(
        desk.with(file.clone(), &given).body["reason"],
        "consent_invalid"
    );
    // Denied is denied.
    let asked = desk.act(file.clone());
    let id = serving.decided(tokens, &asked, "deny");
    let claim = format!("/sessions/{}/approvals/{id}/token", desk.session);
    assert_eq!(
        serving
            .call(&tokens.ada, "POST", &claim, Some(json!({})))
            .body["reason"],
        "consent_invalid"
    );

    // A write by script, found out by the gate; with the yes exactly that request passes.
    let archive = desk.click("Archive");
    let asked = desk.act(archive.clone());
    assert_eq!(
        (asked.status, &asked.body["risk"]),
        (428, &json!("post")),
        "{}",
        asked.raw
    );
    assert!(
        desk.text().contains("sent: 403") || desk.text().contains("stopped"),
        "{}",
        desk.text()
    );
    let given = serving.consent(tokens, &desk.session, &asked);
    desk.with(archive, &given);
    // The folder's server knows no POST: its own refusal shows that it was reached.
    let text = desk.text();
    assert!(
        text.contains("sent: 40") && !text.contains("sent: 403"),
        "{text}"
    );

    // A host that is not on the list: named, and asked for.
    let away = desk.act(json!({ "step": { "click": "link \"Elsewhere\"" } }));
    assert_eq!(away.body["risk"], "new_host", "{}", away.raw);
    assert!(
        away.body["summary"].to_string().contains("localhost:9"),
        "{}",
        away.raw
    );
    let away = desk.act(json!({ "step": { "goto": "http://localhost:9/" } }));
    assert_eq!(away.body["risk"], "new_host", "{}", away.raw);

    // A call can't carry its own consent.
    let own = desk.act(json!({ "step": { "click": "Archive", "write": "archives" } }));
    assert_eq!(own.body["reason"], "malformed", "{}", own.raw);
    // R97: two actions are not one.
    let two = desk.act(json!({ "sentence": "Click Archive and then click File" }));
    assert_eq!(two.body["reason"], "malformed", "{}", two.raw);
    // R39: an id of an earlier read is stale.
    let path = format!("/sessions/{}/read?picture=false", desk.session);
    let ids = serving.call(&tokens.ada, "GET", &path, None).body["candidates"].clone();
    desk.text();
    let old = desk.act(json!({ "primitive": "click", "id": ids[0]["id"] }));
    assert_eq!(old.body["reason"], "stale", "{}", old.raw);
    let audit = serving.audit();
    for word in [
        "the action is another one",
        "the page changed since",
        "the document is another one",
        "it was denied",
    ] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
    assert!(!audit.contains("rhc_"), "a token is in the audit log");
}

/// The approver's page, used by our own runner as a person would.
#[test]
fn the_approvers_page_works_in_a_browser() {
    let shop = site("parcels");
    let start = format!("http://{}/", shop.at);
    let (serving, tokens) = Serving::start(start.trim_end_matches('/'), &[]);
    let session = serving.open(&tokens.ada, &start);
    let path = format!("/sessions/{session}/login");
    let body = json!({ "credential": "parcels-user" });
    let asked = serving.call(&tokens.ada, "POST", &path, Some(body.clone()));
    let at = format!("http://{}", serving.service.at);
    let suite = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(suite.path().join("scenarios")).expect("a folder");
    let scenario = format!(
        r#"name: Approve what waits
start: {at}/approvals
credentials: [approver]
steps:
  - fill: Approver token
    credential: approver.password
  - click: Show what waits
    expect: {{ see: Sign in with the credential parcels-user }}
  - click: button "Approve"
    write: approves the sign-in
    expect: {{ see: "Approved, for this one action." }}
expect:
  - see: 0 questions wait.
  - no_element: button "Approve"
"#
    );
    std::fs::write(suite.path().join("scenarios/approve.yaml"), scenario).expect("a file");
    let run = command(serving.home.path())
        .args(["run", "--confirm-writes", "--fresh", "--suite"])
        .arg(suite.path())
        .arg("--out")
        .arg(suite.path().join("runs"))
        .env("APPROVER_PASSWORD", &tokens.approver)
        .env("APPROVER_ORIGIN", &at)
        .output()
        .expect("it runs");
    assert!(
        run.status.success(),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    let id = asked.body["approval_id"].as_str().expect("an id");
    let claim = format!("/sessions/{session}/approvals/{id}/token");
    let claimed = serving.call(&tokens.ada, "POST", &claim, Some(json!({})));
    let mut body = body;
    body["approval"] = claimed.body["approval"].clone();
    // Two present the same token at once: one wins.
    let ends: Vec<bool> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    serving
                        .call(&tokens.ada, "POST", &path, Some(body.clone()))
                        .body["ok"]
                        == true
                })
            })
            .collect();
        tries
            .into_iter()
            .map(|t| t.join().expect("a thread"))
            .collect()
    });
    assert_eq!(ends.iter().filter(|won| **won).count(), 1, "{ends:?}");
    serving.assert_no_values(&[&tokens.approver, &tokens.ada]);
}
