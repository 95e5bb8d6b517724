//! What is decided before a browser exists.

use super::*;
use crate::scenario::{Selection, Suite};
use crate::text::{Level, Problem, line_col};

/// A suite of these files, planned whole: every problem and warning, as `line:column message`.
fn told(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let suite = Suite::load(folder.path());
    let (chosen, _) = suite.select(&Selection::default());
    let mut problems = suite.problems.clone();
    match build(&suite, &chosen, &Wishes::default()) {
        Ok(plan) => problems.extend(plan.warnings),
        Err(more) => problems.extend(more),
    }
    problems.iter().map(said).collect()
}

fn said(problem: &Problem) -> String {
    let place = match &problem.place {
        Some((source, span)) => {
            let (line, column) = line_col(&source.text, span.start);
            format!("{}:{line}:{column} ", source.path.display())
        }
        None => String::new(),
    };
    let level = match problem.level {
        Level::Error => "",
        Level::Warning => "warning: ",
    };
    let help = problem.help.as_deref().unwrap_or("(no help)");
    format!("{place}{level}{}; {help}", problem.message)
}

/// One scenario, whose lines begin at the second.
fn one(lines: &str) -> Vec<String> {
    told(&[(
        "scenarios/a.yaml",
        &format!("start: http://app.test/\n{lines}"),
    )])
}

#[track_caller]
fn only(told: &[String], begins: &str, holds: &str) {
    assert!(
        told.len() == 1 && told[0].starts_with(begins) && told[0].contains(holds),
        "{told:#?}"
    );
}

#[test]
fn an_upload_needs_its_file() {
    let lines = "steps:\n  - { upload: fixtures/a.pdf, in: Attachment }\nexpect: { see: x }\n";
    only(
        &one(lines),
        "scenarios/a.yaml:3:5 there is no file `fixtures/a.pdf`",
        "the suite's folder",
    );
    let scenario = format!("start: http://app.test/\n{lines}");
    let there = [
        ("scenarios/a.yaml", scenario.as_str()),
        ("fixtures/a.pdf", "%PDF"),
    ];
    assert_eq!(told(&there), Vec::<String>::new());
    // A folder is no file.
    let folder = [
        ("scenarios/a.yaml", scenario.as_str()),
        ("fixtures/a.pdf/b", ""),
    ];
    assert_eq!(told(&folder).len(), 1);
}

#[test]
fn a_folder_to_serve_is_there() {
    let scenario =
        "start: http://app.test/\nfixtures: [pages]\nsteps: [ { click: A } ]\nexpect: { see: x }\n";
    let fixture = "serve: fixtures/pages\nhosts: { app.test: \"127.0.0.1:$(port)\" }\n";
    let files = [
        ("scenarios/a.yaml", scenario),
        ("fixtures/pages.yaml", fixture),
    ];
    only(
        &told(&files),
        "fixture `pages`: there is no folder `fixtures/pages`",
        "the suite's folder",
    );
    let whole = [files[0], files[1], ("fixtures/pages/index.html", "x")];
    assert_eq!(told(&whole), Vec::<String>::new());
}

#[test]
fn ends_names_a_step_and_a_reason_that_exist() {
    let step = |n: u32, steps: &str| {
        one(&format!(
            "{steps}\nends: {{ status: failed, reason: not_found, step: {n} }}\n"
        ))
    };
    let two = "steps: [ { click: A }, { click: B } ]";
    assert_eq!(step(2, two), Vec::<String>::new());
    only(
        &step(3, two),
        "scenarios/a.yaml:3:7 `ends` names step 3",
        "there are 2 steps",
    );
    only(
        &step(99, "steps: [ { click: A } ]"),
        "scenarios/a.yaml:3:7 ",
        "there is one step",
    );
    only(
        &step(1, "goal: Open it."),
        "scenarios/a.yaml:3:7 ",
        "a goal has no numbered steps",
    );

    let reason = |word: &str| {
        one(&format!(
            "{two}\nends: {{ status: failed, reason: {word} }}\n"
        ))
    };
    assert_eq!(reason("login_rejected"), Vec::<String>::new());
    only(
        &reason("login_reject"),
        "scenarios/a.yaml:3:33 warning: ends.reason: no failure has the reason `login_reject`",
        "did you mean `login_rejected`?",
    );
    only(
        &reason("bananas"),
        "scenarios/a.yaml:3:33 warning: ",
        "for example: not_found",
    );
}

#[test]
fn declared_requests_name_a_method_and_a_listed_host() {
    let writes = |request: &str| {
        one(&format!(
            "steps: [ {{ click: A }} ]\nexpect: {{ see: x }}\nwrites:\n  - {{ what: saves, request: \"{request}\" }}\n"
        ))
    };
    for fine in [
        "POST http://app.test/*",
        "PROPFIND http://app.test/dav/**",
        "DELETE http://app.test/a?b=*",
        "POST http://app.test:80/*",
    ] {
        assert_eq!(writes(fine), Vec::<String>::new(), "{fine}");
    }
    only(
        &writes("FOO http://app.test/*"),
        "scenarios/a.yaml:5:29 warning: writes[1].request: `FOO` is no method",
        "POST, PUT, PATCH",
    );
    only(
        &writes("POTS http://app.test/*"),
        "scenarios/a.yaml:5:29 warning: ",
        "did you mean `POST`?",
    );
    only(
        &writes("TRACE http://app.test/*"),
        "scenarios/a.yaml:5:29 writes[1].request: no page can send",
        "leave",
    );
    for (request, add) in [
        ("POST http://other.test/*", "http://other.test:80"),
        ("POST https://app.test/*", "https://app.test:443"),
        ("POST http://app.test:8080/*", "http://app.test:8080"),
    ] {
        only(
            &writes(request),
            "scenarios/a.yaml:5:29 no such request can be made",
            add,
        );
    }
    let safe = "steps: [ { click: A } ]\nexpect: { see: x }\nsafe_requests: [ { request: \"POST http://other.test/graphql\", operation: [Orders] } ]\n";
    only(
        &one(safe),
        "scenarios/a.yaml:4:",
        "other.test is not listed",
    );
    // A name that a fixture brings is listed.
    let served = "start: http://app.test/\nfixtures: [pages]\nsteps: [ { click: A } ]\nexpect: { see: x }\nwrites: [ { what: saves, request: \"POST http://api.test/*\" } ]\n";
    let fixture = "serve: fixtures\nhosts: { api.test: \"127.0.0.1:$(port)\" }\n";
    let files = [
        ("scenarios/a.yaml", served),
        ("fixtures/pages.yaml", fixture),
    ];
    assert_eq!(told(&files), Vec::<String>::new());
}

#[test]
fn a_circle_of_flows_is_told_once() {
    let scenario = "start: http://app.test/\nsteps: [ { use: one } ]\nexpect: { see: x }\n";
    let itself = [
        ("scenarios/a.yaml", scenario),
        ("fixtures/one.yaml", "steps: [ { use: one } ]\n"),
    ];
    only(&told(&itself), "fixtures/one.yaml:1:", "one → one");
    let files = [
        ("scenarios/a.yaml", scenario),
        ("fixtures/one.yaml", "steps: [ { use: two } ]\n"),
        ("fixtures/two.yaml", "steps: [ { use: one } ]\n"),
        // Beside the circle, and built on it.
        ("fixtures/three.yaml", "steps: [ { use: two } ]\n"),
        ("scenarios/b.yaml", &scenario.replace("one", "three")),
    ];
    only(&told(&files), "fixtures/two.yaml:1:", "one → two → one");
}

#[test]
fn a_start_that_is_no_address_says_how_one_is_written() {
    for (start, help) in [
        ("http://a.test:99999/", "65535"),
        ("http://u:p@x.test/", "`credentials`"),
    ] {
        let text = format!("start: {start}\nsteps: [ {{ click: A }} ]\nexpect: {{ see: x }}\n");
        only(
            &told(&[("scenarios/a.yaml", &text)]),
            "scenarios/a.yaml:1:8 ",
            help,
        );
    }
}
