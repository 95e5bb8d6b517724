use super::*;
use crate::secrets::{Kind, Secret, inject};

fn scanner(value: &str, kind: Kind) -> Scanner {
    let scrubber = Scrubber::new();
    let secret = Secret::new(value.into()).expect("value");
    scrubber.register("canary", "password", &secret, kind);
    Scanner::new(&scrubber)
}

/// What a random canary looks like, with every character that some encoding changes.
const LONG: &str = "Qz7\"w<&>'k\\v/J+x=3%p Rt\tM9";

#[test]
fn r1_the_scanner_sees_every_form() {
    for value in [LONG, "kÉ漢8🙂vQx2Lm", "aGVsbG8td29ybGQ", "4929871650318"] {
        let scanner = scanner(value, Kind::Password);
        let secret = Secret::new(value.into()).expect("value");
        let variants = inject::variants(&secret);
        assert!(variants.len() > 100);
        let (mut seen, mut missed) = (0, Vec::new());
        for (name, bytes) in &variants {
            let hits = scanner.scan_bytes("report.html", bytes);
            match hits.first() {
                Some(hit) => {
                    assert_eq!(hit.credential, "canary.password");
                    seen += 1;
                    println!("{name:32} seen as {}", hit.form);
                }
                None => missed.push(name),
            }
        }
        println!("{seen} of {} forms seen", variants.len());
        assert!(missed.is_empty(), "{value}: {missed:?}");
    }
}

#[test]
fn r1_the_scanner_sees_every_form_in_a_text_inside_json() {
    let scanner = scanner(LONG, Kind::Password);
    let secret = Secret::new(LONG.into()).expect("value");
    let mut missed = Vec::new();
    for (name, bytes) in inject::variants(&secret) {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let one = serde_json::json!({ "event": "note", "texts": [ { "text": text } ] }).to_string();
        let lines = format!("{{\"event\":\"run_started\"}}\n{one}\n{{\"cut\": \"o");
        for file in [one, lines] {
            if scanner
                .scan_bytes("events.jsonl", file.as_bytes())
                .is_empty()
            {
                missed.push(name.clone());
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn the_scrubber_leaves_nothing_of_a_redactable_form_for_the_scanner() {
    let scanner = scanner(LONG, Kind::Password);
    let secret = Secret::new(LONG.into()).expect("value");
    for (name, bytes) in inject::variants(&secret) {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        let clean = scanner.scrubber().clean(text);
        if clean != text && !name.contains("split") && !name.contains("two") {
            let left = scanner.scan_bytes("x", clean.as_bytes());
            assert!(left.is_empty(), "{name}: {clean} {left:?}");
        }
    }
}

#[test]
fn clean_text_with_placeholders_has_no_hits() {
    let scanner = scanner("canary-password", Kind::Password);
    let page = "<p>Signed in with ‹canary.password›</p> and a canary, a password";
    assert_eq!(scanner.scan_bytes("report.html", page.as_bytes()), []);
}

#[test]
fn picture_and_packed_bytes_are_never_searched_raw() {
    let scanner = scanner("IDATx", Kind::Password);
    let secret = Secret::new("other-value-here".into()).expect("value");
    for (name, bytes) in inject::variants(&secret) {
        if name.starts_with("PNG") || name.starts_with("gzip") {
            assert_eq!(scanner.scan_bytes("x.png", &bytes), [], "{name}");
        }
    }
}

#[test]
fn what_cannot_be_looked_into_is_said() {
    let dir = tempfile::tempdir().expect("folder");
    std::fs::write(dir.path().join("a.zst"), b"\x28\xb5\x2f\xfd rest").expect("file");
    std::fs::write(dir.path().join("fine"), b"text").expect("file");
    let report = scanner(LONG, Kind::Password).scan_tree(dir.path());
    assert_eq!(report.files, 2);
    assert_eq!(report.unread.len(), 1);
    assert_eq!(report.hits().count(), 0);
}

#[test]
fn names_of_files_and_folders_and_targets_of_links_are_scanned() {
    let dir = tempfile::tempdir().expect("folder");
    let scanner = scanner("TILLER-3030", Kind::Password);
    std::fs::create_dir_all(dir.path().join("a/tiller-3030")).expect("folder");
    std::fs::write(dir.path().join("a/0303-RELLIT.png"), b"x").expect("file");
    std::os::unix::fs::symlink("/x/TILLER-3030", dir.path().join("link")).expect("link");
    let report = scanner.scan_tree(dir.path());
    let mut paths: Vec<_> = report.leaking.iter().map(|(p, _)| p.clone()).collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            dir.path().join("a/0303-RELLIT.png"),
            dir.path().join("a/tiller-3030"),
            dir.path().join("link")
        ]
    );
    assert!(
        report
            .hits()
            .all(|h| !h.file.to_lowercase().contains("tiller"))
    );
}

#[test]
fn the_strict_scan_sees_pieces_and_the_plain_one_does_not_cry_at_words() {
    let plain = scanner("Qz7wkvJx3pRtM9", Kind::Password);
    let strict = Scanner::strict(plain.scrubber());
    let cut = b"typed Qz7wkvJx...";
    assert_eq!(plain.scan_bytes("x", cut), []);
    assert_eq!(strict.scan_bytes("x", cut).len(), 1);
    assert_eq!(strict.scan_bytes("x", cut)[0].credential, "canary.password");
}

#[test]
fn user_names_are_found_as_words_only() {
    let scanner = scanner("carpenter", Kind::Username);
    assert_eq!(
        scanner.scan_bytes("x", b"carpenters and their carpentry"),
        []
    );
    assert_eq!(scanner.scan_bytes("x", b"by carpenter, today").len(), 1);
}

#[test]
fn case_069_a_short_value_between_tags_is_a_word_of_its_own() {
    let scanner = scanner("Qy7!x2", Kind::Password);
    for html in [
        "<b>Qy7!x2</b><i>copied</i>",
        "is<b>Qy7</b><b>!x2</b><i>copied</i>",
    ] {
        assert_eq!(scanner.scan_bytes("x", html.as_bytes()).len(), 1, "{html}");
    }
    assert_eq!(scanner.scan_bytes("x", b"isQy7!x2copied"), []);
}

/// Not an assertion on time: prints it, for a look in release builds.
#[test]
fn two_megabytes_are_cleaned_in_one_pass() {
    let scrubber = Scrubber::new();
    for n in 0..5 {
        let secret = Secret::new(format!("Qz7wkvJx{n}pRtM9")).expect("value");
        scrubber.register(&format!("s{n}"), "password", &secret, Kind::Password);
    }
    let page = "An ordinary line of page text, with 50% off & more; naïve café.\n".repeat(32_000);
    let start = std::time::Instant::now();
    let clean = scrubber.clean(&page);
    println!("{} bytes in {:?}", page.len(), start.elapsed());
    assert_eq!(clean, page.as_str());
}
