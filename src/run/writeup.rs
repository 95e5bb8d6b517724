//! The tutorial of one attempt, written whichever way it ended.
//!
//! By rules; where the scenario wishes prose and the workflow is a new one, a model words it, held to
//! the facts. Prose that was approved for the same workflow stays as it is, and no model is asked.

use std::path::Path;

use crate::agent::{Asking, CallRecord};
use crate::event::Event;
use crate::plan::Planned;
use crate::scenario::Pattern;
use crate::tutorial::{self, Tutorial, Written, prose};

use super::settings::RunContext;

/// What came of it.
pub struct WrittenUp {
    pub markdown: String,
    /// Approved prose was written for this very workflow.
    pub prose_holds: bool,
    pub notes: Vec<String>,
    pub calls: Vec<CallRecord>,
}

/// Writes the tutorial into the attempt's folder and gives its Markdown.
pub async fn write(
    context: &RunContext,
    planned: &Planned,
    events: &[Event],
    folder: &Path,
    passed: bool,
) -> Result<WrittenUp, String> {
    let writer = |path: &Path, bytes: &[u8]| {
        context
            .outgoing
            .write(path, bytes)
            .map_err(|e| e.to_string())
    };
    let volatile: Vec<Pattern> = planned
        .scenario
        .volatile
        .iter()
        .chain(&context.volatile)
        .cloned()
        .collect();
    let by_rules = tutorial::curate_with(events, &volatile);
    let wished = passed
        && planned
            .scenario
            .tutorial
            .as_ref()
            .is_some_and(|t| t.model_prose);
    let approved = planned.approved.tutorial.as_deref().unwrap_or_default();
    let prose_holds = wished && prose::kept(approved, &by_rules);
    let mut up = WrittenUp {
        markdown: String::new(),
        prose_holds,
        notes: Vec::new(),
        calls: Vec::new(),
    };
    let told = if wished && !prose_holds {
        worded(context, by_rules, &mut up).await
    } else {
        by_rules
    };
    let Written {
        markdown, without, ..
    } = tutorial::write_made(told, events, folder, folder, &writer).map_err(|e| e.to_string())?;
    up.markdown = markdown;
    up.notes.extend(
        without
            .into_iter()
            .map(|why| format!("a picture of the tutorial was left out: {why}")),
    );
    Ok(up)
}

/// The rules' tutorial in the model's words, or as it is where the model can't be used.
async fn worded(context: &RunContext, by_rules: Tutorial, up: &mut WrittenUp) -> Tutorial {
    let Some(model) = context
        .model
        .as_deref()
        .filter(|_| !context.mode.offline && !context.mode.locked)
    else {
        up.notes.push(
            "`prose: model` is wished, but no model may be asked; the rules' words stand".into(),
        );
        return by_rules;
    };
    let (facts, schema) = prose::request(&by_rules);
    let asked = model
        .word_tutorial(&Asking::new(&context.scrubber), &facts, schema)
        .await;
    up.calls.extend(asked.calls);
    let fitted = asked
        .outcome
        .map_err(|e| e.to_string())
        .and_then(|answer| prose::apply(&by_rules, &answer).map_err(|e| e.to_string()));
    match fitted {
        Ok(tutorial) => tutorial,
        Err(why) => {
            up.notes.push(format!(
                "the model's words for the tutorial were refused ({why}); the rules' words stand"
            ));
            by_rules
        }
    }
}
