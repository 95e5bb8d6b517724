//! `use:` and flow fixtures become plain steps with places of their own: `3`, `3.2`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scenario::{Act, Flow, Step};
use crate::text::{Problem, Source};

use super::Planned;

/// Whose step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepBy {
    Author,
    Fixture,
    /// Out of an approved plan.
    Planner,
}

/// A step with its place.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// `3`, `3.2`, `signed-in.1`
    pub place: String,
    pub step: Step,
    pub by: StepBy,
    pub source: Arc<Source>,
    /// Flow the step was written in; with the step as written and its occurrence the lock's key.
    pub flow: Option<String>,
    pub occurrence: u32,
}

impl PlannedStep {
    /// Line in its file, from 1; `None` for steps nobody wrote.
    pub fn line(&self) -> Option<u32> {
        (self.step.span.end > 0)
            .then(|| crate::text::line_col(&self.source.text, self.step.span.start).0 as u32)
    }

    /// Opening the scenario's start address.
    pub fn start(planned: &Planned, address: &str) -> Self {
        let mut step = Self::planned(planned, "0");
        step.step.act = Act::Goto(address.to_owned());
        step.step.written = format!("start: {address}");
        step.step.span = planned.scenario.start.span;
        step
    }

    pub fn is_start(&self) -> bool {
        self.place == "0"
    }

    /// A step of the planner's own, not written in any file.
    pub fn planned(planned: &Planned, place: &str) -> Self {
        Self {
            place: place.to_owned(),
            step: Step::unwritten(Act::Wait(crate::scenario::WaitFor::Seconds(
                std::time::Duration::ZERO,
            ))),
            by: StepBy::Author,
            source: planned.scenario.source.clone(),
            flow: None,
            occurrence: 1,
        }
    }

    /// What happens outside any step.
    pub fn nowhere(planned: &Planned) -> Self {
        Self::planned(planned, "")
    }
}

/// A flow with the file it was written in, already bound to its variables.
pub struct BoundFlow {
    pub flow: Flow,
    pub source: Arc<Source>,
}

/// Gives a flow by name, bound to the variables of one use.
pub type FlowOf<'a> =
    &'a mut dyn FnMut(&str, &BTreeMap<String, String>) -> Result<BoundFlow, Problem>;

/// Unfolds steps; `flow_of` gives a flow bound to the variables of one use. Cycles end at a depth
/// no sane suite reaches, as a problem.
pub fn unfold(
    steps: &[Step],
    source: &Arc<Source>,
    prefix: &str,
    by: StepBy,
    flow_name: Option<&str>,
    flow_of: FlowOf<'_>,
) -> Result<Vec<PlannedStep>, Vec<Problem>> {
    let mut out = Vec::new();
    let mut problems = Vec::new();
    walk(
        steps,
        source,
        prefix,
        by,
        flow_name,
        flow_of,
        0,
        &mut out,
        &mut problems,
    );
    if problems.is_empty() {
        number(&mut out);
        Ok(out)
    } else {
        Err(problems)
    }
}

const DEPTH: usize = 8;

#[allow(clippy::too_many_arguments)]
fn walk(
    steps: &[Step],
    source: &Arc<Source>,
    prefix: &str,
    by: StepBy,
    flow_name: Option<&str>,
    flow_of: FlowOf<'_>,
    depth: usize,
    out: &mut Vec<PlannedStep>,
    problems: &mut Vec<Problem>,
) {
    for (index, step) in steps.iter().enumerate() {
        let place = format!("{prefix}{}", index + 1);
        if let Act::Use { flow, vars } = &step.act {
            if depth >= DEPTH {
                problems.push(
                    Problem::error(format!(
                        "flows use each other more than {DEPTH} deep; `{flow}` seems to use itself"
                    ))
                    .at(source, step.span)
                    .help("take one `use:` out of the circle"),
                );
                continue;
            }
            match flow_of(flow, vars) {
                Ok(bound) => {
                    walk(
                        &bound.flow.steps,
                        &bound.source,
                        &format!("{place}."),
                        by,
                        Some(flow),
                        flow_of,
                        depth + 1,
                        out,
                        problems,
                    );
                }
                Err(problem) => problems.push(if problem.place.is_some() {
                    problem
                } else {
                    problem.at(source, step.span)
                }),
            }
            continue;
        }
        out.push(PlannedStep {
            place,
            step: step.clone(),
            by,
            source: source.clone(),
            flow: flow_name.map(str::to_owned),
            occurrence: 0,
        });
    }
}

/// Equal steps of one flow are told apart by their occurrence, from 1.
pub fn number(steps: &mut [PlannedStep]) {
    let mut seen: BTreeMap<(Option<String>, String), u32> = BTreeMap::new();
    for step in steps {
        let count = seen
            .entry((step.flow.clone(), step.step.written.clone()))
            .or_default();
        *count += 1;
        step.occurrence = *count;
    }
}
