//! The live report: a line per scenario as it ends, a block per failure, a summary.
//!
//! It prints what already happened and never decides; when its output is closed it goes quiet
//! and the run goes on (the journal is complete without it).

mod lines;
mod summary;

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style as Paint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::block::Block;
use super::model::{Attempt, ScenarioReport};
use super::{Options, plain};
use crate::event::{Event, RunStarted, Selected, Status, Verdict, What};

/// How to print; the command line decides, from its flags and the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// Columns; lines of ours are cut to it, evidence is wrapped by the terminal.
    pub width: usize,
    /// One line per step.
    pub verbose: bool,
    /// A moving line on standard error; only where that is a terminal.
    pub progress: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
            verbose: false,
            progress: false,
        }
    }
}

/// What lies on disk, for the last lines. Absent things are not mentioned.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    pub tutorials: Vec<String>,
    pub journal: Option<String>,
    pub junit: Option<String>,
    pub html: Option<String>,
    pub json: Option<String>,
}

pub struct Console<W: Write> {
    out: Option<W>,
    style: Style,
    options: Options,
    run: Option<RunStarted>,
    /// Events of attempts that still run.
    running: HashMap<(String, u32), Vec<Event>>,
    /// What the summary needs of those that ended; pictures, page text and prompts are let go.
    kept: Vec<Event>,
    done: usize,
    bar: Option<ProgressBar>,
}

impl<W: Write> Console<W> {
    pub fn new(style: Style, out: W) -> Self {
        Self {
            out: Some(out),
            style,
            options: Options::default(),
            run: None,
            running: HashMap::new(),
            kept: Vec::new(),
            done: 0,
            bar: None,
        }
    }

    /// Prints picture paths with the run folder in front.
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Takes the next event, in the order it was written.
    pub fn event(&mut self, event: &Event) {
        match &event.what {
            What::RunStarted(run) => {
                self.kept.push(event.clone());
                self.begin(run);
            }
            What::Note { text } if event.scenario.is_empty() => {
                self.print(&[self.dim("note", 13) + plain::line(text).as_str()]);
            }
            What::RunFinished { .. } => self.kept.push(event.clone()),
            What::Snapshot(verdict) => {
                self.kept.push(event.clone());
                if verdict.verdict == Verdict::Proposed {
                    let beside = verdict.pending.as_deref().unwrap_or(&verdict.what);
                    let says = format!("{} proposed: {}", verdict.what, plain::line(beside));
                    self.later(event, "new", &says, AnsiColor::Cyan);
                } else if verdict.verdict == Verdict::Pending {
                    let beside = verdict.pending.as_deref().unwrap_or(&verdict.what);
                    let how = match (&verdict.diff, verdict.what.as_str()) {
                        (None, _) => "not approved yet",
                        (_, "steps") => "differ",
                        _ => "differs",
                    };
                    let says = format!("{} {how}: {}", verdict.what, plain::line(beside));
                    self.later(event, "pending", &says, AnsiColor::Yellow);
                }
            }
            What::Leak {
                file,
                credential,
                form,
            } => {
                self.kept.push(event.clone());
                let says = plain::line(&format!("a value of {credential} in {file} ({form})"));
                self.later(event, "LEAK", &says, AnsiColor::Red);
            }
            What::TearDown { what, ok, detail } => {
                self.kept.push(event.clone());
                if !ok {
                    let detail = detail.as_deref().unwrap_or("no details");
                    let says = plain::line(&format!("tear-down of {what}: {detail}"));
                    self.later(event, "error", &says, AnsiColor::Red);
                }
            }
            What::Rated(_) => self.kept.push(event.clone()),
            _ if event.scenario.is_empty() => {}
            _ => self.of_attempt(event),
        }
    }

    fn begin(&mut self, run: &RunStarted) {
        let n = run.selected.len();
        let title = format!(
            "{}  {}",
            self.paint(
                &format!("rehearsal {}", plain::line(&run.version)),
                Paint::new().bold()
            ),
            self.paint(
                &format!(
                    "{n} scenario{} · {} at a time · {}",
                    if n == 1 { "" } else { "s" },
                    run.jobs,
                    plain::line(&run.browser)
                ),
                Paint::new().dimmed()
            ),
        );
        let mut lines = vec![title];
        let facts = [
            ("suite", Some(run.suite.clone())),
            (
                "network",
                Some(run.network.clone()).filter(|mode| mode != "inspect"),
            ),
            ("model", run.model.clone()),
            ("mode", Some(run.mode.join(", "))),
        ];
        for (label, value) in facts {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                lines.push(self.dim(label, 13) + plain::line(&value).as_str());
            }
        }
        lines.push(String::new());
        self.run = Some(run.clone());
        self.print(&lines);
        if self.style.progress {
            let bar = ProgressBar::with_draw_target(Some(n as u64), ProgressDrawTarget::stderr());
            if let Ok(style) =
                ProgressStyle::with_template("{spinner:.cyan} {pos}/{len}  {wide_msg}")
            {
                bar.set_style(style.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            self.bar = Some(bar);
        }
    }

    fn of_attempt(&mut self, event: &Event) {
        let key = (event.scenario.clone(), event.attempt);
        let live = self.style.verbose && self.run.as_ref().is_none_or(|run| run.jobs <= 1);
        if let What::Note { text } = &event.what
            && !self.running.contains_key(&key)
        {
            // After the end: about the tutorial and what is approved.
            return self.later(event, "note", &plain::line(text), AnsiColor::Yellow);
        }
        match &event.what {
            What::ScenarioStarted(started) if live => {
                let name = self.paint(&plain::line(&started.name), Paint::new().bold());
                self.print(&[name]);
            }
            What::StepStarted(step) => {
                if let Some(bar) = &self.bar {
                    let id = plain::line(&event.scenario);
                    bar.set_message(format!("{id}  {}", plain::short(&step.says, 80)));
                }
            }
            _ => {}
        }
        if matches!(event.what, What::ScenarioStarted(_)) {
            self.kept.push(event.clone());
        }
        let buffer = self.running.entry(key.clone()).or_default();
        buffer.push(event.clone());
        match &event.what {
            What::StepFinished(done) if live => {
                let attempt = Attempt::fold(&buffer.iter().collect::<Vec<_>>());
                let step = attempt.steps.iter().rfind(|step| step.step == done.step);
                let lines: Vec<String> = step.map(|step| self.step(step)).unwrap_or_default();
                self.print(&lines);
            }
            What::ScenarioFinished(_) => {
                let events = self.running.remove(&key).unwrap_or_default();
                self.end(&events, event, live);
            }
            _ => {}
        }
    }

    fn end(&mut self, events: &[Event], last: &Event, live: bool) {
        self.kept.push(last.clone());
        let attempt = Attempt::fold(&events.iter().collect::<Vec<_>>());
        let scenario = self.scenario(&last.scenario, &attempt);
        let mut lines = Vec::new();
        if self.style.verbose && !live {
            lines.push(self.paint(&plain::line(&scenario.name), Paint::new().bold()));
            lines.extend(attempt.steps.iter().flat_map(|step| self.step(step)));
        }
        lines.push(self.headline(&scenario, &attempt));
        if !attempt.passed() && attempt.status != Status::Skipped {
            lines.extend(self.block(&Block::of(&scenario, &self.options)));
        } else if self.style.verbose {
            lines.push(String::new());
        }
        if attempt.number == 1 {
            self.done += 1;
        }
        self.print(&lines);
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
        }
    }

    /// The attempt as a scenario of its own, which is all that is known at this moment.
    fn scenario(&self, id: &str, attempt: &Attempt) -> ScenarioReport {
        let selected = self
            .run
            .iter()
            .flat_map(|run| &run.selected)
            .find(|selected| selected.id == id);
        let bare = Selected {
            id: id.to_owned(),
            name: id.to_owned(),
            file: id.to_owned(),
            tags: Vec::new(),
        };
        let mut scenario = ScenarioReport::selected(selected.unwrap_or(&bare));
        scenario.attempts.push(attempt.clone());
        scenario.judge();
        scenario
    }

    fn later(&mut self, event: &Event, word: &str, says: &str, colour: AnsiColor) {
        let word = self.paint(
            &format!("{word:>12}"),
            Paint::new().bold().fg_color(Some(colour.into())),
        );
        let id = self.paint(&plain::line(&event.scenario), Paint::new().dimmed());
        self.print(&[format!("{word}            {says}  {id}")
            .trim_end()
            .to_owned()]);
    }

    fn print(&mut self, lines: &[String]) {
        let Some(out) = &mut self.out else { return };
        let mut write = || {
            lines
                .iter()
                .try_for_each(|line| writeln!(out, "{}", plain::no_command(line.trim_end())))
                .and_then(|()| out.flush())
        };
        let written = match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        };
        // A closed pipe must not end the run; nothing more is printed.
        if written.is_err() {
            self.out = None;
        }
    }
}

#[cfg(test)]
mod tests;
