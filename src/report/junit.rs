//! JUnit XML as Jenkins and GitLab take it; the rules are listed and checked in `junit_rules`.
//!
//! Every text passes [`plain::markup`] before the writer sees it, and every text has a limit, so
//! the file stays readable whatever a page showed (failures.md 098 to 105).

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

use super::block::{self, Block};
use super::exit::{self, Class};
use super::model::{Attempt, RunReport, ScenarioReport};
use super::{Options, plain};
use crate::event::{Event, RunStarted, Status};

/// Bytes of text for all cases together, before escaping; one case gets its share.
const TOTAL: usize = 8 << 20;
/// Most text of one failure, and of one case's output.
const FAILURE: usize = 16 << 10;
const OUTPUT: usize = 32 << 10;
/// Longest attribute.
const ATTRIBUTE: usize = 500;
/// Pictures linked from one case.
const PICTURES: usize = 40;

/// The report of a run, pictures linked relative to the run folder.
pub fn render(events: &[Event]) -> Vec<u8> {
    render_with(events, &Options::default())
}

/// The report of a run, pictures linked from where [`Options::run_folder`] says.
pub fn render_with(events: &[Event], options: &Options) -> Vec<u8> {
    of(&RunReport::fold(events), options)
}

/// What lies on disk from the first second on: every selected scenario, not finished.
pub fn seed(run: &RunStarted) -> Vec<u8> {
    of(&RunReport::seed(run), &Options::default())
}

pub(super) fn of(run: &RunReport, options: &Options) -> Vec<u8> {
    let mut report = Report::new("rehearsal");
    report.timestamp = run
        .run
        .as_ref()
        .and_then(|header| header.started.as_deref()?.parse().ok());
    report.time = Some(Duration::from_millis(run.ms));
    let share = TOTAL / run.scenarios.len().max(1);
    let limits = Limits {
        failure: FAILURE.min(share / 2),
        output: OUTPUT.min(share / 2),
    };
    let mut names = Names::default();
    // Suites in the order their first scenario has in the plan.
    let mut suites: Vec<(&str, Vec<&ScenarioReport>)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for scenario in &run.scenarios {
        let folder = scenario.folder.as_str();
        let at = *known.entry(folder).or_insert_with(|| {
            suites.push((folder, Vec::new()));
            suites.len() - 1
        });
        suites[at].1.push(scenario);
    }
    for (folder, scenarios) in suites {
        let name = if folder.is_empty() {
            "scenarios"
        } else {
            folder
        };
        let mut suite = TestSuite::new(attribute(name));
        suite.timestamp = scenarios
            .iter()
            .filter_map(|scenario| scenario.attempts.first())
            .filter_map(|attempt| attempt.started.parse().ok())
            .min()
            .or(report.timestamp);
        suite.time = Some(Duration::from_millis(scenarios.iter().map(|s| s.ms).sum()));
        for scenario in scenarios {
            suite.add_test_case(case(run, scenario, options, &limits, &mut names));
        }
        report.add_test_suite(suite);
    }
    if let Some(suite) = own_suite(run, &limits) {
        report.add_test_suite(suite);
    }
    let mut out = Vec::new();
    // Writing into memory fails only if the writer's own model is broken.
    report
        .serialize(&mut out)
        .expect("JUnit serialises into memory");
    out
}

struct Limits {
    failure: usize,
    output: usize,
}

/// Pairs of class and name that are taken: some readers forget the suite and overwrite equals.
#[derive(Default)]
struct Names(HashSet<(String, String)>);

impl Names {
    fn unique(&mut self, class: &str, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut n = 1;
        while !self.0.insert((class.to_owned(), unique.clone())) {
            n += 1;
            unique = format!("{name} ({n})");
        }
        unique
    }
}

fn case(
    run: &RunReport,
    scenario: &ScenarioReport,
    options: &Options,
    limits: &Limits,
    names: &mut Names,
) -> TestCase {
    let class = attribute(&scenario.file);
    let name = names.unique(&class, &attribute(&scenario.name));
    let mut case = TestCase::new(name, status(scenario, options, limits));
    case.set_classname(class.as_str());
    case.extra.insert("file".into(), class.into());
    case.time = Some(Duration::from_millis(scenario.ms));
    case.timestamp = scenario
        .attempts
        .first()
        .and_then(|attempt| attempt.started.parse().ok());
    case.add_properties(properties(run, scenario));
    if let Some(last) = scenario.last() {
        case.set_system_out(output(scenario, last, options, limits));
    }
    case
}

fn status(scenario: &ScenarioReport, options: &Options, limits: &Limits) -> TestCaseStatus {
    let mut status = match scenario.class() {
        Class::Passed => TestCaseStatus::success(),
        Class::Skipped => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message(attribute(&said(&scenario.message, "skipped")));
            return skipped;
        }
        _ => {
            let mut bad = TestCaseStatus::non_success(kind(scenario.status));
            bad.set_message(attribute(&said(&scenario.message, &scenario.reason)));
            bad.set_type(type_of(scenario.status, &scenario.reason));
            bad.set_description(text(&Block::of(scenario, options).text(), limits.failure));
            bad
        }
    };
    // Earlier tries that failed: flaky under a pass, reruns under a failure.
    let tries = scenario.attempts.len().saturating_sub(1);
    let share = limits.failure / (tries + 1);
    for attempt in scenario.attempts.iter().take(tries).filter(|a| !a.passed()) {
        let mut rerun = TestRerun::new(kind(attempt.status));
        rerun.time = Some(Duration::from_millis(attempt.ms));
        rerun.timestamp = attempt.started.parse().ok();
        rerun
            .set_message(attribute(&said(&attempt.message, &attempt.reason)))
            .set_type(type_of(attempt.status, &attempt.reason))
            .set_description(text(
                &Block::of_attempt(scenario, attempt, options).text(),
                share,
            ));
        status.add_rerun(rerun);
    }
    status
}

fn kind(status: Status) -> NonSuccessKind {
    match exit::meaning(status).class {
        Class::Failed | Class::Pending | Class::Passed | Class::Skipped => NonSuccessKind::Failure,
        Class::Error | Class::Refused | Class::Leak | Class::NotFinished => NonSuccessKind::Error,
    }
}

/// The words of the language document where it names one, else the stable reason.
fn type_of(status: Status, reason: &str) -> String {
    match exit::meaning(status).class {
        Class::Refused | Class::Leak | Class::Pending | Class::NotFinished => {
            exit::meaning(status).word.to_owned()
        }
        _ => attribute(&said(reason, exit::meaning(status).word)),
    }
}

fn properties(run: &RunReport, scenario: &ScenarioReport) -> Vec<Property> {
    let mut all: Vec<(&str, String)> = vec![
        ("id", scenario.id.clone()),
        ("file", scenario.file.clone()),
        ("status", block::word(scenario).to_owned()),
        ("reason", scenario.reason.clone()),
    ];
    if let Some(header) = &run.run {
        all.push(("browser", header.browser.clone()));
    }
    if !scenario.tags.is_empty() {
        all.push(("tags", scenario.tags.join(" ")));
    }
    if scenario.attempts.len() > 1 {
        all.push(("attempts", scenario.attempts.len().to_string()));
    }
    if let Some(rated) = &scenario.rated {
        all.push(("pass-rate", format!("{}/{}", rated.passed, rated.of)));
    }
    if let Some(last) = scenario.last() {
        all.push(("model-calls", last.model_calls.to_string()));
        all.push(("tokens", last.tokens.to_string()));
        let hosts: HashSet<&str> = last.blocked.iter().map(|b| b.host.as_str()).collect();
        all.push(("blocked-hosts", hosts.len().to_string()));
        all.push(("writes", last.writes.len().to_string()));
        if let Some(by) = &last.signed_in_by {
            all.push(("signed-in-by", by.clone()));
        }
    }
    let resolved = scenario.last().into_iter().flat_map(|last| {
        let named = |(chooser, count): (&String, &u32)| {
            Property::new(
                attribute(&format!("resolved-by.{chooser}")),
                count.to_string(),
            )
        };
        last.choosers.iter().map(named)
    });
    all.iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| Property::new(*name, attribute(value)))
        .chain(resolved)
        .collect()
}

/// The log of what was done, and the pictures as links (never inlined).
fn output(
    scenario: &ScenarioReport,
    attempt: &Attempt,
    options: &Options,
    limits: &Limits,
) -> String {
    let mut log = String::new();
    for step in &attempt.steps {
        log += &format!(
            "{:<13} {:>5}  {}  {}\n",
            exit::meaning(step.status).word,
            plain::line(&step.step),
            plain::short(&step.says, 300),
            block::duration(step.ms),
        );
        for note in &step.notes {
            log += &format!("{:>22} {}\n", "note", plain::short(note, 300));
        }
    }
    // The picture that matters comes first, before the log: GitLab shows only the first, and
    // Jenkins cuts the middle out of long output.
    let evidence = attempt.evidence().and_then(|frame| frame.file.as_deref());
    let steps = attempt.steps.iter().flat_map(|step| &step.frames);
    let others = steps.chain(&attempt.end);
    let mut seen = HashSet::new();
    let mut left = limits.output / 4;
    let mut links = evidence
        .into_iter()
        .chain(others.filter_map(|frame| frame.file.as_deref()))
        .filter(|file| seen.insert(*file))
        .map(|file| plain::line(&options.frame(&scenario.id, file)))
        // The mark has no way to escape these.
        .filter(|path| !path.contains(['[', ']', '|']))
        .take(PICTURES)
        .take_while(|path| {
            left = left.saturating_sub(path.len());
            left > 0
        })
        .map(|path| format!("[[ATTACHMENT|{path}]]\n"));
    let first = links.next().unwrap_or_default();
    format!(
        "{first}{}{}",
        text(&log, limits.output),
        links.collect::<String>()
    )
}

/// Trouble that belongs to no scenario still has to be seen where people look.
fn own_suite(run: &RunReport, limits: &Limits) -> Option<TestSuite> {
    let (status, message) = run.own_trouble()?;
    let mut bad = TestCaseStatus::non_success(kind(status));
    bad.set_message(attribute(&message))
        .set_type(type_of(status, "tear_down"))
        .set_description(text(&message, limits.failure));
    let mut case = TestCase::new("the run itself", bad);
    case.set_classname("rehearsal");
    case.time = Some(Duration::ZERO);
    let mut suite = TestSuite::new("rehearsal");
    suite.time = Some(Duration::ZERO);
    suite.timestamp = run
        .run
        .as_ref()
        .and_then(|header| header.started.as_deref()?.parse().ok());
    suite.add_test_case(case);
    Some(suite)
}

/// Readers drop cases with an empty message.
fn said(text: &str, otherwise: &str) -> String {
    let text = if text.trim().is_empty() {
        otherwise
    } else {
        text
    };
    text.to_owned()
}

fn attribute(text: &str) -> String {
    let line = plain::markup(text);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = plain::cut_line(&line, ATTRIBUTE);
    if line.is_empty() {
        "-".to_owned()
    } else {
        line
    }
}

fn text(text: &str, limit: usize) -> String {
    // A page that shows an attachment mark must not make the CI server pick up a file of its choice.
    let text = plain::markup(text).replace("[[ATTACHMENT", "[ [ATTACHMENT");
    plain::cut(&text, limit).into_owned()
}

#[cfg(test)]
mod tests;
