//! One page over all tutorials of a run or a suite.

use std::fmt::Write;

use super::html::{data_uri, escape, page};
use super::markdown::escape as md;
use super::model::{Tutorial, tame};

/// One tutorial on the page.
pub struct Entry<'a> {
    /// Scenario id.
    pub id: &'a str,
    pub tutorial: &'a Tutorial,
    /// The folder its files lie in, relative to the page.
    pub folder: &'a str,
    /// A picture to show; `None`: the page goes without.
    pub picture: Option<Vec<u8>>,
}

/// As HTML, one file.
pub fn html(title: &str, entries: &[Entry]) -> String {
    let count = match entries.len() {
        1 => "1 tutorial".to_owned(),
        n => format!("{n} tutorials"),
    };
    let mut body = format!(
        "<header>\n<h1>{}</h1>\n<p>{count}</p>\n</header>\n<main>\n<ul class=\"cards\">\n",
        escape(title)
    );
    for entry in sorted(entries) {
        let picture = entry
            .picture
            .as_deref()
            .map(|png| format!("<img src=\"{}\" alt=\"\">", data_uri(png)));
        let _ = writeln!(
            body,
            "<li><a href=\"{}/tutorial.html\">{}<div><h2>{}</h2><p>{}</p></div></a></li>",
            escape(&address(entry.folder)),
            picture.unwrap_or_default(),
            escape(&entry.tutorial.title),
            escape(&summary(entry.tutorial)),
        );
    }
    body.push_str("</ul>\n</main>\n");
    page(title, &body)
}

/// As Markdown, for a docs site.
pub fn markdown(title: &str, entries: &[Entry]) -> String {
    let mut out = format!("# {}\n\n", md(title));
    for entry in sorted(entries) {
        let _ = writeln!(
            out,
            "- [{}]({}/tutorial.md): {}",
            md(&entry.tutorial.title),
            address(entry.folder),
            md(&summary(entry.tutorial))
        );
    }
    out
}

fn sorted<'a, 'b>(entries: &'b [Entry<'a>]) -> Vec<&'b Entry<'a>> {
    let mut all: Vec<&Entry> = entries.iter().collect();
    all.sort_by_key(|e| e.id);
    all
}

/// First sentence of the introduction, or how many steps there are.
fn summary(tutorial: &Tutorial) -> String {
    let steps = match tutorial.steps.len() {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    let partial = if tutorial.partial() { ", partial" } else { "" };
    match tutorial
        .introduction
        .first()
        .filter(|_| tutorial.introduction.len() > 1)
    {
        Some(goal) => format!(
            "{} ({steps}{partial})",
            tame(goal.plain().trim_end_matches('.'), 160)
        ),
        None => format!("{steps}{partial}"),
    }
}

/// A relative address: everything but letters, digits and path marks is percent-encoded, so that a
/// folder can't become another scheme or host.
fn address(folder: &str) -> String {
    let mut out = String::from("./");
    for byte in folder.trim_start_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                out.push(byte as char)
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
