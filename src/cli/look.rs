//! `rehearsal look`: a page's targets, to paste into a scenario.

use crate::plan::{self, Wishes};
use crate::resolve;
use crate::scenario::Selection;

use super::args::LookArgs;
use super::exit;
use super::run::Ready;
use super::say::Say;
use super::settings::Effective;

pub async fn look(args: LookArgs, say: Say) -> i32 {
    let is_address = args.what.contains("://");
    let effective = match Effective::find(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(_) if is_address => Effective::without_suite(),
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let plan = if is_address {
        address_plan(&args.what)
    } else {
        scenario_plan(&effective, &args)
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let ready = match Ready::for_look(effective, plan, &args.browser, &say) {
        Ok(ready) => ready,
        Err(code) => return code,
    };
    match super::run::look(ready, args.after.as_deref()).await {
        Ok(observation) => {
            say.line(&format!(
                "# \"{}\" at {}\n",
                crate::text::visible(&observation.title),
                crate::page::shown_address(&observation.url)
            ));
            say.line(resolve::listing(&observation).trim_end());
            exit::PASSED
        }
        Err((code, message)) => say.fail(code, &message),
    }
}

/// A scenario that only opens an address.
fn address_plan(address: &str) -> Result<plan::Plan, Vec<crate::text::Problem>> {
    let text = format!(
        "name: look\nstart: {address}\nsteps: [ {{ expect: {{ url: '**' }} }} ]\nexpect: {{ url: '**' }}\n"
    );
    let source = std::sync::Arc::new(crate::text::Source {
        path: "look".into(),
        text,
    });
    let lexicons = crate::scenario::Lexicons::default();
    let (scenario, problems) = crate::scenario::parse_scenario(source, "look", &lexicons);
    let Some(scenario) = scenario else {
        return Err(problems);
    };
    let suite = crate::scenario::Suite {
        root: std::env::temp_dir(),
        ids: [scenario.id.clone()].into(),
        scenarios: vec![scenario],
        fixtures: Default::default(),
        lexicons,
        problems: Vec::new(),
    };
    let chosen: Vec<_> = suite.scenarios.iter().collect();
    plan::build(
        &suite,
        &chosen,
        &Wishes {
            run_id: crate::store::new_run_id(),
            ..Wishes::default()
        },
    )
}

fn scenario_plan(
    effective: &Effective,
    args: &LookArgs,
) -> Result<plan::Plan, Vec<crate::text::Problem>> {
    let suite = effective.suite();
    let (chosen, unknown) = suite.select(&Selection {
        names: vec![args.what.clone()],
        tags: Vec::new(),
    });
    if !unknown.is_empty() {
        return Err(unknown);
    }
    plan::build(
        &suite,
        &chosen,
        &Wishes {
            run_id: crate::store::new_run_id(),
            ..Wishes::default()
        },
    )
}
