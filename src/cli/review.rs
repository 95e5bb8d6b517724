//! `rehearsal review`: one pending item after the other, in the terminal.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use crate::scenario::{self, Pattern, Vars};
use crate::secrets::Scanner;
use crate::snapshot::{self, Item, SnapshotError};

use super::args::ReviewArgs;
use super::exit;
use super::known;
use super::say::Say;
use super::settings::Effective;

/// Said where only pictures or text that isn't compared changed.
pub const NO_DIFFERENCE: &str =
    "no difference in what is compared (pictures, volatile text and white space are not)";

pub fn review(args: &ReviewArgs, say: Say) -> i32 {
    let effective = match Effective::find(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    if args.prune {
        return prune(&effective, &say);
    }
    let (scrubber, _) = known::known_secrets(&effective);
    let scanner = Scanner::new(&scrubber);
    let volatile = Volatile::of_suite(&effective);
    if args.web {
        let served = super::review_web::serve(&effective.root, scanner, volatile, say);
        return super::with_runtime(served);
    }
    match in_terminal(&effective.root, args, &scanner, &volatile, &say) {
        Ok(code) => code,
        Err(error @ SnapshotError::NothingPending { .. }) => {
            say.fail(exit::USAGE, &error.to_string())
        }
        Err(error) => say.fail(exit::ENVIRONMENT, &error.to_string()),
    }
}

fn in_terminal(
    root: &Path,
    args: &ReviewArgs,
    scanner: &Scanner,
    volatile: &Volatile,
    say: &Say,
) -> Result<i32, SnapshotError> {
    let waiting = snapshot::select(snapshot::pending(root), &args.scenarios)?;
    if waiting.is_empty() {
        say.line("nothing is pending");
        return Ok(exit::PASSED);
    }
    let items = snapshot::items(root, waiting, &|id| volatile.of(id))?;
    let interactive = std::io::stdin().is_terminal();
    for (index, item) in items.iter().enumerate() {
        say.line(&format!(
            "\n{} of {}: {} of {}",
            index + 1,
            items.len(),
            item.kind.word(),
            item.id
        ));
        say.line(match item.diff.as_str() {
            "" => NO_DIFFERENCE,
            diff => diff,
        });
        if !interactive {
            continue;
        }
        match ask(say) {
            Answer::Accept => accept(root, &item.item(), scanner, say)?,
            Answer::Reject => {
                snapshot::reject(root, &item.item())?;
                say.line("rejected: the pending file is removed");
            }
            Answer::Skip => say.line("skipped"),
            Answer::Quit => break,
        }
    }
    Ok(match snapshot::pending(root).is_empty() {
        true => exit::PASSED,
        false => exit::PENDING,
    })
}

fn accept(root: &Path, item: &Item, scanner: &Scanner, say: &Say) -> Result<(), SnapshotError> {
    let clean = |path: &Path, bytes: &[u8]| known::clean(scanner, path, bytes);
    let names = std::slice::from_ref(&item.id);
    for one in snapshot::accept_checked(root, names, Some(item.kind), &clean)? {
        let shown = one.path.strip_prefix(root).unwrap_or(&one.path);
        say.line(&format!("accepted  {}", shown.display()));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accept,
    Reject,
    Skip,
    Quit,
}

impl Answer {
    /// The key or the whole word; anything else is no answer.
    fn read(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "a" | "accept" => Some(Self::Accept),
            "r" | "reject" => Some(Self::Reject),
            "s" | "skip" => Some(Self::Skip),
            "q" | "quit" => Some(Self::Quit),
            _ => None,
        }
    }
}

/// Asks until the answer is one; at the end of the input that is to quit.
fn ask(say: &Say) -> Answer {
    loop {
        let _ = write!(std::io::stdout(), "[a]ccept, [r]eject, [s]kip, [q]uit? ");
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return Answer::Quit,
            Ok(_) => match Answer::read(&line) {
                Some(answer) => return answer,
                None => say.line("please answer a, r, s or q"),
            },
        }
    }
}

/// Removes what [`snapshot::orphans`] lists, and nothing that a scenario still owns.
fn prune(effective: &Effective, say: &Say) -> i32 {
    let suite = effective.suite();
    let ids: Vec<&str> = suite.ids.iter().map(String::as_str).collect();
    match snapshot::remove_orphans(&effective.root, &ids) {
        Ok(removed) => {
            for path in &removed {
                let shown = path.strip_prefix(&effective.root).unwrap_or(path);
                say.line(&format!("removed  {}", shown.display()));
            }
            if removed.is_empty() {
                say.line("every snapshot has its scenario");
            }
            exit::PASSED
        }
        Err(error) => say.fail(exit::ENVIRONMENT, &error.to_string()),
    }
}

/// What isn't compared, by scenario and for the whole suite.
pub struct Volatile {
    of_suite: Vec<Pattern>,
    of_scenario: BTreeMap<String, Vec<Pattern>>,
}

impl Volatile {
    fn of_suite(effective: &Effective) -> Self {
        let suite = effective.suite();
        let patterns = |s: &scenario::Scenario| {
            // One that can't be bound is `check`'s business; its patterns are good enough here.
            scenario::bind(s, &Vars::default())
                .map_or_else(|_| s.volatile.clone(), |bound| bound.volatile)
        };
        Self {
            of_suite: effective.volatile(),
            of_scenario: suite
                .scenarios
                .iter()
                .map(|s| (s.id.clone(), patterns(s)))
                .collect(),
        }
    }

    pub fn of(&self, id: &str) -> Vec<Pattern> {
        let own = self.of_scenario.get(id).into_iter().flatten();
        own.chain(&self.of_suite).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_key_or_word_is_an_answer() {
        assert_eq!(Answer::read("a\n"), Some(Answer::Accept));
        assert_eq!(Answer::read(" Reject "), Some(Answer::Reject));
        for other in ["", "\n", "x", "y", "yes", "ab"] {
            assert_eq!(Answer::read(other), None, "{other:?}");
        }
    }
}
