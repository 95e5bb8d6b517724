//! Events → bytes: console, JUnit, JSON, HTML and a Markdown summary.
//!
//! Reports are functions of the events alone, so a replay of the journal gives the same bytes,
//! whatever the order in which scenarios ran side by side.

mod block;
mod console;
pub mod exit;
mod files;
mod fold;
pub mod html;
pub mod json;
pub mod junit;
#[cfg(test)]
mod junit_rules;
pub mod markdown;
pub mod model;
mod plain;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use console::{Console, Outputs, Style};
pub use files::Files;
pub use model::RunReport;

use crate::event::Event;

/// Settings of all reports that are files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The run folder as people and CI find it (`runs/2026-11-30T12-00-00Z`), without `/` at the
    /// end; pictures are at `<run folder>/<scenario id>/<frame file>`. Empty: paths stay relative
    /// to the run folder.
    pub run_folder: String,
    /// The suite's folder as seen from the repository's root, for annotations; empty: the root.
    pub suite_folder: String,
}

impl Options {
    /// Path of a frame, with the run folder.
    fn frame(&self, scenario: &str, file: &str) -> String {
        let inside = frame_in_run(scenario, file);
        if self.run_folder.is_empty() {
            inside
        } else {
            format!("{}/{inside}", self.run_folder)
        }
    }
}

/// Path of a frame below the run folder.
fn frame_in_run(scenario: &str, file: &str) -> String {
    format!("{scenario}/{file}")
}

/// The exit code of a run, from its events.
pub fn exit_code(events: &[Event]) -> i32 {
    RunReport::fold(events).exit
}

/// Every report of a run: path below the run folder, and bytes.
pub fn render_all(events: &[Event], options: &Options) -> Vec<(String, Vec<u8>)> {
    let run = RunReport::fold(events);
    vec![
        ("junit.xml".to_owned(), junit::of(&run, options)),
        ("report.json".to_owned(), json::of(&run)),
        (
            "report.html".to_owned(),
            html::of(&run, options, html::Pictures::Linked).into_bytes(),
        ),
        (
            "summary.md".to_owned(),
            markdown::summary(&run, options).into_bytes(),
        ),
    ]
}
