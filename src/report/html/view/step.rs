//! One step: how its target was found, what was asked of the model, what the page showed.

use base64::Engine;
use serde::Serialize;

use super::super::super::model::{ScenarioReport, StepReport};
use super::super::super::{block, exit, frame_in_run, plain};
use super::super::Pictures;
use super::{long, path, text};
use crate::event::{Failure, Frame, ModelCalled, Resolved};

#[derive(Serialize)]
pub(super) struct Step {
    step: String,
    says: String,
    key: &'static str,
    word: &'static str,
    time: String,
    depth: usize,
    by: Option<String>,
    how: Option<String>,
    write: Option<String>,
    notes: Vec<String>,
    message: Option<String>,
    written: Option<String>,
    place: Option<String>,
    found: Vec<Found>,
    acted: Vec<(String, String)>,
    model: Vec<Call>,
    frames: Vec<Picture>,
}

#[derive(Serialize)]
struct Found {
    chooser: String,
    target: String,
    scope: String,
    score: String,
    rival: Option<String>,
    rival_score: Option<String>,
    candidates: usize,
    healed: Option<String>,
}

#[derive(Serialize)]
struct Call {
    purpose: String,
    outcome: String,
    good: bool,
    facts: String,
    question: String,
    answer: String,
}

#[derive(Serialize)]
pub(super) struct Picture {
    src: Option<String>,
    withheld: Option<String>,
    alt: String,
    caption: String,
    width: u32,
    height: u32,
    /// Per cent of the picture: left, top, width, height.
    target: Option<[String; 4]>,
    point: Option<[String; 2]>,
}

pub(super) fn one_step(scenario: &ScenarioReport, step: &StepReport, pictures: Pictures) -> Step {
    let meaning = exit::meaning(step.status);
    Step {
        step: text(&step.step),
        says: text(&plain::short(&step.says, 400)),
        key: meaning.class.key(),
        word: meaning.word,
        time: block::duration(step.ms),
        depth: step.step.matches('.').count().min(4),
        by: Some(text(&step.by)).filter(|by| by != "author"),
        how: how(step),
        write: step.write.as_deref().map(text),
        notes: step
            .note
            .iter()
            .chain(&step.notes)
            .map(|note| text(note))
            .collect(),
        message: step
            .failure
            .as_ref()
            .map(|Failure { message, .. }| text(message)),
        written: Some(text(&step.written)).filter(|written| !written.is_empty()),
        place: step
            .line
            .map(|line| text(&format!("{}:{line}", scenario.file))),
        found: step.resolved.iter().map(found).collect(),
        acted: step
            .acted
            .iter()
            .map(|acted| {
                let effect = acted.effect.as_deref().unwrap_or("no change was seen");
                let value = acted
                    .value
                    .as_ref()
                    .map_or_else(String::new, |value| format!(" from {value}"));
                let why = acted
                    .reason
                    .as_ref()
                    .map_or_else(String::new, |why| format!(" Because: {why}"));
                (
                    text(&format!("{}{value}", acted.says)),
                    text(&format!("{effect}.{why}")),
                )
            })
            .collect(),
        model: step.model.iter().map(call).collect(),
        frames: step
            .frames
            .iter()
            .map(|frame| picture(scenario, &at_step(step), frame, pictures))
            .collect(),
    }
}

/// The chip beside a step: only where more than an exact name decided.
fn how(step: &StepReport) -> Option<String> {
    let how = step.resolved.iter().rfind(|how| how.chooser != "exact")?;
    Some(text(&format!("{} {:.2}", how.chooser, how.score)))
}

fn found(how: &Resolved) -> Found {
    Found {
        chooser: text(&how.chooser),
        target: text(&block::target(&how.role, &how.name)),
        scope: text(&how.scope.join(" › ")),
        score: format!("{:.2}", how.score),
        rival: how.runner_up.as_ref().map(|rival| {
            let place = rival
                .place
                .as_ref()
                .map_or_else(String::new, |place| format!(", {place}"));
            text(&format!(
                "{}{place}",
                block::target(&rival.role, &rival.name)
            ))
        }),
        rival_score: how
            .runner_up
            .as_ref()
            .map(|rival| format!("{:.2}", rival.score)),
        candidates: how.candidates,
        healed: how.healed.as_deref().map(text),
    }
}

fn call(call: &ModelCalled) -> Call {
    let tokens = match (call.prompt_tokens, call.completion_tokens) {
        (None, None) => format!("{} bytes", call.prompt_bytes),
        (asked, answered) => format!(
            "{} + {} tokens",
            asked.unwrap_or_default(),
            answered.unwrap_or_default()
        ),
    };
    Call {
        purpose: text(&call.purpose),
        outcome: text(&call.outcome),
        good: call.outcome == "ok",
        facts: format!(
            "{} of {} candidates offered, {tokens}",
            call.candidates_offered, call.candidates_total
        ),
        question: long(&call.question),
        answer: long(&call.answer),
    }
}

/// What a step's picture shows, for those who don't see it.
pub(super) fn at_step(step: &StepReport) -> String {
    format!(
        "The page at step {}: {}",
        step.step,
        plain::short(&step.says, 120)
    )
}

pub(super) fn picture(
    scenario: &ScenarioReport,
    alt: &str,
    frame: &Frame,
    pictures: Pictures,
) -> Picture {
    let of =
        |part: i32, whole: u32| format!("{:.2}", f64::from(part) * 100.0 / f64::from(whole.max(1)));
    let inside = frame
        .file
        .as_ref()
        .map(|file| frame_in_run(&scenario.id, file));
    let mut caption = vec![text(&frame.url)];
    if frame.unsettled {
        caption.push("the page still moved".to_owned());
    }
    if !frame.redactions.is_empty() {
        let mut reasons: Vec<&str> = frame.redactions.iter().map(|r| r.reason.as_str()).collect();
        reasons.dedup();
        caption.push(text(&format!("covered: {}", reasons.join(", "))));
    }
    Picture {
        src: inside.map(|inside| {
            let bytes = match pictures {
                Pictures::Inline(read) => read(&inside),
                Pictures::Linked => None,
            };
            match bytes {
                Some(bytes) => format!(
                    "data:image/png;base64,{}",
                    base64::engine::general_purpose::STANDARD.encode(bytes)
                ),
                None => format!("./{}", path(&inside)),
            }
        }),
        withheld: frame.withheld.as_deref().map(text),
        alt: text(alt),
        caption: caption.join(" · "),
        width: frame.width.max(1),
        height: frame.height.max(1),
        target: frame.target.map(|[x, y, w, h]| {
            [
                of(x, frame.width),
                of(y, frame.height),
                of(w, frame.width),
                of(h, frame.height),
            ]
        }),
        point: frame
            .point
            .map(|[x, y]| [of(x, frame.width), of(y, frame.height)]),
    }
}
