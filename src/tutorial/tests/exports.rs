//! Files: what is written, and that page text stays text in each of them.

use std::collections::BTreeSet;
use std::path::Path;

use pulldown_cmark::{Event as Md, Options, Parser, Tag};

use super::journal::*;
use crate::event::{Event, Status, What};
use crate::tutorial::{self, Written, curate, index, json_schema, markdown, verify_records, write};

const HOSTILE: &str = "<img src=x onerror=alert(1)> ![p](http://evil.test/p.png) [l](javascript:alert(1)) **b** `c` http://evil.test www.evil.test \u{1b}[31m ]] | {{7*7}} \u{202e}gpj.exe @all # h";

fn written(events: &[Event], folder: &Path) -> Written {
    frames(folder, events);
    let put =
        |path: &Path, bytes: &[u8]| crate::store::write(path, bytes).map_err(|e| e.to_string());
    write(events, folder, &folder.join("tutorial"), &put).expect("written")
}

fn listing(folder: &Path) -> BTreeSet<String> {
    let list = std::fs::read_dir(folder).expect("folder");
    list.map(|e| e.expect("entry").file_name().into_string().expect("name"))
        .collect()
}

#[test]
fn r62_the_folder_holds_the_tutorial_and_only_the_pictures_it_shows() {
    let folder = tempfile::tempdir().expect("folder");
    let written = written(&add_readme(), folder.path());
    let out = folder.path().join("tutorial");
    assert!(written.without.is_empty(), "{:?}", written.without);
    assert_eq!(
        listing(&out),
        [
            "frames.json",
            "pictures",
            "tutorial.html",
            "tutorial.json",
            "tutorial.md"
        ]
        .map(String::from)
        .into()
    );
    let shown: BTreeSet<String> = written
        .markdown
        .split("](pictures/")
        .skip(1)
        .filter_map(|r| r.split(')').next())
        .map(String::from)
        .collect();
    let pngs: BTreeSet<String> = listing(&out.join("pictures"))
        .into_iter()
        .filter(|n| n.ends_with(".png"))
        .collect();
    assert_eq!(shown, pngs);
    assert_eq!(shown.len(), 6);
    assert!(
        shown.contains("02-sign-in-with-the-code-host-user.png"),
        "{shown:?}"
    );
    assert_eq!(verify_records(&out.join("pictures")).expect("records"), 6);
    assert_eq!(written.files.len(), 4 + 2 * 6);
}

#[test]
fn r63_every_frame_of_the_audit_log_is_mapped() {
    let folder = tempfile::tempdir().expect("folder");
    let events = add_readme();
    written(&events, folder.path());
    let map: serde_json::Value = serde_json::from_slice(
        &std::fs::read(folder.path().join("tutorial/frames.json")).expect("read"),
    )
    .expect("json");
    let all = events
        .iter()
        .filter(|e| matches!(e.what, What::Frame(_)))
        .count();
    let lines = map.as_array().expect("lines");
    assert_eq!(lines.len(), all);
    assert!(
        lines.iter().any(|l| l["tutorial_step"] == 5
            && l["pictures"][0]
                .as_str()
                .is_some_and(|p| p.starts_with("pictures/05"))),
        "{map:#}"
    );
    assert!(
        lines.iter().any(|l| l["tutorial_step"].is_null()),
        "waits are in the log and not in the tutorial"
    );
}

#[test]
fn a_record_names_its_picture_and_what_was_covered() {
    let folder = tempfile::tempdir().expect("folder");
    written(&add_readme(), folder.path());
    let pictures = folder.path().join("tutorial/pictures");
    let name = listing(&pictures)
        .into_iter()
        .find(|n| n.starts_with("01") && n.ends_with(".png"))
        .expect("picture");
    let record =
        std::fs::read_to_string(pictures.join(name.replace(".png", ".json"))).expect("record");
    assert!(record.contains("password field"), "{record}");
    let mut bytes = std::fs::read(pictures.join(&name)).expect("read");
    bytes.push(0);
    std::fs::write(pictures.join(&name), bytes).expect("write");
    assert!(
        verify_records(&pictures).is_err(),
        "a changed picture is found"
    );
}

#[test]
fn case_088_what_is_covered_is_one_colour_even_if_the_frame_shows_it() {
    let folder = tempfile::tempdir().expect("folder");
    // These frames show everything, as if covering had failed before.
    written(&add_readme(), folder.path());
    let pictures = folder.path().join("tutorial/pictures");
    let names = listing(&pictures);
    // The last step's marks lie across the box.
    let plain = |n: &&String| n.ends_with(".png") && !n.contains("result") && !n.starts_with("05");
    for name in names.iter().filter(plain) {
        let image = image::open(pictures.join(name)).expect("open").into_rgb8();
        let inside = (301..329).flat_map(|y| (401..599).map(move |x| (x, y)));
        for (x, y) in inside {
            assert_eq!(image.get_pixel(x, y).0, [32, 33, 36], "{name} at {x}, {y}");
        }
    }
}

#[test]
fn r62_pictures_of_an_earlier_tutorial_go() {
    let folder = tempfile::tempdir().expect("folder");
    written(&add_readme(), folder.path());
    let mut shorter = add_readme();
    shorter.retain(|e| !matches!(&e.what, What::Acted(a) if a.name.as_deref() == Some("demo")));
    let second = written(&shorter, folder.path());
    let pngs = listing(&folder.path().join("tutorial/pictures")).len();
    assert_eq!(pngs, 2 * second.tutorial.pictures().count());
    assert_eq!(second.tutorial.steps.len(), 4);
}

#[test]
fn a_missing_or_changed_frame_costs_its_picture_only() {
    let folder = tempfile::tempdir().expect("folder");
    let mut events = add_readme();
    frames(folder.path(), &events);
    let mut n = 0;
    for event in &mut events {
        if let What::Frame(frame) = &mut event.what {
            n += 1;
            match n {
                1 => frame.file = Some("../../etc/passwd".into()),
                2 => frame.hash = Some("0".repeat(64)),
                _ => {}
            }
        }
    }
    let put =
        |path: &Path, bytes: &[u8]| crate::store::write(path, bytes).map_err(|e| e.to_string());
    let written = write(
        &events,
        folder.path(),
        &folder.path().join("tutorial"),
        &put,
    )
    .expect("written");
    assert_eq!(written.without.len(), 2, "{:?}", written.without);
    assert_eq!(written.tutorial.steps.len(), 5);
    assert_eq!(written.markdown.matches("](pictures/").count(), 4);
}

#[test]
fn a_writer_that_refuses_fails_the_tutorial_with_its_reason() {
    let folder = tempfile::tempdir().expect("folder");
    let error = write(&add_readme(), folder.path(), folder.path(), &|_, _| {
        Err("it holds a secret".into())
    })
    .expect_err("refused");
    assert!(error.to_string().contains("it holds a secret"), "{error}");
}

fn hostile() -> Vec<Event> {
    let mut play = Play::new(HOSTILE, HOSTILE, HOME);
    play.step(Do {
        verb: "click",
        says: HOSTILE,
        role: "button",
        name: HOSTILE,
        on: HOME,
        to: HOME,
        ..Do::default()
    })
    .step(Do {
        verb: "fill",
        says: "Fill textbox",
        role: "textbox",
        name: HOSTILE,
        value: Some(HOSTILE),
        on: HOME,
        to: HOME,
        note: Some(HOSTILE),
        ..Do::default()
    })
    .step(Do {
        verb: "click",
        says: HOSTILE,
        role: "x",
        name: "n",
        on: HOME,
        to: HOME,
        status: Some(Status::Failed),
        ..Do::default()
    })
    .looked(
        HOME,
        &[
            &format!("see: {HOSTILE}"),
            &format!("element: heading \"{HOSTILE}\""),
            HOSTILE,
        ],
    );
    play.finish(Status::Failed, HOSTILE, Some("3"), Some("credential"))
}

#[test]
fn t28_page_text_makes_no_link_image_or_tag_in_markdown() {
    let mut passing = hostile();
    if let Some(What::ScenarioFinished(done)) = passing.last_mut().map(|e| &mut e.what) {
        done.status = Status::Passed;
    }
    for events in [hostile(), passing] {
        let text = markdown(&curate(&events));
        for event in Parser::new_ext(&text, Options::all()) {
            match event {
                Md::Html(html) | Md::InlineHtml(html) => panic!("a tag arose: {html}\n{text}"),
                Md::Start(Tag::Link { dest_url, .. }) => panic!("a link arose: {dest_url}\n{text}"),
                Md::Start(Tag::Image { dest_url, .. }) => {
                    assert!(dest_url.starts_with("pictures/"), "{dest_url}")
                }
                _ => {}
            }
        }
        assert!(
            !text.contains('\u{1b}')
                && !text.contains("[31m")
                && !text.contains('\u{202e}')
                && !text.contains("http://evil")
                && !text.contains("www.evil"),
            "{text}"
        );
    }
}

#[test]
fn t28_page_text_makes_no_tag_in_html() {
    let folder = tempfile::tempdir().expect("folder");
    written(&hostile(), folder.path());
    let html = std::fs::read_to_string(folder.path().join("tutorial/tutorial.html")).expect("read");
    assert!(!html.contains("<img src=x") && !html.contains("\u{1b}") && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;"));
    for source in html.split("src=\"").skip(1) {
        assert!(
            source.starts_with("data:image/png;base64,"),
            "{}",
            &source[..40]
        );
    }
    assert!(!html.contains("href="), "a tutorial links nowhere");
}

#[test]
fn the_index_lists_every_tutorial_and_stays_on_its_host() {
    let (a, b) = (curate(&add_readme()), curate(&hostile()));
    let entry = |id, tutorial, folder| index::Entry {
        id,
        tutorial,
        folder,
        picture: None,
    };
    let entries = [
        entry("z", &b, "//evil.test/x y"),
        entry("code-host/add-readme", &a, "code-host/add-readme"),
    ];
    let html = index::html("All <tutorials>", &entries);
    assert!(html.contains("href=\"./code-host/add-readme/tutorial.html\""));
    assert!(
        html.contains("href=\"./evil.test/x%20y/tutorial.html\""),
        "{html}"
    );
    assert!(
        html.find("Add a README") < html.find("onerror"),
        "sorted by id"
    );
    assert!(html.contains("All &lt;tutorials&gt;") && !html.contains("<img src=x"));
    let text = index::markdown("All", &entries);
    let links: Vec<String> = Parser::new(&text)
        .filter_map(|e| {
            if let Md::Start(Tag::Link { dest_url, .. }) = e {
                Some(dest_url.into_string())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        links,
        [
            "./code-host/add-readme/tutorial.md",
            "./evil.test/x%20y/tutorial.md"
        ]
    );
}

#[test]
fn the_schema_changes_only_where_it_is_seen() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&json_schema()).expect("json"));
}

#[test]
fn r60_the_json_reads_back_and_has_a_schema() {
    let made = curate(&add_readme());
    let read: tutorial::Tutorial =
        serde_json::from_str(&tutorial::json(&made)).expect("reads back");
    assert_eq!(read, made);
    let schema = json_schema();
    let keys: BTreeSet<&str> = schema["required"]
        .as_array()
        .expect("required")
        .iter()
        .filter_map(|k| k.as_str())
        .collect();
    for key in ["title", "introduction", "steps", "conclusion"] {
        assert!(keys.contains(key), "{schema:#}");
    }
}

#[test]
fn readable_markdown_for_a_plain_workflow() {
    insta::assert_snapshot!(markdown(&curate(&add_readme())));
}
