//! `rehearsal review`: one pending item after the other, in the terminal.

use std::io::{BufRead, IsTerminal, Write};

use crate::scenario::Pattern;
use crate::snapshot::{self, Compared, Item, Kind};

use super::args::ReviewArgs;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn review(args: &ReviewArgs, say: Say) -> i32 {
    let say = &say;
    let effective = match Effective::find(args.suite.as_deref()) {
        Ok(effective) => effective,
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let root = &effective.root;
    if args.prune {
        return prune(&effective, say);
    }
    if args.web {
        let (scrubber, _) = super::known::known_secrets(&effective);
        return super::with_runtime(super::review_web::serve(
            root,
            crate::secrets::Scanner::new(&scrubber),
            *say,
        ));
    }
    let items: Vec<Item> = snapshot::pending(root)
        .into_iter()
        .filter(|i| args.scenarios.is_empty() || args.scenarios.contains(&i.id))
        .collect();
    if items.is_empty() {
        if let Some(name) = args.scenarios.first() {
            return say.fail(exit::USAGE, &format!("nothing of `{name}` is pending"));
        }
        say.line("nothing is pending");
        return exit::PASSED;
    }
    let interactive = std::io::stdin().is_terminal();
    for (index, item) in items.iter().enumerate() {
        say.line(&format!(
            "\n{} of {}: {} of {}",
            index + 1,
            items.len(),
            item.kind.word(),
            item.id
        ));
        say.line(&difference(root, item));
        if !interactive {
            continue;
        }
        match ask() {
            Some('a') => match snapshot::accept_checked(
                root,
                std::slice::from_ref(&item.id),
                Some(item.kind),
                &|_, _| Ok(()),
            ) {
                Ok(accepted) => accepted.iter().for_each(|one| {
                    say.line(&format!(
                        "accepted  {}",
                        one.path.strip_prefix(root).unwrap_or(&one.path).display()
                    ))
                }),
                Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
            },
            Some('r') => {
                if let Err(error) = snapshot::reject(root, item) {
                    return say.fail(exit::ENVIRONMENT, &error.to_string());
                }
                say.line("rejected: the pending file is removed");
            }
            Some('q') | None => break,
            _ => say.line("skipped"),
        }
    }
    if snapshot::pending(root).is_empty() {
        exit::PASSED
    } else {
        exit::PENDING
    }
}

fn difference(root: &std::path::Path, item: &Item) -> String {
    let pending =
        std::fs::read_to_string(item.kind.pending_path(root, &item.id)).unwrap_or_default();
    let approved = std::fs::read_to_string(item.kind.approved_path(root, &item.id)).ok();
    let none: &[Pattern] = &[];
    match snapshot::compare(approved.as_deref(), &pending, none) {
        Compared::Differs { diff } => diff,
        Compared::Missing => format!("new:\n{pending}"),
        Compared::Same => "no difference but white space".into(),
    }
}

fn ask() -> Option<char> {
    let _ = write!(std::io::stdout(), "[a]ccept, [r]eject, [s]kip, [q]uit? ");
    let _ = std::io::stdout().flush();
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .ok()
        .filter(|n| *n > 0)?;
    Some(line.trim().chars().next().unwrap_or('s'))
}

/// Removes pending files and approved ones without a scenario.
fn prune(effective: &Effective, say: &Say) -> i32 {
    let root = &effective.root;
    let suite = effective.suite();
    let ids: Vec<&str> = suite.ids.iter().map(String::as_str).collect();
    for item in snapshot::pending(root) {
        snapshot::withdraw(root, &item.id, item.kind);
        say.line(&format!(
            "removed  the pending {} of {}",
            Kind::word(item.kind),
            item.id
        ));
    }
    for path in snapshot::orphans(root, &ids) {
        match std::fs::remove_file(&path) {
            Ok(()) => say.line(&format!(
                "removed  {}",
                path.strip_prefix(root).unwrap_or(&path).display()
            )),
            Err(error) => {
                return say.fail(exit::ENVIRONMENT, &format!("{}: {error}", path.display()));
            }
        }
    }
    exit::PASSED
}
