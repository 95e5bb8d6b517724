//! What the template shows, as plain text and numbers: no decision is left to the template but
//! which element a thing gets.

mod card;
mod step;

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use self::card::{Card, card};
use super::super::exit::{self, Class};
use super::super::model::{RunReport, ScenarioReport};
use super::super::{Options, block, plain};
use super::Pictures;

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
    marks: Vec<Share>,
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
        marks: marks(run).collect(),
        folders,
    }
}

/// Filters that cut across the statuses.
fn marks(run: &RunReport) -> impl Iterator<Item = Share> {
    let count = |wanted: fn(&ScenarioReport) -> bool| {
        run.scenarios
            .iter()
            .filter(|scenario| wanted(scenario))
            .count() as u32
    };
    [
        ("flaky", count(|scenario| scenario.flaky)),
        ("healed", count(ScenarioReport::healed)),
        ("model", count(card::asked)),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(word, count)| Share {
        key: word,
        word,
        count,
        percent: String::new(),
    })
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
