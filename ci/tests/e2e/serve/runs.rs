//! R28: a run belongs to the broker. The thin client shows it, and can be killed and replaced.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rig::{Serving, Tokens, command, site};

/// Says "released" once the test lets it; its button sends a POST.
const PAGE: &str = r#"<!doctype html><html lang="en"><title>Desk</title><h1>Desk</h1>
<button onclick="fetch('/send', { method: 'POST', body: 'x' }).then((r) => out.textContent = r.ok ? 'stored' : 'stopped')">Send</button>
<output id="out">waiting</output>
<script>
(async () => { while ((await (await fetch('/held')).text()) !== 'released') await new Promise((r) => setTimeout(r, 100)); out.textContent = 'released'; })();
</script>"#;

struct Desk {
    at: String,
    released: Arc<AtomicBool>,
    posts: Arc<Mutex<u32>>,
}

fn desk() -> Desk {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address").to_string();
    let released = Arc::new(AtomicBool::new(false));
    let posts = Arc::new(Mutex::new(0));
    let (free, count) = (released.clone(), posts.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let (free, count) = (free.clone(), count.clone());
            std::thread::spawn(move || {
                let mut head = BufReader::new(stream.try_clone().expect("a stream")).lines();
                let first = head.next().and_then(Result::ok).unwrap_or_default();
                for line in head.map_while(Result::ok) {
                    if line.is_empty() {
                        break;
                    }
                }
                let body = match first.split(' ').nth(1) {
                    Some("/") => PAGE,
                    Some("/held") if free.load(Ordering::SeqCst) => "released",
                    Some("/send") if first.starts_with("POST") => {
                        *count.lock().expect("a count") += 1;
                        "ok"
                    }
                    _ => "no",
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    Desk {
        at,
        released,
        posts,
    }
}

/// Scenarios of the broker's own suite.
fn add(serving: &Serving, id: &str, text: &str) {
    let file = serving
        .home
        .path()
        .join(format!("suite/scenarios/{id}.yaml"));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("a scenario");
}

/// The thin client, from a folder without any suite and without any credential.
fn client(serving: &Serving, token: &str, arguments: &[&str]) -> Command {
    let mut command = command(serving.home.path());
    command
        .args(["--broker", &format!("http://{}", serving.service.at), "run"])
        .args(arguments)
        .current_dir(serving.home.path())
        .env("REHEARSAL_TOKEN", token)
        .env_remove("CI")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn runs(serving: &Serving, token: &str) -> Vec<Value> {
    let answer = serving.call(token, "GET", "/runs", None);
    answer.body["runs"].as_array().expect("runs").clone()
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ends with the test, whatever becomes of it.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn r28_r29_a_run_outlives_its_client_and_two_clients_see_one_state() {
    let desk = desk();
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let held = format!(
        "name: Held\nstart: http://{}/\nsteps:\n  - wait: {{ text: released }}\n    timeout: 60s\nexpect: [{{ see: released }}]\n",
        desk.at
    );
    add(&serving, "held", &held);
    let mut first = Ending(
        client(&serving, &tokens.ada, &["held"])
            .spawn()
            .expect("it starts"),
    );
    let run = until("the run", || runs(&serving, &tokens.ada).pop());
    assert_eq!(
        (&run["state"], &run["exit"], &run["selected"]),
        (&json!("running"), &Value::Null, &json!(["held"]))
    );
    let id = run["run"].as_str().expect("an id").to_owned();
    // Another owner sees nothing of it, and can do nothing to it.
    assert!(runs(&serving, &tokens.bob).is_empty());
    for (method, path) in [
        ("GET", format!("/runs/{id}/events")),
        ("DELETE", format!("/runs/{id}")),
    ] {
        let foreign = serving.call(&tokens.bob, method, &path, None);
        let nothing = serving.call(&tokens.bob, method, &path.replace(&id, "r0"), None);
        assert_eq!(
            (foreign.status, &foreign.body),
            (404, &nothing.body),
            "{method}"
        );
    }
    let foreign = client(&serving, &tokens.bob, &["--attach", &id])
        .output()
        .expect("it ends");
    assert_eq!(foreign.status.code(), Some(2), "{}", said(&foreign));

    first.0.kill().expect("killed");
    first.0.wait().expect("gone");
    let second = Ending(
        client(&serving, &tokens.ada, &["--attach", &id, "--steps"])
            .spawn()
            .expect("it starts"),
    );
    assert_eq!(runs(&serving, &tokens.ada)[0]["state"], "running");
    desk.released.store(true, Ordering::SeqCst);
    let mut second = second;
    let code = second.0.wait().expect("it ends").code();
    let mut report = String::new();
    std::io::Read::read_to_string(
        &mut second.0.stdout.take().expect("its output"),
        &mut report,
    )
    .expect("text");
    assert_eq!(code, Some(0), "{report}");
    assert!(
        report.contains("held") && report.contains("1 passed"),
        "{report}"
    );
    let over = &runs(&serving, &tokens.ada)[0];
    assert_eq!(
        (&over["state"], &over["exit"]),
        (&json!("finished"), &json!(0))
    );
    // A third one is told the same from the start: as the journal has it.
    let junit = serving.home.path().join("own/junit.xml");
    let third = client(
        &serving,
        &tokens.ada,
        &["--attach", &id, "--format", "json", "--junit"],
    )
    .arg(&junit)
    .output()
    .expect("it ends");
    assert_eq!(third.status.code(), Some(0), "{}", said(&third));
    let journal =
        std::path::Path::new(over["folder"].as_str().expect("a folder")).join("events.jsonl");
    let journal = std::fs::read_to_string(journal).expect("the journal");
    assert_eq!(String::from_utf8_lossy(&third.stdout), journal);
    assert!(
        journal
            .lines()
            .next()
            .is_some_and(|l| l.contains("run_started")),
        "{journal}"
    );
    assert!(
        std::fs::read_to_string(&junit)
            .expect("a file")
            .contains("name=\"Held\"")
    );

    // One that goes on is stopped by its owner alone, and one that is over is forgotten.
    desk.released.store(false, Ordering::SeqCst);
    let started = serving.call(
        &tokens.ada,
        "POST",
        "/runs",
        Some(json!({ "scenarios": ["held"] })),
    );
    let other = started.body["run"].as_str().expect("an id").to_owned();
    let stopping = serving.call(&tokens.ada, "DELETE", &format!("/runs/{other}"), None);
    assert_eq!(stopping.body["state"], "stopping", "{}", stopping.raw);
    let stopped = client(&serving, &tokens.ada, &["--attach", &other])
        .output()
        .expect("it ends");
    assert_eq!(stopped.status.code(), Some(130), "{}", said(&stopped));
    let forgotten = serving.call(&tokens.ada, "DELETE", &format!("/runs/{other}"), None);
    assert_eq!(forgotten.body["state"], "forgotten", "{}", forgotten.raw);
    assert_eq!(runs(&serving, &tokens.ada).len(), 1);
    serving.assert_no_values(&[]);
}

/// A broker that is asked to stop ends its runs, and tells those who listen how.
#[test]
fn f31_a_broker_that_stops_ends_its_runs_and_tells_them_to_their_end() {
    let desk = desk();
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let held = format!(
        "name: Held\nstart: http://{}/\nsteps:\n  - wait: {{ text: released }}\n    timeout: 60s\nexpect: [{{ see: released }}]\n",
        desk.at
    );
    add(&serving, "held", &held);
    let client = client(&serving, &tokens.ada, &["held", "--format", "json"])
        .spawn()
        .expect("it starts");
    until("the wait", || {
        let run = runs(&serving, &tokens.ada).pop()?;
        let journal = std::path::Path::new(run["folder"].as_str()?).join("events.jsonl");
        let said = std::fs::read_to_string(journal).ok()?;
        said.contains("\"verb\":\"wait\"").then_some(())
    });
    let broker = serving.service.pid().to_string();
    let asked = Command::new("kill").arg(&broker).status();
    assert!(asked.is_ok_and(|s| s.success()));
    let told = client.wait_with_output().expect("it ends");
    assert_eq!(told.status.code(), Some(143), "{}", said(&told));
    let last = String::from_utf8_lossy(&told.stdout)
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned();
    assert!(
        last.contains("\"run_finished\"") && last.contains("SIGTERM"),
        "{last}"
    );
}

/// What the client confirms is a wish; the approver says whether it may be.
fn decided(serving: &Serving, tokens: &Tokens, decision: &str) -> Value {
    let asked = until("the question", || {
        let pending = serving.call(&tokens.approver, "GET", "/approvals/pending", None);
        pending.body["pending"].get(0).cloned()
    });
    let path = format!("/approvals/{}", asked["id"].as_str().expect("an id"));
    serving.call(
        &tokens.approver,
        "POST",
        &path,
        Some(json!({ "decision": decision })),
    );
    asked
}

#[test]
fn r79_writes_of_a_run_need_the_clients_word_and_the_approvers_yes() {
    let desk = desk();
    let (serving, tokens) = Serving::start("http://parcels.test", &[]);
    let sends = format!(
        "name: Sends\nstart: http://{}/\nvars: {{ tag: \"a-$(run.id)\" }}\nsteps:\n  - click: Send\n    write: stores a note as $(tag)\n    expect: {{ see: stored }}\nexpect: [{{ see: stored }}]\n",
        desk.at
    );
    add(&serving, "sends", &sends);
    let posts = || *desk.posts.lock().expect("a count");
    let unconfirmed = client(&serving, &tokens.ada, &["sends"])
        .output()
        .expect("it ends");
    assert_eq!(unconfirmed.status.code(), Some(4), "{}", said(&unconfirmed));
    assert!(
        said(&unconfirmed).contains("--confirm sends"),
        "{}",
        said(&unconfirmed)
    );
    let confirmed = |flags: &[&str], decision: &str| {
        let child = client(&serving, &tokens.ada, flags)
            .spawn()
            .expect("it starts");
        let asked = decided(&serving, &tokens, decision);
        let lines = asked["summary"].to_string();
        assert!(
            lines.contains("Run the scenario sends.") && lines.contains("stores a note"),
            "{lines}"
        );
        child.wait_with_output().expect("it ends")
    };
    let denied = confirmed(&["sends", "--confirm", "sends"], "deny");
    assert_eq!(
        (denied.status.code(), posts()),
        (Some(4), 0),
        "{}",
        said(&denied)
    );
    let approved = confirmed(&["--confirm-writes"], "approve");
    assert_eq!(
        (approved.status.code(), posts()),
        (Some(0), 1),
        "{}",
        said(&approved)
    );
    let audit = serving.audit();
    for word in ["consent asked", "consent used", "run started", "run ended"] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
}

#[test]
fn the_client_holds_no_credential_and_refuses_what_it_cant_pass_on() {
    let shop = site("parcels");
    let start = format!("http://{}", shop.at);
    let (serving, tokens) = Serving::start(&start, &[]);
    let signed = format!(
        "name: Signs in\ntags: [smoke]\nstart: {start}/\ncredentials: [parcels-user]\nsteps:\n  - login: parcels-user\nexpect: [{{ see: 45 orders }}]\n"
    );
    add(&serving, "orders/sign-in", &signed);
    add(
        &serving,
        "other",
        &signed
            .replace("[smoke]", "[slow]")
            .replace("45 orders", "46 orders"),
    );
    let end = |arguments: &[&str]| {
        client(&serving, &tokens.ada, arguments)
            .output()
            .expect("it ends")
    };
    let passed = end(&["--tag", "smoke", "--fresh"]);
    assert_eq!(passed.status.code(), Some(0), "{}", said(&passed));
    assert!(said(&passed).contains("1 passed"), "{}", said(&passed));
    let failed = end(&["other"]);
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    for told in [&passed, &failed] {
        serving.heard.lock().expect("a list").push(said(told));
    }
    serving.assert_no_values(&[&tokens.ada]);
    let cases: [(&[&str], &str); 4] = [
        (&["--headed"], "--headed can't be passed on"),
        (&["nothing"], "no scenario is called `nothing`"),
        (&["--var", "unknown=1"], "unknown"),
        (&["--attach", "r0"], "r0"),
    ];
    for (arguments, why) in cases {
        let refused = end(arguments);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{arguments:?} {}",
            said(&refused)
        );
        assert!(
            said(&refused).contains(why),
            "{arguments:?} {}",
            said(&refused)
        );
    }
    let stranger = client(&serving, "rho_wrong", &["other"])
        .output()
        .expect("it ends");
    assert_eq!(stranger.status.code(), Some(2), "{}", said(&stranger));
    let elsewhere = command(serving.home.path())
        .args(["--broker", "http://parcels.test:8771", "run"])
        .env("REHEARSAL_TOKEN", &tokens.ada)
        .output()
        .expect("it ends");
    assert_eq!(elsewhere.status.code(), Some(2), "{}", said(&elsewhere));
    let nobody = command(serving.home.path())
        .args(["--broker", "http://127.0.0.1:9", "run"])
        .env("REHEARSAL_TOKEN", &tokens.ada)
        .output()
        .expect("it ends");
    assert_eq!(nobody.status.code(), Some(3), "{}", said(&nobody));
}
