//! The files at the end of a run, each scanned as bytes before it is written.

use std::collections::BTreeSet;
use std::path::Path;

use crate::event::{Event, What};
use crate::run::{Outgoing, Stream, search_run};
use crate::store::LeakOrIo;
use crate::system::Signal;
use crate::tutorial::{Tutorial, curate, index};

use super::{Options, Outputs, RunReport, exit, exit_code, html, junit, render_all};

/// Where they lie.
pub struct Files<'a> {
    pub folder: &'a Path,
    pub options: &'a Options,
    /// Files a person named, beside those of the folder.
    pub junit: Option<&'a Path>,
    pub html: Option<&'a Path>,
}

impl Files<'_> {
    /// Writes what can be written; what stood in the way of the rest.
    pub fn write(&self, events: &[Event], outgoing: &Outgoing) -> Vec<LeakOrIo> {
        let mut faults = Vec::new();
        let mut write = |path: &Path, bytes: &[u8]| {
            faults.extend(outgoing.write(path, bytes).err());
        };
        for (name, bytes) in render_all(events, &Options::default()) {
            write(&self.folder.join(&name), &bytes);
            if name == "junit.xml"
                && let Some(path) = self.junit
            {
                write(path, &junit::render_with(events, self.options));
            }
            if name == "report.html"
                && let Some(path) = self.html
            {
                let base = self.folder.to_owned();
                let inline = move |file: &str| std::fs::read(base.join(file)).ok();
                let html =
                    html::render_with(events, &Options::default(), html::Pictures::Inline(&inline));
                write(path, html.as_bytes());
            }
        }
        for (name, text) in tutorial_index(events) {
            write(&self.folder.join(name), text.as_bytes());
        }
        faults
    }

    /// Ends a run that is over: works its exit code out, says it, and writes every report. Also
    /// what stood in the way of one. `strict`: a pass on a retry is none.
    pub fn conclude(
        &self,
        stream: &Stream,
        outgoing: &Outgoing,
        strict: bool,
        interrupted: Option<Signal>,
    ) -> (i32, Vec<LeakOrIo>) {
        let events = stream.said();
        let mut code = exit_code(&events);
        if strict && code == exit::PASSED && RunReport::fold(&events).counts.flaky > 0 {
            code = exit::FAILED;
        }
        if let Some(signal) = interrupted {
            code = match code {
                exit::INTERRUPTED => signal.exit_code(),
                other => exit::gravest([other, signal.exit_code()]),
            };
        }
        if !stream.leaks().is_empty() {
            code = exit::gravest([code, exit::LEAK]);
        }
        // Once before the end is said, so that the journal and the reports know how it ends.
        let mut faults = self.write(&stream.said(), outgoing);
        code = exit::gravest(faults.iter().map(exit_of).chain([code]));
        if search_run(outgoing, stream, self.folder) {
            code = exit::gravest([code, exit::LEAK]);
        }
        stream.run(What::RunFinished {
            exit: code,
            interrupted: interrupted.map(|s| s.name().to_owned()),
        });
        let again = self.write(&stream.said(), outgoing);
        if faults.is_empty() {
            faults = again;
            code = exit::gravest(faults.iter().map(exit_of).chain([code]));
        }
        (code, faults)
    }

    /// What is there to be looked at.
    pub fn outputs(&self, events: &[Event]) -> Outputs {
        let at = |name: &str| {
            let there = self.folder.join(name).is_file();
            there.then(|| format!("{}/{name}", self.options.run_folder))
        };
        let named = |path: Option<&Path>| path.map(|p| p.display().to_string());
        Outputs {
            tutorials: tutorials(events, &self.options.run_folder),
            journal: at("events.jsonl"),
            junit: named(self.junit).or_else(|| at("junit.xml")),
            html: named(self.html).or_else(|| at("report.html")),
            json: at("report.json"),
        }
    }
}

/// What a file that could not be written makes of the run.
fn exit_of(fault: &LeakOrIo) -> i32 {
    match fault {
        LeakOrIo::Leak { .. } => exit::LEAK,
        LeakOrIo::Store(_) => exit::ENVIRONMENT,
    }
}

/// One page over the tutorials of scenarios that wish one, as HTML and Markdown.
fn tutorial_index(events: &[Event]) -> Vec<(&'static str, String)> {
    let wished: BTreeSet<&str> = events
        .iter()
        .filter(|e| e.attempt == 1 && matches!(&e.what, What::ScenarioStarted(s) if s.tutorial))
        .map(|e| e.scenario.as_str())
        .collect();
    let told: Vec<(&str, Tutorial)> = wished
        .into_iter()
        .map(|id| {
            let own: Vec<Event> = events
                .iter()
                .filter(|e| e.scenario == id)
                .cloned()
                .collect();
            (id, curate(&own))
        })
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    let entries: Vec<index::Entry> = told
        .iter()
        .map(|(id, tutorial)| index::Entry {
            id,
            tutorial,
            folder: id,
            picture: None,
        })
        .collect();
    let suite = events.iter().find_map(|e| match &e.what {
        What::RunStarted(run) => Some(run.suite.as_str()),
        _ => None,
    });
    let title = format!("Tutorials of {}", suite.unwrap_or("this suite"));
    vec![
        ("tutorials.html", index::html(&title, &entries)),
        ("tutorials.md", index::markdown(&title, &entries)),
    ]
}

/// Tutorials of scenarios that wish one, where they lie.
fn tutorials(events: &[Event], run_folder: &str) -> Vec<String> {
    let mut paths: Vec<String> = events
        .iter()
        .filter(|e| e.attempt == 1 && matches!(&e.what, What::ScenarioStarted(s) if s.tutorial))
        .map(|e| format!("{run_folder}/{}/tutorial.md", e.scenario))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}
