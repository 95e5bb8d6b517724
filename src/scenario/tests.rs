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

#[test]
fn case_135_typed_text_is_the_source_text() {
    let lines = [
        "02142",
        "1.10",
        "1e3",
        "0x1F",
        "12:30",
        "1_000",
        "no",
        "2031-04-09",
    ];
    let text: String = lines
        .iter()
        .map(|l| format!("- {{ fill: Code, with: {l} }}\n"))
        .collect();
    for (step, line) in steps(&text).iter().zip(lines) {
        assert!(
            matches!(&step.act, Act::Fill { value: Value::Text(v), .. } if v == line),
            "{line}"
        );
    }
    let Act::Form(lines) =
        &steps("- form: { Code: 02142, Bicycle: true, Named: 'true', Deck: yes }\n")[0].act
    else {
        panic!()
    };
    let values: Vec<_> = lines.iter().map(|(_, v)| v.clone()).collect();
    let text = |t: &str| FormValue::Value(Value::Text(t.into()));
    assert_eq!(
        values,
        [
            text("02142"),
            FormValue::Bool(true),
            text("true"),
            text("yes")
        ]
    );
}

#[test]
fn case_136_a_duplicate_key_is_an_error() {
    let (scenario, problems) = parse(
        "start: http://a.test/\nsteps: [ { click: A } ]\nsteps: [ { click: B } ]\nexpect: { see: x }\n",
    );
    assert!(scenario.is_none());
    assert_eq!(
        problems[0].message,
        "`steps` stands twice in this map: in line 2 and in line 3"
    );
}

/// A file with every mapping of the format; `@` marks where a key can be added.
const EVERY_MAP: &str = r##"@start: http://code.test/
credentials: [u]
vars: { repo: demo }
hosts: [ { @host: a.test, private: true } ]
writes: [ { @what: x, request: "POST http://code.test/x" } ]
safe_requests: [ { @request: "POST http://code.test/x", operation: [Orders] } ]
ends: { @status: failed, reason: login_rejected }
budget: { @actions: 3 }
mask: [ { @text: a, as: b }, { target: { @role: img, name: Avatar }, as: avatar } ]
viewport: { @width: 800, height: 600 }
tutorial: { @title: T, prose: rules, pictures: 3 }
extract:
  orders: { @each: tr, fields: { id: td.id, link: { @css: a, attr: href } }, next: { @role: link, name: Next } }
  summary: { @prompt: "List" }
steps:
  - { @goto: /x, timeout: 5s }
  - { @click: { @role: button, name: Save }, within: { @role: dialog, name: Welcome }, dialog: { @accept: yes }, opens: tab }
  - { @fill: Name, with: Ada }
  - form: { Name: { @credential: u.username } }
  - { @select: Salt, in: Cargo }
  - { @check: A }
  - { @uncheck: A }
  - { @press: Enter, in: Search }
  - { @hover: A }
  - { @scroll: down, in: A }
  - { @drag: A, to: B }
  - { @upload: fixtures/a.pdf, in: A }
  - { @submit: A }
  - { @login: u }
  - { @wait: { @gone: { @role: status, name: Loading } } }
  - { @wait_for_user: please }
  - { @expect: { see: a } }
  - { @extract: { title: { @css: h1 } } }
  - { @use: { @flow: signed-in, vars: { a: b } } }
  - { @plan: find it }
  - { @do: Click "Save" }
expect:
  - { @see: a, within: { @role: row, name: A } }
  - { @element: { @role: button, name: Save, checked: true } }
  - { @data: { orders: { @count: 3 } } }
"##;

#[test]
fn case_138_r96_an_unknown_key_is_an_error_in_every_map() {
    let plain = EVERY_MAP.replace('@', "");
    sound(&plain);
    let places: Vec<_> = EVERY_MAP.match_indices('@').map(|(i, _)| i).collect();
    assert!(places.len() > 40);
    for place in places {
        let end = if place == 0 { "\n" } else { ", " };
        let text = format!(
            "{}zzz: 1{end}{}",
            EVERY_MAP[..place].replace('@', ""),
            EVERY_MAP[place..].replace('@', "")
        );
        let (scenario, problems) = parse(&text);
        let line = EVERY_MAP[..place].matches('\n').count() + 1;
        let found = problems.iter().any(|p| {
            let at = p
                .place
                .as_ref()
                .map(|(s, span)| crate::text::line_col(&s.text, span.start).0);
            p.message.contains("unknown key `zzz`") && at == Some(line)
        });
        assert!(scenario.is_none() && found, "line {line}: {problems:?}");
    }
}

#[test]
fn case_138_the_nearest_known_key_is_named() {
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\nsteps:\n  - { click: Save, timout: 5s }\n  - clik: Save\nexpct: { see: x }\nexpect: { sea: x }\n"
    ));
}

#[test]
fn case_139_wrong_types_say_found_wanted_and_an_example_all_at_once() {
    insta::assert_snapshot!(rendered(
        "start: [a, b]\nsteps:\n  - click: [a]\n  - { click: A, timeout: soon, nth: 0, optional: maybe }\n  - { fill: Name }\n  - [a]\nexpect: [a, b]\nbudget: 3\nserial: yes\nviewport: big\nends: failed\ntutorial: { pictures: 9 }\n"
    ));
}

#[test]
fn case_140_patterns_are_marked_and_checked() {
    let s = sound(
        "start: http://a.test/\ngoal: x\nvolatile: [ /\\d+ minutes ago/, \"(literal\" ]\nexpect: { see: x }\n",
    );
    assert_eq!(
        s.volatile,
        [
            Pattern::Regex("\\d+ minutes ago".into()),
            Pattern::Literal("(literal".into())
        ]
    );
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\ngoal: x\nvolatile: [ \"/(a/\", \"/a*/\" ]\nexpect: { see: x }\n"
    ));
}

#[test]
fn case_142_lost_indentation_is_an_error_with_a_hint() {
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\nsteps:\n  - fill: Code\n  - with: x\n  - click: A\n    fill: B\n  - fill:\n    with: x\n  - note: hm\nexpect: { see: x }\n"
    ));
}

#[test]
fn case_147_dead_host_entries_are_refused_with_the_right_form() {
    for (entry, right) in [
        (".shop.example", "shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("*.shop.example", "shop.example"),
        ("shop.example/", "shop.example"),
        ("user@shop.example", "shop.example"),
        ("ftp://shop.example", "ftp://shop.example"),
    ] {
        let (_, problems) = parse(&format!(
            "start: http://a.test/\ngoal: x\nhosts: [\"{entry}\"]\nexpect: {{ see: x }}\n"
        ));
        assert_eq!(problems.len(), 1, "{entry}");
        assert!(
            problems[0].help.as_ref().unwrap().ends_with(right),
            "{:?}",
            problems[0]
        );
    }
    for entry in [
        "shop.example",
        "https://shop.example",
        "shop.example:8080",
        "[::1]:80",
        "bücher.example",
    ] {
        sound(&format!(
            "start: http://a.test/\ngoal: x\nhosts: [\"{entry}\"]\nexpect: {{ see: x }}\n"
        ));
    }
}

#[test]
fn sentences_with_colon_or_comment_say_quote_it() {
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\nsteps:\n  - Open issue #42\n  - Note the price: 5 Euro\n  - Klick Save\n  - Click\nexpect: { see: x }\n"
    ));
}

#[test]
fn write_is_refused_where_it_says_nothing_or_does_not_belong() {
    for word in ["yes", "no", "on", "off", "false", "true", "No"] {
        assert!(rendered(&format!("start: http://a.test/\nsteps: [ {{ click: A, write: {word} }} ]\nexpect: {{ see: x }}\n")).contains("doesn't say what changes"));
    }
    assert!(
        rendered(
            "start: http://a.test/\nsteps: [ { goto: /x, write: makes it } ]\nexpect: { see: x }\n"
        )
        .contains("`write` can't stand beside `goto`")
    );
}

#[test]
fn unknown_credentials_keys_and_paths_are_named() {
    insta::assert_snapshot!(rendered(
        "start: http://a.test/\ncredentials: [code-host-user]\nsteps:\n  - login: code-host-usr\n  - { fill: A, credential: other.password }\n  - press: Entr\n  - { upload: ../../etc/hosts, in: A }\n  - goto: javascript:alert(1)\n  - click: buton \"Save\"\nexpect: { see: x }\n"
    ));
}

#[test]
fn css_and_seconds_are_warned_about_and_accepted() {
    let (scenario, problems) = parse(
        "start: http://a.test/\nsteps: [ { click: { css: .x } }, { wait: { seconds: 2 } } ]\nexpect: { see: x }\n",
    );
    assert!(scenario.is_some());
    assert!(problems.len() == 2 && problems.iter().all(|p| p.level == Level::Warning));
}

// ---- variables -----------------------------------------------------------------------------

#[test]
fn a_value_is_never_read_again() {
    let s = sound(
        "start: http://a.test/\nvars: { v: x }\nsteps:\n  - click: button \"$(v)\"\n  - { fill: A, with: \"$$(v) $(v)\" }\nvolatile: [ \"/a$(v)b/\" ]\nexpect: [ { url: \"http://a.test/$(v)\" }, { see: $(v) } ]\n",
    );
    let value = "*.\" $(run.id) #: ?";
    let vars = Vars {
        run_id: "r1".into(),
        overrides: [("v".to_string(), value.to_string())].into(),
    };
    let bound = bind(&s, &vars).unwrap();
    assert!(matches!(&bound.steps[0].act, Act::Click(t) if t.by == name(Some("button"), value)));
    assert!(
        matches!(&bound.steps[1].act, Act::Fill { value: Value::Text(v), .. } if *v == format!("$(v) {value}"))
    );
    let ExpectLine::Url(url) = &bound.expect[0].line else {
        panic!()
    };
    let glob = crate::text::glob::Glob::new(url);
    assert!(
        glob.matches(&format!("http://a.test/{value}"))
            && !glob.matches("http://a.test/zz.\" $(run.id) #: ?")
    );
    assert_eq!(bound.expect[1].line, ExpectLine::See(value.into()));
    let Pattern::Regex(inner) = &bound.volatile[0] else {
        panic!()
    };
    assert!(
        regex::Regex::new(inner)
            .unwrap()
            .is_match(&format!("a{value}b"))
    );
}

#[test]
fn r8_a_credential_in_a_selector_is_refused_with_its_place() {
    for line in [
        "  - click: { css: \"a[title='$(u.username)']\" }",
        "  - click: { text: \"Hello $(u.username)\" }",
        "  - { click: Save, within: { css: \"#$(u.username)\" } }",
        "  - extract: { who: \"#$(u.username)\" }",
        "  - extract: { rows: { each: tr, fields: { who: \"#$(u.username)\" } } }",
        "  - extract: { rows: { each: tr, fields: { a: b }, next: { css: \"#$(u.username)\" } } }",
    ] {
        let s = sound(&format!(
            "start: http://a.test/\ncredentials: [u]\nsteps:\n{line}\nexpect: {{ see: $(u.username) }}\n"
        ));
        let problems = bind(&s, &Vars::default()).unwrap_err();
        let shown = problem(&problems[0], Style::Plain);
        assert_eq!(problems.len(), 1, "{line}");
        assert!(
            shown.contains(":4:") && shown.contains("can't stand here"),
            "{shown}"
        );
        assert!(
            shown.contains("name the control by role and name"),
            "{shown}"
        );
    }
}

#[test]
fn unknown_variables_are_named_with_the_nearest() {
    let s = sound(
        "start: http://a.test/\ncredentials: [u]\nvars: { repo: demo-$(run.id) }\nsteps:\n  - click: $(rpo)\n  - goto: /$(u.username)\n  - click: $(u.username)\nexpect: { see: x }\n",
    );
    let problems = bind(
        &s,
        &Vars {
            run_id: "1".into(),
            overrides: [("rep".to_string(), String::new())].into(),
        },
    )
    .unwrap_err();
    insta::assert_snapshot!(
        problems
            .iter()
            .map(|p| problem(p, Style::Plain))
            .collect::<Vec<_>>()
            .join("\n\n")
    );
    let mut good = s.clone();
    good.steps.drain(..2);
    let bound = bind(
        &good,
        &Vars {
            run_id: "1".into(),
            ..Vars::default()
        },
    )
    .unwrap();
    assert_eq!(bound.vars["repo"].value, "demo-1");
    assert!(matches!(&bound.steps[0].act, Act::Click(t) if t.by == name(None, "‹u.username›")));
}

// ---- fixtures, settings, schema ------------------------------------------------------------

fn fixture(text: &str) -> (Option<Fixture>, Vec<Problem>) {
    parse_fixture(source(text), "f", &Lexicons::default())
}

#[test]
fn both_kinds_of_fixture_are_read() {
    let (server, problems) = fixture(
        "scope: worker                          # scenario\ncommand: [fixture-sites, code-host, --port, \"$(port)\"]      # or serve\nready: http://127.0.0.1:$(port)/health\nhosts: { code.test: \"127.0.0.1:$(port)\" }\nreset: POST http://127.0.0.1:$(port)/reset\ndisposable: true\n",
    );
    assert_eq!(problems, []);
    let FixtureKind::Server(server) = server.unwrap().kind else {
        panic!()
    };
    assert!(server.disposable && server.hosts[0].1.value == "127.0.0.1:$(port)");
    assert!(matches!(&server.serves, Serves::Command(words) if words[3].value == "$(port)"));

    let (flow, problems) = fixture(
        "credentials: [code-host-user]\nsteps: [ { goto: /login }, { login: code-host-user } ]\nafter: [ { click: Sign out } ]\nkeep: session\n",
    );
    assert_eq!(problems, []);
    let FixtureKind::Flow(flow) = flow.unwrap().kind else {
        panic!()
    };
    assert_eq!(
        (flow.steps.len(), flow.after.len(), flow.keep),
        (2, 1, Some(Keep::Session))
    );
}

#[test]
fn case_138_unknown_and_misplaced_keys_of_a_fixture_are_errors() {
    let text = |t: &str| {
        fixture(t)
            .1
            .iter()
            .map(|p| p.message.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        text("comand: [x]\nserve: pages\n"),
        ["unknown key `comand`"]
    );
    assert_eq!(
        text("serve: pages\nkeep: session\n"),
        ["`keep` means nothing for a server"]
    );
    assert_eq!(
        text("steps: [ { click: A } ]\ndisposable: true\n"),
        ["`disposable` means nothing for a flow"]
    );
    assert_eq!(text("scope: run\n").len(), 1);
    assert_eq!(
        text("command: [x, \"$(prot)\"]\n"),
        ["unknown variable `$(prot)`"]
    );
}

#[test]
fn settings_are_read_and_unknown_keys_have_a_place() {
    let toml = |text: &str| {
        Settings::parse(&Arc::new(Source {
            path: "rehearsal.toml".into(),
            text: text.into(),
        }))
    };
    let settings = toml("[run]\njobs = 2\n[credentials.code-host-user]\norigin = \"http://code.test\"\n[model]\ntimeout = \"30s\"\n").unwrap();
    assert_eq!(settings.run.jobs, Some(2));
    assert_eq!(
        settings.credentials["code-host-user"].origin.as_deref(),
        Some("http://code.test")
    );
    let problems = toml("[run]\njobbs = 2\n[browsr]\n[credentials.a]\norigins = \"x\"\n[model]\ntimeout = \"soon\"\n").unwrap_err();
    insta::assert_snapshot!(
        problems
            .iter()
            .map(|p| problem(p, Style::Plain))
            .collect::<Vec<_>>()
            .join("\n\n")
    );
    assert!(toml("[run\n").is_err() && toml("[run]\njobs = \"two\"\n").is_err());
}

#[test]
fn r96_the_schema_closes_every_map_and_knows_every_verb() {
    fn closed(value: &serde_json::Value) {
        if value.get("properties").is_some() {
            assert_eq!(value["additionalProperties"], false);
        }
        match value {
            serde_json::Value::Object(map) => map.values().for_each(closed),
            serde_json::Value::Array(items) => items.iter().for_each(closed),
            _ => {}
        }
    }
    for schema in [schema(), fixture_schema()] {
        closed(&schema);
        let text = schema.to_string();
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
        for row in VERBS {
            assert!(
                text.contains(&format!("\"required\":[\"{}\"", row.key)),
                "{}",
                row.key
            );
        }
    }
}

#[test]
fn the_further_examples_of_the_language_document_are_read() {
    let s = sound(
        r##"start: http://code.test/
credentials: [code-host-user]
hosts: [ { host: 127.0.0.1, private: true }, "https://static.code.test:8443" ]
safe_requests: [ { request: "POST https://code.test/graphql", operation: [Orders] } ]
ends: { status: failed, reason: login_rejected, step: 2 }
second_look: 500ms
budget: { actions: 30, time: 120s, model_calls: 20, tokens: 50000 }
mask: [ { text: "Example Workspace", as: workspace }, { target: img "Avatar", as: avatar } ]
volatile: [ /\d+ minutes ago/ ]
steps:
  - { fill: Passenger, with: Ada }
  - form: { Passenger: Ada, With bicycle: true, Deck: Upper }
  - { click: Accept, within: dialog "Welcome", nth: 2 }
  - { click: Pay, within: [ frame "Payment", row "Order 7" ] }
  - { click: { role: button, name: Sign in, exact: true }, dialog: { accept: text }, opens: tab, download: "*.csv" }
  - wait: { gone: Loading }
  - { fill: Password, credential: code-host-user.password }
  - use: { flow: signed-in, vars: { page: orders } }
extract:
  title: { css: h1 }
  orders:
    each: "#orders tbody tr"
    fields: { id: td.id, link: { css: a, attr: href }, lines: { each: li, fields: { sku: b } } }
    next: link "Next"          # repeated until absent or disabled
    pages: 20
  summary: { prompt: "List the late orders as JSON." }
expect:
  - data: { orders: { count: 45 }, "orders[0].id": "1001" }
  - { element: checkbox "With bicycle", checked: true, within: form "Booking" }
"##,
    );
    assert_eq!((s.steps.len(), s.mask.len(), s.hosts.len()), (8, 2, 2));
    assert_eq!(
        s.steps[3].scope.within[0].by,
        name(Some("frame"), "Payment")
    );
    assert_eq!((s.ends.status, s.ends.step), (EndStatus::Failed, Some(2)));
    assert_eq!(
        s.second_look,
        Some(SecondLook::After(std::time::Duration::from_millis(500)))
    );
}

#[test]
fn a_sentence_takes_only_what_its_verb_takes() {
    let found = rendered(
        "start: http://a.test/\nsteps: [ { do: Go to /x, write: makes it } ]\nexpect: { see: x }\n",
    );
    assert!(
        found.contains("`write` can't stand beside this sentence, which means `goto`"),
        "{found}"
    );
    let s = &steps("- { do: Click the Save button, write: saves it, within: dialog \"A\" }\n")[0];
    assert_eq!(
        s.written,
        "{ do: Click the Save button, within: dialog \"A\" }"
    );
    assert!(s.write.is_some() && s.sentence.is_some());
}

#[test]
fn a_file_of_a_hundred_thousand_mistakes_is_answered_in_brief() {
    let keys: String = (0..80_000).map(|i| format!("k{i}: 1\n")).collect();
    let twice: String = "k: 1\n".repeat(100_000);
    let warned: String = "  - click: { css: a }\n".repeat(300);
    let late = format!("start: http://a.test/\nsteps:\n{warned}expect: {{ sea: x }}\n");
    let (_, problems) = parse(&late);
    assert!(problems.len() == 1 && problems[0].message.contains("`sea`"));
    for text in [keys, twice] {
        let (scenario, problems) = parse(&text);
        assert!(scenario.is_none());
        assert!(problems.len() <= 101, "{}", problems.len());
    }
}
