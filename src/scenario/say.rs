//! Every step can say itself as a sentence of a language. What the grammar can say it can read
//! back to the same act; forms, extractions and checks of several lines are said for people only.

use super::lexicon::{Lexicon, Part};
use super::model::*;
use super::written;

/// “Click button “Sign in””.
pub fn say(step: &Step, lexicon: &Lexicon) -> String {
    match &step.sentence {
        Some(sentence) => sentence.clone(),
        None => capital(&say_act(&step.act, lexicon)),
    }
}

pub fn say_act(act: &Act, lexicon: &Lexicon) -> String {
    let target = |t: &Target| target(t, lexicon);
    let on = |form: &str, t: &Target| fill(lexicon, form, &[("target", target(t))]);
    let maybe = |form: &str, slot: &'static str, text: String, t: &Option<Target>| {
        let mut slots = vec![(slot, text)];
        slots.extend(t.as_ref().map(|t| ("target", target(t))));
        fill(lexicon, form, &slots)
    };
    let one =
        |form: &str, slot: &'static str, text: &str| fill(lexicon, form, &[(slot, quoted(text))]);
    match act {
        Act::Goto(address) => fill(lexicon, "goto", &[("address", address.clone())]),
        Act::Click(t) => on("click", t),
        Act::Fill {
            target: t,
            value: v,
        } => fill(
            lexicon,
            "fill",
            &[("target", target(t)), ("value", value(v, lexicon))],
        ),
        Act::Form(lines) => {
            let lines: Vec<_> = lines
                .iter()
                .map(|(t, v)| format!("{} = {}", target(t), form_value(v, lexicon)))
                .collect();
            template(lexicon, "form", &[("lines", lines.join(", "))])
        }
        Act::Select { option, target: t } => maybe("select", "option", quoted(option), t),
        Act::Check {
            target: t,
            on: true,
        } => on("check", t),
        Act::Check {
            target: t,
            on: false,
        } => on("uncheck", t),
        Act::Press { keys, target: t } => maybe("press", "keys", keys_said(keys), t),
        Act::Hover(t) => on("hover", t),
        Act::Scroll {
            to: ScrollTo::Target(t),
            ..
        } => on("scroll_to", t),
        Act::Scroll { to, target: t } => maybe("scroll", "direction", direction(to, lexicon), t),
        Act::Drag { target: t, to } => fill(
            lexicon,
            "drag",
            &[("target", target(t)), ("to", target(to))],
        ),
        Act::Upload { file, target: t } => {
            maybe("upload", "file", quoted(&file.to_string_lossy()), t)
        }
        Act::Submit(t) => on("submit", t),
        Act::Login(name) => fill(lexicon, "login", &[("credential", name.clone())]),
        Act::Wait(WaitFor::Target(t)) => on("wait", t),
        Act::Wait(WaitFor::Gone(t)) => on("gone", t),
        Act::Wait(WaitFor::Url(glob)) => one("wait_url", "text", glob),
        Act::Wait(WaitFor::Seconds(d)) => fill(
            lexicon,
            "seconds",
            &[("seconds", d.as_secs_f64().to_string())],
        ),
        Act::WaitForUser(reason) => one("wait_for_user", "text", reason),
        Act::Expect(lines) => expect(lines, lexicon),
        Act::Extract(e) => {
            let names: Vec<_> = e.fields.iter().map(|(n, _)| n.value.clone()).collect();
            template(lexicon, "extract", &[("names", names.join(", "))])
        }
        Act::Use { flow, vars } if vars.is_empty() => {
            fill(lexicon, "use", &[("flow", quoted(flow))])
        }
        Act::Use { flow, vars } => {
            let lines: Vec<_> = vars
                .iter()
                .map(|(k, v)| format!("{k} = {}", quoted(v)))
                .collect();
            template(
                lexicon,
                "use_with",
                &[("flow", quoted(flow)), ("lines", lines.join(", "))],
            )
        }
        Act::Plan(goal) => one("plan", "text", goal),
        Act::Sentence(phrase) => phrase.text.clone(),
    }
}

/// The name in the typographer's quotation marks, with escapes the grammar reads.
pub fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|c| {
            matches!(c, '”' | '\\' | '"')
                .then_some('\\')
                .into_iter()
                .chain([c])
        })
        .collect();
    format!("“{escaped}”")
}

/// A target as a sentence names it: `button “Sign in”`.
pub fn target(target: &Target, lexicon: &Lexicon) -> String {
    let named = |word: &str, name: &str| format!("{} {}", lexicon.role_word(word), quoted(name));
    match &target.by {
        By::Name { role, name, exact } => {
            let mut said = match (role, name) {
                (Some(role), Some(name)) => named(role, name),
                (None, Some(name)) => quoted(name),
                (role, None) => {
                    let article = lexicon
                        .articles
                        .first()
                        .map(String::as_str)
                        .unwrap_or_default();
                    let gap = if article.ends_with('\'') || article.is_empty() {
                        ""
                    } else {
                        " "
                    };
                    format!(
                        "{article}{gap}{}",
                        lexicon.role_word(role.as_deref().unwrap_or("generic"))
                    )
                }
            };
            if *exact && let Some(word) = lexicon.exactly.first() {
                said = format!("{} {said}", word.join(" "));
            }
            said
        }
        By::Text(text) => named("text", text),
        By::TestId(id) => named("testid", id),
        By::Css(css) => named("css", css),
    }
}

fn value(value: &Value, lexicon: &Lexicon) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Credential { name, field } => {
            let word = lexicon
                .credential
                .first()
                .map(|w| w.join(" "))
                .unwrap_or_default();
            format!("{word} {name}.{field}")
        }
    }
}

fn form_value(v: &FormValue, lexicon: &Lexicon) -> String {
    match v {
        FormValue::Bool(on) => if *on { "✓" } else { "✗" }.to_string(),
        FormValue::Value(v) => value(v, lexicon),
    }
}

/// Keys stand as they are unless that would read as something else.
fn keys_said(keys: &str) -> String {
    if keys.chars().all(|c| c.is_ascii_alphanumeric() || c == '+') && keys.chars().count() > 1 {
        keys.to_string()
    } else {
        quoted(keys)
    }
}

fn direction(to: &ScrollTo, lexicon: &Lexicon) -> String {
    let word = match to {
        ScrollTo::Up => "up",
        ScrollTo::Left => "left",
        ScrollTo::Right => "right",
        ScrollTo::Top => "top",
        ScrollTo::Bottom => "bottom",
        ScrollTo::Down | ScrollTo::Target(_) => "down",
    };
    lexicon
        .directions
        .iter()
        .find(|(_, d)| d == word)
        .map_or_else(|| word.to_string(), |(w, _)| w.join(" "))
}

fn expect(lines: &[Expectation], lexicon: &Lexicon) -> String {
    if let [Expectation { line, within, .. }] = lines
        && within.is_empty()
    {
        let (form, text) = match line {
            ExpectLine::See(text) => ("see", text),
            ExpectLine::NotSee(text) => ("not_see", text),
            ExpectLine::Url(text) => ("url", text),
            ExpectLine::Title(text) => ("title", text),
            _ => return listed(lines, lexicon),
        };
        return fill(lexicon, form, &[("text", quoted(text))]);
    }
    listed(lines, lexicon)
}

fn listed(lines: &[Expectation], lexicon: &Lexicon) -> String {
    let lines: Vec<_> = lines
        .iter()
        .map(|e| {
            let out = written::flow(&written::expectation(e));
            out.trim_start_matches("{ ")
                .trim_end_matches(" }")
                .to_string()
        })
        .collect();
    template(lexicon, "expect", &[("lines", lines.join("; "))])
}

/// The first pattern of the form that has exactly these slots, filled.
fn fill(lexicon: &Lexicon, form: &str, slots: &[(&str, String)]) -> String {
    let fits = |parts: &[Part]| {
        let own: Vec<_> = parts
            .iter()
            .filter_map(|p| {
                if let Part::Slot(s) = p {
                    Some(*s)
                } else {
                    None
                }
            })
            .collect();
        own.len() == slots.len() && slots.iter().all(|(s, _)| own.contains(s))
    };
    let Some(pattern) = lexicon
        .patterns
        .iter()
        .find(|p| p.form == form && fits(&p.parts))
    else {
        // A lexicon of a suite may lack a form; its name and what belongs to it still inform.
        return std::iter::once(form)
            .chain(slots.iter().map(|(_, t)| t.as_str()))
            .collect::<Vec<_>>()
            .join(" ");
    };
    let mut out = String::new();
    for part in &pattern.parts {
        if !out.is_empty() && !out.ends_with('\'') {
            out.push(' ');
        }
        match part {
            Part::Words(words) => {
                out.push_str(words.first().map(String::as_str).unwrap_or_default())
            }
            Part::Slot(slot) => out.extend(
                slots
                    .iter()
                    .filter(|(s, _)| s == slot)
                    .map(|(_, t)| t.as_str()),
            ),
        }
    }
    out
}

fn template(lexicon: &Lexicon, name: &str, slots: &[(&str, String)]) -> String {
    let mut out = lexicon.say.get(name).cloned().unwrap_or_else(|| {
        format!(
            "{name}: {{{}}}",
            slots.last().map(|(s, _)| *s).unwrap_or_default()
        )
    });
    for (slot, text) in slots {
        out = out.replacen(&format!("{{{slot}}}"), text, 1);
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
