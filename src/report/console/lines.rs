//! Lines of the console: made here, printed elsewhere.

use std::io::Write;

use anstyle::{AnsiColor, Style as Paint};

use super::super::block::{self, Block};
use super::super::exit::{self, Class};
use super::super::model::{Attempt, ScenarioReport, StepReport};
use super::super::plain;
use super::Console;

impl<W: Write> Console<W> {
    pub(super) fn headline(&self, scenario: &ScenarioReport, attempt: &Attempt) -> String {
        let word = block::word(scenario);
        let colour = colour(scenario.class());
        let again = match attempt.number {
            0 | 1 => String::new(),
            n => format!(" (attempt {n})"),
        };
        let told = format!("{:>9}  ", block::duration(attempt.ms));
        let room = self.style.width.saturating_sub(13 + told.len()).max(20);
        let id = plain::line(&scenario.id);
        let name = plain::short(
            &format!("{}{again}", scenario.name),
            room.saturating_sub(id.chars().count() + 2).max(16),
        );
        let painted = self.paint(
            &format!("{word:>12}"),
            Paint::new().bold().fg_color(Some(colour.into())),
        );
        format!(
            "{painted} {told}{name}  {}",
            self.paint(&id, Paint::new().dimmed())
        )
    }

    pub(super) fn step(&self, step: &StepReport) -> Vec<String> {
        let (mark, colour) = match exit::meaning(step.status).class {
            Class::Passed => ("✓", AnsiColor::Green),
            Class::Skipped => ("–", AnsiColor::BrightBlack),
            Class::NotFinished => ("·", AnsiColor::Yellow),
            _ => ("✗", AnsiColor::Red),
        };
        let mark = self.paint(mark, Paint::new().fg_color(Some(colour.into())));
        let deep = "  ".repeat(step.step.matches('.').count());
        let mut how: Vec<String> = step
            .resolved
            .iter()
            .filter(|how| how.chooser != "exact")
            .map(|how| plain::line(&how.chooser))
            .collect();
        how.dedup();
        how.push(block::duration(step.ms));
        let says = plain::short(
            &step.says,
            self.style.width.saturating_sub(24 + deep.len()).max(20),
        );
        let mut lines = vec![format!(
            "  {deep}{mark} {:>3}  {says}  {}",
            plain::line(&step.step),
            self.paint(&how.join(" · "), Paint::new().dimmed())
        )];
        for note in &step.notes {
            lines.push(format!(
                "  {deep}       {}",
                self.paint(&plain::short(note, 160), Paint::new().dimmed())
            ));
        }
        lines
    }

    pub(super) fn block(&self, block: &Block) -> Vec<String> {
        let indent = "    ";
        let red = Paint::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let mut lines = vec![String::new()];
        if let Some(step) = &block.step {
            lines.push(format!("{indent}{}", self.paint(step, Paint::new().bold())));
        }
        if let Some(place) = block.place() {
            lines.push(format!(
                "{indent}{}",
                self.paint(&format!("at {place}"), Paint::new().dimmed())
            ));
        }
        lines.push(String::new());
        for line in block.message.lines() {
            lines.push(format!("{indent}{}", self.paint(line, red)));
        }
        if let Some(excerpt) = &block.excerpt {
            lines.push(String::new());
            lines.extend(
                excerpt
                    .trim_end()
                    .lines()
                    .map(|line| format!("{indent}{line}")),
            );
        }
        if !block.rows.is_empty() {
            lines.push(String::new());
        }
        for row in &block.rows {
            for (at, line) in row.lines.iter().enumerate() {
                let label = if at == 0 { row.label } else { "" };
                let label = self.paint(&format!("{label:<9}"), label_paint(row.label));
                lines.push(format!("{indent}{label} {line}"));
            }
        }
        lines.push(String::new());
        lines
    }

    /// A verdict that came after its scenario's line.
    pub(super) fn dim(&self, label: &str, width: usize) -> String {
        self.paint(&format!("{label:>12}"), Paint::new().dimmed()) + " ".repeat(width - 12).as_str()
    }

    pub(super) fn paint(&self, text: &str, paint: Paint) -> String {
        if self.style.colour {
            format!("{paint}{text}{paint:#}")
        } else {
            text.to_owned()
        }
    }
}

pub(super) fn colour(class: Class) -> AnsiColor {
    match class {
        Class::Passed => AnsiColor::Green,
        Class::Skipped => AnsiColor::BrightBlack,
        Class::Pending | Class::NotFinished => AnsiColor::Yellow,
        Class::Refused => AnsiColor::Magenta,
        Class::Failed | Class::Error | Class::Leak => AnsiColor::Red,
    }
}

fn label_paint(label: &str) -> Paint {
    match label {
        "fix" => Paint::new().bold().fg_color(Some(AnsiColor::Cyan.into())),
        _ => Paint::new().dimmed(),
    }
}
