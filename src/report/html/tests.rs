use std::collections::{BTreeMap, HashSet};

use super::super::sample;
use super::*;

/// Writes samples to look at, where `REPORT_SAMPLES` names a folder.
#[test]
fn samples() {
    let Some(folder) = std::env::var_os("REPORT_SAMPLES") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let options = Options::default();
    std::fs::write(
        folder.join("report.html"),
        render(&sample::journal(), &options),
    )
    .unwrap();
    std::fs::write(
        folder.join("large.html"),
        render(&sample::large(1000), &options),
    )
    .unwrap();
}

#[derive(Debug)]
struct Tag {
    name: String,
    attributes: BTreeMap<String, String>,
    closing: bool,
}

/// Tags of a page whose own attributes are all double-quoted; anything else fails the test.
fn tags(html: &str) -> Vec<Tag> {
    let mut out = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with('!') {
            continue;
        }
        let closing = rest.starts_with('/');
        rest = rest.trim_start_matches('/');
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
        let name = rest[..end].to_owned();
        assert!(
            !name.is_empty(),
            "a bare < before {:?}",
            &rest[..rest.len().min(40)]
        );
        rest = &rest[end..];
        let mut attributes = BTreeMap::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break;
            }
            let end = rest.find(['=', ' ', '>']).unwrap();
            let key = rest[..end].to_owned();
            let fine = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(
                !key.is_empty() && key.chars().all(fine),
                "attribute {key:?}"
            );
            rest = &rest[end..];
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix("=\"") {
                let end = after.find('"').unwrap();
                value = after[..end].to_owned();
                rest = &after[end + 1..];
            }
            attributes.insert(key, value);
        }
        let raw = matches!(name.as_str(), "script" | "style") && !closing;
        if raw {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
        out.push(Tag {
            name,
            attributes,
            closing,
        });
    }
    out
}

fn page() -> String {
    render(&sample::journal(), &Options::default())
}

#[test]
fn tags_close_in_order_and_ids_are_unique() {
    for html in [
        page(),
        render(&[], &Options::default()),
        render(&sample::large(30), &Options::default()),
    ] {
        let mut open: Vec<String> = Vec::new();
        let mut ids = HashSet::new();
        for tag in tags(&html) {
            if let Some(id) = tag.attributes.get("id") {
                assert!(ids.insert(id.clone()), "id {id} twice");
                assert!(!id.contains(char::is_whitespace));
            }
            if matches!(tag.name.as_str(), "meta" | "img" | "input" | "br") {
                continue;
            }
            if tag.closing {
                assert_eq!(open.pop(), Some(tag.name));
            } else {
                open.push(tag.name);
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }
}

#[test]
fn page_text_stays_text() {
    let html = page();
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"));
    assert!(
        html.contains("{{ 7*7 }} {% raw %}"),
        "template marks of the page are not read again"
    );
    assert!(html.contains("A &lt;b&gt;bold&lt;&#x2f;b&gt;"));
    let bad = |c: char| {
        (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{fffe}')
    };
    assert_eq!(html.chars().find(|c| bad(*c)), None);
    let known: HashSet<&str> = [
        "a",
        "b",
        "bdi",
        "body",
        "button",
        "br",
        "code",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "head",
        "header",
        "html",
        "i",
        "img",
        "input",
        "kbd",
        "label",
        "li",
        "main",
        "meta",
        "nav",
        "ol",
        "p",
        "pre",
        "script",
        "section",
        "span",
        "strong",
        "style",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
    .into();
    for tag in tags(&html) {
        assert!(known.contains(tag.name.as_str()), "<{}>", tag.name);
        let handler = tag.attributes.keys().find(|key| key.starts_with("on"));
        assert_eq!(handler, None, "<{}>", tag.name);
    }
}

#[test]
fn nothing_is_fetched_but_pictures_beside_the_report() {
    for tag in tags(&page()) {
        for name in ["src", "href"] {
            if let Some(to) = tag.attributes.get(name) {
                assert!(
                    to.starts_with("./") || to.starts_with('#') || to.starts_with(".&#x2f;"),
                    "{to}"
                );
            }
        }
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}

#[test]
fn the_policy_names_the_script_it_allows() {
    let html = page();
    let start = html.find("<script>").unwrap() + "<script>".len();
    let script = &html[start..start + html[start..].find("</script>").unwrap()];
    let policy = tags(&html)
        .into_iter()
        .find(|tag| tag.attributes.contains_key("http-equiv"))
        .unwrap()
        .attributes
        .remove("content")
        .unwrap();
    assert!(
        policy
            .replace("&#x2f;", "/")
            .contains(&format!("script-src '{}'", hash(script)))
    );
    assert!(policy.contains("default-src 'none'"));
}

#[test]
fn a_screen_reader_finds_its_way() {
    let html = page();
    let all = tags(&html);
    let count = |name: &str| {
        all.iter()
            .filter(|tag| tag.name == name && !tag.closing)
            .count()
    };
    assert_eq!(
        (count("main"), count("nav"), count("h1"), count("header")),
        (1, 1, 1, 1)
    );
    for tag in all.iter().filter(|tag| !tag.closing) {
        match tag.name.as_str() {
            "img" => assert!(tag.attributes.contains_key("alt")),
            "th" => assert!(tag.attributes.contains_key("scope")),
            "nav" | "dialog" | "table" => assert!(tag.attributes.contains_key("aria-label")),
            _ => {}
        }
    }
    assert!(html.contains(r#"role="status" aria-live="polite">10 scenarios</p>"#));
    assert!(html.contains(r#"<label for="find">"#));
    // Headings do not skip a level downwards.
    let mut last = 0;
    for tag in all.iter().filter(|tag| !tag.closing) {
        if let Some(level) = tag
            .name
            .strip_prefix('h')
            .and_then(|n| n.parse::<u32>().ok())
        {
            assert!(level <= last + 1, "h{level} after h{last}");
            last = level;
        }
    }
}

#[test]
fn the_story_of_a_scenario_is_all_there() {
    let html = page();
    for part in [
        "Asked the model: choose a candidate",
        "newest by date",
        "runner-up",
        "Writes let through",
        "write: creates README.md in demo",
        "stats.example",
        "Not saved: you are offline",
        "<span class=\"del\">-1. Click “Discover”.",
        "Other attempts",
        "Attempt 1",
        "covered by dialog",
        "covered: password field",
        "orders, 45 rows",
        "The run ended inside this scenario.",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn pictures_can_lie_inside() {
    let read =
        |path: &str| (path == "code-host/sign-in/frames/0002.png").then(|| b"\x89PNG".to_vec());
    let html = render_with(
        &sample::journal(),
        &Options::default(),
        Pictures::Inline(&read),
    );
    let inside = tags(&html)
        .iter()
        .filter_map(|tag| tag.attributes.get("href"))
        .filter(|src| src.starts_with("data:image") && src.contains("iVBORw=="))
        .count();
    assert_eq!(inside, 2, "in the story and at the step");
}

#[test]
fn a_thousand_scenarios_stay_readable_in_size() {
    let html = render(&sample::large(1000), &Options::default());
    assert!(html.len() < 16 << 20, "{}", html.len());
    let elements = tags(&html).iter().filter(|tag| !tag.closing).count();
    assert!(elements < 300_000, "{elements} elements");
}

#[test]
fn a_report_without_scenarios_says_so() {
    let html = render(&[], &Options::default());
    assert!(html.contains("No scenario was selected"));
    assert!(html.contains("Nothing ran."));
}
