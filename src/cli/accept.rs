//! `rehearsal accept`: takes over what the last runs proposed, without running anything again.

use crate::snapshot;

use super::args::AcceptArgs;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn accept(args: &AcceptArgs, say: &Say) -> i32 {
    let effective = match Effective::find(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    match snapshot::accept(&effective.root, &args.scenarios) {
        Ok(accepted) if accepted.is_empty() => {
            say.line("nothing is pending");
            exit::PASSED
        }
        Ok(accepted) => {
            for one in &accepted {
                let shown = one.path.strip_prefix(&effective.root).unwrap_or(&one.path);
                say.line(&format!("accepted  {}", shown.display()));
            }
            exit::PASSED
        }
        Err(error) => say.fail(exit::USAGE, &error.to_string()),
    }
}
