//! Cases of group (i) that belong to reading, before any binding.

use std::path::Path;
use std::sync::Arc;

use super::yaml::{self, Kind, Node};
use crate::text::render::{Style, problem};
use crate::text::{Problem, Source};

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source {
        path: "scenarios/a.yaml".into(),
        text: text.into(),
    })
}

fn refused(text: &str) -> Problem {
    match yaml::read(&source(text)) {
        Err(p) => *p,
        Ok((node, _)) => panic!("accepted as {node:?}"),
    }
}

fn scalars(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        Kind::Scalar(s) => out.push(s.text.clone()),
        Kind::List(items) => items.iter().for_each(|n| scalars(n, out)),
        Kind::Map(entries) => entries.iter().for_each(|e| scalars(&e.value, out)),
    }
}

#[test]
fn case_135_plain_scalars_keep_their_source_text() {
    let (node, _) = yaml::read(&source(
        "[02142, 1.10, 1e3, 0x1F, 12:30, 1_000, YES, no, on, y, true, ~]\n",
    ))
    .unwrap();
    let mut found = Vec::new();
    scalars(&node, &mut found);
    assert_eq!(
        found,
        [
            "02142", "1.10", "1e3", "0x1F", "12:30", "1_000", "YES", "no", "on", "y", "true", "~"
        ]
    );
}

#[test]
fn case_136_duplicates_are_reported_with_both_lines_at_every_level() {
    let (_, problems) = yaml::read(&source(
        "a: 1\nb: { c: 1, c: 2 }\na: 2\nd:\n  - e: 1\n    e: 2\n",
    ))
    .unwrap();
    let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`c` stands twice in this map: in line 2 and in line 2",
            "`a` stands twice in this map: in line 1 and in line 3",
            "`e` stands twice in this map: in line 5 and in line 6",
        ]
    );
    insta::assert_snapshot!(problem(&problems[1], Style::Plain));
}

#[test]
fn case_137_alias_bombs_are_refused_at_the_first_anchor() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for i in 1..30 {
        bomb.push_str(&format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1));
    }
    assert_eq!(refused(&bomb).message, "anchors (`&name`) are not accepted");
    assert_eq!(
        refused("a: *b\n").message,
        "aliases (`*name`) are not accepted"
    );
    assert_eq!(
        refused("a:\n  <<: { b: 1 }\n").message,
        "merge keys (`<<`) are not accepted"
    );
    assert_eq!(
        refused("a: !!str 1\n").message,
        "tags (`!name`) are not accepted"
    );
    assert_eq!(
        refused("a: 1\n---\na: 2\n").message,
        "a second document starts here"
    );
}

#[test]
fn case_137_depth_and_size_are_limited() {
    assert_eq!(
        refused(&"[".repeat(100_000)).message,
        "nested deeper than 64 levels"
    );
    assert_eq!(
        refused(&format!("{}x", "- ".repeat(200))).message,
        "nested deeper than 64 levels"
    );
    let large = vec![b'#'; 10 << 20];
    let p = yaml::decode(Path::new("scenarios/a.yaml"), large).unwrap_err();
    assert_eq!(
        p.message,
        "scenarios/a.yaml is too large: 10240 KiB, and 1024 KiB are the limit"
    );
}

#[test]
fn case_142_tabs_have_their_own_message() {
    insta::assert_snapshot!(problem(
        &refused("name: A\nsteps:\n\t- click: Save\n"),
        Style::Plain
    ));
}

#[test]
fn a_second_colon_says_quote_it() {
    insta::assert_snapshot!(problem(
        &refused("steps:\n  - click: Note: now\n"),
        Style::Plain
    ));
}

#[test]
fn bad_files_have_their_own_messages() {
    let decode = |bytes: &[u8]| yaml::decode(Path::new("a.yaml"), bytes.to_vec());
    assert_eq!(
        decode(b"a: 1\nb: \xFF\n").unwrap_err().message,
        "a.yaml:2:4: byte 0xFF is not valid UTF-8"
    );
    assert_eq!(
        decode(b"\xFF\xFEa\0").unwrap_err().message,
        "a.yaml is written in UTF-16"
    );
    for empty in ["", "\n\n", "# only a comment\n", "\u{FEFF}", "---\n", "~"] {
        assert_eq!(refused(empty).message, "the file is empty", "{empty:?}");
    }
    assert_eq!(
        refused("a: \"b\n").message,
        "a quotation mark is not closed"
    );
    assert_eq!(refused("a: [b\n").message, "a `[` or `{` is not closed");
    assert_eq!(
        refused("a: @b\n").message,
        "text can't start with this character unless it is in quotes"
    );
}

#[test]
fn byte_order_mark_and_windows_line_ends_are_harmless() {
    let s = source("\u{FEFF}a: b\r\nc:\r\n  - d\r\n");
    let (node, problems) = yaml::read(&s).unwrap();
    assert!(problems.is_empty());
    let Kind::Map(entries) = node.kind else {
        panic!()
    };
    assert_eq!(
        &s.text[entries[0].value.span.start..entries[0].value.span.end],
        "b"
    );
    assert_eq!(entries[1].key.value, "c");
    assert_eq!(
        crate::text::line_col(&s.text, entries[0].key.span.start),
        (1, 1)
    );
}

#[test]
fn spans_of_collections_end_with_their_content() {
    let s = source("a:\n  - b: 1\n    c: [x, y]\n\nd: 1\n");
    let (node, _) = yaml::read(&s).unwrap();
    let Kind::Map(entries) = node.kind else {
        panic!()
    };
    let span = entries[0].value.span;
    assert_eq!(&s.text[span.start..span.end], "- b: 1\n    c: [x, y]");
}

#[test]
fn only_a_comment_that_may_be_text_is_noted() {
    let swallowed = |text: &str| match yaml::read(&source(text)).unwrap().0.kind {
        Kind::List(items) => matches!(&items[0].kind, Kind::Scalar(s) if s.swallowed.is_some()),
        _ => panic!(),
    };
    assert!(swallowed("- Open issue #42\n"));
    assert!(swallowed("- Click Save # at last\n"));
    assert!(swallowed("- Open issue   #42\n"));
    assert!(!swallowed("- Click Save   # at last\n"));
    assert!(!swallowed("- \"Open issue\" #42\n"));
    assert!(!swallowed("- Open issue\n# next\n- b\n"));
}

#[test]
fn case_142_syntax_slips_say_what_is_likely_wrong() {
    let slips = [
        "steps:\n- click: A\n   with: b\n",
        "steps:\n  - click: A\n with: b\n",
        "start: http://a.test/\n  steps:\n",
        "steps:\n  - click: A\n  expect: x\n",
        "steps:\n  - click: \"A\" button\n",
        "steps:\n  - \"A\" isn't it\n",
        "steps: [ { click: A } ]\nexpect: { see: x }}\n",
        "start http://a.test/\nsteps:\n",
        "start:http://a.test/\nsteps:\n",
        "goal: Do it\n  and more # x\n  and yet\n",
    ];
    let all: Vec<_> = slips
        .iter()
        .map(|s| problem(&refused(s), Style::Plain))
        .collect();
    insta::assert_snapshot!(all.join("\n\n"));
}

/// Line and column of the first problem, both from 1.
fn place(text: &str) -> (usize, usize) {
    let (source, span) = refused(text).place.expect("a place");
    crate::text::line_col(&source.text, span.start)
}

#[test]
fn case_137_anchors_tags_and_aliases_are_shown_where_they_stand() {
    for (text, wanted) in [
        ("a:\n- click: &Save\n", (2, 10)),
        ("a:\n- click: !Save\n", (2, 10)),
        ("a:\n- click: !!str A\n", (2, 10)),
        ("a:\n- &a { click: A }\n- *a\n", (2, 3)),
        ("a: &x !!str b\n", (1, 4)),
        ("a: !!str &x b\n", (1, 10)),
        ("a: [&x b]\n", (1, 5)),
        ("a: &x\n  b: 1\n", (1, 4)),
        ("a: *b\n", (1, 4)),
    ] {
        assert_eq!(place(text), wanted, "{text}");
    }
}

#[test]
fn case_142_a_tab_that_ends_a_text_is_shown_where_it_stands() {
    let text = "steps:\n  - click: A\n\t  nth: 2\n";
    assert_eq!(place(text), (3, 1));
    assert!(refused(text).message.contains("tab"));
}

#[test]
fn case_137_text_behind_a_bracket_says_quote_it() {
    let problem = refused("steps:\n- click: [beta] go\n");
    assert_eq!(problem.message, "text stands behind the closing bracket");
    let help = problem.help.expect("a help");
    assert!(help.contains("click: \"[beta] go\""), "{help}");
}

#[test]
fn case_142_every_syntax_problem_says_what_to_do() {
    for text in [
        "",
        "a: \"b\n",
        "a: 'b\n",
        "a: [ b\n",
        "a: { b: c\n",
        "a: b]\n- c\n",
        "[a]: b\n",
        "? [a]\n: b\n",
        "a: b: c\n",
        "a: @b\n",
        "a: &b c\n",
        "a: !b c\n",
        "a: *b\n",
        "<<: b\n",
        "a: 1\n---\nb: 2\n",
        "a: \"\\q\"\n",
        "a: 1\n b: 2\n",
        "a:\n\tb: 2\n",
        &"[".repeat(70),
        &format!("a: {}x{}", "[".repeat(70), "]".repeat(70)),
    ] {
        let problem = refused(text);
        assert!(problem.help.is_some(), "{text:?}: {}", problem.message);
    }
}
