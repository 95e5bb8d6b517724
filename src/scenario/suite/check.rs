//! Checks that need all files of a suite: fixtures, flows, variables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Suite, key_of};
use crate::scenario::model::*;
use crate::scenario::vars::{self, Vars};
use crate::text::{Problem, Source, Span, Spanned, nearest, visible};

impl Suite {
    pub(super) fn cross_check(&mut self, all_fixtures: &BTreeSet<String>) {
        let mut problems = Vec::new();
        let trial = Vars {
            run_id: "run".into(),
            overrides: BTreeMap::new(),
        };
        for s in &self.scenarios {
            for name in &s.fixtures {
                self.fixture_named(&mut problems, all_fixtures, &s.source, name);
            }
            self.uses(&mut problems, all_fixtures, &s.source, &s.steps);
            if let Err(found) = vars::bind(s, &trial) {
                problems.extend(found);
            }
        }
        for fixture in self.fixtures.values() {
            let FixtureKind::Flow(flow) = &fixture.kind else {
                continue;
            };
            self.uses(&mut problems, all_fixtures, &fixture.source, &flow.steps);
            self.uses(&mut problems, all_fixtures, &fixture.source, &flow.after);
            if let Err(found) = vars::bind_flow(flow, &fixture.source, &BTreeMap::new(), &trial) {
                problems.extend(found);
            }
            self.cycle(&mut problems, fixture);
        }
        self.problems.extend(problems);
        self.problems.sort_by(|a, b| key_of(a).cmp(&key_of(b)));
    }

    fn fixture_named(
        &self,
        problems: &mut Vec<Problem>,
        all: &BTreeSet<String>,
        source: &Arc<Source>,
        name: &Spanned<String>,
    ) {
        if all.contains(&name.value) {
            return;
        }
        let help = match nearest(name, all.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add fixtures/{}.yaml to the suite", name.value),
        };
        let problem = Problem::error(format!("there is no fixture `{}`", visible(name)));
        problems.push(problem.at(source, name.span).help(help));
    }

    /// Flows used in steps: they exist, are flows, and get only variables they declare.
    fn uses(
        &self,
        problems: &mut Vec<Problem>,
        all: &BTreeSet<String>,
        source: &Arc<Source>,
        steps: &[Step],
    ) {
        for step in steps {
            let Act::Use { flow, vars } = &step.act else {
                continue;
            };
            let name = Spanned::new(flow.clone(), step.span);
            let fixture = match self.fixtures.get(flow) {
                Some(fixture) => fixture,
                None => {
                    self.fixture_named(problems, all, source, &name);
                    continue;
                }
            };
            let FixtureKind::Flow(flow) = &fixture.kind else {
                let problem = Problem::error(format!("`{}` is a server, not a flow", name.value))
                    .at(source, step.span);
                problems
                    .push(problem.help("name it under `fixtures`; `use` runs the steps of a flow"));
                continue;
            };
            for var in vars.keys().filter(|v| !flow.vars.contains_key(*v)) {
                let help = match nearest(var, flow.vars.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!(
                        "declare it in fixtures/{}.yaml: vars: {{ {var}: … }}",
                        name.value
                    ),
                };
                let problem = Problem::error(format!(
                    "the flow `{}` has no variable `{}`",
                    name.value,
                    visible(var)
                ));
                problems.push(problem.at(source, step.span).help(help));
            }
        }
    }

    /// A flow that comes back to itself would never end. Reported once, at the flow of the circle
    /// that comes first by name.
    fn cycle(&self, problems: &mut Vec<Problem>, fixture: &Fixture) {
        let mut paths = vec![vec![fixture.name.clone()]];
        let mut seen = BTreeSet::new();
        while let Some(path) = paths.pop() {
            let Some(last) = path.last().and_then(|n| self.fixtures.get(n)) else {
                continue;
            };
            for (name, span) in flows_of(last) {
                if name == fixture.name && path.iter().all(|p| *p >= fixture.name) {
                    let shown = path
                        .iter()
                        .chain([&name])
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(" → ");
                    let problem =
                        Problem::error(format!("these flows use each other in a circle: {shown}"));
                    problems.push(problem.at(&last.source, span).help("take one `use` out"));
                    return;
                }
                if seen.insert(name.clone()) {
                    paths.push(path.iter().cloned().chain([name]).collect());
                }
            }
        }
    }
}

fn flows_of(fixture: &Fixture) -> Vec<(String, Span)> {
    let FixtureKind::Flow(flow) = &fixture.kind else {
        return Vec::new();
    };
    let used = flows_in(&flow.steps).chain(flows_in(&flow.after));
    used.map(|(name, span)| (name.to_owned(), span)).collect()
}

/// Flows that steps use, with the place of the step.
pub(super) fn flows_in(steps: &[Step]) -> impl Iterator<Item = (&str, Span)> {
    steps.iter().filter_map(|step| match &step.act {
        Act::Use { flow, .. } => Some((flow.as_str(), step.span)),
        _ => None,
    })
}
