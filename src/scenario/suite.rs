//! A suite: the folder, all its files, and what can be said only with all of them at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lexicon::Lexicons;
use super::model::*;
use super::vars::{self, Vars};
use super::{bind, yaml};
use crate::text::glob::Glob;
use crate::text::{Level, Problem, Source, Span, Spanned, nearest, visible};

/// Everything below a suite's root. Scenarios and fixtures with an error in them are left out of
/// the lists; the error is in `problems`.
#[derive(Debug, Clone)]
pub struct Suite {
    pub root: PathBuf,
    /// Sorted by id.
    pub scenarios: Vec<Scenario>,
    pub fixtures: BTreeMap<String, Fixture>,
    pub lexicons: Lexicons,
    /// By file, in the order of each file; warnings too.
    pub problems: Vec<Problem>,
    /// Ids of all scenario files, sound or not.
    pub ids: BTreeSet<String>,
}

/// Which scenarios are asked for. Empty lists ask for all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids, globs over ids, or paths of files or folders.
    pub names: Vec<String>,
    /// `smoke`, or `!slow` for those without the tag. All must fit.
    pub tags: Vec<String>,
}

/// The nearest folder upwards that holds `rehearsal.toml` or `scenarios/`.
pub fn find_root(from: &Path) -> Option<PathBuf> {
    let start = if from.is_file() { from.parent()? } else { from };
    start
        .ancestors()
        .find(|folder| folder.join("rehearsal.toml").is_file() || folder.join("scenarios").is_dir())
        .map(Path::to_path_buf)
}

impl Suite {
    pub fn load(root: &Path) -> Suite {
        let mut suite = Suite {
            root: root.to_path_buf(),
            scenarios: Vec::new(),
            fixtures: BTreeMap::new(),
            lexicons: Lexicons::default(),
            problems: Vec::new(),
            ids: BTreeSet::new(),
        };
        for (path, name) in suite.files("lexicon", false) {
            if let Some(source) = suite.source(&path) {
                let problems = suite.lexicons.add(&source, &name);
                suite.problems.extend(problems);
            }
        }
        let mut all_fixtures = BTreeSet::new();
        for (path, name) in suite.files("fixtures", false) {
            all_fixtures.insert(name.clone());
            let Some(source) = suite.source(&path) else {
                continue;
            };
            let (fixture, problems) = bind::read_fixture(source, &name, &suite.lexicons);
            suite.problems.extend(problems);
            suite.fixtures.extend(fixture.map(|f| (name, f)));
        }
        for (path, id) in suite.files("scenarios", true) {
            suite.ids.insert(id.clone());
            let Some(source) = suite.source(&path) else {
                continue;
            };
            let (scenario, problems) = bind::read_scenario(source, &id, &suite.lexicons);
            suite.problems.extend(problems);
            suite.scenarios.extend(scenario);
        }
        suite.scenarios.sort_by(|a, b| a.id.cmp(&b.id));
        suite.cross_check(&all_fixtures);
        suite.drop_unsound();
        suite
    }

    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|p| p.level == Level::Error)
    }

    /// The scenarios asked for, and a problem for each name that fits none.
    pub fn select(&self, selection: &Selection) -> (Vec<&Scenario>, Vec<Problem>) {
        let mut problems = Vec::new();
        for name in &selection.names {
            if !self.ids.iter().any(|id| self.fits(name, id)) {
                let ids = self.ids.iter().map(String::as_str);
                let help = match nearest(name, ids) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "ids are paths below scenarios/ without the ending; `*` and `**` are allowed".into(),
                };
                problems.push(
                    Problem::error(format!("no scenario is called `{}`", visible(name))).help(help),
                );
            }
        }
        let chosen = self.scenarios.iter().filter(|s| {
            let named =
                selection.names.is_empty() || selection.names.iter().any(|n| self.fits(n, &s.id));
            named && selection.tags.iter().all(|t| tag_fits(t, s))
        });
        (chosen.collect(), problems)
    }

    fn fits(&self, name: &str, id: &str) -> bool {
        let plain = name.trim_start_matches("./").trim_end_matches('/');
        if plain == id || Glob::new(plain).matches(id) {
            return true;
        }
        // A path as the shell completes it, from here or from the suite's root.
        let file = self.root.join("scenarios").join(id);
        [PathBuf::from(plain), self.root.join(plain)]
            .iter()
            .any(|path| {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let file = std::path::absolute(&file).unwrap_or_else(|_| file.clone());
                path.is_dir() && file.starts_with(&path)
                    || ["yaml", "yml"]
                        .iter()
                        .any(|e| with_ending(&file, e) == path)
            })
    }

    /// `(path, name)` of the YAML files of a folder, sorted.
    fn files(&mut self, folder: &str, deep: bool) -> Vec<(PathBuf, String)> {
        let base = self.root.join(folder);
        let mut found = Vec::new();
        let mut folders = vec![base.clone()];
        while let Some(dir) = folders.pop() {
            let entries = match std::fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => {
                    self.problems.push(Problem::error(format!(
                        "{} can't be read: {e}",
                        self.shown(&dir).display()
                    )));
                    continue;
                }
            };
            for path in entries.flatten().map(|e| e.path()) {
                // A link to a folder could lead round in a circle.
                let is_folder = path.is_dir() && !path.is_symlink();
                let ending = path.extension().and_then(|e| e.to_str());
                if is_folder && deep {
                    folders.push(path);
                } else if ending == Some("yml") {
                    let problem =
                        Problem::warning(format!("{} is not read", self.shown(&path).display()));
                    self.problems
                        .push(problem.help("name it with the ending .yaml"));
                } else if ending == Some("yaml") && path.is_file() {
                    let below = path.strip_prefix(&base).unwrap_or(&path).with_extension("");
                    let parts: Vec<_> = below.iter().map(|p| p.to_string_lossy()).collect();
                    found.push((path, parts.join("/")));
                }
            }
        }
        found.sort_by(|a, b| a.1.cmp(&b.1));
        found
    }

    fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }

    fn source(&mut self, path: &Path) -> Option<Arc<Source>> {
        match yaml::load(path, &self.shown(path)) {
            Ok(source) => Some(source),
            Err(problem) => {
                self.problems.push(*problem);
                None
            }
        }
    }

    /// What has an error in its file takes no further part.
    fn drop_unsound(&mut self) {
        let bad: BTreeSet<PathBuf> = self
            .problems
            .iter()
            .filter(|p| p.level == Level::Error)
            .filter_map(|p| Some(p.place.as_ref()?.0.path.clone()))
            .collect();
        self.scenarios.retain(|s| !bad.contains(&s.source.path));
        self.fixtures.retain(|_, f| !bad.contains(&f.source.path));
    }

    // ---- checks across files ---------------------------------------------------------------

    fn cross_check(&mut self, all_fixtures: &BTreeSet<String>) {
        let mut problems = Vec::new();
        let trial = Vars {
            run_id: "run".into(),
            overrides: BTreeMap::new(),
        };
        for s in &self.scenarios {
            for name in &s.fixtures {
                self.fixture_named(&mut problems, all_fixtures, &s.source, name);
            }
            self.uses(&mut problems, all_fixtures, &s.source, &s.steps);
            if let Err(found) = vars::bind(s, &trial) {
                problems.extend(found);
            }
        }
        for fixture in self.fixtures.values() {
            let FixtureKind::Flow(flow) = &fixture.kind else {
                continue;
            };
            self.uses(&mut problems, all_fixtures, &fixture.source, &flow.steps);
            self.uses(&mut problems, all_fixtures, &fixture.source, &flow.after);
            if let Err(found) = vars::bind_flow(flow, &fixture.source, &BTreeMap::new(), &trial) {
                problems.extend(found);
            }
            self.cycle(&mut problems, fixture);
        }
        self.problems.extend(problems);
        self.problems.sort_by(|a, b| key_of(a).cmp(&key_of(b)));
    }

    fn fixture_named(
        &self,
        problems: &mut Vec<Problem>,
        all: &BTreeSet<String>,
        source: &Arc<Source>,
        name: &Spanned<String>,
    ) {
        if all.contains(&name.value) {
            return;
        }
        let help = match nearest(name, all.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add fixtures/{}.yaml to the suite", name.value),
        };
        let problem = Problem::error(format!("there is no fixture `{}`", visible(name)));
        problems.push(problem.at(source, name.span).help(help));
    }

    /// Flows used in steps: they exist, are flows, and get only variables they declare.
    fn uses(
        &self,
        problems: &mut Vec<Problem>,
        all: &BTreeSet<String>,
        source: &Arc<Source>,
        steps: &[Step],
    ) {
        for step in steps {
            let Act::Use { flow, vars } = &step.act else {
                continue;
            };
            let name = Spanned::new(flow.clone(), step.span);
            let fixture = match self.fixtures.get(flow) {
                Some(fixture) => fixture,
                None => {
                    self.fixture_named(problems, all, source, &name);
                    continue;
                }
            };
            let FixtureKind::Flow(flow) = &fixture.kind else {
                let problem = Problem::error(format!("`{}` is a server, not a flow", name.value))
                    .at(source, step.span);
                problems
                    .push(problem.help("name it under `fixtures`; `use` runs the steps of a flow"));
                continue;
            };
            for var in vars.keys().filter(|v| !flow.vars.contains_key(*v)) {
                let help = match nearest(var, flow.vars.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!(
                        "declare it in fixtures/{}.yaml: vars: {{ {var}: … }}",
                        name.value
                    ),
                };
                let problem = Problem::error(format!(
                    "the flow `{}` has no variable `{}`",
                    name.value,
                    visible(var)
                ));
                problems.push(problem.at(source, step.span).help(help));
            }
        }
    }

    /// A flow that comes back to itself would never end. Reported once, at the flow of the circle
    /// that comes first by name.
    fn cycle(&self, problems: &mut Vec<Problem>, fixture: &Fixture) {
        let mut paths = vec![vec![fixture.name.clone()]];
        let mut seen = BTreeSet::new();
        while let Some(path) = paths.pop() {
            let Some(last) = path.last().and_then(|n| self.fixtures.get(n)) else {
                continue;
            };
            for (name, span) in flows_of(last) {
                if name == fixture.name && path.iter().all(|p| *p >= fixture.name) {
                    let shown = path
                        .iter()
                        .chain([&name])
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(" → ");
                    let problem =
                        Problem::error(format!("these flows use each other in a circle: {shown}"));
                    problems.push(problem.at(&last.source, span).help("take one `use` out"));
                    return;
                }
                if seen.insert(name.clone()) {
                    paths.push(path.iter().cloned().chain([name]).collect());
                }
            }
        }
    }
}

fn flows_of(fixture: &Fixture) -> Vec<(String, Span)> {
    let FixtureKind::Flow(flow) = &fixture.kind else {
        return Vec::new();
    };
    flow.steps
        .iter()
        .chain(&flow.after)
        .filter_map(|s| match &s.act {
            Act::Use { flow, .. } => Some((flow.clone(), s.span)),
            _ => None,
        })
        .collect()
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}.{ending}", file.display()))
}

fn tag_fits(tag: &str, scenario: &Scenario) -> bool {
    match tag.strip_prefix('!') {
        Some(tag) => scenario.tags.iter().all(|t| t.value != tag),
        None => scenario.tags.iter().any(|t| t.value == tag),
    }
}

fn key_of(problem: &Problem) -> (Option<&Path>, Option<Span>) {
    match &problem.place {
        Some((source, span)) => (Some(&source.path), Some(*span)),
        None => (None, None),
    }
}
