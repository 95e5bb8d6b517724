//! The last lines of a run: what did not pass, the counts, where everything lies.

use std::io::Write;

use anstyle::{AnsiColor, Style as Paint};

use super::super::block;
use super::super::exit::Class;
use super::super::model::{Counts, RunReport, ScenarioReport};
use super::super::plain;
use super::lines::colour;
use super::{Console, Outputs};

/// Most lines in the list of what did not pass.
const LISTED: usize = 30;

impl<W: Write> Console<W> {
    /// Prints the summary; call it once, after the last event.
    pub fn finish(&mut self, outputs: &Outputs) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        let report = RunReport::fold(&self.kept);
        let mut lines = vec![String::new()];
        lines.extend(self.left(&report));
        lines.push(self.counts(&report));
        if let Some(signal) = &report.interrupted {
            lines.push(format!("stopped by {}", plain::line(signal)));
        }
        if let Some((_, message)) = report.own_trouble() {
            let red = Paint::new().bold().fg_color(Some(AnsiColor::Red.into()));
            lines.push(self.paint(&plain::line(&message), red));
        }
        lines.extend(self.paths(outputs));
        self.print(&lines);
    }

    /// One line for each that did not pass, so that nobody has to scroll.
    fn left(&self, report: &RunReport) -> Vec<String> {
        let mut bad: Vec<&ScenarioReport> = report
            .scenarios
            .iter()
            .filter(|scenario| !matches!(scenario.class(), Class::Passed | Class::Skipped))
            .collect();
        // What went wrong stands before what merely did not happen.
        bad.sort_by_key(|scenario| scenario.class() == Class::NotFinished);
        if bad.is_empty() {
            return Vec::new();
        }
        let mut lines: Vec<String> = bad
            .iter()
            .take(LISTED)
            .map(|scenario| {
                let word = self.paint(
                    &format!("{:>13}", block::word(scenario)),
                    Paint::new()
                        .bold()
                        .fg_color(Some(colour(scenario.class()).into())),
                );
                let id = plain::line(&scenario.id);
                let room = self
                    .style
                    .width
                    .saturating_sub(17 + id.chars().count())
                    .max(30);
                let says = plain::short(&scenario.message, room);
                format!("{word}  {id}  {}", self.paint(&says, Paint::new().dimmed()))
            })
            .collect();
        if bad.len() > LISTED {
            let more = format!("… and {} more", bad.len() - LISTED);
            lines.push(self.dim(&more, 13));
        }
        lines.push(String::new());
        lines
    }

    fn counts(&self, report: &RunReport) -> String {
        let counts = &report.counts;
        let mut parts = vec![self.part(counts, Class::Passed)];
        parts.extend(
            Class::ALL
                .into_iter()
                .filter(|class| *class != Class::Passed && counts.of(*class) > 0)
                .map(|class| self.part(counts, class)),
        );
        if counts.flaky > 0 {
            let text = format!("{} flaky", counts.flaky);
            parts.push(self.paint(&text, Paint::new().fg_color(Some(AnsiColor::Yellow.into()))));
        }
        let time = self.paint(
            &format!("in {}", block::duration(report.ms)),
            Paint::new().dimmed(),
        );
        format!("{}  {time}", parts.join(", "))
    }

    fn part(&self, counts: &Counts, class: Class) -> String {
        let n = counts.of(class);
        let paint = if n == 0 {
            Paint::new()
        } else {
            Paint::new().bold().fg_color(Some(colour(class).into()))
        };
        let word = match (class, n) {
            (Class::Error, 2..) => "errors",
            (Class::Leak, 2..) => "leaks",
            _ => class.word(),
        };
        self.paint(&format!("{n} {word}"), paint)
    }

    fn paths(&self, outputs: &Outputs) -> Vec<String> {
        let one = |label: &str, path: &str| format!("{}{}", self.dim(label, 14), plain::line(path));
        let mut lines: Vec<String> = Vec::new();
        for (at, path) in outputs.tutorials.iter().enumerate() {
            let label = match (at, outputs.tutorials.len()) {
                (0, 1) => "tutorial",
                (0, _) => "tutorials",
                _ => "",
            };
            lines.push(one(label, path));
        }
        let others = [
            ("journal", &outputs.journal),
            ("JUnit", &outputs.junit),
            ("JSON", &outputs.json),
            ("report", &outputs.html),
        ];
        for (label, path) in others {
            lines.extend(path.as_deref().map(|path| one(label, path)));
        }
        if !lines.is_empty() {
            lines.insert(0, String::new());
        }
        lines
    }
}
