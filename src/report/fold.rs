//! Events → [`RunReport`]. Tolerant of what a killed run leaves behind: a missing end, a step
//! without its finish, events of a scenario nobody selected.

mod attempt;

use std::collections::BTreeMap;

use super::exit;
use super::model::*;
use crate::event::{Event, RunStarted, Selected, Status, Verdict, What};

impl RunReport {
    /// Order among scenarios does not matter, order inside an attempt is by `seq`.
    pub fn fold(events: &[Event]) -> Self {
        let started = events.iter().find_map(|event| match &event.what {
            What::RunStarted(run) => Some((run, Some(event.time.clone()))),
            _ => None,
        });
        let mut report = Self::before(started);
        let mut by_scenario: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in events {
            by_scenario.entry(&event.scenario).or_default().push(event);
            report.ms = report.ms.max(event.at_ms);
        }
        for group in by_scenario.values_mut() {
            group.sort_by_key(|event| (event.attempt, event.seq));
        }
        report.run_events(by_scenario.remove("").unwrap_or_default());
        for scenario in &mut report.scenarios {
            if let Some(events) = by_scenario.remove(scenario.id.as_str()) {
                scenario.take(&events);
            }
        }
        for (id, events) in by_scenario {
            let mut scenario = ScenarioReport::selected(&Selected {
                id: id.to_owned(),
                name: id.to_owned(),
                file: id.to_owned(),
                tags: Vec::new(),
            });
            scenario.take(&events);
            report.scenarios.push(scenario);
        }
        let recorded = events.iter().rev().find_map(|event| match event.what {
            What::RunFinished { exit, .. } => Some(exit),
            _ => None,
        });
        report.conclude(recorded);
        report
    }

    /// What is known before anything ran: every selected scenario, not finished.
    pub fn seed(run: &RunStarted) -> Self {
        let mut report = Self::before(Some((run, None)));
        report.conclude(None);
        report
    }

    fn before(started: Option<(&RunStarted, Option<String>)>) -> Self {
        Self {
            format: FORMAT,
            run: started.as_ref().map(|(run, time)| Header {
                version: run.version.clone(),
                run_id: run.run_id.clone(),
                started: time.clone(),
                browser: run.browser.clone(),
                driver: run.driver.clone(),
                network: run.network.clone(),
                model: run.model.clone(),
                mode: run.mode.clone(),
                suite: run.suite.clone(),
                jobs: run.jobs,
            }),
            finished: false,
            interrupted: None,
            exit: exit::PASSED,
            ms: 0,
            counts: Counts::default(),
            notes: Vec::new(),
            tear_downs: Vec::new(),
            leaks: Vec::new(),
            scenarios: started
                .iter()
                .flat_map(|(run, _)| &run.selected)
                .map(ScenarioReport::selected)
                .collect(),
        }
    }

    fn run_events(&mut self, events: Vec<&Event>) {
        for event in events {
            match &event.what {
                What::Note { text } => self.notes.push(text.clone()),
                What::TearDown { what, ok, detail } => {
                    self.tear_downs.push(torn_down(what, *ok, detail));
                }
                What::Leak {
                    file,
                    credential,
                    form,
                } => self.leaks.push(leak(file, credential, form)),
                What::RunFinished { interrupted, .. } => {
                    self.finished = true;
                    self.interrupted = interrupted.clone();
                }
                _ => {}
            }
        }
    }

    fn conclude(&mut self, recorded: Option<i32>) {
        self.counts = Counts::default();
        for scenario in &self.scenarios {
            self.counts.add(scenario.class());
            self.counts.flaky += u32::from(scenario.flaky);
        }
        self.exit = exit::of_run(
            self.scenarios.iter().map(|scenario| scenario.status),
            self.own_trouble().map(|(status, _)| status),
            self.interrupted.as_deref(),
            recorded,
        );
    }

    /// What went wrong outside every scenario, with words for it.
    pub fn own_trouble(&self) -> Option<(Status, String)> {
        if let Some(leak) = self.leaks.first() {
            return Some((Status::Leak, leak_message(leak)));
        }
        let torn = self.tear_downs.iter().find(|torn| !torn.ok)?;
        Some((Status::Environment, tear_down_message(torn)))
    }
}

impl ScenarioReport {
    pub(super) fn selected(selected: &Selected) -> Self {
        Self {
            id: selected.id.clone(),
            name: selected.name.clone(),
            file: selected.file.clone(),
            folder: selected
                .id
                .rsplit_once('/')
                .map_or_else(String::new, |(folder, _)| folder.to_owned()),
            tags: selected.tags.clone(),
            status: Status::NotFinished,
            reason: "not_started".to_owned(),
            message: "The run ended before this scenario began.".to_owned(),
            as_expected: false,
            flaky: false,
            ms: 0,
            attempts: Vec::new(),
            rated: None,
            snapshots: Vec::new(),
            leaks: Vec::new(),
            tear_downs: Vec::new(),
        }
    }

    fn take(&mut self, events: &[&Event]) {
        for attempt in events.chunk_by(|a, b| a.attempt == b.attempt) {
            let mut own = Vec::new();
            for event in attempt {
                match &event.what {
                    What::Snapshot(verdict) => self.snapshots.push(verdict.clone()),
                    What::Leak {
                        file,
                        credential,
                        form,
                    } => self.leaks.push(leak(file, credential, form)),
                    What::TearDown { what, ok, detail } => {
                        self.tear_downs.push(torn_down(what, *ok, detail));
                    }
                    What::Rated(rated) => self.rated = Some(rated.clone()),
                    _ => own.push(*event),
                }
            }
            if !own.is_empty() {
                self.attempts.push(Attempt::fold(&own));
            }
        }
        self.ms = self.attempts.iter().map(|attempt| attempt.ms).sum();
        self.judge();
    }

    /// The verdict over everything, gravest last word.
    pub(super) fn judge(&mut self) {
        if let Some(deciding) = self.deciding() {
            let deciding = &self.attempts[deciding];
            self.as_expected = deciding.as_expected && deciding.status != Status::Passed;
            self.status = deciding.verdict();
            self.reason = deciding.reason.clone();
            self.message = deciding.message.clone();
        }
        if let Some(rated) = &self.rated {
            let share = format!(
                "{} of {} attempts passed, 95 % interval {:.0} to {:.0} %",
                rated.passed,
                rated.of,
                rated.low * 100.0,
                rated.high * 100.0
            );
            if rated.holds {
                self.status = Status::Passed;
                self.message = share;
            } else {
                self.status = Status::Failed;
                self.reason = "rate_below_minimum".to_owned();
                self.message = match rated.minimum {
                    Some(minimum) => format!("{share}; at least {:.0} % wanted", minimum * 100.0),
                    None => share,
                };
            }
        }
        self.flaky = self.status == Status::Passed && self.attempts.iter().any(|a| !a.passed());
        for (status, reason, message) in self.later_verdicts() {
            let worse =
                exit::gravest([exit::meaning(self.status).exit, exit::meaning(status).exit]);
            if worse != exit::meaning(self.status).exit {
                self.status = status;
                self.reason = reason.to_owned();
                self.message = message;
                self.flaky = false;
                self.as_expected = false;
            }
        }
    }

    /// The last attempt after retries; the gravest where attempts were repeated for their own
    /// sake (an attempt that follows a pass is no retry).
    fn deciding(&self) -> Option<usize> {
        let last = self.attempts.len().checked_sub(1)?;
        if self.attempts[..last]
            .iter()
            .all(|attempt| !attempt.passed())
        {
            return Some(last);
        }
        (0..=last).min_by_key(|at| {
            let code = exit::meaning(self.attempts[*at].verdict()).exit;
            exit::GRAVITY.iter().position(|known| *known == code)
        })
    }

    fn later_verdicts(&self) -> Vec<(Status, &'static str, String)> {
        let pending = self
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.verdict == Verdict::Pending)
            .map(|snapshot| {
                let beside = snapshot
                    .pending
                    .as_ref()
                    .map_or_else(String::new, |path| format!(": {path}"));
                let (waits, it) = match snapshot.what.as_str() {
                    "steps" => ("wait", "them"),
                    _ => ("waits", "it"),
                };
                let message = format!(
                    "The {} {waits} for approval{beside}. Take {it} over with `rehearsal accept {}`.",
                    snapshot.what, self.id
                );
                (Status::Pending, "snapshot_pending", message)
            });
        let torn = self
            .tear_downs
            .iter()
            .filter(|torn| !torn.ok)
            .map(|torn| (Status::Environment, "tear_down", tear_down_message(torn)));
        let leaks = self
            .leaks
            .iter()
            .map(|leak| (Status::Leak, "leak", leak_message(leak)));
        pending.chain(torn).chain(leaks).collect()
    }
}

fn torn_down(what: &str, ok: bool, detail: &Option<String>) -> TornDown {
    TornDown {
        what: what.to_owned(),
        ok,
        detail: detail.clone(),
    }
}

fn leak(file: &str, credential: &str, form: &str) -> FoundLeak {
    FoundLeak {
        file: file.to_owned(),
        credential: credential.to_owned(),
        form: form.to_owned(),
    }
}

fn leak_message(leak: &FoundLeak) -> String {
    format!(
        "A value of {} was found in {} ({}).",
        leak.credential, leak.file, leak.form
    )
}

fn tear_down_message(torn: &TornDown) -> String {
    match &torn.detail {
        Some(detail) => format!("Tear-down of {} failed: {detail}", torn.what),
        None => format!("Tear-down of {} failed.", torn.what),
    }
}
