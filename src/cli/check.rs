//! `rehearsal check`: every problem of every file, no browser, no network.

use crate::plan::{self, Wishes};
use crate::scenario::Selection;
use crate::snapshot;
use crate::text::Problem;

use super::args::CheckArgs;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn check(args: &CheckArgs, say: &Say) -> i32 {
    let effective = match Effective::find(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let suite = effective.suite();
    let vars = match super::run::vars(&args.var) {
        Ok(vars) => vars,
        Err(problem) => {
            say.problem(&problem);
            return exit::USAGE;
        }
    };
    let mut problems = suite.problems.clone();
    let (chosen, unknown) = suite.select(&Selection {
        names: args.scenarios.clone(),
        tags: Vec::new(),
    });
    problems.extend(unknown);
    let wishes = Wishes {
        run_id: "check".into(),
        vars,
        ..Wishes::default()
    };
    match plan::build(&suite, &chosen, &wishes) {
        Ok(plan) => problems.extend(plan.warnings),
        Err(more) => problems.extend(more),
    }
    // What waits for review, and what nobody owns any more (case 093).
    let mut waiting = Vec::new();
    if args.scenarios.is_empty() {
        for item in snapshot::pending(&suite.root) {
            waiting.push(
                Problem::error(format!(
                    "snapshots/{}: {}",
                    item.id,
                    item.kind.pending_words()
                ))
                .help("`rehearsal review`, or `rehearsal accept`"),
            );
        }
        let ids: Vec<&str> = suite.ids.iter().map(String::as_str).collect();
        for path in snapshot::orphans(&suite.root, &ids) {
            let shown = path
                .strip_prefix(&suite.root)
                .unwrap_or(&path)
                .display()
                .to_string();
            waiting.push(
                Problem::error(format!("{shown}: no scenario owns it any more"))
                    .help("`rehearsal review --prune` removes it"),
            );
        }
    }
    let bad = say.problems(&problems);
    let pending = say.problems(&waiting);
    if bad {
        return exit::USAGE;
    }
    if pending {
        return exit::PENDING;
    }
    say.line(&format!(
        "{} scenarios, {} fixtures: no errors",
        suite.scenarios.len(),
        suite.fixtures.len()
    ));
    exit::PASSED
}
