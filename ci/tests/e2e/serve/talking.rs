//! MCP over standard input and output, and the draft command.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::rig::{PASSWORD, Serving, command, site};

/// A conversation line by line.
struct Agent {
    child: std::process::Child,
    out: BufReader<std::process::ChildStdout>,
    id: u64,
}

impl Agent {
    fn start(serving: &Serving, token: &str) -> Self {
        let mut child = command(serving.home.path())
            .args(["mcp", "--broker", &format!("http://{}", serving.service.at)])
            .env("REHEARSAL_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let mut agent = Self { child, out, id: 0 };
        let hello = agent.ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } }));
        assert!(hello["capabilities"]["tools"].is_object(), "{hello}");
        assert_eq!(hello["serverInfo"]["name"], "rehearsal", "{hello}");
        agent.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn send(&mut self, message: Value) {
        let stdin = self.child.stdin.as_mut().expect("its input");
        writeln!(stdin, "{message}").expect("it listens");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(
                self.out.read_line(&mut line).expect("a line") > 0,
                "it hung up"
            );
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == self.id {
                return message["result"].clone();
            }
        }
    }

    /// The first text of a tool's answer, as JSON.
    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{result}"));
        serde_json::from_str(text).expect("JSON")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn t22_r28_an_agent_works_signed_in_without_a_credential_and_cannot_approve() {
    let shop = site("parcels");
    let start = format!("http://{}/", shop.at);
    let (serving, tokens) = Serving::start(start.trim_end_matches('/'), &[]);
    let mut agent = Agent::start(&serving, &tokens.ada);
    let tools = agent.ask("tools/list", json!({}));
    let mut names: Vec<&str> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "act_sites",
            "delete_sites",
            "list_scenarios",
            "login_sites",
            "open_sites",
            "read_sites",
            "run_scenario"
        ]
    );
    let opened = agent.tool(
        "open_sites",
        json!({ "start": start, "credentials": ["parcels-user"] }),
    );
    let session = opened["session"]
        .as_str()
        .unwrap_or_else(|| panic!("{opened}"))
        .to_owned();
    let login = json!({ "session": session, "credential": "parcels-user" });
    let asked = agent.tool("login_sites", login.clone());
    assert_eq!(asked["reason"], "consent_required", "{asked}");
    assert!(
        asked["error"].to_string().contains("approval_id"),
        "{asked}"
    );
    assert!(
        asked["approve_at"]
            .as_str()
            .is_some_and(|a| a.ends_with("/approvals")),
        "{asked}"
    );
    let id = asked["approval_id"].as_str().expect("an id").to_owned();
    let mut again = login;
    again["approval_id"] = json!(id);
    // No answer yet: told so, and nothing was used up.
    assert_eq!(
        agent.tool("login_sites", again.clone())["status"],
        "pending"
    );
    serving.call(
        &tokens.approver,
        "POST",
        &format!("/approvals/{id}"),
        Some(json!({ "decision": "approve" })),
    );
    let done = agent.tool("login_sites", again);
    assert_eq!(done["outcome"], "signed_in", "{done}");
    // R28: the client dies, another one goes on with the same page.
    drop(agent);
    let mut agent = Agent::start(&serving, &tokens.ada);
    let acted = agent.tool(
        "act_sites",
        json!({ "session": session, "sentence": "Click the link 1007" }),
    );
    assert_eq!(acted["ok"], true, "{acted}");
    let read = agent.ask(
        "tools/call",
        json!({ "name": "read_sites", "arguments": { "session": session, "picture": true } }),
    );
    assert!(
        read["content"][0]["text"]
            .as_str()
            .is_some_and(|t| t.contains("Order 1007")),
        "{read}"
    );
    assert_eq!(read["content"][1]["type"], "image", "{read}");
    assert!(!read.to_string().contains(PASSWORD));
    assert_eq!(
        agent.tool("delete_sites", json!({ "session": session }))["ok"],
        true
    );
    serving.assert_no_values(&[]);
}

#[test]
fn r13_a_draft_without_a_terminal_keeps_nothing_and_echoes_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let draft_to = |text: &str, arguments: &[&std::ffi::OsStr]| {
        // A session of its own has no terminal.
        let mut child = std::process::Command::new("setsid")
            .arg(super::rig::PROGRAM)
            .arg("draft")
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(text.as_bytes())
            .expect("it reads");
        let out = child.wait_with_output().expect("it ends");
        let both = [out.stdout, out.stderr].concat();
        (
            out.status.code(),
            String::from_utf8_lossy(&both).into_owned(),
        )
    };
    let draft = |text: &str| draft_to(text, &[]);
    let (code, told) =
        draft("credentials for parcels.test, user x-canary9, password y-canary9. Read my orders.");
    assert_eq!(code, Some(4), "{told}");
    assert!(
        told.contains("rehearsal credentials add parcels-user --origin https://parcels.test"),
        "{told}"
    );
    assert!(!told.contains("canary9"), "{told}");
    let (code, told) = draft("Go to http://shop.test/start and read the \"latest\" offers");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("start: \"http://shop.test/start\""), "{told}");
    // What is cut is no request, and a draft that can't be written is told before anything is kept.
    let (code, told) = draft(&format!(
        "Go to http://shop.test/ {}",
        "and on ".repeat(9_400)
    ));
    assert_eq!(code, Some(2), "{told}");
    let there = home.path().join("there.yaml");
    std::fs::write(&there, "mine").expect("a file");
    let secret =
        "credentials for parcels.test, user x-canary9, password y-canary9. Read my orders.";
    let (code, told) = draft_to(secret, &["--out".as_ref(), there.as_os_str()]);
    assert_eq!(code, Some(3), "{told}");
    assert_eq!(std::fs::read_to_string(&there).expect("a file"), "mine");
    let fresh = home.path().join("fresh.yaml");
    let (code, told) = draft_to(secret, &["--out".as_ref(), fresh.as_os_str()]);
    assert_eq!((code, fresh.exists()), (Some(4), false), "{told}");
}

/// The same tools at the service itself, for its tokens and through its doors only.
#[test]
fn mcp_over_http_answers_owners_with_the_same_tools() {
    let shop = site("parcels");
    let start = format!("http://{}/", shop.at);
    let (serving, tokens) = Serving::start(start.trim_end_matches('/'), &[]);
    let at = serving.service.at.clone();
    let lines = |token: &str| {
        vec![
            format!("Host: {at}"),
            format!("Authorization: Bearer {token}"),
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
            "MCP-Protocol-Version: 2025-06-18".to_owned(),
        ]
    };
    let ask = |token: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        serving.say("POST", "/mcp", &lines(token), &body.to_string())
    };
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let greeted = ask(&tokens.ada, "initialize", hello.clone());
    assert_eq!(
        greeted.body["result"]["serverInfo"]["name"], "rehearsal",
        "{}",
        greeted.raw
    );
    let listed = ask(&tokens.ada, "tools/list", json!({}));
    let tools = listed.body["result"]["tools"].as_array().map(Vec::len);
    assert_eq!(tools, Some(7), "{}", listed.raw);
    let tool = |token: &str, name: &str, arguments: Value| {
        let told = ask(
            token,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        let text = told.body["result"]["content"][0]["text"].clone();
        text.as_str()
            .and_then(|t| serde_json::from_str::<Value>(t).ok())
            .unwrap_or(told.body)
    };
    let opened = tool(
        &tokens.ada,
        "open_sites",
        json!({ "start": start, "credentials": ["parcels-user"] }),
    );
    let session = opened["session"]
        .as_str()
        .unwrap_or_else(|| panic!("{opened}"));
    let login = json!({ "session": session, "credential": "parcels-user" });
    let asked = tool(&tokens.ada, "login_sites", login.clone());
    assert_eq!(asked["reason"], "consent_required", "{asked}");
    assert_eq!(asked["approve_at"], format!("http://{at}/approvals"));
    let id = asked["approval_id"].as_str().expect("an id");
    serving.call(
        &tokens.approver,
        "POST",
        &format!("/approvals/{id}"),
        Some(json!({ "decision": "approve" })),
    );
    let mut again = login;
    again["approval_id"] = json!(id);
    // Another owner can do nothing with it.
    assert_eq!(
        tool(&tokens.bob, "login_sites", again.clone())["reason"],
        "no_session"
    );
    assert_eq!(
        tool(&tokens.ada, "login_sites", again)["outcome"],
        "signed_in"
    );
    let more = tool(
        &tokens.ada,
        "open_sites",
        json!({ "start": start, "bogus": 1 }),
    );
    assert!(more.to_string().contains("unknown field `bogus`"), "{more}");
    // The doors of every route are its doors.
    for (token, status) in [("rho_wrong", 401), (tokens.approver.as_str(), 401)] {
        assert_eq!(ask(token, "initialize", hello.clone()).status, status);
    }
    for bad in ["Origin: http://evil.test", "Origin: null"] {
        let mut lines = lines(&tokens.ada);
        lines.push(bad.into());
        assert_eq!(
            serving.say("POST", "/mcp", &lines, "{}").status,
            403,
            "{bad}"
        );
    }
    assert_eq!(serving.call("", "GET", "/mcp", None).status, 401);
    assert_eq!(serving.call(&tokens.ada, "GET", "/mcp", None).status, 405);
    serving.assert_no_values(&[]);
}

#[test]
fn r13_the_draft_endpoint_keeps_a_credential_after_a_yes_and_never_tells_it() {
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let draft = |text: &str, approval: Option<&Value>| {
        let mut body = json!({ "text": text });
        if let Some(approval) = approval {
            body["approval"] = approval.clone();
        }
        serving.call(&tokens.ada, "POST", "/draft", Some(body))
    };
    let plain = draft("Open http://shop.test/start and read the offers", None);
    assert!(
        plain.body["scenario"]
            .to_string()
            .contains("http://shop.test/start"),
        "{}",
        plain.raw
    );
    let refused = draft("open shop.test, the pin is y-canary9", None);
    assert_eq!(refused.status, 400, "{}", refused.raw);
    let text =
        "sign in at shop.test with user x-canary9 and password y-canary9, then read my orders";
    let asked = draft(text, None);
    assert_eq!(
        (asked.status, &asked.body["risk"]),
        (428, &json!("credential"))
    );
    let id = serving.decided(&tokens, &asked, "approve");
    let claim = format!("/approvals/{id}/token");
    let claimed = serving.call(&tokens.ada, "POST", &claim, Some(json!({})));
    let approval = claimed.body["approval"].clone();
    // For this text alone.
    let other = draft(&format!("{text}!"), Some(&approval));
    assert_eq!(other.body["reason"], "consent_invalid", "{}", other.raw);
    let asked = draft(text, None);
    let id = serving.decided(&tokens, &asked, "approve");
    let claim = format!("/approvals/{id}/token");
    let claimed = serving.call(&tokens.ada, "POST", &claim, Some(json!({})));
    let done = draft(text, Some(&claimed.body["approval"]));
    assert_eq!(done.body["credential"], "shop-user", "{}", done.raw);
    let listed = command(serving.home.path())
        .args(["credentials", "list"])
        .output()
        .expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains("shop-user") && listed.contains("https://shop.test"),
        "{listed}"
    );
    // The vault was made by this service's first draft: it is usable at once.
    let shop = site("parcels");
    let opened = serving.call(
        &tokens.ada,
        "POST",
        "/sessions",
        Some(json!({ "start": format!("http://{}/", shop.at), "credentials": ["shop-user"] })),
    );
    assert_eq!(opened.status, 200, "{}", opened.raw);
    let audit = serving.audit();
    for word in [
        "consent asked",
        "consent used",
        "the action is another one",
        "draft",
    ] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
    serving.assert_no_values(&["canary9"]);
}
