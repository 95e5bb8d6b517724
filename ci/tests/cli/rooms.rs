//! Holds the architecture's table of rooms against what the sources import.

use std::fs;
use std::path::{Path, PathBuf};

/// Ground floor first. A room imports only from rooms above it in this list.
const ROOMS: &[&str] = &[
    "text", "system", "secrets", "store", "policy", "scenario", "snapshot", "plan", "driver",
    "network", "page", "resolve", "agent", "event", "broker", "tutorial", "run", "report", "serve",
    "cli",
];

/// Crates that only one room may name.
const OWNED: &[(&str, &str)] = &[
    ("thirtyfour", "driver"),
    ("async_openai", "agent"),
    ("clap", "cli"),
];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// The words after `lead` in the code of a file, without comments.
fn named<'a>(code: &'a str, lead: &str) -> Vec<&'a str> {
    code.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(|line| line.split(lead).skip(1))
        .map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            &rest[..end.unwrap_or(rest.len())]
        })
        .collect()
}

fn room_of(path: &Path, src: &Path) -> Option<String> {
    let below = path.strip_prefix(src).ok()?;
    let first = below
        .components()
        .next()?
        .as_os_str()
        .to_string_lossy()
        .into_owned();
    ROOMS.contains(&first.as_str()).then_some(first)
}

#[test]
fn rooms_import_only_from_rooms_above_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 100, "the sources were found");
    let floor = |room: &str| ROOMS.iter().position(|r| *r == room);
    let mut wrong = Vec::new();
    for file in &files {
        let Some(room) = room_of(file, &src) else {
            continue;
        };
        let is_test = file.to_string_lossy().contains("test");
        let code = fs::read_to_string(file).expect("a source");
        // What a room's own unit tests borrow doesn't ship.
        let code = if is_test {
            ""
        } else {
            code.split("#[cfg(test)]\nmod tests {").next().unwrap_or("")
        };
        for other in named(code, "crate::") {
            if floor(other).is_some_and(|other| Some(other) > floor(&room)) {
                wrong.push(format!("{}: crate::{other}", file.display()));
            }
        }
        for (name, owner) in OWNED {
            let uses = format!("{name}::");
            if room != *owner
                && code
                    .lines()
                    .any(|l| !l.trim_start().starts_with("//") && l.contains(&uses))
            {
                wrong.push(format!("{}: {name} belongs to {owner}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_in_the_library_is_this_list() {
    let lib = include_str!("../../../src/lib.rs");
    for room in ROOMS {
        assert!(lib.contains(&format!("pub mod {room};")), "{room}");
    }
    let modules = lib.lines().filter(|l| l.starts_with("pub mod ")).count();
    assert_eq!(modules, ROOMS.len());
}

#[test]
fn the_words_of_a_line_are_found() {
    let code =
        "use crate::text::Problem; // crate::cli\nlet x = crate::run::go(crate::page::see());";
    assert_eq!(named(code, "crate::"), ["text", "run", "page"]);
}

/// Every build of ours takes the versions of the lock file and no other.
#[test]
fn r67_builds_are_locked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(root.join("Cargo.lock").is_file());
    let mut scripts = Vec::new();
    let mut folders = vec![root.join("ci")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => scripts.extend(fs::read_to_string(path)),
            }
        }
    }
    let builds = |line: &&str| {
        let mut words = line.split_whitespace();
        let builds = ["build", "test", "bench", "clippy", "install", "run"];
        words.any(|word| word == "cargo") && words.next().is_some_and(|word| builds.contains(&word))
    };
    let lines = scripts.iter().flat_map(|text| text.lines());
    let lines: Vec<&str> = lines
        .filter(|l| !l.trim_start().starts_with(['#', '/']))
        .filter(builds)
        .collect();
    assert!(lines.len() >= 4, "the scripts were found: {lines:?}");
    for line in lines {
        assert!(line.contains("--locked"), "{line}");
    }
}
