//! What a failure says, in parts: one layout for console, JUnit and Markdown, so that a person
//! reads the same story everywhere.

use super::exit::{Class, meaning};
use super::model::{Attempt, ScenarioReport, StepReport};
use super::{Options, plain};
use crate::event::{Rival, Status};

/// Longest list of names shown; the rest is counted.
const NAMES: usize = 6;

/// Every string is plain text; lists hold one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// "step 3: Click button “Sign in”"
    pub step: Option<String>,
    /// `scenarios/shop/checkout.yaml:14`
    place: Option<String>,
    pub message: String,
    /// Source excerpt, several lines.
    pub excerpt: Option<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// `seen`, `nearest`, `expected`, `fix`, `picture`, `again`
    pub label: &'static str,
    pub lines: Vec<String>,
}

impl Block {
    /// For a scenario that did not pass.
    pub fn of(scenario: &ScenarioReport, options: &Options) -> Self {
        let mut block = match scenario.last() {
            Some(attempt) => Self::of_attempt(scenario, attempt, options),
            None => Self::default(),
        };
        // A later verdict (leak, tear-down, snapshot) rules; the attempt's own story stays below.
        let ruling = plain::plain(&scenario.message);
        if !block.message.contains(ruling.trim()) {
            block.message = format!("{ruling}\n{}", block.message).trim().to_owned();
        }
        block
            .place
            .get_or_insert_with(|| plain::line(&scenario.file));
        for snapshot in &scenario.snapshots {
            if let Some(diff) = snapshot
                .diff
                .as_deref()
                .filter(|_| scenario.class() == Class::Pending)
            {
                block.row(
                    "change",
                    plain::cut(&plain::plain(diff), 4096)
                        .lines()
                        .map(str::to_owned),
                );
            }
        }
        block.row(
            "again",
            [format!("rehearsal run {}", plain::line(&scenario.id))],
        );
        block
    }

    /// For one attempt, failed or not finished.
    pub fn of_attempt(scenario: &ScenarioReport, attempt: &Attempt, options: &Options) -> Self {
        let mut block = Self {
            message: plain::plain(&attempt.message),
            ..Self::default()
        };
        if let Some(step) = attempt.failing_step() {
            block.step = Some(format!(
                "step {}: {}",
                plain::line(&step.step),
                plain::line(&step.says)
            ));
            block.place = Some(place(scenario, step));
            if let Some(failure) = &step.failure {
                let own = plain::plain(&failure.message);
                if !block.message.contains(own.trim()) {
                    let both = format!("{}\n{own}", block.message);
                    block.message = both.trim().to_owned();
                }
                block.excerpt = failure.excerpt.as_deref().map(plain::plain);
                block.names(
                    "seen",
                    failure.seen.iter().map(|seen| plain::short(seen, 200)),
                );
                block.names("nearest", failure.nearest.iter().map(named));
            }
        }
        block.looks(attempt);
        if meaning(attempt.status).class == Class::Refused {
            block.names(
                "stopped",
                attempt
                    .blocked
                    .iter()
                    .filter(|b| !b.browser_own)
                    .map(stopped),
            );
        }
        if let Some(help) = attempt
            .failing_step()
            .and_then(|step| step.failure.as_ref()?.help.as_deref())
        {
            block.row("fix", plain::plain(help).lines().map(str::to_owned));
        }
        if let Some(frame) = attempt.evidence() {
            block.row(
                "picture",
                [match (&frame.file, &frame.withheld) {
                    (Some(file), _) => plain::line(&options.frame(&scenario.id, file)),
                    (None, Some(why)) => format!("withheld: {}", plain::line(why)),
                    (None, None) => "not kept".to_owned(),
                }],
            );
            block.row("page", [plain::short(&frame.url, 200)]);
        } else if !attempt.steps.is_empty() {
            block.row("picture", ["none was taken".to_owned()]);
        }
        block
    }

    /// Expectations that did not hold, in the look where they failed.
    fn looks(&mut self, attempt: &Attempt) {
        if !matches!(
            attempt.status,
            Status::NotCompleted | Status::Disagreed | Status::Failed
        ) {
            return;
        }
        let Some(look) = attempt.looks.last() else {
            return;
        };
        let lines = look
            .findings
            .iter()
            .filter(|finding| !finding.holds)
            .flat_map(|finding| {
                let before = attempt
                    .looks
                    .iter()
                    .filter(|other| other.look != look.look)
                    .flat_map(|other| other.findings.iter().map(move |f| (&other.look, f)))
                    .find(|(_, other)| other.line == finding.line && other.holds)
                    .map(|(name, other)| {
                        format!("  {name} look saw: {}", plain::short(&other.saw, 200))
                    });
                [
                    Some(plain::short(&finding.line, 200)),
                    before,
                    Some(format!(
                        "  {} look saw: {}",
                        look.look,
                        plain::short(&finding.saw, 200)
                    )),
                ]
                .into_iter()
                .flatten()
            });
        let lines: Vec<String> = lines.collect();
        self.row("expected", lines);
    }

    fn names(&mut self, label: &'static str, lines: impl Iterator<Item = String>) {
        let mut lines: Vec<String> = lines.collect();
        if lines.len() > NAMES {
            let more = lines.len() - NAMES;
            lines.truncate(NAMES);
            lines.push(format!("… and {more} more"));
        }
        self.row(label, lines);
    }

    fn row(&mut self, label: &'static str, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if !lines.is_empty() {
            self.rows.push(Row { label, lines });
        }
    }

    /// The place, unless the excerpt says it already.
    pub fn place(&self) -> Option<&str> {
        let place = self.place.as_deref()?;
        let said = self
            .excerpt
            .as_ref()
            .is_some_and(|text| text.contains(place));
        (!said).then_some(place)
    }

    /// Without colour, for files.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(step) = &self.step {
            out += &format!("{step}\n");
        }
        if let Some(place) = self.place() {
            out += &format!("at {place}\n");
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out += &self.message;
        out.push('\n');
        if let Some(excerpt) = &self.excerpt {
            out += &format!("\n{}\n", excerpt.trim_end());
        }
        if !self.rows.is_empty() {
            out.push('\n');
        }
        for row in &self.rows {
            for (at, line) in row.lines.iter().enumerate() {
                let label = if at == 0 { row.label } else { "" };
                out += format!("{label:<9} {line}").trim_end();
                out.push('\n');
            }
        }
        out
    }
}

fn place(scenario: &ScenarioReport, step: &StepReport) -> String {
    let file = plain::line(&scenario.file);
    match step.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

/// A control as a scenario would name it, with what tells it apart.
pub(super) fn named(rival: &Rival) -> String {
    let mut out = target(&rival.role, &rival.name);
    if let Some(place) = &rival.place {
        out += &format!("  {}", plain::short(place, 80));
    }
    if rival.score > 0.0 {
        out += &format!("  ({:.2})", rival.score);
    }
    out
}

/// Role and name in the syntax of scenarios; a map where the short form could not hold the name.
pub(super) fn target(role: &str, name: &str) -> String {
    let (role, name) = (plain::line(role), plain::short(name, 120));
    if name.contains(['"', '\\']) {
        let name = name.replace('\'', "''");
        return match role.is_empty() {
            true => format!("{{ name: '{name}' }}"),
            false => format!("{{ role: {role}, name: '{name}' }}"),
        };
    }
    match (role.is_empty(), name.is_empty()) {
        (true, _) => format!("\"{name}\""),
        (false, true) => format!("{role} (no name)"),
        (false, false) => format!("{role} \"{name}\""),
    }
}

/// A stopped request in one line.
pub(super) fn stopped(blocked: &crate::event::Blocked) -> String {
    let method = blocked.method.as_deref().unwrap_or("CONNECT");
    let times = match blocked.times {
        0 | 1 => String::new(),
        n => format!(" ({n} times)"),
    };
    plain::short(
        &format!(
            "{method} {}://{}{}{}: {}{times}",
            blocked.scheme,
            blocked.host,
            port(&blocked.scheme, blocked.port),
            blocked.path.as_deref().unwrap_or_default(),
            blocked.reason
        ),
        240,
    )
}

/// `:8080`, or nothing for the scheme's own port.
pub(super) fn port(scheme: &str, port: u16) -> String {
    match (scheme, port) {
        ("http" | "ws", 80) | ("https" | "wss", 443) | (_, 0) => String::new(),
        (_, port) => format!(":{port}"),
    }
}

/// `45 ms`, `12.3 s`, `2 min 05 s`: for people, never for machines.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..100 => format!("{ms} ms"),
        100..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60),
    }
}

/// The word of a line: the status, or that it ended as written.
pub(super) fn word(scenario: &ScenarioReport) -> &'static str {
    if scenario.as_expected {
        return "as expected";
    }
    if scenario.flaky {
        return "flaky";
    }
    if scenario.passed() && scenario.healed() {
        return "healed";
    }
    meaning(scenario.status).word
}
