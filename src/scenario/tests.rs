//! The contract, as files.

use std::sync::Arc;

use super::*;
use crate::text::render::{Style, problem};
use crate::text::{Level, Problem, Source};

const EXAMPLE: &str = r##"name: Add a README to an empty repository
tags: [smoke]
fixtures: [code-host-site]            # started before, torn down after, also on failure
start: http://code.test/              # entry address; its host is allowed
hosts: [static.code.test]             # further exact hosts; nothing else is ever reached
credentials: [code-host-user]         # names only
vars: { repo: demo }                  # `--var repo=other` replaces it; $(run.id) is unique per run
goal: Sign in as the test user and add a README to the repository $(repo).
steps:
  - click: Sign in
  - login: code-host-user             # the runner finds and fills the form itself
  - Open the repository $(repo)       # a sentence
  - click: Add a README
    expect: { see: Editing README.md }
  - fill: File content
    with: "# $(repo)"
  - click: Commit changes
    write: creates README.md in $(repo)
    note: Commit straight to the main branch.
expect:                               # the end state; every line must hold in both looks
  - url: http://code.test/*/$(repo)
  - see: README.md
  - not_see: Quick setup
  - element: heading "$(repo)"
tutorial: true
"##;

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source {
        path: "scenarios/a.yaml".into(),
        text: text.into(),
    })
}

fn parse(text: &str) -> (Option<Scenario>, Vec<Problem>) {
    parse_scenario(source(text), "a", &Lexicons::default())
}

fn sound(text: &str) -> Scenario {
    let (scenario, problems) = parse(text);
    let errors: Vec<_> = problems
        .iter()
        .filter(|p| p.level == Level::Error)
        .map(|p| problem(p, Style::Plain))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    scenario.expect("a scenario without errors")
}

fn steps(lines: &str) -> Vec<Step> {
    let lines: String = lines.lines().map(|l| format!("  {l}\n")).collect();
    sound(&format!("start: http://code.test/\ncredentials: [code-host-user]\nvars: {{ repo: demo }}\nsteps:\n{lines}expect: {{ see: x }}\n")).steps
}

fn rendered(text: &str) -> String {
    let (_, problems) = parse(text);
    assert!(!problems.is_empty(), "no problem in {text}");
    problems
        .iter()
        .map(|p| problem(p, Style::Plain))
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn name(role: Option<&str>, name: &str) -> By {
    By::Name {
        role: role.map(Into::into),
        name: Some(name.into()),
        exact: false,
    }
}

#[test]
fn the_whole_example_of_the_language_document_is_read() {
    let s = sound(EXAMPLE);
    assert_eq!(s.name.value, "Add a README to an empty repository");
    assert_eq!(s.start.value, "http://code.test/");
    assert_eq!(s.steps.len(), 6);
    assert!(matches!(&s.steps[0].act, Act::Click(t) if t.by == name(None, "Sign in")));
    assert_eq!(s.steps[1].act, Act::Login("code-host-user".into()));
    let Act::Sentence(phrase) = &s.steps[2].act else {
        panic!("{:?}", s.steps[2].act)
    };
    assert_eq!(
        (phrase.verb, phrase.target.as_str()),
        (Verb::Click, "repository $(repo)")
    );
    assert_eq!(s.steps[2].written, "Open the repository $(repo)");
    assert_eq!(
        s.steps[5].write.as_ref().unwrap().value,
        "creates README.md in $(repo)"
    );
    assert_eq!(s.expect.len(), 4);
    assert_eq!(s.tutorial, Some(TutorialWish::default()));

    let bound = bind(&s, &Vars::default()).unwrap();
    assert_eq!(
        bound.expect[0].line,
        ExpectLine::Url("http://code.test/*/demo".into())
    );
    let Act::Fill { value, .. } = &bound.steps[4].act else {
        panic!()
    };
    assert_eq!(*value, Value::Text("# demo".into()));
    assert_eq!(bound.steps[2].written, "Open the repository $(repo)");
}

#[test]
fn the_example_without_steps_is_read() {
    let s = sound(
        "name: Add a README, planned\nfixtures: [code-host-site]\nstart: http://code.test/\ncredentials: [code-host-user]\ngoal: Sign in, then add a README that says hello to the repository demo.\nwrites:\n  - { what: creates README.md, request: \"POST http://code.test/*/commit\", times: 1 }\nexpect: [ { see: README.md } ]\n",
    );
    assert_eq!(s.writes[0].times, Some(1));
    assert!(s.steps.is_empty());
}

#[test]
fn case_134_names_keep_their_source_text() {
    let found: Vec<_> =
        steps("- click: YES\n- click: true\n- click: no\n- { fill: on, with: off }\n")
            .into_iter()
            .map(|s| match s.act {
                Act::Click(t) => t.to_string(),
                Act::Fill {
                    target,
                    value: Value::Text(v),
                } => format!("{target}={v}"),
                other => panic!("{other:?}"),
            })
            .collect();
    assert_eq!(found, ["YES", "true", "no", "on=off"]);
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\nsteps:\n  - click: null\n  - click:\nexpect: { see: x }\n"
    ));
}
