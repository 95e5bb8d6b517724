//! The events of one attempt → [`Attempt`], each put to the step it belongs to.

use std::collections::BTreeMap;

use super::super::model::*;
use crate::event::{Blocked, END, Event, Status, StepStarted, What};

impl Attempt {
    /// Events of one attempt, in order.
    pub fn fold(events: &[&Event]) -> Self {
        let first = events.first();
        let mut attempt = Self {
            number: first.map_or(1, |event| event.attempt.max(1)),
            started: first.map_or_else(String::new, |event| event.time.clone()),
            status: Status::NotFinished,
            reason: "not_finished".to_owned(),
            message: "The run ended inside this scenario.".to_owned(),
            as_expected: false,
            goal: None,
            start: None,
            failed_step: None,
            signed_in_by: None,
            wrote: false,
            ms: match (first, events.last()) {
                (Some(first), Some(last)) => last.at_ms.saturating_sub(first.at_ms),
                _ => 0,
            },
            choosers: BTreeMap::new(),
            model_calls: 0,
            tokens: 0,
            ms_by_part: BTreeMap::new(),
            steps: Vec::new(),
            looks: Vec::new(),
            end: None,
            blocked: Vec::new(),
            writes: Vec::new(),
            extracted: Vec::new(),
            notes: Vec::new(),
        };
        // Steps that began and have not ended, innermost last.
        let mut open: Vec<usize> = Vec::new();
        let mut finished = false;
        for event in events {
            attempt.one(event, &mut open);
            finished |= matches!(event.what, What::ScenarioFinished(_));
        }
        if !finished {
            attempt.count();
        }
        attempt
    }

    fn one(&mut self, event: &Event, open: &mut Vec<usize>) {
        match &event.what {
            What::ScenarioStarted(started) => {
                self.goal = started.goal.clone();
                self.start = Some(started.start.clone());
            }
            What::StepStarted(started) => {
                open.push(self.steps.len());
                self.steps.push(StepReport::started(started, event.at_ms));
            }
            What::StepFinished(done) => {
                let at = self.place(&done.step, event.at_ms);
                let step = &mut self.steps[at];
                step.status = done.status;
                step.failure = done.failure.clone();
                step.notes.extend(done.notes.iter().cloned());
                step.ms = done.ms;
                open.retain(|still| *still != at);
            }
            What::Resolved(how) => {
                let at = self.place(&how.step, event.at_ms);
                self.steps[at].resolved.push(how.clone());
            }
            What::ModelCalled(call) => {
                let at = self.place(&call.step, event.at_ms);
                self.steps[at].model.push(call.clone());
            }
            What::Acted(acted) => {
                let at = self.place(&acted.step, event.at_ms);
                self.steps[at].acted.push(acted.clone());
            }
            What::Frame(frame) if frame.step == END => self.end = Some(frame.clone()),
            What::Frame(frame) => {
                let at = self.place(&frame.step, event.at_ms);
                self.steps[at].frames.push(frame.clone());
            }
            What::Blocked(blocked) => self.block(blocked),
            What::Wrote {
                method,
                url,
                because,
            } => self.writes.push(Write {
                step: open.last().map(|at| self.steps[*at].step.clone()),
                method: method.clone(),
                url: url.clone(),
                because: because.clone(),
            }),
            What::Extracted { name, rows, note } => self.extracted.push(Extracted {
                name: name.clone(),
                rows: rows.map(|rows| rows as u64),
                note: note.clone(),
            }),
            What::Looked(looked) => self.looks.push(looked.clone()),
            What::ScenarioFinished(done) => {
                self.status = done.status;
                self.reason = done.reason.clone();
                self.message = done.message.clone();
                self.as_expected = done.as_expected;
                self.failed_step = done.failed_step.clone();
                self.signed_in_by = done.signed_in_by.clone();
                self.wrote = done.wrote;
                self.ms = done.ms;
                self.choosers = done.choosers.clone();
                self.model_calls = done.model_calls;
                self.tokens = done.tokens;
                self.ms_by_part = done.ms_by_part.clone();
            }
            What::Note { .. }
            | What::Dialog { .. }
            | What::TabOpened { .. }
            | What::Download { .. } => {
                let Some(note) = said(&event.what) else {
                    return;
                };
                match open.last() {
                    Some(at) => self.steps[*at].notes.push(note),
                    None => self.notes.push(note),
                }
            }
            What::RunStarted(_)
            | What::RunFinished { .. }
            | What::Snapshot(_)
            | What::Leak { .. }
            | What::Rated(_)
            | What::TearDown { .. } => {}
        }
    }

    /// One line per stopped thing, however often it was tried.
    fn block(&mut self, blocked: &Blocked) {
        let same = |known: &&mut Blocked| {
            let times = known.times;
            **known
                == Blocked {
                    times,
                    ..blocked.clone()
                }
        };
        match self.blocked.iter_mut().find(same) {
            Some(known) => known.times = known.times.saturating_add(blocked.times),
            None => self.blocked.push(blocked.clone()),
        }
    }

    /// Where a step stands; a step whose beginning was lost gets a place of its own.
    fn place(&mut self, step: &str, at_ms: u64) -> usize {
        if let Some(at) = self.steps.iter().rposition(|known| known.step == step) {
            return at;
        }
        let bare = StepStarted {
            step: step.to_owned(),
            says: format!("Step {step}"),
            written: String::new(),
            verb: String::new(),
            line: None,
            note: None,
            picture: None,
            write: None,
            by: "author".to_owned(),
        };
        self.steps.push(StepReport::started(&bare, at_ms));
        self.steps.len() - 1
    }

    /// Totals that a finished scenario brings along, counted here where it did not finish.
    fn count(&mut self) {
        self.wrote = !self.writes.is_empty();
        for step in &self.steps {
            for how in &step.resolved {
                *self.choosers.entry(how.chooser.clone()).or_default() += 1;
            }
            self.model_calls += step.model.len() as u32;
            self.tokens += step
                .model
                .iter()
                .map(|call| {
                    call.prompt_tokens.unwrap_or_default()
                        + call.completion_tokens.unwrap_or_default()
                })
                .sum::<u64>();
        }
    }
}

impl StepReport {
    fn started(started: &StepStarted, at_ms: u64) -> Self {
        Self {
            step: started.step.clone(),
            says: started.says.clone(),
            written: started.written.clone(),
            verb: started.verb.clone(),
            line: started.line,
            note: started.note.clone(),
            write: started.write.clone(),
            by: started.by.clone(),
            at_ms,
            ms: 0,
            status: Status::NotFinished,
            failure: None,
            notes: Vec::new(),
            resolved: Vec::new(),
            model: Vec::new(),
            acted: Vec::new(),
            frames: Vec::new(),
        }
    }
}

/// Happenings that read best as a sentence.
fn said(what: &What) -> Option<String> {
    Some(match what {
        What::Note { text } => text.clone(),
        What::Dialog {
            text,
            answer,
            expected,
        } => {
            let unexpected = if *expected { "" } else { "unexpected " };
            format!("{unexpected}dialog “{text}”: {answer}")
        }
        What::TabOpened { url, followed } => {
            let then = if *followed {
                "followed"
            } else {
                "not followed"
            };
            format!("a tab opened at {url}, {then}")
        }
        What::Download {
            name,
            bytes,
            accepted,
        } => {
            let then = if *accepted { "kept" } else { "refused" };
            format!("download {name} ({bytes} bytes), {then}")
        }
        _ => return None,
    })
}
