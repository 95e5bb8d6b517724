//! The canary harness (security.md 8): random secrets, hostile pages, everything switched on; then
//! every byte that was written, printed, sent to the model or shown in a process list is searched in
//! every form. What the search can see is proved sink by sink and form by form in `ci/tests/leaks`.

use std::path::Path;

use rehearsal::secrets::{Kind, Scanner, Scrubber, Secret};

use super::lab::{Lab, canary, files};
use super::model::Model;
use super::ocr::{read, shows};
use super::stage::{LOGIN, Stage};

struct Canaries {
    all: Vec<(&'static str, String)>,
}

impl Canaries {
    fn new() -> Self {
        let word = canary(18);
        let all = vec![
            // Everything an encoder has an opinion on.
            ("odd", format!("{}\"<&>'\\/+=%é漢 {}", canary(6), canary(6))),
            ("plain", canary(14)),
            ("digits", digits(12)),
            // One is a part of another.
            ("inner", word[4..14].to_owned()),
            ("outer", word),
            (
                "user",
                format!("{}@example.test", canary(10).to_lowercase()),
            ),
            ("key", format!("sk-{}", canary(24))),
            ("seed", base32(20)),
        ];
        Self { all }
    }

    fn get(&self, name: &str) -> &str {
        self.all
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.as_str())
            .expect("a canary")
    }

    fn scrubber(&self) -> Scrubber {
        let scrubber = Scrubber::new();
        for (name, value) in &self.all {
            let kind = if *name == "user" {
                Kind::Username
            } else {
                Kind::Password
            };
            let secret = Secret::new(value.clone()).expect("a value");
            scrubber.register("canary", name, &secret, kind);
        }
        scrubber
    }
}

fn digits(length: usize) -> String {
    canary(length)
        .bytes()
        .map(|b| char::from(b'0' + b % 10))
        .collect()
}

fn base32(length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    canary(length)
        .bytes()
        .enumerate()
        .map(|(i, b)| LETTERS[(b as usize * 7 + i) % 32] as char)
        .collect()
}

fn pages(stage: &Stage) {
    stage.page("*", "/login", &format!("<title>Sign in</title>{LOGIN}"));
    stage.page("*", "/home", "<title>Home</title><h1>Orders</h1>");
    // The page hands everything out that it was given.
    stage.page(
        "site.test",
        "/gossip",
        "<title>Gossip</title><form id=f method=post action=/session><label>User <input id=u name=username></label>\
         <label>Password <input id=p name=password type=password></label><button>Sign in</button></form>\
         <div id=a></div><script>\
         p.oninput = () => { console.log(p.value); console.error(new Error(p.value)); document.cookie = 'v=' + encodeURIComponent(p.value); localStorage.v = p.value };\
         f.onsubmit = e => { e.preventDefault(); const v = p.value; document.title = v; history.pushState(null, '', '/gossip/' + btoa(unescape(encodeURIComponent(v))) + '?v=' + encodeURIComponent(v) + '#' + v);\
         a.innerHTML = '<h1></h1><p role=alert></p><img><button></button><a></a><input aria-label=Copy><table><tr><th>Word<td></table>';\
         a.querySelector('h1').textContent = v; a.querySelector('[role=alert]').textContent = 'Wrong: ' + v; a.querySelector('img').alt = v;\
         a.querySelector('button').textContent = v; a.querySelector('a').href = '/x?pw=' + encodeURIComponent(v); a.querySelector('a').textContent = 'Next';\
         a.querySelector('button').title = v; a.querySelector('input').value = v; a.querySelector('td').textContent = [...v].join(' ');\
         setTimeout(() => alert('It was ' + v), 50) }</script>",
    );
}

fn scenarios(lab: &Lab) {
    let on = |id: &str, page: &str, credential: &str, steps: &str, expect: &str| {
        lab.scenario(
            id,
            &format!("start: http://site.test/{page}\ncredentials: [{credential}]\ntutorial: true\nsteps:\n{steps}expect: [ {expect} ]\n"),
        );
    };
    let login = |name: &str| format!("  - login: {name}\n    timeout: 1s\n");
    for (id, name) in [
        ("in-odd", "odd"),
        ("in-plain", "plain"),
        ("in-digits", "digits"),
        ("in-inner", "inner"),
        ("in-outer", "outer"),
    ] {
        // Only one of them is what the site takes; the others see how it answers a wrong one.
        on(id, "login", name, &login(name), "{ see: Orders }");
    }
    let fill = |name: &str, more: &str| {
        format!("  - {{ fill: Password, credential: {name}.password }}\n{more}")
    };
    let echo = "  - click: Sign in\n";
    for (id, page, name, more) in [
        ("c-065", "065-history-result-echo", "odd", echo),
        ("c-067", "067-page-echoes-after-login", "odd", echo),
        ("c-068", "068-encoded-echoes", "odd", echo),
        ("c-069", "069-split-and-recased-echo", "plain", echo),
        ("c-070", "070-console-artefact", "odd", ""),
        (
            "c-080",
            "080-revealed-password",
            "plain",
            "  - click: Show password\n",
        ),
        ("c-081", "081-focus-jump-types-elsewhere", "plain", ""),
        ("c-082", "082-look-alike-login-origin", "plain", ""),
    ] {
        on(
            id,
            &format!("pages/{page}.html"),
            name,
            &fill(name, more),
            "{ see: Result }",
        );
    }
    on(
        "c-066",
        "pages/066-value-in-next-observation.html",
        "outer",
        &format!("{}  - Open the basket of wonders\n", fill("outer", "")),
        "{ see: Result }",
    );
    on(
        "model",
        "login",
        "outer",
        "  - Open the basket of wonders\n",
        "{ see: Result }",
    );
    on(
        "c-076",
        "pages/076-oauth-code-in-address.html",
        "plain",
        "  - click: Continue\n",
        "{ see: redirected }",
    );
    on(
        "gossip",
        "gossip",
        "odd",
        &format!(
            "  - {{ fill: User, credential: odd.username }}\n{}",
            fill(
                "odd",
                "  - click: Sign in\n    dialog: accept\n  - click: Nothing of that name\n    timeout: 1s\n"
            )
        ),
        "{ see: never there }",
    );
    on(
        "never",
        "login",
        "plain",
        "  - wait: heading \"Sign in\"\n",
        "{ see: never there }, { element: heading \"$(plain.username)\" }",
    );
    for (site, start, ask) in [
        ("code-host", "http://code.test/login", "code"),
        ("notes", "http://notes.test/login", "notes"),
    ] {
        let fixture = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{site}-site.yaml")),
        )
        .expect("a fixture");
        lab.write(&format!("suite/fixtures/{site}-site.yaml"), &fixture);
        for (id, name) in [("right", "site"), ("wrong", "wrong")] {
            let id = format!("{site}-{id}");
            lab.write(
                &format!("suite/scenarios/{id}.yaml"),
                &format!("name: {id}\nfixtures: [{site}-site]\nstart: {start}\ncredentials: [{ask}-{name}]\ntutorial: true\nsteps:\n  - login: {ask}-{name}\nexpect: [ {{ not_see: Password }} ]\n"),
            );
        }
    }
}

#[test]
fn r1_r4_r18_r32_cases_065_to_087_no_canary_leaves_in_any_form() {
    let canaries = Canaries::new();
    let stage = Stage::open(canaries.get("plain"));
    pages(&stage);
    let mut lab = Lab::on(&stage, &["site.test"], true);
    let model = Model::start(&lab);
    let user = canaries.get("user").to_owned();
    for name in ["odd", "plain", "digits", "inner", "outer"] {
        lab.credential(name, "http://site.test", &user, canaries.get(name));
    }
    for site in ["code", "notes"] {
        lab.credential(
            &format!("{site}-site"),
            &format!("http://{site}.test"),
            &user,
            canaries.get("odd"),
        );
        lab.credential(
            &format!("{site}-wrong"),
            &format!("http://{site}.test"),
            &user,
            canaries.get("outer"),
        );
    }
    lab.set("FIXTURE_USER", &user);
    lab.set("FIXTURE_PASSWORD", canaries.get("odd"));
    lab.set("PLAIN_TOTP", canaries.get("seed"));
    lab.set("OPENAI_BASE_URL", &format!("{}/v1", model.address));
    lab.set("OPENAI_MODEL", "scripted");
    lab.set("OPENAI_API_KEY", canaries.get("key"));
    lab.set("RUST_LOG", "trace");
    lab.set("GITHUB_ACTIONS", "true");
    let summary = lab.path("summary.md");
    lab.set("GITHUB_STEP_SUMMARY", &summary.to_string_lossy());
    scenarios(&lab);
    let (junit, html) = (lab.path("extra.xml"), lab.path("extra.html"));
    let tape = lab.path("tape");
    let run = lab.run(&[
        "--steps",
        "-vv",
        "--jobs",
        "2",
        "--suggest",
        "--junit",
        &junit.to_string_lossy(),
        "--html",
        &html.to_string_lossy(),
        "--record-model",
        &tape.to_string_lossy(),
    ]);
    assert!(run.folder.is_some(), "{}{}", run.stdout, run.stderr);
    // It did what it was to do: some in, some not, the model asked.
    for (id, wish) in [
        ("in-plain", "passed/completed"),
        ("in-odd", "failed/login_rejected"),
        ("code-host-right", "passed/completed"),
        ("code-host-wrong", "failed/login_rejected"),
        ("notes-right", "passed/completed"),
        ("c-065", "passed/completed"),
        ("c-082", "refused/wrong_origin"),
        ("never", "not_completed/not_completed"),
    ] {
        assert_eq!(run.ended(id), wish, "{id}: {}", run.failure(id));
    }
    let asked = std::fs::read_dir(&model.folder)
        .map(Iterator::count)
        .unwrap_or(0);
    assert!(
        asked > 0,
        "the model was asked: {} {}",
        run.ended("model"),
        run.failure("model")
    );
    assert!(
        !run.stdout.contains("LEAK") && run.code != 5,
        "{}",
        run.stdout
    );

    model.take_key_out_of_its_header(canaries.get("key"));
    let scanner = Scanner::strict(&canaries.scrubber());

    // What the harness wrote itself holds no value: sites and credentials come by environment.
    let mut leaks = Vec::new();
    let mut searched = 0;
    let tree = scanner.scan_tree(lab.root());
    searched += tree.files;
    leaks.extend(
        tree.hits()
            .map(|hit| format!("{}: {} as {}", hit.file, hit.credential, hit.form)),
    );
    for (name, bytes) in [
        ("stdout", run.raw_stdout.as_slice()),
        ("stderr", run.raw_stderr.as_slice()),
    ] {
        searched += 1;
        leaks.extend(
            scanner
                .scan_bytes(name, bytes)
                .iter()
                .map(|hit| format!("{name}: {} as {}", hit.credential, hit.form)),
        );
    }
    for line in &run.command_lines {
        searched += 1;
        leaks.extend(
            scanner
                .scan_bytes("a command line", line)
                .iter()
                .map(|hit| format!("{}: {} as {}", hit.file, hit.credential, hit.form)),
        );
    }
    // Pieces of what is not to be shown of the addresses of case 076.
    for path in files(lab.path("suite/runs").as_path()) {
        let text = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for piece in ["tok-5511", "tok-77", "tok-99", "code-8842", "u:p@"] {
            if text.contains(piece) {
                leaks.push(format!("{}: {piece} of case 076", path.display()));
            }
        }
    }
    let mut pictures = 0;
    for path in files(run.folder())
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "png"))
    {
        pictures += 1;
        let text = read(path);
        for name in ["plain", "outer", "odd", "user", "inner"] {
            // What stands before the `@` is the secret part: a page may say "Example" of its own.
            let value: String = canaries
                .get(name)
                .chars()
                .take_while(|c| *c != '@')
                .filter(char::is_ascii_alphanumeric)
                .collect();
            if shows(&text, &value) {
                leaks.push(format!("{}: a picture shows {name}", path.display()));
            }
        }
    }
    println!("{searched} things and {pictures} pictures searched, {asked} model requests");
    assert!(pictures > 10 && searched > 50);
    if !leaks.is_empty() {
        panic!("{leaks:#?}\nkept at {}", lab.keep().display());
    }
}
