//! What the template shows, as plain text and numbers: no decision is left to the template but
//! which element a thing gets.

use std::collections::BTreeMap;

use base64::Engine;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::super::block::{self, Block};
use super::super::exit::{self, Class};
use super::super::model::{Attempt, RunReport, ScenarioReport, StepReport};
use super::super::{Options, frame_in_run, plain};
use super::Pictures;
use crate::event::{Failure, Frame, ModelCalled, Resolved, Verdict};

/// Most text of one prompt, answer or diff.
const LONG: usize = 24 << 10;
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');

#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    headline: String,
    /// Class of the gravest ending, for the colour of the head.
    key: &'static str,
    started: Option<String>,
    facts: Vec<(&'static str, String)>,
    trouble: Vec<String>,
    notes: Vec<String>,
    total: u32,
    shares: Vec<Share>,
    folders: Vec<Folder>,
}

#[derive(Serialize)]
struct Share {
    key: &'static str,
    word: &'static str,
    count: u32,
    percent: String,
}

#[derive(Serialize)]
struct Folder {
    name: String,
    anchor: String,
    bad: usize,
    scenarios: Vec<Card>,
}

#[derive(Serialize)]
struct Card {
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

#[derive(Serialize)]
struct Step {
    step: String,
    says: String,
    key: &'static str,
    word: &'static str,
    time: String,
    depth: usize,
    by: Option<String>,
    how: Option<String>,
    write: Option<String>,
    notes: Vec<String>,
    message: Option<String>,
    written: Option<String>,
    place: Option<String>,
    found: Vec<Found>,
    acted: Vec<(String, String)>,
    model: Vec<Call>,
    frames: Vec<Picture>,
}

#[derive(Serialize)]
struct Found {
    chooser: String,
    target: String,
    scope: String,
    score: String,
    rival: Option<String>,
    rival_score: Option<String>,
    candidates: usize,
    healed: Option<String>,
}

#[derive(Serialize)]
struct Call {
    purpose: String,
    outcome: String,
    good: bool,
    facts: String,
    question: String,
    answer: String,
}

#[derive(Serialize)]
struct Picture {
    src: Option<String>,
    withheld: Option<String>,
    alt: String,
    caption: String,
    width: u32,
    height: u32,
    /// Per cent of the picture: left, top, width, height.
    target: Option<[String; 4]>,
    point: Option<[String; 2]>,
}

/// A line, then what each look found: whether it held, and what was seen.
type Row = (String, Vec<Option<(bool, String)>>);

#[derive(Serialize)]
struct Looks {
    names: Vec<String>,
    rows: Vec<Row>,
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

pub(super) fn page(run: &RunReport, options: &Options, pictures: Pictures) -> Page {
    let counts = &run.counts;
    let first_bad = run.scenarios.iter().position(bad);
    let mut folders: Vec<Folder> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, scenario) in run.scenarios.iter().enumerate() {
        let at = *known.entry(&scenario.folder).or_insert_with(|| {
            folders.push(Folder {
                name: match scenario.folder.as_str() {
                    "" => "scenarios".to_owned(),
                    name => text(name),
                },
                anchor: format!("f:{}", path(&scenario.folder)),
                bad: 0,
                scenarios: Vec::new(),
            });
            folders.len() - 1
        });
        folders[at].bad += usize::from(bad(scenario));
        folders[at]
            .scenarios
            .push(card(scenario, first_bad == Some(n), options, pictures));
    }
    let suite = run
        .run
        .as_ref()
        .map_or_else(String::new, |header| text(&header.suite));
    Page {
        title: format!("{} of {} passed · {suite}", counts.passed, counts.scenarios),
        headline: headline(run),
        key: worst(run).key(),
        started: run
            .run
            .as_ref()
            .and_then(|header| moment(header.started.as_deref()?)),
        facts: facts(run),
        trouble: run
            .interrupted
            .iter()
            .map(|signal| text(&format!("Stopped by {signal}.")))
            .chain((!run.finished).then(|| "The journal ends before the run did.".to_owned()))
            .chain(run.own_trouble().map(|(_, message)| text(&message)))
            .collect(),
        notes: texts(&run.notes),
        total: counts.scenarios,
        shares: Class::ALL
            .into_iter()
            .map(|class| (class, counts.of(class)))
            .filter(|(_, count)| *count > 0)
            .map(|(class, count)| Share {
                key: class.key(),
                word: class.word(),
                count,
                percent: percent(count.into(), counts.scenarios.into()),
            })
            .collect(),
        folders,
    }
}

fn headline(run: &RunReport) -> String {
    let counts = &run.counts;
    let flaky = match counts.flaky {
        0 => String::new(),
        n => format!(", {n} flaky"),
    };
    match (counts.scenarios, counts.passed) {
        (0, _) => "No scenario was selected".to_owned(),
        (1, 1) => format!("The scenario passed{flaky}"),
        (all, passed) if all == passed => format!("All {all} scenarios passed{flaky}"),
        (all, passed) => format!("{passed} of {all} scenarios passed{flaky}"),
    }
}

/// The gravest ending decides the colour.
fn worst(run: &RunReport) -> Class {
    let classes = run.scenarios.iter().map(ScenarioReport::class);
    let own = run
        .own_trouble()
        .map(|(status, _)| exit::meaning(status).class);
    let rank = |class: &Class| match class {
        Class::Leak => 0,
        Class::Error => 1,
        Class::Failed => 2,
        Class::Refused => 3,
        Class::NotFinished => 4,
        Class::Pending => 5,
        Class::Passed => 6,
        Class::Skipped => 7,
    };
    classes
        .chain(own)
        .min_by_key(rank)
        .unwrap_or(Class::Skipped)
}

fn bad(scenario: &ScenarioReport) -> bool {
    !matches!(scenario.class(), Class::Passed | Class::Skipped)
}

fn facts(run: &RunReport) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(header) = &run.run {
        facts.push(("Suite", text(&header.suite)));
        facts.push(("Browser", text(&header.browser)));
        facts.push(("Driver", text(&header.driver)));
        facts.push(("Network", text(&header.network)));
        facts.push(("Model", text(header.model.as_deref().unwrap_or("none"))));
        facts.push(("Mode", text(&header.mode.join(", "))));
        facts.push(("Workers", header.jobs.to_string()));
        facts.push(("Run", text(&header.run_id)));
        facts.push(("Rehearsal", text(&header.version)));
    }
    facts.push(("Time", block::duration(run.ms)));
    facts.push(("Exit code", run.exit.to_string()));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn card(scenario: &ScenarioReport, open: bool, options: &Options, pictures: Pictures) -> Card {
    let bad = bad(scenario);
    let steps = || scenario.attempts.iter().flat_map(|attempt| &attempt.steps);
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
        model: steps().any(|step| !step.model.is_empty()),
        healed: steps().any(|step| step.resolved.iter().any(|how| how.healed.is_some())),
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
    let meaning = exit::meaning(attempt.status);
    let class = if attempt.as_expected {
        Class::Passed
    } else {
        meaning.class
    };
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
        word: if attempt.as_expected {
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
        looks: looks(attempt),
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
    let step = attempt.steps.iter().rfind(|step| step.step == frame.step)?;
    Some(picture(scenario, step, frame, pictures))
}

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

fn one_step(scenario: &ScenarioReport, step: &StepReport, pictures: Pictures) -> Step {
    let meaning = exit::meaning(step.status);
    Step {
        step: text(&step.step),
        says: text(&plain::short(&step.says, 400)),
        key: meaning.class.key(),
        word: meaning.word,
        time: block::duration(step.ms),
        depth: step.step.matches('.').count().min(4),
        by: Some(text(&step.by)).filter(|by| by != "author"),
        how: how(step),
        write: step.write.as_deref().map(text),
        notes: step
            .note
            .iter()
            .chain(&step.notes)
            .map(|note| text(note))
            .collect(),
        message: step
            .failure
            .as_ref()
            .map(|Failure { message, .. }| text(message)),
        written: Some(text(&step.written)).filter(|written| !written.is_empty()),
        place: step
            .line
            .map(|line| text(&format!("{}:{line}", scenario.file))),
        found: step.resolved.iter().map(found).collect(),
        acted: step
            .acted
            .iter()
            .map(|acted| {
                let effect = acted.effect.as_deref().unwrap_or("no change was seen");
                let value = acted
                    .value
                    .as_ref()
                    .map_or_else(String::new, |value| format!(" from {value}"));
                let why = acted
                    .reason
                    .as_ref()
                    .map_or_else(String::new, |why| format!(" Because: {why}"));
                (
                    text(&format!("{}{value}", acted.says)),
                    text(&format!("{effect}.{why}")),
                )
            })
            .collect(),
        model: step.model.iter().map(call).collect(),
        frames: step
            .frames
            .iter()
            .map(|frame| picture(scenario, step, frame, pictures))
            .collect(),
    }
}

/// The chip beside a step: only where more than an exact name decided.
fn how(step: &StepReport) -> Option<String> {
    let how = step.resolved.iter().rfind(|how| how.chooser != "exact")?;
    Some(text(&format!("{} {:.2}", how.chooser, how.score)))
}

fn found(how: &Resolved) -> Found {
    Found {
        chooser: text(&how.chooser),
        target: text(&block::target(&how.role, &how.name)),
        scope: text(&how.scope.join(" › ")),
        score: format!("{:.2}", how.score),
        rival: how.runner_up.as_ref().map(|rival| {
            let place = rival
                .place
                .as_ref()
                .map_or_else(String::new, |place| format!(", {place}"));
            text(&format!(
                "{}{place}",
                block::target(&rival.role, &rival.name)
            ))
        }),
        rival_score: how
            .runner_up
            .as_ref()
            .map(|rival| format!("{:.2}", rival.score)),
        candidates: how.candidates,
        healed: how.healed.as_deref().map(text),
    }
}

fn call(call: &ModelCalled) -> Call {
    let tokens = match (call.prompt_tokens, call.completion_tokens) {
        (None, None) => format!("{} bytes", call.prompt_bytes),
        (asked, answered) => format!(
            "{} + {} tokens",
            asked.unwrap_or_default(),
            answered.unwrap_or_default()
        ),
    };
    Call {
        purpose: text(&call.purpose),
        outcome: text(&call.outcome),
        good: call.outcome == "ok",
        facts: format!(
            "{} of {} candidates offered, {tokens}",
            call.candidates_offered, call.candidates_total
        ),
        question: long(&call.question),
        answer: long(&call.answer),
    }
}

fn picture(
    scenario: &ScenarioReport,
    step: &StepReport,
    frame: &Frame,
    pictures: Pictures,
) -> Picture {
    let of =
        |part: i32, whole: u32| format!("{:.2}", f64::from(part) * 100.0 / f64::from(whole.max(1)));
    let inside = frame
        .file
        .as_ref()
        .map(|file| frame_in_run(&scenario.id, file));
    let mut caption = vec![text(&frame.url)];
    if frame.unsettled {
        caption.push("the page still moved".to_owned());
    }
    if !frame.redactions.is_empty() {
        let mut reasons: Vec<&str> = frame.redactions.iter().map(|r| r.reason.as_str()).collect();
        reasons.dedup();
        caption.push(text(&format!("covered: {}", reasons.join(", "))));
    }
    Picture {
        src: inside.map(|inside| {
            let bytes = match pictures {
                Pictures::Inline(read) => read(&inside),
                Pictures::Linked => None,
            };
            match bytes {
                Some(bytes) => format!(
                    "data:image/png;base64,{}",
                    base64::engine::general_purpose::STANDARD.encode(bytes)
                ),
                None => format!("./{}", path(&inside)),
            }
        }),
        withheld: frame.withheld.as_deref().map(text),
        alt: text(&format!(
            "The page at step {}: {}",
            step.step,
            plain::short(&step.says, 120)
        )),
        caption: caption.join(" · "),
        width: frame.width.max(1),
        height: frame.height.max(1),
        target: frame.target.map(|[x, y, w, h]| {
            [
                of(x, frame.width),
                of(y, frame.height),
                of(w, frame.width),
                of(h, frame.height),
            ]
        }),
        point: frame
            .point
            .map(|[x, y]| [of(x, frame.width), of(y, frame.height)]),
    }
}

/// One row per expectation, one column per look.
fn looks(attempt: &Attempt) -> Option<Looks> {
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
    Some(Looks { names, rows })
}

fn text(text: &str) -> String {
    plain::cut(&plain::markup(text), LONG).into_owned()
}

fn texts(all: &[String]) -> Vec<String> {
    all.iter().map(|one| text(one)).collect()
}

fn long(all: &str) -> String {
    text(all)
}

fn path(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.3}", part as f64 * 100.0 / whole.max(1) as f64)
}

/// `30 November 2026, 12:00 UTC`
fn moment(time: &str) -> Option<String> {
    let moment: jiff::Timestamp = time.parse().ok()?;
    Some(moment.strftime("%-d %B %Y, %H:%M UTC").to_string())
}
