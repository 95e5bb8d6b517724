//! Events of one attempt → what was tried, in order, with the pictures around it.

use crate::event::{
    Acted, Event, Frame, ScenarioFinished, ScenarioStarted, Status, StepStarted, What,
};
use crate::event::{Finding, StepFinished};

/// One attempt, read.
#[derive(Debug, Default)]
pub struct History {
    pub started: Option<ScenarioStarted>,
    pub finished: Option<ScenarioFinished>,
    pub tries: Vec<Try>,
    /// Every frame that was kept, with its place in the order of events.
    pub frames: Vec<(usize, Frame)>,
    /// Findings of the last look.
    pub findings: Vec<Finding>,
    /// Name and number of rows of what was read.
    pub extracted: Vec<(String, Option<usize>)>,
}

/// A step as it was tried once.
#[derive(Debug)]
pub struct Try {
    pub started: StepStarted,
    /// With their places in the order of events.
    pub acted: Vec<(usize, Acted)>,
    pub finished: Option<StepFinished>,
    /// Place of the first event.
    pub from: usize,
    /// Place of the last event; pictures up to here were taken by this step.
    pub to: usize,
}

impl Try {
    pub fn passed(&self) -> bool {
        self.finished
            .as_ref()
            .is_some_and(|f| f.status == Status::Passed)
    }
}

impl History {
    /// Order is by `seq`; events of other attempts than the last are left out, so that a whole
    /// scenario's events may be given.
    pub fn read(events: &[Event]) -> Self {
        let last = events.iter().map(|e| e.attempt).max().unwrap_or(0);
        let mut own: Vec<&Event> = events.iter().filter(|e| e.attempt == last).collect();
        own.sort_by_key(|e| e.seq);
        let mut history = Self::default();
        for (at, event) in own.into_iter().enumerate() {
            history.take(at, &event.what);
        }
        history
    }

    fn take(&mut self, at: usize, what: &What) {
        match what {
            What::ScenarioStarted(started) => self.started = Some(started.clone()),
            What::ScenarioFinished(finished) => self.finished = Some(finished.clone()),
            What::StepStarted(started) => self.tries.push(Try {
                started: started.clone(),
                acted: Vec::new(),
                finished: None,
                from: at,
                to: at,
            }),
            What::Acted(acted) => {
                if let Some(open) = self.open(&acted.step) {
                    open.acted.push((at, acted.clone()));
                    open.to = at;
                }
            }
            What::Frame(frame) => {
                if let Some(open) = self.open(&frame.step) {
                    open.to = at;
                }
                self.frames.push((at, frame.clone()));
            }
            What::StepFinished(finished) => {
                if let Some(open) = self.open(&finished.step) {
                    open.finished = Some(finished.clone());
                    open.to = at;
                }
            }
            What::Extracted { name, rows, .. } => self.extracted.push((name.clone(), *rows)),
            What::Looked(looked) => self.findings = looked.findings.clone(),
            _ => {}
        }
    }

    fn open(&mut self, place: &str) -> Option<&mut Try> {
        let all = self.tries.iter_mut().rev();
        let mut open = all.filter(|t| t.finished.is_none());
        open.find(|t| t.started.step == place)
    }
}
