//! The plan as text: what `--dry` prints. Nothing runs, nothing is asked, nothing is reached.

use std::fmt::Write;

use crate::scenario::{Act, say_english as say};

use super::{Confirmed, Plan, Planned};

/// The plan as a person reads it. Credential values can't be in it: the plan holds names only.
pub fn dry(plan: &Plan) -> String {
    let mut out =
        String::from("dry run: this is the plan; nothing was started, nothing was reached\n");
    for planned in &plan.scenarios {
        out.push('\n');
        one(&mut out, planned);
    }
    let refused = plan
        .scenarios
        .iter()
        .filter(|p| p.gate == Confirmed::Unconfirmed)
        .count();
    let _ = writeln!(
        out,
        "\n{} scenarios planned, {refused} would be refused",
        plan.scenarios.len()
    );
    out
}

fn one(out: &mut String, planned: &Planned) {
    let scenario = &planned.scenario;
    let _ = writeln!(out, "{}  {}", scenario.id, scenario.name.value);
    let _ = writeln!(out, "  start        {}", scenario.start.value);
    let hosts: Vec<String> = planned
        .hosts
        .iter()
        .map(|h| format!("{}://{}:{}", h.scheme, h.host, h.port))
        .collect();
    let _ = writeln!(out, "  hosts        {}", hosts.join(", "));
    if !planned.servers.is_empty() {
        let _ = writeln!(out, "  fixtures     {}", planned.servers.join(", "));
    }
    if !planned.credentials.is_empty() {
        let _ = writeln!(out, "  credentials  {}", planned.credentials.join(", "));
    }
    if let Some(goal) = &scenario.goal {
        let _ = writeln!(out, "  goal         {}", goal.value);
    }
    for step in planned.before.iter().chain(&planned.steps) {
        let marks = marks(step);
        let _ = writeln!(out, "  {:<5} {}{marks}", step.place, say(&step.step));
    }
    if planned.steps.is_empty() && scenario.goal.is_some() {
        let _ = writeln!(
            out,
            "  steps        planned while running, by the model or from the lock"
        );
    }
    for step in &planned.after {
        let _ = writeln!(out, "  {:<5} {} (always)", step.place, say(&step.step));
    }
    for line in &scenario.expect {
        let _ = writeln!(
            out,
            "  expect       {}",
            crate::scenario::say_expectation(line)
        );
    }
    for change in &planned.changes {
        let _ = writeln!(out, "  writes       {change}");
    }
    let gate = match planned.gate {
        Confirmed::NoWrites => return,
        Confirmed::ByPerson => "confirmed on the command line".to_owned(),
        Confirmed::Disposable => {
            "no confirmation needed: only disposable fixtures can be reached".to_owned()
        }
        Confirmed::Unconfirmed => format!(
            "would be REFUSED: add `--confirm {}` to confirm its writes",
            scenario.id
        ),
    };
    let _ = writeln!(out, "  gate         {gate}");
}

fn marks(step: &super::PlannedStep) -> String {
    let mut marks = String::new();
    if let Some(what) = &step.step.write {
        let _ = write!(marks, "  [writes: {}]", what.value);
    }
    match &step.step.act {
        Act::Sentence(_) => marks.push_str("  [resolved on the page]"),
        Act::Plan(_) => marks.push_str("  [planned while running]"),
        _ => {}
    }
    if step.step.optional {
        marks.push_str("  [optional]");
    }
    marks
}
