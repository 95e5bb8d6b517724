//! The proof that the leak search can see (security.md 8). The program is built with the feature
//! `leak-injector` and told to put registered values past the scrubber into one sink, each value in
//! a form of its own. Every one must be found: by the program itself, which then ends with exit 5 and
//! keeps none of it, or by the harness where the program has no way to look.

#[path = "../cli/injector.rs"]
mod injector;
// Shared with the other tests, which use more of them.
#[allow(dead_code)]
#[path = "../e2e/safety/lab.rs"]
mod lab;
#[allow(dead_code)]
#[path = "../e2e/safety/model.rs"]
mod model;
#[path = "../e2e/safety/ocr.rs"]
mod ocr;
#[allow(dead_code)]
#[path = "../cli/rig.rs"]
mod rig;
mod service;
#[allow(dead_code)]
#[path = "../e2e/safety/stage.rs"]
mod stage;

use std::collections::BTreeSet;
use std::path::Path;

use rehearsal::secrets::inject::Form;
use rehearsal::secrets::inject::plant::VARIABLE;
use rehearsal::secrets::{Kind, Scanner, Scrubber, Secret, inject};

use lab::{Lab, Outcome, canary, files};
use model::Model;
use stage::Stage;

/// A value of its own for each form, as a credential `c000`, `c001`, … of the suite.
struct Values {
    secrets: Vec<Secret>,
    forms: Vec<Form>,
}

/// Which forms a sink can hold at all.
#[derive(Clone, Copy)]
enum Holds {
    Bytes,
    Text,
    Names,
    Files,
}

impl Values {
    /// With every character that some encoding changes.
    fn odd() -> Self {
        Self::each(|| format!("{}\"<&>'\\/+=%é漢 {}", canary(6), canary(6)))
    }

    /// As a name can hold them.
    fn short() -> Self {
        Self::each(|| canary(12))
    }

    fn each(make: impl Fn() -> String) -> Self {
        let secret = || Secret::new(make()).expect("a value");
        let count = inject::variants(&secret()).len();
        let secrets: Vec<Secret> = (0..count).map(|_| secret()).collect();
        let forms = secrets.iter().enumerate();
        let forms = forms.filter_map(|(n, secret)| inject::nth(secret, n));
        Self {
            forms: forms.collect(),
            secrets,
        }
    }

    fn lab(&self) -> Lab {
        let mut lab = Lab::new();
        for (n, value) in self.secrets.iter().enumerate() {
            lab.set(&format!("C{n:03}_ORIGIN"), "http://site.test");
            lab.set(&format!("C{n:03}_PASSWORD"), value.expose());
        }
        lab
    }

    fn names(&self) -> String {
        let names: Vec<String> = (0..self.secrets.len())
            .map(|n| format!("c{n:03}"))
            .collect();
        names.join(", ")
    }

    fn scanner(&self) -> Scanner {
        let scrubber = Scrubber::new();
        for (n, value) in self.secrets.iter().enumerate() {
            scrubber.register(&format!("c{n:03}"), "password", value, Kind::Password);
        }
        Scanner::new(&scrubber)
    }

    /// Numbers of the values that are found in these bytes.
    fn seen(&self, scanner: &Scanner, name: &str, bytes: &[u8]) -> BTreeSet<usize> {
        let hits = scanner.scan_bytes(name, bytes);
        hits.iter().filter_map(|h| number(&h.credential)).collect()
    }

    /// Prints a row of the matrix and gives what was missed in it.
    fn row(&self, sink: &str, holds: Holds, seen: &BTreeSet<usize>) -> Vec<String> {
        let mut row = String::new();
        let mut missed = Vec::new();
        for (n, form) in self.forms.iter().enumerate() {
            let Form {
                name,
                bytes,
                is_loose,
            } = form;
            let is_text = std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0);
            let fits = match holds {
                Holds::Bytes => *is_loose,
                Holds::Text => *is_loose && is_text,
                Holds::Names => {
                    *is_loose && is_text && bytes.len() <= 255 && !bytes.contains(&b'/')
                }
                Holds::Files => !is_loose,
            };
            match (fits, seen.contains(&n)) {
                (true, true) => row.push('+'),
                (true, false) => {
                    row.push('-');
                    missed.push(format!("{sink} × {name}"));
                }
                (false, true) => panic!("{sink}: {name} was not planted and yet found"),
                (false, false) => row.push('·'),
            }
        }
        println!("{sink:>18} {row}");
        missed
    }

    fn legend(&self) {
        let forms: Vec<&str> = self.forms.iter().map(|f| f.name.as_str()).collect();
        println!("sink × form, {} forms in this order:", forms.len());
        println!("{}", forms.join(", "));
    }
}

/// `c017.password` → 17
fn number(label: &str) -> Option<usize> {
    label.strip_prefix('c')?.split('.').next()?.parse().ok()
}

/// What the notes of withheld files name, for files of which `of` holds.
fn quarantined(run: &Outcome, of: impl Fn(&str) -> bool) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    for path in files(&run.folder().join("quarantine")) {
        let note = std::fs::read_to_string(path).expect("a note");
        let mut lines = note.lines();
        let withheld = lines.next().and_then(|l| l.strip_prefix("Withheld: "));
        if of(withheld.expect("its first line")) {
            seen.extend(lines.filter_map(number));
        }
    }
    seen
}

/// Nothing of any value is left where the run was.
fn assert_nothing_left(values: &Values, run: &Outcome, scanner: &Scanner) {
    for path in files(run.folder()) {
        let name = path.strip_prefix(run.folder()).expect("below");
        let bytes = std::fs::read(&path).expect("a file");
        let left = values.seen(scanner, &name.to_string_lossy(), &bytes);
        assert!(left.is_empty(), "{}: {left:?}", name.display());
    }
}

#[test]
fn r1_every_form_is_found_in_every_file_of_a_run_that_ends_with_exit_5() {
    let (odd, short) = (Values::odd(), Values::short());
    odd.legend();
    let mut missed = Vec::new();
    for (sink, holds) in [
        ("", Holds::Bytes),
        ("journal", Holds::Bytes),
        ("junit.xml", Holds::Bytes),
        ("report.html", Holds::Bytes),
        ("report.json", Holds::Bytes),
        ("tutorial.md", Holds::Bytes),
        ("tutorial.json", Holds::Bytes),
        ("tutorial.html", Holds::Bytes),
        ("frames.json", Holds::Bytes),
        ("job summary", Holds::Text),
        ("standard output", Holds::Bytes),
        ("standard error", Holds::Bytes),
        ("other file", Holds::Files),
        ("file name", Holds::Names),
        ("folder name", Holds::Names),
    ] {
        let values = match holds {
            Holds::Names => &short,
            _ => &odd,
        };
        let mut lab = values.lab();
        // Ends before any browser, with all a run leaves.
        lab.write(
            "suite/fixtures/never.yaml",
            "command: [\"false\"]\nready: http://127.0.0.1:$(port)/\n",
        );
        lab.write(
            "suite/scenarios/one.yaml",
            &format!(
                "name: One\nfixtures: [never]\nstart: http://site.test/\ncredentials: [{}]\ntutorial: true\nsteps: [ {{ click: Go }} ]\nexpect: [ {{ see: Gone }} ]\n",
                values.names()
            ),
        );
        lab.set("RUST_LOG", "trace");
        let summary = lab.path("summary.md");
        lab.set("GITHUB_STEP_SUMMARY", &summary.to_string_lossy());
        lab.set(VARIABLE, sink);
        let run = lab.run(&["-vv"]);
        let scanner = values.scanner();
        let (found, code) = match sink {
            "" => (BTreeSet::new(), 3),
            "standard output" => (values.seen(&scanner, sink, &run.raw_stdout), 3),
            "standard error" => (values.seen(&scanner, sink, &run.raw_stderr), 3),
            "job summary" => {
                assert!(!summary.exists(), "it was written");
                (number_told(&run.stderr), 5)
            }
            "journal" => (quarantined(&run, |f| f.ends_with("/events.jsonl")), 5),
            "other file" => (quarantined(&run, |f| f.contains("/other-")), 5),
            "file name" | "folder name" => (quarantined(&run, |_| true), 5),
            name => (quarantined(&run, |f| f.ends_with(&format!("/{name}"))), 5),
        };
        assert_eq!(run.code, code, "{sink}: {}{}", run.stdout, run.stderr);
        assert_nothing_left(values, &run, &scanner);
        if sink.is_empty() {
            assert!(!run.folder().join("quarantine").exists(), "nothing planted");
        } else {
            missed.extend(values.row(sink, holds, &found));
        }
    }
    assert!(missed.is_empty(), "not seen: {missed:#?}");
}

/// Credentials that a message names.
fn number_told(text: &str) -> BTreeSet<usize> {
    text.split_whitespace().filter_map(number).collect()
}

const PAGE: &str = "<title>Page</title><style>body{font:24px 'DejaVu Sans Mono',monospace}</style>\
    <h1>Orders</h1><button onclick=\"document.title='Gone'\">Go on (2)</button>";

fn browsed(stage: &Stage, values: &Values, more: &[&str], steps: &str) -> Lab {
    let lab = values.lab();
    lab.stage_fixture(stage, &["site.test"], true);
    let names: Vec<String> = std::iter::once(values.names())
        .chain(more.iter().map(|name| (*name).to_owned()))
        .collect();
    lab.scenario(
        "one",
        &format!(
            "start: http://site.test/page\ncredentials: [{}]\ntutorial: true\nsteps:\n{steps}expect: [ {{ see: Orders }} ]\n",
            names.join(", ")
        ),
    );
    lab
}

#[test]
fn r1_r4_every_form_is_found_in_pictures_data_and_proposals() {
    let values = Values::odd();
    let stage = Stage::open("");
    stage.page("site.test", "/page", PAGE);
    let mut lab = browsed(
        &stage,
        &values,
        &[],
        "  - extract: { title: { css: h1 } }\n  - Click the button go on\n",
    );
    lab.set(
        VARIABLE,
        "picture,data.json,proposed tutorial,proposed steps",
    );
    let run = lab.run(&[]);
    assert_eq!(run.code, 5, "{}{}", run.stdout, run.stderr);
    let told = |file: &str| -> BTreeSet<usize> {
        run.of("one", "leak")
            .filter(|e| e["file"].as_str().is_some_and(|f| f.ends_with(file)))
            .filter_map(|e| number(e["credential"].as_str()?))
            .collect()
    };
    let mut missed = Vec::new();
    for (sink, file, holds) in [
        ("picture", ".png", Holds::Bytes),
        ("data.json", "/data.json", Holds::Bytes),
        ("proposed tutorial", "the proposed tutorial", Holds::Text),
        ("proposed steps", "the proposed steps", Holds::Text),
    ] {
        missed.extend(values.row(sink, holds, &told(file)));
    }
    assert!(missed.is_empty(), "not seen: {missed:#?}");
    let scanner = values.scanner();
    assert_nothing_left(&values, &run, &scanner);
    let proposed = files(&lab.path("suite/snapshots"));
    assert!(proposed.is_empty(), "{proposed:?}");
}

#[test]
fn r1_r18_every_form_is_found_in_what_leaves_for_others() {
    let values = Values::odd();
    let shown = canary(14);
    let stage = Stage::open("");
    stage.page("site.test", "/page", &format!("{PAGE}<p>{shown}</p>"));
    let mut lab = browsed(
        &stage,
        &values,
        &["shown"],
        "  - Open the basket of wonders\n",
    );
    lab.set("SHOWN_ORIGIN", "http://site.test");
    lab.set("SHOWN_PASSWORD", &shown);
    let model = Model::start(&lab);
    lab.set("OPENAI_BASE_URL", &format!("{}/v1", model.address));
    lab.set("OPENAI_MODEL", "scripted");
    lab.set("OPENAI_API_KEY", "sk-nothing-to-look-for");
    lab.set(VARIABLE, "model request,model tape,command line,pixels");
    let tape = lab.path("tape");
    let run = lab.run(&["--record-model", &tape.to_string_lossy()]);
    let scanner = values.scanner();
    let in_files = |folder: &Path, read: fn(Vec<u8>) -> Vec<u8>| -> BTreeSet<usize> {
        files(folder)
            .iter()
            .map(|f| read(std::fs::read(f).expect("a file")))
            .flat_map(|bytes| values.seen(&scanner, "x", &bytes))
            .collect()
    };
    // As it came over the wire, which the recording keeps as a text.
    let body = |recording: Vec<u8>| {
        let recording: serde_json::Value = serde_json::from_slice(&recording).expect("JSON");
        let body = recording["body"].as_str().expect("a body");
        body.as_bytes().to_vec()
    };
    let lines = run.command_lines.iter();
    let lines = lines.flat_map(|line| values.seen(&scanner, "x", line));
    let mut missed = Vec::new();
    for (sink, seen) in [
        ("model request", in_files(&model.folder, body)),
        ("model tape", in_files(&tape, |text| text)),
        ("command line", lines.collect()),
    ] {
        missed.extend(values.row(sink, Holds::Text, &seen));
    }
    assert!(missed.is_empty(), "not seen: {missed:#?}");
    let pictures = run.pictures("one");
    let read: Vec<String> = pictures.iter().map(|(_, p)| ocr::read(p)).collect();
    let seen = read.iter().any(|text| ocr::shows(text, &shown));
    println!(
        "{:>18} {}",
        "pixels",
        if seen { "+ read" } else { "- not read" }
    );
    assert!(seen, "{read:?}");
}
