//! Recipes and scenarios, run as the command line runs them, each in a browser of its own.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::event::{Event, Status, What};
use crate::plan::Plan;
use crate::run::{self, Stream};
use crate::store::{Journal, RunFolder};

use crate::secrets::{Scanner, Scrubber, Sources};

use super::recipe::Inlines;
use super::refusal::Refusal;
use super::service::Means;

/// What a run came to.
pub struct Outcome {
    pub ok: bool,
    pub status: Option<Status>,
    pub message: String,
    /// Steps really taken, in order.
    pub steps: Vec<Value>,
    pub data: Value,
    pub notes: Map<String, Value>,
    pub picture: Value,
}

impl std::fmt::Display for Outcome {
    /// All that a caller may read of it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let notes = Value::Object(self.notes.clone());
        write!(f, "{} {} {notes} {}", self.message, self.data, self.picture)?;
        self.steps.iter().try_for_each(|step| write!(f, " {step}"))
    }
}

impl Outcome {
    pub fn body(self, mode: &str) -> Value {
        let mut body = json!({
            "ok": self.ok,
            "mode": mode,
            "status": self.status,
            "steps": self.steps,
            "data": self.data,
            "notes": self.notes,
            "picture": self.picture,
        });
        if !self.ok {
            body["error"] = json!(self.message);
        }
        body
    }
}

/// Runs a plan of one scenario to its end. Nothing of it stays on disk.
///
/// Secrets that came with a call are known to that run alone: what one owner calls a secret must not
/// keep another's answers back.
pub async fn run_plan(means: &Means, plan: Plan, inlines: Inlines) -> Result<Outcome, Refusal> {
    if inlines.is_empty() {
        let sources = Arc::new(means.sources());
        return run_with(means, plan, means.scrubber.clone(), sources).await;
    }
    let scrubber = means.scrubber_of_one_run();
    let sources = Arc::new(means.sources_with(inlines));
    let outcome = run_with(means, plan, scrubber.clone(), sources).await?;
    let said = outcome.to_string();
    if Scanner::new(&scrubber)
        .scan_bytes("answer.json", said.as_bytes())
        .is_empty()
    {
        Ok(outcome)
    } else {
        Err(Refusal::Environment(
            "the answer held a secret of the recipe and was not sent".into(),
        ))
    }
}

async fn run_with(
    means: &Means,
    plan: Plan,
    scrubber: Scrubber,
    sources: Arc<Sources>,
) -> Result<Outcome, Refusal> {
    let environment = |why: String| Refusal::Environment(why);
    let temp = tempfile::Builder::new()
        .prefix("rehearsal-run-")
        .tempdir()
        .map_err(|e| environment(format!("no folder for the run: {e}")))?;
    let id = plan
        .scenarios
        .first()
        .map(|p| p.id().to_owned())
        .ok_or(Refusal::NotFound)?;
    let run_id = crate::store::new_run_id();
    let folder = RunFolder::create(temp.path(), &run_id).map_err(|e| environment(e.to_string()))?;
    let journal_path = folder.path().join("events.jsonl");
    let journal =
        Journal::<Event>::create(&journal_path).map_err(|e| environment(e.to_string()))?;
    let stream = Stream::new(journal, Vec::new(), &scrubber);
    let context = means.context(run_id, folder.path(), scrubber, sources);
    let folder = Arc::new(folder);
    run::run(plan, context, stream.clone(), folder.clone()).await;
    let events = stream.said();
    stream.close();
    let of_it = folder
        .scenario_dir(&id)
        .map_err(|e| environment(e.to_string()))?;
    Ok(outcome(&events, &of_it))
}

fn outcome(events: &[Event], folder: &Path) -> Outcome {
    let mut outcome = Outcome {
        ok: false,
        status: None,
        message: "the run did not finish".into(),
        steps: Vec::new(),
        data: read_json(&folder.join("data.json")),
        notes: Map::new(),
        picture: json!({ "withheld": "no picture was taken" }),
    };
    let mut says: Map<String, Value> = Map::new();
    for event in events {
        match &event.what {
            What::StepStarted(step) => {
                says.insert(step.step.clone(), json!(step.says));
            }
            What::StepFinished(step) if step.status != Status::Skipped => {
                let mut line = json!({
                    "step": step.step,
                    "says": says.get(&step.step),
                    "status": step.status,
                });
                if let Some(failure) = &step.failure {
                    line["reason"] = json!(failure.reason);
                    line["error"] = json!(failure.message);
                }
                outcome.steps.push(line);
            }
            What::Extracted {
                name,
                note: Some(note),
                ..
            } => {
                outcome.notes.insert(name.clone(), json!(note));
            }
            What::Frame(frame) => outcome.picture = picture(frame, folder),
            What::ScenarioFinished(end) => {
                outcome.ok = end.as_expected;
                outcome.status = Some(end.status);
                outcome.message.clone_from(&end.message);
            }
            _ => {}
        }
    }
    outcome
}

fn picture(frame: &crate::event::Frame, folder: &Path) -> Value {
    let bytes = frame
        .file
        .as_ref()
        .and_then(|file| std::fs::read(folder.join(file)).ok());
    match bytes {
        Some(png) => json!({
            "png": BASE64_STANDARD.encode(png),
            "width": frame.width,
            "height": frame.height,
            "redactions": frame.redactions.len(),
        }),
        None => json!({ "withheld": frame.withheld.as_deref().unwrap_or("the picture is gone") }),
    }
}

fn read_json(path: &Path) -> Value {
    std::fs::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_else(|| json!({}))
}
