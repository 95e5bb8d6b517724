//! The write gate, judged by what the server received (R79, R82–R90).

use super::lab::Lab;
use super::stage::Stage;

const SITE: &str = "http://site.test";

fn pages(stage: &Stage) {
    let page = |path: &str, body: &str| {
        let text = format!("<title>Desk</title><h1>Desk</h1>{body}<output id=o></output>");
        stage.page("site.test", path, &text);
    };
    let fetching = |method: &str, path: &str| {
        format!(
            "<button onclick=\"fetch('{path}',{{method:'{method}',body:'x'}})\
             .then(()=>o.textContent='sent',()=>o.textContent='stopped')\">Delete</button>"
        )
    };
    page("/post", &fetching("POST", "/api/undeclared"));
    page("/put", &fetching("PUT", "/api/put"));
    page("/delete", &fetching("DELETE", "/api/delete"));
    page("/declared", &fetching("POST", "/api/declared"));
    page("/listed", &fetching("POST", "/api/listed/7"));
    page(
        "/twice",
        &format!(
            "{}<button onclick=\"fetch('/api/second',{{method:'POST'}})\">Second</button>",
            fetching("POST", "/api/first")
        ),
    );
    page(
        "/times",
        "<button onclick=\"fetch('/api/times',{method:'POST'})\
         .then(()=>fetch('/api/times',{method:'POST'}))\">Delete</button>",
    );
    page(
        "/blank",
        "<form method=post action=/api/blank target=_blank><button>Delete</button></form>",
    );
    page(
        "/enter",
        "<form method=post action=/api/enter><label>Name <input name=n></label></form>",
    );
    page(
        "/autosubmit",
        "<form id=f method=post action=/api/auto><label>Name <input name=n \
         onchange=\"f.submit()\"></label></form><p>Idle</p>",
    );
    page(
        "/onload",
        "<form id=f method=post action=/api/onload></form><script>f.submit()</script>",
    );
    page(
        "/beacon",
        "<button onclick=\"navigator.sendBeacon('/api/beacon','x');o.textContent='done'\">Go</button>\
         <a href=/other ping=/api/ping>Away</a>",
    );
    page("/other", "<p>Other</p>");
    page(
        "/getform",
        "<form action=/other><button>Find</button></form>",
    );
    let graphql = |operation: &str, kind: &str| {
        format!(
            "<button onclick=\"fetch('/graphql',{{method:'POST',headers:{{'content-type':\
             'application/json'}},body:JSON.stringify({{operationName:'{operation}',\
             query:'{kind} {operation} {{ a }}'}})}}).then(()=>o.textContent='answered',\
             ()=>o.textContent='stopped')\">Load</button>"
        )
    };
    page("/orders", &graphql("Orders", "query"));
    page("/refund", &graphql("Refund", "mutation"));
    page("/download", "<a href=/file.csv download>Export</a>");
    page(
        "/override",
        "<button onclick=\"fetch('/api/override',{headers:{'X-HTTP-Method-Override':'DELETE'}})\
         \">Delete</button>",
    );
}

fn lab(stage: &Stage) -> Lab {
    let lab = Lab::on(stage, &["site.test"], false);
    let click = |id: &str, page: &str, more: &str| {
        lab.scenario(
            id,
            &format!("start: {SITE}/{page}\nsteps:\n  - click: Delete\n{more}expect: [ {{ see: Desk }} ]\n"),
        );
    };
    for id in ["post", "put", "delete", "blank", "override"] {
        click(id, id, "");
    }
    click("declared", "declared", "    write: deletes it\n");
    click(
        "twice",
        "twice",
        "    write: deletes it\n  - click: Second\n",
    );
    lab.scenario(
        "listed",
        &format!(
            "start: {SITE}/listed\nwrites: [ {{ what: deletes one, request: \"POST {SITE}/api/listed/*\", times: 1 }} ]\n\
             steps: [ {{ click: Delete }} ]\nexpect: [ {{ see: sent }} ]\n"
        ),
    );
    lab.scenario(
        "times",
        &format!(
            "start: {SITE}/times\nwrites: [ {{ what: deletes one, request: \"POST {SITE}/api/times\", times: 1 }} ]\n\
             steps: [ {{ click: Delete }} ]\nexpect: [ {{ see: Desk }} ]\n"
        ),
    );
    lab.scenario(
        "enter",
        &format!(
            "start: {SITE}/enter\nsteps:\n  - {{ fill: Name, with: Ada }}\n  - {{ press: Enter, in: Name }}\nexpect: [ {{ see: Desk }} ]\n"
        ),
    );
    lab.scenario(
        "autosubmit",
        &format!("start: {SITE}/autosubmit\nsteps: [ {{ fill: Name, with: Ada }} ]\nexpect: [ {{ see: Idle }} ]\n"),
    );
    lab.scenario("onload", &format!("start: {SITE}/onload\nsteps: [ {{ wait: {{ seconds: 1 }} }} ]\nexpect: [ {{ see: Desk }} ]\n"));
    lab.scenario(
        "beacon",
        &format!("start: {SITE}/beacon\nsteps: [ {{ click: Go }} ]\nexpect: [ {{ see: done }} ]\n"),
    );
    lab.scenario(
        "ping",
        &format!(
            "start: {SITE}/beacon\nsteps: [ {{ click: Away }} ]\nexpect: [ {{ see: Other }} ]\n"
        ),
    );
    lab.scenario(
        "getform",
        &format!(
            "start: {SITE}/getform\nsteps: [ {{ click: Find }} ]\nexpect: [ {{ see: Other }} ]\n"
        ),
    );
    lab.scenario(
        "orders",
        &format!(
            "start: {SITE}/orders\nsafe_requests: [ {{ request: \"POST {SITE}/graphql\", operation: [Orders] }} ]\n\
             steps: [ {{ click: Load }} ]\nexpect: [ {{ see: answered }} ]\n"
        ),
    );
    lab.scenario(
        "refund",
        &format!(
            "start: {SITE}/refund\nsafe_requests: [ {{ request: \"POST {SITE}/graphql\", operation: [Orders] }} ]\n\
             steps: [ {{ click: Load }} ]\nexpect: [ {{ see: answered }} ]\n"
        ),
    );
    lab.scenario(
        "query-suggested",
        &format!(
            "start: {SITE}/orders\nsteps: [ {{ click: Load }} ]\nexpect: [ {{ see: answered }} ]\n"
        ),
    );
    lab.scenario(
        "undeclared-download",
        &format!("start: {SITE}/download\nsteps: [ {{ click: Export }} ]\nexpect: [ {{ download: \"*.csv\" }} ]\n"),
    );
    lab.scenario(
        "declared-download",
        &format!("start: {SITE}/download\nsteps:\n  - click: Export\n    download: \"*.csv\"\nexpect: [ {{ download: \"*.csv\" }} ]\n"),
    );
    lab
}

/// R79, R89, R90 and the write rows of security.md 5.3.
#[test]
fn r89_r90_only_declared_requests_leave_the_machine() {
    let stage = Stage::open("");
    pages(&stage);
    let lab = lab(&stage);
    let run = lab.run(&["--confirm-writes", "--fresh", "--jobs", "2", "--suggest"]);
    let refused = "refused/undeclared_write";
    let passed = "passed/completed";
    run.check(&[
        ("post", refused),
        ("put", refused),
        ("delete", refused),
        ("blank", refused),
        ("override", refused),
        ("enter", refused),
        ("autosubmit", refused),
        ("onload", refused),
        ("twice", refused),
        ("times", refused),
        ("refund", refused),
        ("query-suggested", refused),
        ("declared", passed),
        ("listed", passed),
        // Over plain HTTP the browser sends nothing that tells a beacon from a request.
        ("beacon", refused),
        ("ping", passed),
        ("getform", passed),
        ("orders", passed),
        ("declared-download", passed),
        ("undeclared-download", "not_completed/not_completed"),
    ]);
    assert_eq!(run.code, 4, "{}", run.stdout);
    let mut writes = stage.writes();
    writes.sort();
    let declared = [
        "POST site.test/api/declared",
        "POST site.test/api/first",
        "POST site.test/api/listed/7",
        "POST site.test/api/times",
        "POST site.test/graphql",
    ];
    assert_eq!(writes, declared, "only what was declared arrived");
    let overridden = stage.received().iter().any(|r| r.path == "/api/override");
    assert!(!overridden, "a GET that asks for DELETE is no read");
    // The message names the request and the line to add.
    let said = run.failure("put");
    assert!(said.contains("PUT http://site.test/api/put"), "{said}");
    assert!(
        said.contains("request: \\\"PUT http://site.test/api/put\\\""),
        "{said}"
    );
    // Pings are stopped and noted.
    let noted = run.of("ping", "blocked").any(|e| e["reason"] == "ping");
    assert!(noted, "{}", run.stdout);
    // --suggest prints lines that can be pasted below their key.
    assert!(
        run.stdout.contains("\nwrites:\n  - { what:"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("safe_requests:\n  - { request: \"POST http://site.test/graphql\", operation: [Orders] }"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("- - "), "{}", run.stdout);
}

/// R83–R88: the static gate.
#[test]
fn r83_r84_r86_an_unconfirmed_write_runs_nothing_and_reads_run() {
    let stage = Stage::open("");
    pages(&stage);
    let lab = Lab::on(&stage, &["site.test"], false);
    lab.scenario(
        "write-last",
        &format!("start: {SITE}/declared\nsteps:\n  - wait: heading \"Desk\"\n  - click: Delete\n    write: deletes it\nexpect: [ {{ see: sent }} ]\n"),
    );
    lab.scenario(
        "read",
        &format!(
            "start: {SITE}/getform\nsteps: [ {{ click: Find }} ]\nexpect: [ {{ see: Other }} ]\n"
        ),
    );
    let alone = lab.run(&["write-last", "--fresh"]);
    alone.check(&[("write-last", "refused/unconfirmed_write")]);
    assert_eq!(alone.code, 4);
    assert!(!alone.browser_seen, "no process before the gate");
    assert!(stage.received().is_empty(), "no request either");
    assert!(
        alone.stdout.contains("--confirm write-last"),
        "{}",
        alone.stdout
    );
    let again = lab.run(&["write-last", "--fresh"]);
    let said = |run: &super::lab::Outcome| run.failure("write-last");
    let steady = |text: String| text.split("\"ms\"").next().unwrap_or("").to_owned();
    let stable = |run| {
        let text: String = steady(said(run));
        text.split("\"seq\"").nth(1).unwrap_or("").to_owned()
    };
    assert_eq!(
        stable(&alone),
        stable(&again),
        "same scenario, same refusal"
    );

    let both = lab.run(&["--fresh"]);
    both.check(&[
        ("write-last", "refused/unconfirmed_write"),
        ("read", "passed/completed"),
    ]);
    assert_eq!(both.code, 4);
    assert!(stage.writes().is_empty());

    let confirmed = lab.run(&["--fresh", "--confirm", "write-last"]);
    confirmed.check(&[("write-last", "passed/completed")]);
    assert_eq!(stage.writes(), ["POST site.test/api/declared"]);
}

/// A fixture that can be thrown away needs no confirmation.
#[test]
fn declared_writes_to_a_disposable_fixture_need_no_confirmation() {
    let stage = Stage::open("");
    pages(&stage);
    let lab = Lab::on(&stage, &["site.test"], true);
    lab.scenario(
        "write",
        &format!("start: {SITE}/declared\nsteps:\n  - click: Delete\n    write: deletes it\nexpect: [ {{ see: sent }} ]\n"),
    );
    lab.scenario(
        "undeclared",
        &format!("start: {SITE}/post\nsteps:\n  - click: Delete\nexpect: [ {{ see: sent }} ]\n"),
    );
    let run = lab.run(&["--fresh"]);
    run.check(&[
        ("write", "passed/completed"),
        ("undeclared", "refused/undeclared_write"),
    ]);
    assert_eq!(stage.writes(), ["POST site.test/api/declared"]);
}

/// HTTPS is opened with the run's own authority: methods are judged inside it, and only there.
#[test]
fn r89_inside_tls_methods_are_judged_unless_the_scenario_tunnels() {
    let mut lab = Lab::new();
    let send = |what: &str| {
        format!(
            "<!doctype html><title>Desk</title><h1>Desk</h1><button onclick=\"{what}\">Delete</button><output id=o></output>"
        )
    };
    let post = |path: &str| {
        format!(
            "fetch('{path}',{{method:'POST'}}).then(r=>o.textContent='sent',()=>o.textContent='stopped')"
        )
    };
    lab.write("site/post.html", &send(&post("/undeclared")));
    lab.write("site/tunnel.html", &send(&post("/tunnelled")));
    lab.write("site/declared.html", &send(&post("/declared")));
    lab.write(
        "site/beacon.html",
        &send("navigator.sendBeacon('/beacon','x');o.textContent='done'"),
    );
    let ca = lab.path("authority.pem");
    let site = Site::start(&lab.path("site"), &ca);
    let https = &site.https;
    let scenario = |id: &str, more: &str, step: &str, expect: &str| {
        lab.write(
            &format!("suite/scenarios/{id}.yaml"),
            &format!("name: {id}\nstart: {https}/{id}.html\n{more}steps:\n  - click: Delete\n{step}expect: [ {{ see: {expect} }} ]\n"),
        );
    };
    scenario("post", "", "", "Desk");
    scenario("declared", "", "    write: deletes it\n", "sent");
    scenario("tunnel", "network: tunnel\n", "", "sent");
    scenario("beacon", "", "", "done");
    lab.set("NO_COLOR", "1");
    // Without the authority of the site nothing is opened: the run's own is not a way around it.
    let run = lab.run(&["post", "--fresh"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert_eq!(site.writes(), Vec::<String>::new());
    lab.write(
        "suite/rehearsal.toml",
        &format!("[network]\nca_file = \"{}\"\n", ca.display()),
    );
    let run = lab.run(&["--fresh", "--confirm-writes"]);
    run.check(&[
        ("post", "refused/undeclared_write"),
        ("declared", "passed/completed"),
        ("beacon", "passed/completed"),
        ("tunnel", "passed/completed"),
    ]);
    let mut writes = site.writes();
    writes.sort();
    // A tunnel's methods are not judged, and the header of the run says so.
    assert_eq!(writes, ["POST /declared", "POST /tunnelled"]);
    let noted = run.of("beacon", "blocked").any(|e| e["reason"] == "beacon");
    assert!(noted, "a beacon is stopped and noted");
}

/// The fixture server over TLS, beside its plain port.
struct Site {
    child: std::process::Child,
    plain: String,
    https: String,
}

impl Site {
    fn start(folder: &std::path::Path, ca: &std::path::Path) -> Self {
        use std::io::BufRead;
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_fixture-sites"))
            .args(["serve", "--port", "0", "--tls-port", "0", "--dir"])
            .arg(folder)
            .arg("--tls-ca")
            .arg(ca)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the site starts");
        let out = child.stdout.take().expect("its output");
        let lines: Vec<String> = std::io::BufReader::new(out)
            .lines()
            .take(2)
            .map(|line| line.expect("a line"))
            .collect();
        let at = |scheme: &str| {
            let line = lines.iter().find(|l| l.contains(&format!(" {scheme}://")));
            let address = line.and_then(|l| l.split(' ').nth(1)).expect("an address");
            // The certificate is for the name.
            address.replace("127.0.0.1", "localhost")
        };
        Self {
            plain: at("http"),
            https: at("https"),
            child,
        }
    }

    fn writes(&self) -> Vec<String> {
        use std::io::{Read, Write};
        let place = self.plain.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(place).expect("the site");
        let ask = format!("GET /__received HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        let all: Vec<serde_json::Value> = serde_json::from_str(body.trim()).expect("a list");
        all.iter()
            .filter(|r| r["method"] != "GET")
            .map(|r| {
                let text = |key: &str| r[key].as_str().unwrap_or_default().to_owned();
                format!("{} {}", text("method"), text("path"))
            })
            .collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
