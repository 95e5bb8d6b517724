//! One scenario: its verdicts, its attempts, what its page looked like at the end.

use serde::Serialize;

use super::super::super::Options;
use super::super::super::block::{self, Block};
use super::super::super::exit::{self, Class};
use super::super::super::model::{Attempt, ScenarioReport};
use super::super::Pictures;
use super::step::{Picture, Step, at_step, one_step, picture};
use super::{bad, long, path, percent, text, texts};
use crate::event::{Status, Verdict};

#[derive(Serialize)]
pub(super) struct Card {
    id: String,
    anchor: String,
    name: String,
    file: String,
    key: &'static str,
    word: &'static str,
    time: String,
    tags: Vec<String>,
    flaky: bool,
    /// Some step was decided by the model.
    model: bool,
    healed: bool,
    open: bool,
    message: String,
    bad: bool,
    later: Vec<String>,
    rated: Option<String>,
    snapshots: Vec<Snapshot>,
    /// The deciding attempt first, earlier tries after it.
    attempts: Vec<Try>,
}

#[derive(Serialize)]
struct Snapshot {
    what: String,
    verdict: &'static str,
    pending: Option<String>,
    diff: Vec<DiffLine>,
}

#[derive(Serialize)]
struct DiffLine {
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Try {
    number: u32,
    key: &'static str,
    word: &'static str,
    time: String,
    facts: Vec<(&'static str, String)>,
    failure: Option<Story>,
    steps: Vec<Step>,
    looks: Option<Looks>,
    blocked: Vec<Stop>,
    writes: Vec<Write>,
    extracted: Vec<String>,
    notes: Vec<String>,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Story {
    step: Option<String>,
    place: Option<String>,
    message: String,
    excerpt: Option<String>,
    rows: Vec<(&'static str, Vec<Vec<Piece>>)>,
    picture: Option<Picture>,
}

/// Part of a line; code stands between back-ticks in the text.
#[derive(Serialize)]
struct Piece {
    code: bool,
    text: String,
}

/// A line, then what each look found: whether it held, and what was seen.
type Row = (String, Vec<Option<(bool, String)>>);

#[derive(Serialize)]
struct Looks {
    names: Vec<String>,
    rows: Vec<Row>,
    picture: Option<Picture>,
}

#[derive(Serialize)]
struct Stop {
    host: String,
    request: String,
    reason: String,
    times: u32,
    own: bool,
}

#[derive(Serialize)]
struct Write {
    step: Option<String>,
    request: String,
    because: String,
}

#[derive(Serialize)]
struct Part {
    name: String,
    time: String,
    percent: String,
}

pub(super) fn card(
    scenario: &ScenarioReport,
    open: bool,
    options: &Options,
    pictures: Pictures,
) -> Card {
    let bad = bad(scenario);
    let mut attempts: Vec<Try> = scenario
        .attempts
        .iter()
        .map(|attempt| one_try(scenario, attempt, options, pictures))
        .collect();
    attempts.reverse();
    Card {
        id: text(&scenario.id),
        anchor: format!("s:{}", path(&scenario.id)),
        name: text(&scenario.name),
        file: text(&scenario.file),
        key: scenario.class().key(),
        word: block::word(scenario),
        time: block::duration(scenario.ms),
        tags: texts(&scenario.tags),
        flaky: scenario.flaky,
        model: asked(scenario),
        healed: scenario.healed(),
        open,
        message: text(&scenario.message),
        bad,
        later: later(scenario),
        rated: scenario.rated.as_ref().map(|rated| {
            format!(
                "{} of {} attempts passed; 95 % interval {:.0} to {:.0} %",
                rated.passed,
                rated.of,
                rated.low * 100.0,
                rated.high * 100.0
            )
        }),
        snapshots: scenario
            .snapshots
            .iter()
            .map(|snapshot| Snapshot {
                what: text(&snapshot.what),
                verdict: match snapshot.verdict {
                    Verdict::Same => "as approved",
                    Verdict::Proposed => "proposed, nothing approved yet",
                    Verdict::Pending => "waits for approval",
                    Verdict::Skipped => "not compared",
                },
                pending: snapshot.pending.as_deref().map(text),
                diff: snapshot.diff.as_deref().map(diff).unwrap_or_default(),
            })
            .collect(),
        attempts,
    }
}

/// The model was asked about some step.
pub(super) fn asked(scenario: &ScenarioReport) -> bool {
    let mut steps = scenario.attempts.iter().flat_map(|attempt| &attempt.steps);
    steps.any(|step| !step.model.is_empty())
}

/// Verdicts that came after the scenario's own end.
fn later(scenario: &ScenarioReport) -> Vec<String> {
    let leaks = scenario.leaks.iter().map(|leak| {
        format!(
            "Leak: a value of {} stands in {} ({}).",
            leak.credential, leak.file, leak.form
        )
    });
    let torn = scenario
        .tear_downs
        .iter()
        .filter(|torn| !torn.ok)
        .map(|torn| {
            format!(
                "Tear-down of {} failed: {}",
                torn.what,
                torn.detail.as_deref().unwrap_or("no details")
            )
        });
    leaks.chain(torn).map(|line| text(&line)).collect()
}

fn diff(unified: &str) -> Vec<DiffLine> {
    long(unified)
        .lines()
        .map(|line| DiffLine {
            kind: match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "file",
                [b'@', ..] => "hunk",
                [b'+', ..] => "add",
                [b'-', ..] => "del",
                _ => "same",
            },
            text: line.to_owned(),
        })
        .collect()
}

fn one_try(
    scenario: &ScenarioReport,
    attempt: &Attempt,
    options: &Options,
    pictures: Pictures,
) -> Try {
    let meaning = exit::meaning(attempt.verdict());
    let class = meaning.class;
    let failed = !matches!(class, Class::Passed | Class::Skipped);
    let facts = [
        ("Goal", attempt.goal.clone()),
        ("Start", attempt.start.clone()),
        ("Signed in by", attempt.signed_in_by.clone()),
        (
            "Model calls",
            match attempt.model_calls {
                0 => None,
                n => Some(format!("{n}, {} tokens", attempt.tokens)),
            },
        ),
        (
            "Targets found",
            Some(
                attempt
                    .choosers
                    .iter()
                    .map(|(chooser, count)| format!("{count} {chooser}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        ),
    ];
    let total: u64 = attempt.ms_by_part.values().sum();
    Try {
        number: attempt.number,
        key: class.key(),
        word: if attempt.as_expected && attempt.status != Status::Passed {
            "as expected"
        } else {
            meaning.word
        },
        time: block::duration(attempt.ms),
        facts: facts
            .into_iter()
            .filter_map(|(label, value)| Some((label, text(&value?))))
            .filter(|(_, value)| !value.is_empty())
            .collect(),
        failure: failed.then(|| Story {
            picture: evidence(scenario, attempt, pictures),
            ..story(&Block::of_attempt(scenario, attempt, options))
        }),
        steps: attempt
            .steps
            .iter()
            .map(|step| one_step(scenario, step, pictures))
            .collect(),
        looks: looks(scenario, attempt, pictures),
        blocked: attempt
            .blocked
            .iter()
            .map(|blocked| Stop {
                host: text(&format!(
                    "{}{}",
                    blocked.host,
                    block::port(&blocked.scheme, blocked.port)
                )),
                request: text(&format!(
                    "{} {}",
                    blocked.method.as_deref().unwrap_or("CONNECT"),
                    blocked.path.as_deref().unwrap_or_default()
                )),
                reason: text(&blocked.reason),
                times: blocked.times.max(1),
                own: blocked.browser_own,
            })
            .collect(),
        writes: attempt
            .writes
            .iter()
            .map(|write| Write {
                step: write.step.as_deref().map(text),
                request: text(&format!("{} {}", write.method, write.url)),
                because: text(&write.because),
            })
            .collect(),
        extracted: attempt
            .extracted
            .iter()
            .map(|extracted| {
                let rows = extracted
                    .rows
                    .map_or_else(String::new, |rows| format!(", {rows} rows"));
                let note = extracted
                    .note
                    .as_ref()
                    .map_or_else(String::new, |note| format!(" ({note})"));
                text(&format!("{}{rows}{note}", extracted.name))
            })
            .collect(),
        notes: texts(&attempt.notes),
        parts: attempt
            .ms_by_part
            .iter()
            .filter(|(_, ms)| **ms > 0)
            .map(|(name, ms)| Part {
                name: text(name),
                time: block::duration(*ms),
                percent: percent(*ms, total),
            })
            .collect(),
    }
}

fn story(block: &Block) -> Story {
    Story {
        step: block.step.as_deref().map(text),
        place: block.place().map(text),
        message: text(&block.message),
        excerpt: block
            .excerpt
            .as_deref()
            .map(|excerpt| text(excerpt.trim_end())),
        rows: block
            .rows
            .iter()
            // Expectations and pictures have places of their own on this page.
            .filter(|row| !matches!(row.label, "expected" | "picture" | "stopped" | "again"))
            .map(|row| {
                (
                    row.label,
                    row.lines.iter().map(|line| pieces(line)).collect(),
                )
            })
            .collect(),
        picture: None,
    }
}

/// The picture of how it ended, beside the story.
fn evidence(scenario: &ScenarioReport, attempt: &Attempt, pictures: Pictures) -> Option<Picture> {
    let frame = attempt.evidence()?;
    let alt = match attempt.steps.iter().rfind(|step| step.step == frame.step) {
        Some(step) => at_step(step),
        None => AT_END.to_owned(),
    };
    Some(picture(scenario, &alt, frame, pictures))
}

const AT_END: &str = "The page at the end";

/// A line with an odd number of back-ticks is left as it is.
fn pieces(line: &str) -> Vec<Piece> {
    let line = text(line);
    if line.matches('`').count() % 2 == 1 {
        return vec![Piece {
            code: false,
            text: line,
        }];
    }
    line.split('`')
        .enumerate()
        .filter(|(_, text)| !text.is_empty())
        .map(|(at, text)| Piece {
            code: at % 2 == 1,
            text: text.to_owned(),
        })
        .collect()
}

/// One row per expectation, one column per look.
fn looks(scenario: &ScenarioReport, attempt: &Attempt, pictures: Pictures) -> Option<Looks> {
    if attempt.looks.is_empty() {
        return None;
    }
    let mut rows: Vec<Row> = Vec::new();
    for (at, look) in attempt.looks.iter().enumerate() {
        for finding in &look.findings {
            let line = text(&finding.line);
            let row = match rows
                .iter_mut()
                .find(|(known, found)| *known == line && found[at].is_none())
            {
                Some((_, row)) => row,
                None => {
                    rows.push((line, vec![None; attempt.looks.len()]));
                    &mut rows.last_mut().expect("just pushed").1
                }
            };
            row[at] = Some((finding.holds, text(&finding.saw)));
        }
    }
    let names = attempt.looks.iter().map(|look| text(&look.look)).collect();
    let end = attempt.end.as_ref();
    Some(Looks {
        names,
        rows,
        picture: end.map(|frame| picture(scenario, AT_END, frame, pictures)),
    })
}
