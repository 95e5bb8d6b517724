//! Events → a tutorial a person would publish: Markdown, JSON, HTML and the chosen pictures.
//!
//! In: the events of one attempt and its frames. Out: files. The rules need no model and give equal
//! bytes for equal events; optional prose is fitted onto what the rules made. Page text is hostile
//! until it is escaped.

mod actions;
mod draw;
mod found;
mod group;
mod history;
pub mod html;
pub mod index;
mod markdown;
mod model;
mod pick;
pub mod prose;
mod tell;
#[cfg(test)]
mod tests;
mod write;

pub use model::{Covered, FORMAT, Mark, Part, Picture, Prose, Step, Stopped, Tutorial, Words};
pub use write::{TutorialError, Written, verify_records, write, write_made};

use crate::event::Event;
use crate::scenario::Pattern;
use history::History;

/// Pictures, and so steps, unless the scenario says otherwise.
const PICTURES: usize = 7;

/// The tutorial of one attempt; of several, the last is told.
pub fn curate(events: &[Event]) -> Tutorial {
    let history = History::read(events);
    let wished = history.started.as_ref().and_then(|s| s.tutorial_pictures);
    let limit = wished.map_or(PICTURES, |n| usize::from(n.clamp(1, 7)));
    let stopped = tell::stopped(&history);
    let end = |number| pick::of_end(&history, stopped.is_some(), number);
    let has_end = end(1).is_some();
    // The end state is worth a picture of its own where there is room.
    let room = if has_end && limit > 3 {
        limit - 1
    } else {
        limit
    };
    let steps: Vec<Step> = group::group(actions::worth_telling(&history), room)
        .iter()
        .enumerate()
        .map(|(i, group)| step(&history, group, i + 1))
        .collect();
    let pictures = steps.iter().filter(|s| s.picture.is_some()).count();
    let result = if has_end && pictures < limit {
        end(steps.len() + 1)
    } else {
        None
    };
    let mut tutorial = Tutorial {
        format: FORMAT,
        title: tell::title(&history),
        introduction: tell::introduction(&history),
        steps,
        conclusion: if stopped.is_none() {
            tell::conclusion(&history)
        } else {
            Vec::new()
        },
        result,
        signed_in_by: tell::signed_in_by(&history),
        account: tell::account(&history),
        stopped,
        pin: String::new(),
        prose: Prose::Rules,
    };
    tutorial.pin = prose::pin(&tutorial, &[]);
    tutorial
}

/// As [`curate`]; volatile text has no influence on what prose is kept for.
pub fn curate_with(events: &[Event], volatile: &[Pattern]) -> Tutorial {
    let mut tutorial = curate(events);
    tutorial.pin = prose::pin(&tutorial, volatile);
    tutorial
}

fn step(history: &History, group: &group::Group, number: usize) -> Step {
    let caption = group.caption();
    let told = group.told();
    let single = told.len() == 1 && told[0].note.is_none();
    let mut places: Vec<String> = group.actions.iter().map(|a| a.place.clone()).collect();
    places.dedup();
    Step {
        picture: pick::of_group(history, group, number, &caption.plain()),
        actions: if single {
            Vec::new()
        } else {
            told.iter().map(|a| a.words()).collect()
        },
        caption,
        text: None,
        places,
    }
}

/// The tutorial as Markdown, with pictures by relative path.
pub fn markdown(tutorial: &Tutorial) -> String {
    markdown::render(tutorial)
}

/// The tutorial as JSON (`tutorial.json`).
pub fn json(tutorial: &Tutorial) -> String {
    let mut text = serde_json::to_string_pretty(tutorial).unwrap_or_default();
    text.push('\n');
    text
}

/// JSON Schema of `tutorial.json`.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Tutorial).to_value()
}
