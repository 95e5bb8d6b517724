//! Writing the language back: targets and steps in its own syntax, one line each, such that
//! reading the line gives the same thing again.

use std::fmt;
use std::time::Duration;

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

// ---- steps ---------------------------------------------------------------------------------

impl Step {
    /// Verb, what belongs to it, and the scope: what decides how it is resolved, and so the key of
    /// its lock entry. Layout, captions and checks of the step don't change it.
    pub fn key(&self) -> String {
        let mut map = act(&self.act);
        map.extend(scope(&self.scope));
        one_line(map)
    }

    /// The same for a sentence.
    pub fn scope_key(&self, sentence: &str) -> String {
        let scope = scope(&self.scope);
        if scope.is_empty() {
            return sentence.to_string();
        }
        let mut map = vec![("do".to_string(), text(sentence))];
        map.extend(scope);
        one_line(map)
    }

    fn out(&self) -> Vec<(String, Out)> {
        let mut map = match (&self.sentence, &self.act) {
            (Some(sentence), _) => vec![("do".to_string(), text(sentence))],
            (None, act_) => act(act_),
        };
        map.extend(scope(&self.scope));
        map.extend(
            self.write
                .as_ref()
                .map(|w| ("write".into(), text(&w.value))),
        );
        if self.optional {
            map.push(("optional".into(), bare(true)));
        }
        map.extend(self.timeout.map(|t| ("timeout".into(), bare(duration(t)))));
        map.extend(self.note.as_ref().map(|n| ("note".into(), text(n))));
        map.extend(self.picture.map(|p| {
            (
                "picture".into(),
                bare(match p {
                    Picture::Keep => "keep",
                    Picture::Drop => "drop",
                }),
            )
        }));
        map.extend(self.dialog.as_ref().map(|d| {
            (
                "dialog".into(),
                match d {
                    DialogAnswer::Accept(None) => bare("accept"),
                    DialogAnswer::Accept(Some(t)) => Out::Map(vec![("accept".into(), text(t))]),
                    DialogAnswer::Dismiss => bare("dismiss"),
                },
            )
        }));
        if self.opens_tab {
            map.push(("opens".into(), bare("tab")));
        }
        map.extend(self.download.as_ref().map(|d| ("download".into(), text(d))));
        if !self.expect.is_empty() {
            map.push((
                "expect".into(),
                many(self.expect.iter().map(expectation).collect()),
            ));
        }
        map
    }
}

/// The step as one line of the language: `click: Sign in`, `{ fill: Passenger, with: Ada }`, or a
/// bare sentence.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = self.out();
        match (map.as_slice(), &self.sentence) {
            ([(_, out)], Some(_)) => f.write_str(&flow(out)),
            _ => f.write_str(&one_line(map)),
        }
    }
}

fn one_line(map: Vec<(String, Out)>) -> String {
    match map.as_slice() {
        [(key, value)] => format!("{key}: {}", flow(value)),
        _ => flow(&Out::Map(map)),
    }
}

fn scope(scope: &Scope) -> Vec<(String, Out)> {
    let mut map = Vec::new();
    if !scope.within.is_empty() {
        map.push((
            "within".to_string(),
            many(scope.within.iter().map(target).collect()),
        ));
    }
    map.extend(scope.nth.map(|n| ("nth".to_string(), bare(n))));
    map
}

fn act(act: &Act) -> Vec<(String, Out)> {
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
            Some(word) if super::bind_direction(&word) => text(super::target::quote(&word)),
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
