//! The canary harness (security.md 8): random secrets, hostile pages, everything switched on; then
//! every byte that was written, printed, sent to the model or shown in a process list is searched in
//! every form. What the search can see is proved first, sink by sink and form by form.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rehearsal::secrets::{Kind, Scanner, Scrubber, Secret};

use super::lab::{Lab, Outcome, canary};
use super::masks::{read, shows};
use super::stage::{LOGIN, Stage};

/// A scripted model that keeps what it is sent.
struct Model {
    child: Child,
    address: String,
    pub folder: PathBuf,
}

impl Model {
    fn start(lab: &Lab) -> Self {
        lab.write(
            "script.yaml",
            "rules:\n  - reply: { reason: none of these, action: stuck, target: null, value: null }\n",
        );
        let folder = lab.path("model");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fixture-sites"))
            .args(["model", "--script"])
            .arg(lab.path("script.yaml"))
            .arg("--record")
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the model starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
        let address = line
            .split_whitespace()
            .nth(1)
            .expect("an address")
            .to_owned();
        Self {
            child,
            address,
            folder,
        }
    }

    /// The key belongs into one header of a request to the model and nowhere else: takes it out of
    /// that place in the recordings, so that the search finds it in any other.
    fn take_key_out_of_its_header(&self, key: &str) {
        for path in files(&self.folder) {
            let text = std::fs::read_to_string(&path).expect("a recording");
            let mut request: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let headers = request["headers"].as_array_mut().expect("headers");
            let header = headers
                .iter_mut()
                .find(|header| header[0] == "authorization")
                .expect("the key is sent");
            assert_eq!(header[1], format!("Bearer {key}"));
            header[1] = "Bearer (the key)".into();
            std::fs::write(&path, request.to_string()).expect("written");
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    let sinks = sinks(&lab, &run, &model);
    prove(&scanner, &sinks, &canaries);

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
        ("stdout", run.stdout.as_bytes()),
        ("stderr", run.stderr.as_bytes()),
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

/// One real artefact of each kind.
fn sinks(lab: &Lab, run: &Outcome, model: &Model) -> BTreeMap<String, Vec<u8>> {
    let mut sinks = BTreeMap::new();
    let mut add = |name: &str, bytes: Vec<u8>| {
        sinks.insert(name.to_owned(), bytes);
    };
    add("stdout", run.stdout.clone().into_bytes());
    add("stderr", run.stderr.clone().into_bytes());
    add(
        "command line",
        run.command_lines.first().cloned().unwrap_or_default(),
    );
    for path in files(lab.root()) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let kind = match path.extension().and_then(|e| e.to_str()) {
            Some("png") => "picture".to_owned(),
            Some("json") if path.starts_with(&model.folder) => "model request".to_owned(),
            _ => name,
        };
        if path.starts_with(run.folder())
            || path.starts_with(&model.folder)
            || ["summary.md", "extra.xml", "extra.html"].contains(&kind.as_str())
        {
            add(&kind, std::fs::read(&path).unwrap_or_default());
        }
    }
    sinks
}

/// The search finds a canary planted into a copy of each real artefact, in each form.
fn prove(scanner: &Scanner, sinks: &BTreeMap<String, Vec<u8>>, canaries: &Canaries) {
    let value = canaries.get("odd");
    let mut missed = Vec::new();
    let forms = forms(value);
    println!("sink × form: {} × {}", sinks.len(), forms.len());
    for (sink, bytes) in sinks {
        let mut row = String::new();
        for (form, planted) in &forms {
            // A picture takes text as a chunk of its own; what is packed is a file beside it.
            let copy = match (sink.as_str(), *form) {
                (_, "gzip") => planted.clone(),
                ("picture", _) => with_chunk(bytes, planted),
                _ => {
                    let at = middle(bytes);
                    [&bytes[..at], b"\n", planted.as_slice(), b"\n", &bytes[at..]].concat()
                }
            };
            let found = scanner
                .scan_bytes(sink, &copy)
                .iter()
                .any(|hit| hit.credential == "canary.odd");
            row.push(if found { '+' } else { '-' });
            if !found {
                missed.push(format!("{sink} × {form}"));
            }
        }
        println!("  {sink:28} {row}");
    }
    for wanted in [
        "stdout",
        "stderr",
        "events.jsonl",
        "junit.xml",
        "report.html",
        "tutorial.md",
        "picture",
        "model request",
        "command line",
    ] {
        assert!(
            sinks.contains_key(wanted),
            "no {wanted} among {:?}",
            sinks.keys()
        );
    }
    assert!(missed.is_empty(), "not seen: {missed:?}");
}

fn middle(bytes: &[u8]) -> usize {
    let half = bytes.len() / 2;
    let line = bytes[half..].iter().position(|b| *b == b'\n');
    line.map_or(bytes.len(), |at| half + at)
}

/// Made here, apart from the code that looks for them.
fn forms(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = value.as_bytes();
    let each = |f: &dyn Fn(char) -> String| value.chars().map(f).collect::<String>().into_bytes();
    let all = |f: &dyn Fn(&u8) -> String| bytes.iter().map(f).collect::<String>().into_bytes();
    let offset = |n: usize| {
        STANDARD
            .encode([&b"xyz"[..n], bytes, b"tail"].concat())
            .into_bytes()
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).expect("memory");
    vec![
        ("raw", bytes.to_vec()),
        ("percent", all(&|b| format!("%{b:02X}"))),
        ("percent lower", all(&|b| format!("%{b:02x}"))),
        (
            "form",
            url::form_urlencoded::byte_serialize(bytes)
                .collect::<String>()
                .into_bytes(),
        ),
        ("base64 at 0", offset(0)),
        ("base64 at 1", offset(1)),
        ("base64 at 2", offset(2)),
        ("hex", all(&|b| format!("{b:02x}"))),
        ("hex with colons", all(&|b| format!("{b:02x}:"))),
        ("decimal entities", each(&|c| format!("&#{};", c as u32))),
        ("hex entities", each(&|c| format!("&#x{:x};", c as u32))),
        ("JSON escapes", each(&|c| format!("\\u{:04x}", c as u32))),
        ("JSON", serde_json::to_vec(value).expect("a text")),
        (
            "UTF-16",
            value.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        (
            "reversed",
            value.chars().rev().collect::<String>().into_bytes(),
        ),
        ("upper case", value.to_uppercase().into_bytes()),
        ("spaced", each(&|c| format!("{c} "))),
        ("zero width", each(&|c| format!("{c}\u{200b}"))),
        (
            "split by markup",
            each(&|c| {
                format!(
                    "<b>{}</b>",
                    match c {
                        '<' => "&lt;".into(),
                        '&' => "&amp;".into(),
                        '>' => "&gt;".into(),
                        c => c.to_string(),
                    }
                )
            }),
        ),
        ("a piece", bytes[..8].to_vec()),
        ("gzip", gzip.finish().expect("memory")),
    ]
}

/// The picture with a text chunk behind its header.
fn with_chunk(png: &[u8], text: &[u8]) -> Vec<u8> {
    let after_header = 8 + 25;
    let data = [b"Comment\0", text].concat();
    let body = [b"tEXt", data.as_slice()].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&body);
    [
        &png[..after_header],
        &(data.len() as u32).to_be_bytes(),
        &body,
        &crc.sum().to_be_bytes(),
        &png[after_header..],
    ]
    .concat()
}

pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}
