//! Writing and reading back is the identity: steps as YAML, and steps as sentences.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::text::{Level, Source, Span, Spanned};

static LEXICONS: LazyLock<Lexicons> = LazyLock::new(Lexicons::default);
static SPAN: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"Span \{ start: \d+, end: \d+ \}").expect("a pattern"));

/// Names as pages have them, and as nobody should have them.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[A-Za-z][A-Za-z ]{0,12}[a-z]",
        1 => "[ -~]{0,12}[!-~]",
        1 => "\\PC{0,8}[a-z]",
        1 => Just("true".to_string()),
        1 => Just("Say \"hello\"".to_string()),
        1 => Just("a \\ b #c: d".to_string()),
        1 => Just("Save and click Close".to_string()),
        1 => Just("don't".to_string()),
        1 => Just("l'elenco ”chiuso“".to_string()),
        1 => Just("{ a: [b] }".to_string()),
        1 => Just("- x\n\ty".to_string()),
        1 => Just("down".to_string()),
        1 => Just("$(repo)".to_string()),
    ]
    .prop_map(|n| n.trim().to_string())
    .prop_filter("a name", |n| {
        !n.is_empty() && !n.chars().all(char::is_whitespace)
    })
}

fn any_target() -> impl Strategy<Value = Target> {
    let role = prop::sample::select(vec![
        "button", "link", "textbox", "row", "dialog", "img", "heading", "frame",
    ]);
    let by = prop_oneof![
        (prop::option::of(role), any_name(), any::<bool>()).prop_map(|(role, name, exact)| {
            By::Name {
                role: role.map(Into::into),
                name: Some(name),
                exact,
            }
        }),
        Just(By::Name {
            role: Some("button".into()),
            name: None,
            exact: false
        }),
        any_name().prop_map(By::Text),
        any_name().prop_map(By::TestId),
        any_name().prop_map(By::Css),
    ];
    by.prop_map(|by| Target {
        by,
        span: Span::default(),
    })
}

fn any_wait() -> impl Strategy<Value = WaitFor> {
    prop_oneof![
        any_target().prop_map(WaitFor::Target),
        any_target().prop_map(WaitFor::Gone),
        any_name().prop_map(WaitFor::Url),
        (0u64..600).prop_map(|s| WaitFor::Seconds(Duration::from_secs(s))),
    ]
}

fn any_scroll() -> impl Strategy<Value = ScrollTo> {
    prop_oneof![
        any_target().prop_map(ScrollTo::Target),
        prop::sample::select(vec![
            ScrollTo::Down,
            ScrollTo::Up,
            ScrollTo::Left,
            ScrollTo::Right,
            ScrollTo::Top,
            ScrollTo::Bottom
        ]),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => any_name().prop_map(Value::Text),
        1 => Just(Value::Text(String::new())),
        1 => Just(Value::Credential { name: "code-host-user".into(), field: "password".into() }),
    ]
}

fn line(line: ExpectLine) -> Expectation {
    Expectation {
        line,
        within: Vec::new(),
        span: Span::default(),
    }
}

/// Acts the grammar can say and read back.
fn sayable() -> impl Strategy<Value = Act> {
    let address = prop_oneof!["/[a-z]{0,6}", "https?://[a-z]{1,6}\\.test/[a-z#?=]{0,6}"];
    let keys = prop::sample::select(vec!["Enter", "Control+A", "a", "+", "Shift+Tab"]);
    prop_oneof![
        address.prop_map(Act::Goto),
        any_target().prop_map(Act::Click),
        (any_target(), any_value()).prop_map(|(target, value)| Act::Fill { target, value }),
        (any_name(), prop::option::of(any_target()))
            .prop_map(|(option, target)| Act::Select { option, target }),
        (any_target(), any::<bool>()).prop_map(|(target, on)| Act::Check { target, on }),
        (keys, prop::option::of(any_target())).prop_map(|(keys, target)| Act::Press {
            keys: keys.into(),
            target
        }),
        any_target().prop_map(Act::Hover),
        (any_scroll(), prop::option::of(any_target())).prop_map(|(to, target)| {
            let target = target.filter(|_| !matches!(to, ScrollTo::Target(_)));
            Act::Scroll { to, target }
        }),
        (any_target(), any_target()).prop_map(|(target, to)| Act::Drag { target, to }),
        (
            "[a-z]{1,5}/[a-z ]{0,4}[a-z]\\.pdf",
            prop::option::of(any_target())
        )
            .prop_map(|(file, target)| Act::Upload {
                file: PathBuf::from(file),
                target
            }),
        any_target().prop_map(Act::Submit),
        Just(Act::Login("code-host-user".into())),
        any_wait().prop_map(Act::Wait),
        any_name().prop_map(Act::WaitForUser),
        any_name().prop_map(|t| Act::Expect(vec![line(ExpectLine::See(t))])),
        any_name().prop_map(|t| Act::Expect(vec![line(ExpectLine::NotSee(t))])),
        any_name().prop_map(|t| Act::Expect(vec![line(ExpectLine::Url(t))])),
        any_name().prop_map(|t| Act::Expect(vec![line(ExpectLine::Title(t))])),
        "[a-z-]{1,8}[a-z]".prop_map(|flow| Act::Use {
            flow,
            vars: Default::default()
        }),
        any_name().prop_map(Act::Plan),
    ]
}

fn any_expectation() -> impl Strategy<Value = Expectation> {
    let element = (
        any_target(),
        any::<bool>(),
        prop::option::of(1usize..5),
        prop::option::of(any_name()),
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(target, contains, nth, value, checked)| ElementExpect {
            contains,
            nth,
            value,
            checked,
            ..ElementExpect::of(target)
        });
    let data = prop_oneof![
        any_name().prop_map(DataExpect::Is),
        (0usize..99).prop_map(DataExpect::Count)
    ];
    let one = prop_oneof![
        any_name().prop_map(ExpectLine::See),
        any_name().prop_map(ExpectLine::Download),
        element.prop_map(ExpectLine::Element),
        (any_name(), data).prop_map(|(k, d)| ExpectLine::Data(vec![(k, d)])),
    ];
    (one, prop::collection::vec(any_target(), 0..3)).prop_map(|(one, within)| Expectation {
        within,
        ..line(one)
    })
}

fn any_act() -> impl Strategy<Value = Act> {
    let form_value = prop_oneof![
        any::<bool>().prop_map(FormValue::Bool),
        any_value().prop_map(FormValue::Value)
    ];
    let named = any_target().prop_filter("a form names controls in one text", |t| {
        t.by.text().is_some_and(|t| t == t.trim())
    });
    let each = (
        any_name(),
        any_name(),
        prop::option::of(any_target()),
        prop::option::of(1u32..9),
    )
        .prop_map(|(each, css, next, pages)| Extractor::Each {
            each,
            fields: vec![("id".into(), Extractor::Css { css, attr: None })],
            next,
            pages,
        });
    let extractor = prop_oneof![
        (any_name(), prop::option::of(any_name()))
            .prop_map(|(css, attr)| Extractor::Css { css, attr }),
        any_name().prop_map(Extractor::Prompt),
        each,
    ];
    prop_oneof![
        6 => sayable(),
        1 => prop::collection::vec((named, form_value), 1..2).prop_map(Act::Form),
        1 => prop::collection::vec(any_expectation(), 1..3).prop_map(Act::Expect),
        1 => extractor.prop_map(|e| Act::Extract(Extract { fields: vec![(Spanned::new("title".into(), Span::default()), e)] })),
        1 => (any_name()).prop_map(|v| Act::Use { flow: "signed-in".into(), vars: [("page".to_string(), v)].into() }),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let scope = (
        prop::collection::vec(any_target(), 0..3),
        prop::option::of(1usize..9),
    );
    let rest = (
        any::<bool>(),
        prop::option::of(1u64..9000),
        prop::option::of(any_name()),
        any::<bool>(),
        prop::collection::vec(any_expectation(), 0..2),
    );
    (any_act(), scope, rest).prop_map(
        |(act, (within, nth), (optional, timeout, note, opens_tab, expect))| {
            let step = Step::bare(act, Span::default());
            let timeout = timeout.map(Duration::from_millis);
            if matches!(step.act, Act::Expect(_) | Act::Extract(_)) {
                return Step {
                    timeout,
                    note,
                    ..step
                };
            }
            Step {
                scope: Scope { within, nth },
                optional,
                timeout,
                note,
                opens_tab,
                expect,
                ..step
            }
        },
    )
}

fn read(line: &str) -> Step {
    let text = format!(
        "start: http://a.test/\ncredentials: [code-host-user]\nsteps:\n  - {line}\nexpect: {{ see: x }}\n"
    );
    let source = Arc::new(Source {
        path: "a.yaml".into(),
        text,
    });
    let (scenario, problems) = parse_scenario(source, "a", &LEXICONS);
    let errors: Vec<_> = problems
        .iter()
        .filter(|p| p.level == Level::Error)
        .map(|p| &p.message)
        .collect();
    assert!(errors.is_empty(), "{line}\n{errors:?}");
    scenario.unwrap().steps.remove(0)
}

/// Equal but for places.
fn without_places(text: String) -> String {
    SPAN.replace_all(&text, "_").into_owned()
}

proptest! {
    #[test]
    fn a_step_written_and_read_is_the_same(step in any_step()) {
        let read = Step { written: String::new(), ..read(&step.to_string()) };
        prop_assert_eq!(without_places(format!("{read:?}")), without_places(format!("{step:?}")), "{}", step);
    }

    #[test]
    fn a_target_in_one_text_is_read_as_itself(target in any_target()) {
        if let Some(text) = target.by.text() {
            prop_assert_eq!(parse_target(&text).unwrap().by, target.by);
        }
    }

    #[test]
    fn r14_r15_a_step_said_and_read_is_the_same_in_both_languages(act in sayable()) {
        let lexicons = &*LEXICONS;
        for language in ["en", "it"] {
            let lexicon = lexicons.get(language).unwrap();
            let said = say(&Step::bare(act.clone(), Span::default()), lexicon);
            let parts = sentence::parse(&said, lexicon, &["code-host-user".to_string()], Span::default());
            let parts = parts.map_err(|e| TestCaseError::fail(format!("{said}: {e}")))?;
            prop_assert_eq!(parts.len(), 1, "{} {:?}", said, parts);
            prop_assert_eq!(&parts[0].act, &act, "{}", said);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z:\\-\\[\\]{}\"'#&*!|> \n\t\u{e9}\u{feff}]{0,60}") {
        let source = Arc::new(Source { path: "a.yaml".into(), text });
        let (_, problems) = parse_scenario(source.clone(), "a", &LEXICONS);
        for p in &problems {
            crate::text::render::problem(p, crate::text::render::Style::Plain);
        }
        parse_fixture(source, "a", &LEXICONS);
    }

    #[test]
    fn no_sentence_makes_the_grammar_panic(text in "(click|fill|with|and|the|\"|“|button|in|as|sign|'|,|\\.| |\u{e9}|type|into|\\$\\(x\\)){0,14}") {
        let lexicons = &*LEXICONS;
        for language in ["en", "it"] {
            let _ = sentence::parse(&text, lexicons.get(language).unwrap(), &[], Span::default());
        }
    }
}
