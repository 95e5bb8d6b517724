//! What a caller writes, translated to the scenario language: one reader, one set of checks.
//!
//! JSON is YAML, so a caller's step is handed to the language's own reader as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::plan::{self, Plan, Planned, Wishes};
use crate::scenario::{self, Lexicons, Scenario, Step, Suite};
use crate::text::{Level, Problem, Source};

use super::refusal::Refusal;

/// A scenario as a JSON document, read like a file.
pub fn scenario_of(document: &Value, id: &str, lexicons: &Lexicons) -> Result<Scenario, Refusal> {
    let source = Arc::new(Source {
        path: id.into(),
        text: document.to_string(),
    });
    let (scenario, problems) = scenario::parse_scenario(source, id, lexicons);
    scenario.ok_or_else(|| told(&problems))
}

/// The plan of one scenario that no file holds.
pub fn plan_of(scenario: Scenario, lexicons: &Lexicons, confirmed: bool) -> Result<Plan, Refusal> {
    let suite = Suite {
        root: std::env::temp_dir(),
        ids: [scenario.id.clone()].into(),
        scenarios: vec![scenario],
        fixtures: BTreeMap::new(),
        lexicons: lexicons.clone(),
        problems: Vec::new(),
    };
    let chosen: Vec<_> = suite.scenarios.iter().collect();
    let wishes = Wishes {
        run_id: crate::store::new_run_id(),
        confirm_all: confirmed,
        ..Wishes::default()
    };
    plan::build(&suite, &chosen, &wishes).map_err(|problems| told(&problems))
}

/// A page to be held open, as a plan of one scenario without steps of its own.
pub fn planned_session(
    id: &str,
    name: &str,
    start: &str,
    hosts: &[String],
    credentials: &[String],
    lexicons: &Lexicons,
) -> Result<Planned, Refusal> {
    let document = json!({
        "name": name,
        "start": start,
        "hosts": hosts,
        "credentials": credentials,
        "steps": [{ "expect": { "url": "**" } }],
        "expect": { "url": "**" },
    });
    let scenario = scenario_of(&document, id, lexicons)?;
    let mut plan = plan_of(scenario, lexicons, false)?;
    plan.scenarios
        .pop()
        .ok_or_else(|| Refusal::malformed("the session could not be planned"))
}

/// One step in the language's own words: a sentence or a map. More than one is refused (R97).
pub fn step_of(
    written: &Value,
    language: &str,
    credentials: &[String],
    lexicons: &Lexicons,
) -> Result<Step, Refusal> {
    let document = json!({
        "name": "a call",
        "start": "http://localhost/",
        "language": language,
        "credentials": credentials,
        "steps": [written],
        "expect": { "url": "**" },
    });
    let mut steps = scenario_of(&document, "call", lexicons)?.steps;
    match (steps.pop(), steps.is_empty()) {
        (Some(step), true) => Ok(step),
        _ => Err(Refusal::malformed(
            "this is more than one action; send one call for each",
        )),
    }
}

/// Problems in one line each, without the excerpt of a text the caller never wrote.
fn told(problems: &[Problem]) -> Refusal {
    let lines: Vec<String> = problems
        .iter()
        .filter(|p| p.level == Level::Error)
        .map(|p| match &p.help {
            Some(help) => format!("{}; {help}", p.message),
            None => p.message.clone(),
        })
        .collect();
    Refusal::malformed(lines.join("\n"))
}
