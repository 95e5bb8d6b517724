//! Acts, expectations and extractions as maps of the language.

use super::{Out, bare, many, target, text};
use crate::scenario::model::*;

pub(super) fn act(act: &Act) -> Vec<(String, Out)> {
    let one = |key: &str, out: Out| vec![(key.to_string(), out)];
    let beside = |key: &str, out: Out, in_: &Option<Target>| {
        let mut map = vec![(key.to_string(), out)];
        map.extend(in_.as_ref().map(|t| ("in".to_string(), target(t))));
        map
    };
    match act {
        Act::Goto(address) => one("goto", text(address)),
        Act::Click(t) => one("click", target(t)),
        Act::Fill { target: t, value } => {
            let value = match value {
                Value::Text(v) => ("with".to_string(), text(v)),
                Value::Credential { name, field } => {
                    ("credential".to_string(), text(format!("{name}.{field}")))
                }
            };
            vec![("fill".to_string(), target(t)), value]
        }
        Act::Form(lines) => one(
            "form",
            Out::Map(
                lines
                    .iter()
                    .map(|(t, v)| (t.to_string(), form_value(v)))
                    .collect(),
            ),
        ),
        Act::Select { option, target: t } => beside("select", text(option), t),
        Act::Check { target: t, on } => one(if *on { "check" } else { "uncheck" }, target(t)),
        Act::Press { keys, target: t } => beside("press", text(keys), t),
        Act::Hover(t) => one("hover", target(t)),
        Act::Scroll { to, target: t } => beside("scroll", scroll(to), t),
        Act::Drag { target: t, to } => vec![
            ("drag".to_string(), target(t)),
            ("to".to_string(), target(to)),
        ],
        Act::Upload { file, target: t } => beside("upload", text(file.to_string_lossy()), t),
        Act::Submit(t) => one("submit", target(t)),
        Act::Login(name) => one("login", text(name)),
        Act::Wait(wait) => one(
            "wait",
            match wait {
                WaitFor::Target(t) => target(t),
                WaitFor::Gone(t) => Out::Map(one("gone", target(t))),
                WaitFor::Url(glob) => Out::Map(one("url", text(glob))),
                WaitFor::Seconds(d) => Out::Map(one("seconds", bare(d.as_secs_f64()))),
            },
        ),
        Act::WaitForUser(reason) => one("wait_for_user", text(reason)),
        Act::Expect(lines) => one("expect", many(lines.iter().map(expectation).collect())),
        Act::Extract(e) => one("extract", extract(e)),
        Act::Use { flow, vars } if vars.is_empty() => one("use", text(flow)),
        Act::Use { flow, vars } => one(
            "use",
            Out::Map(vec![
                ("flow".into(), text(flow)),
                (
                    "vars".into(),
                    Out::Map(vars.iter().map(|(k, v)| (k.clone(), text(v))).collect()),
                ),
            ]),
        ),
        Act::Plan(goal) => one("plan", text(goal)),
        Act::Sentence(phrase) => one("do", text(&phrase.text)),
    }
}

fn scroll(to: &ScrollTo) -> Out {
    match to {
        ScrollTo::Down => bare("down"),
        ScrollTo::Up => bare("up"),
        ScrollTo::Left => bare("left"),
        ScrollTo::Right => bare("right"),
        ScrollTo::Top => bare("top"),
        ScrollTo::Bottom => bare("bottom"),
        ScrollTo::Target(t) => match t.by.text() {
            Some(word) if crate::scenario::bind_direction(&word) => {
                text(crate::scenario::target::quote(&word))
            }
            _ => target(t),
        },
    }
}

fn form_value(value: &FormValue) -> Out {
    match value {
        FormValue::Bool(on) => bare(on),
        FormValue::Value(Value::Text(v)) => text(v),
        FormValue::Value(Value::Credential { name, field }) => {
            Out::Map(vec![("credential".into(), text(format!("{name}.{field}")))])
        }
    }
}

pub fn expectation(e: &Expectation) -> Out {
    let mut map = match &e.line {
        ExpectLine::Url(t) => vec![("url".to_string(), text(t))],
        ExpectLine::Title(t) => vec![("title".to_string(), text(t))],
        ExpectLine::See(t) => vec![("see".to_string(), text(t))],
        ExpectLine::NotSee(t) => vec![("not_see".to_string(), text(t))],
        ExpectLine::Element(el) => element("element", el),
        ExpectLine::NoElement(el) => element("no_element", el),
        ExpectLine::Data(lines) => {
            let lines = lines.iter().map(|(k, v)| {
                let out = match v {
                    DataExpect::Is(t) => text(t),
                    DataExpect::Count(n) => Out::Map(vec![("count".into(), bare(n))]),
                };
                (k.clone(), out)
            });
            vec![("data".to_string(), Out::Map(lines.collect()))]
        }
        ExpectLine::Download(t) => vec![("download".to_string(), text(t))],
    };
    if !e.within.is_empty() {
        map.push(("within".into(), many(e.within.iter().map(target).collect())));
    }
    Out::Map(map)
}

fn element(key: &str, el: &ElementExpect) -> Vec<(String, Out)> {
    let mut map = vec![(key.to_string(), target(&el.target))];
    if el.contains {
        map.push(("contains".into(), bare(true)));
    }
    map.extend(el.nth.map(|n| ("nth".into(), bare(n))));
    map.extend(el.value.as_ref().map(|v| ("value".into(), text(v))));
    for (key, state) in [
        ("checked", el.checked),
        ("disabled", el.disabled),
        ("expanded", el.expanded),
        ("selected", el.selected),
        ("pressed", el.pressed),
    ] {
        map.extend(state.map(|s| (key.to_string(), bare(s))));
    }
    map.extend(el.count.map(|n| ("count".into(), bare(n))));
    map
}

fn extract(e: &Extract) -> Out {
    Out::Map(
        e.fields
            .iter()
            .map(|(k, v)| (k.value.clone(), extractor(v)))
            .collect(),
    )
}

fn extractor(e: &Extractor) -> Out {
    match e {
        Extractor::Css { css, attr: None } => text(css),
        Extractor::Css {
            css,
            attr: Some(attr),
        } => Out::Map(vec![("css".into(), text(css)), ("attr".into(), text(attr))]),
        Extractor::Each {
            each,
            fields,
            next,
            pages,
        } => {
            let inner = fields
                .iter()
                .map(|(k, v)| (k.clone(), extractor(v)))
                .collect();
            let mut map = vec![
                ("each".to_string(), text(each)),
                ("fields".to_string(), Out::Map(inner)),
            ];
            map.extend(next.as_ref().map(|t| ("next".to_string(), target(t))));
            map.extend(pages.map(|n| ("pages".to_string(), bare(n))));
            Out::Map(map)
        }
        Extractor::Prompt(p) => Out::Map(vec![("prompt".into(), text(p))]),
    }
}
