//! The browser is the oracle: role and name of every element the reader lists on every page under
//! `fixtures/pages` and `fixtures/oracle`, against the browser's computed role and computed label.
//!
//! A difference is mended or explained in `oracle-explained.txt`; one that is neither fails the test, and
//! so does an explanation no page needs any more.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use rehearsal::page::{Nothing, Wave, call, observe};
use serde_json::json;

use crate::browser::{Browser, fixtures};

const EXPLAINED: &str = include_str!("oracle-explained.txt");

/// Words the browser says for things that have no ARIA role, and the role the reader gives them.
const INTERNAL: &[(&str, &str)] = &[
    ("none", "generic"),
    ("LabelText", "generic"),
    ("Legend", "generic"),
    ("Figcaption", "generic"),
    ("Abbr", "generic"),
    ("DescriptionList", "generic"),
    ("Ruby", "generic"),
    ("SvgRoot", "generic"),
    ("PluginObject", "generic"),
    ("sectionheader", "generic"),
    ("sectionfooter", "generic"),
    ("LayoutTable", "table"),
    ("LayoutTableRow", "row"),
    ("LayoutTableCell", "cell"),
    ("MathMLMath", "math"),
    ("Iframe", "iframe"),
    ("IframePresentational", "iframe"),
    // HTML-AAM knows no role for these; a person presses or fills them.
    ("DisclosureTriangle", "button"),
    ("DisclosureTriangleGrouped", "button"),
    ("ColorWell", "textbox"),
    ("Date", "textbox"),
    ("DateTime", "textbox"),
    ("InputTime", "textbox"),
];

/// Elements asked about per page: long lists repeat themselves.
const PER_PAGE: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn r47_names_and_roles_agree_with_the_browser() {
    let browser = Browser::start().await;
    let mut unexplained = Vec::new();
    let mut used = BTreeSet::new();
    let (mut agree, mut explained) = (0, 0);
    for page in pages() {
        browser.go(&page).await;
        let wave = Wave {
            generation: 1,
            scrub: &Nothing,
            allowed: &|_| true,
            sought: &[],
        };
        let reading = observe(&browser, &browser.top, &wave)
            .await
            .unwrap_or_else(|e| panic!("{page}: {e}"));
        let elements = call(&browser, &browser.top, "elements", &[json!(1)], None)
            .await
            .expect("elements");
        let elements = elements["value"].as_array().cloned().unwrap_or_default();
        let nodes = &reading.observation.documents[0].nodes;
        // The classic commands know one frame at a time, and nothing of what is not rendered.
        let asked = nodes
            .iter()
            .zip(&elements)
            .filter(|(node, _)| node.frames.is_empty() && node.rect.is_some())
            .take(PER_PAGE)
            .map(|(node, element)| {
                let browser = &browser;
                async move {
                    let id = element["sharedId"].as_str().expect("a node");
                    let role = browser.computed(id, "computedrole").await;
                    (node, role, browser.computed(id, "computedlabel").await)
                }
            });
        // Side by side: the driver's answer to a single command waits for the network each time.
        let answers: Vec<_> = futures_util::stream::iter(asked)
            .buffered(24)
            .collect()
            .await;
        for (node, role, label) in answers {
            let (role, name) = match (role, label) {
                (Ok(role), Ok(label)) => (role, folded(&label)),
                // The page replaced it since: nothing to compare.
                (Err(error), _) | (_, Err(error)) if error.contains("stale") => continue,
                (Err(error), _) | (_, Err(error)) => panic!("{page}: {error}"),
            };
            let same_role =
                role == node.role || INTERNAL.contains(&(role.as_str(), node.role.as_str()));
            if same_role && name == node.name {
                agree += 1;
                continue;
            }
            let line = format!("{page} | {} {:?} | {role} {name:?}", node.role, node.name);
            match EXPLAINED
                .lines()
                .find(|known| known.starts_with(&format!("{line} | ")))
            {
                Some(known) => {
                    explained += 1;
                    used.insert(known);
                }
                None => unexplained.push(line),
            }
        }
    }
    browser.quit().await;
    println!(
        "agree {agree}, explained {explained}, unexplained {}",
        unexplained.len()
    );
    let stale: Vec<&str> = EXPLAINED
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !used.contains(line))
        .collect();
    assert!(
        unexplained.is_empty(),
        "page | reader | browser\n{}",
        unexplained.join("\n")
    );
    assert!(stale.is_empty(), "no longer needed:\n{}", stale.join("\n"));
    assert!(agree > 1000, "only {agree} elements compared");
}

fn pages() -> Vec<String> {
    let mut out = Vec::new();
    for folder in ["oracle", "pages"] {
        for entry in std::fs::read_dir(fixtures().join(folder)).expect("fixtures") {
            let name = entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name");
            // The driver itself stumbles over clobbered documents; `page.rs` reads that page.
            if name.ends_with(".html") && name != "clobbered.html" {
                out.push(format!("{folder}/{name}"));
            }
        }
    }
    out.sort();
    out
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
