//! Writing the language back: targets and steps in its own syntax, one line each, such that
//! reading the line gives the same thing again.

mod act;
mod step;

use std::time::Duration;

pub use act::expectation;

use super::model::*;

/// What can stand in a file, as far as writing needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    Text(String),
    /// `true`, `7`, `5s`: never quoted.
    Bare(String),
    List(Vec<Out>),
    Map(Vec<(String, Out)>),
}

fn text(text: impl Into<String>) -> Out {
    Out::Text(text.into())
}

fn bare(text: impl ToString) -> Out {
    Out::Bare(text.to_string())
}

/// As a flow value: fits anywhere.
pub fn flow(out: &Out) -> String {
    match out {
        Out::Text(t) => flow_text(t),
        Out::Bare(t) => t.clone(),
        Out::List(items) => format!(
            "[{}]",
            items.iter().map(flow).collect::<Vec<_>>().join(", ")
        ),
        Out::Map(entries) => {
            let inner: Vec<_> = entries
                .iter()
                .map(|(k, v)| format!("{}: {}", flow_text(k), flow(v)))
                .collect();
            format!("{{ {} }}", inner.join(", "))
        }
    }
}

/// Plain where that can't be misread, else in double quotes.
pub fn flow_text(text: &str) -> String {
    let first_good = text.starts_with(|c: char| c.is_alphanumeric() || "/$(.+".contains(c));
    let plain = first_good
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains("  ")
        && text
            .chars()
            .all(|c| !",[]{}".contains(c) && !needs_escape(c))
        && !["true", "false", "null"].contains(&text.to_lowercase().as_str())
        && !text.starts_with("...");
    if plain {
        text.to_string()
    } else {
        double_quoted(text)
    }
}

pub fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) && u32::from(c) > 0xFFFF => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)))
            }
            c if needs_escape(c) => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters a reader can't see or YAML can't hold.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || (c != ' ' && c.is_whitespace())
        || matches!(u32::from(c), 0xAD | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFFE | 0xFFFF)
        || u32::from(c) & 0xFFFE == 0xFFFE
}

// ---- targets -------------------------------------------------------------------------------

pub fn target(target: &Target) -> Out {
    match target.by.text() {
        Some(t) if t == t.trim() => text(t),
        _ => by_map(&target.by),
    }
}

pub fn by_map(by: &By) -> Out {
    Out::Map(by_entries(by))
}

fn by_entries(by: &By) -> Vec<(String, Out)> {
    match by {
        By::Name { role, name, exact } => {
            let mut map = Vec::new();
            map.extend(role.as_ref().map(|r| ("role".into(), text(r))));
            map.extend(name.as_ref().map(|n| ("name".into(), text(n))));
            if *exact {
                map.push(("exact".into(), bare(true)));
            }
            map
        }
        By::Text(t) => vec![("text".into(), text(t))],
        By::TestId(t) => vec![("testid".into(), text(t))],
        By::Css(t) => vec![("css".into(), text(t))],
    }
}

fn many(mut items: Vec<Out>) -> Out {
    if items.len() == 1 {
        items.remove(0)
    } else {
        Out::List(items)
    }
}

pub fn duration(d: Duration) -> String {
    if d.subsec_nanos() == 0 {
        format!("{}s", d.as_secs())
    } else if d.subsec_nanos().is_multiple_of(1_000_000) {
        format!("{}ms", d.as_millis())
    } else {
        format!("{}s", d.as_secs_f64())
    }
}
