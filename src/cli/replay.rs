//! `rehearsal replay`: every report again, from the journal alone.

use crate::event::Event;
use crate::report::{self, Options};
use crate::store;

use super::args::ReplayArgs;
use super::exit;
use super::say::Say;

pub fn replay(args: &ReplayArgs, say: &Say) -> i32 {
    let journal = if args.run.is_dir() {
        args.run.join("events.jsonl")
    } else {
        args.run.clone()
    };
    let (events, torn): (Vec<Event>, _) = match store::journal::read(&journal) {
        Ok(read) => read,
        Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
    };
    if let Some(note) = torn {
        say.line(&format!("note: {note}"));
    }
    let run_folder = journal
        .parent()
        .map(std::path::Path::to_owned)
        .unwrap_or_default();
    let out = args.out.clone().unwrap_or_else(|| run_folder.clone());
    if let Err(error) = std::fs::create_dir_all(&out) {
        return say.fail(exit::ENVIRONMENT, &format!("{}: {error}", out.display()));
    }
    for (name, bytes) in report::render_all(&events, &Options::default()) {
        let path = out.join(&name);
        if let Err(error) = store::write(&path, &bytes) {
            return say.fail(exit::ENVIRONMENT, &error.to_string());
        }
        say.line(&format!("wrote  {}", path.display()));
    }
    exit::PASSED
}
