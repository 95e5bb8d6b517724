//! Visits every text of a scenario that may hold `$(name)`, with what kind of text it is.

use super::model::*;
use crate::text::{Span, Spanned};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Text that is typed, opened or shown.
    Text,
    /// A name or text compared with the page; may refer to a field of a credential.
    Named,
    /// A selector: the page itself is searched with it, before anything is hidden.
    Selector,
    /// A glob of requests.
    Glob,
    /// A glob compared with the page; may refer to a field of a credential.
    NamedGlob,
    /// The inside of a `/pattern/`.
    Pattern,
}

pub trait Visit {
    fn text(&mut self, text: &mut String, place: Place, span: Span);
}

fn spanned(v: &mut impl Visit, text: &mut Spanned<String>, place: Place) {
    let span = text.span;
    v.text(&mut text.value, place, span);
}

pub fn scenario(v: &mut impl Visit, s: &mut Scenario) {
    spanned(v, &mut s.name, Place::Text);
    spanned(v, &mut s.start, Place::Text);
    hosts(v, &mut s.hosts);
    if let Some(goal) = &mut s.goal {
        spanned(v, goal, Place::Text);
    }
    s.steps.iter_mut().for_each(|step_| step(v, step_));
    for rule in &mut s.writes {
        spanned(v, &mut rule.what, Place::Text);
        spanned(v, &mut rule.request, Place::Glob);
    }
    for safe in &mut s.safe_requests {
        let span = safe.request.span;
        spanned(v, &mut safe.request, Place::Glob);
        safe.operation
            .iter_mut()
            .for_each(|o| v.text(o, Place::Text, span));
    }
    expectations(v, &mut s.expect);
    if let Some(e) = &mut s.extract {
        extract(v, e);
    }
    for mask in &mut s.mask {
        match &mut mask.what {
            MaskWhat::Text(p) => pattern(v, p, mask.span),
            MaskWhat::Target(t) => target(v, t),
        }
    }
    let whole = Span::default();
    s.volatile.iter_mut().for_each(|p| pattern(v, p, whole));
    if let Some(title) = s.tutorial.as_mut().and_then(|t| t.title.as_mut()) {
        v.text(title, Place::Text, whole);
    }
}

pub fn flow(v: &mut impl Visit, f: &mut Flow) {
    hosts(v, &mut f.hosts);
    f.steps
        .iter_mut()
        .chain(&mut f.after)
        .for_each(|s| step(v, s));
}

fn hosts(v: &mut impl Visit, hosts: &mut [HostEntry]) {
    hosts
        .iter_mut()
        .for_each(|h| spanned(v, &mut h.host, Place::Text));
}

/// `written` and `sentence` stay as they are: they name the step across runs.
pub fn step(v: &mut impl Visit, s: &mut Step) {
    let span = s.span;
    act(v, &mut s.act, span);
    s.scope.within.iter_mut().for_each(|t| target(v, t));
    if let Some(write) = &mut s.write {
        spanned(v, write, Place::Text);
    }
    if let Some(note) = &mut s.note {
        v.text(note, Place::Text, span);
    }
    if let Some(DialogAnswer::Accept(Some(text))) = &mut s.dialog {
        v.text(text, Place::Text, span);
    }
    if let Some(download) = &mut s.download {
        v.text(download, Place::Glob, span);
    }
    expectations(v, &mut s.expect);
}

fn act(v: &mut impl Visit, a: &mut Act, span: Span) {
    let maybe = |v: &mut dyn FnMut(&mut Target), t: &mut Option<Target>| t.iter_mut().for_each(v);
    match a {
        Act::Goto(text) | Act::WaitForUser(text) | Act::Plan(text) => {
            v.text(text, Place::Text, span)
        }
        Act::Click(t) | Act::Hover(t) | Act::Submit(t) | Act::Check { target: t, .. } => {
            target(v, t)
        }
        Act::Fill {
            target: t,
            value: val,
        } => {
            target(v, t);
            value(v, val, span);
        }
        Act::Form(lines) => {
            for (t, val) in lines {
                target(v, t);
                if let FormValue::Value(val) = val {
                    value(v, val, span);
                }
            }
        }
        Act::Select { option, target: t } => {
            v.text(option, Place::Named, span);
            maybe(&mut |t| target(v, t), t);
        }
        Act::Press { target: t, .. } => maybe(&mut |t| target(v, t), t),
        Act::Scroll { to, target: t } => {
            if let ScrollTo::Target(t) = to {
                target(v, t);
            }
            maybe(&mut |t| target(v, t), t);
        }
        Act::Drag { target: t, to } => {
            target(v, t);
            target(v, to);
        }
        Act::Upload { target: t, .. } => maybe(&mut |t| target(v, t), t),
        Act::Login(_) => {}
        Act::Wait(wait) => match wait {
            WaitFor::Target(t) | WaitFor::Gone(t) => target(v, t),
            WaitFor::Url(glob) => v.text(glob, Place::NamedGlob, span),
            WaitFor::Seconds(_) => {}
        },
        Act::Expect(lines) => expectations(v, lines),
        Act::Extract(e) => extract(v, e),
        Act::Use { vars, .. } => vars
            .values_mut()
            .for_each(|val| v.text(val, Place::Text, span)),
        Act::Sentence(phrase) => {
            v.text(&mut phrase.target, Place::Named, span);
            v.text(&mut phrase.text, Place::Named, span);
            match (phrase.verb, &mut phrase.value) {
                (Verb::Select, Some(Value::Text(option))) => v.text(option, Place::Named, span),
                (_, Some(val)) => value(v, val, span),
                (_, None) => {}
            }
            for (name, val) in &mut phrase.others {
                v.text(name, Place::Named, span);
                value(v, val, span);
            }
        }
    }
}

fn value(v: &mut impl Visit, val: &mut Value, span: Span) {
    if let Value::Text(text) = val {
        v.text(text, Place::Text, span);
    }
}

pub fn target(v: &mut impl Visit, t: &mut Target) {
    let (text, place) = match &mut t.by {
        By::Name { name, .. } => (name.as_mut(), Place::Named),
        By::TestId(id) => (Some(id), Place::Named),
        By::Text(text) | By::Css(text) => (Some(text), Place::Selector),
    };
    if let Some(text) = text {
        v.text(text, place, t.span);
    }
}

pub fn expectations(v: &mut impl Visit, lines: &mut [Expectation]) {
    for e in lines {
        let span = e.span;
        match &mut e.line {
            ExpectLine::Url(t) | ExpectLine::Title(t) | ExpectLine::Download(t) => {
                v.text(t, Place::NamedGlob, span)
            }
            ExpectLine::See(t) | ExpectLine::NotSee(t) => v.text(t, Place::Named, span),
            ExpectLine::Element(el) | ExpectLine::NoElement(el) => {
                target(v, &mut el.target);
                if let Some(text) = &mut el.value {
                    v.text(text, Place::Named, span);
                }
            }
            ExpectLine::Data(lines) => {
                for (_, line) in lines {
                    if let DataExpect::Is(text) = line {
                        v.text(text, Place::Named, span);
                    }
                }
            }
        }
        e.within.iter_mut().for_each(|t| target(v, t));
    }
}

fn extract(v: &mut impl Visit, e: &mut Extract) {
    for (name, inner) in &mut e.fields {
        let span = name.span;
        extractor(v, inner, span);
    }
}

fn extractor(v: &mut impl Visit, e: &mut Extractor, span: Span) {
    match e {
        Extractor::Css { css, .. } => v.text(css, Place::Selector, span),
        Extractor::Each {
            each, fields, next, ..
        } => {
            v.text(each, Place::Selector, span);
            fields
                .iter_mut()
                .for_each(|(_, inner)| extractor(v, inner, span));
            next.iter_mut().for_each(|t| target(v, t));
        }
        Extractor::Prompt(prompt) => v.text(prompt, Place::Text, span),
    }
}

fn pattern(v: &mut impl Visit, p: &mut Pattern, span: Span) {
    match p {
        Pattern::Literal(text) => v.text(text, Place::Named, span),
        Pattern::Regex(inner) => v.text(inner, Place::Pattern, span),
    }
}
