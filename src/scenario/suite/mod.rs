//! A suite: the folder, all its files, and what can be said only with all of them at hand.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lexicon::Lexicons;
use super::model::*;
use super::{bind, yaml};
use crate::text::glob::Glob;
use crate::text::{Level, Problem, Source, Span, nearest, visible};

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
        .find(|folder| {
            let settings = folder.join("rehearsal.toml");
            // Also a link that leads nowhere: the suite is here, and its settings can't be read.
            settings.is_file() || settings.is_symlink() || folder.join("scenarios").is_dir()
        })
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
        let empty = |names: &[String]| names.iter().any(|n| n.trim_start_matches('!').is_empty());
        if empty(&selection.names) || empty(&selection.tags) {
            // All of them would be meant where a script's variable is unset.
            let problem = Problem::error("an empty name or tag selects nothing");
            problems.push(problem.help("leave it out to select all; is a variable unset?"));
            return (Vec::new(), problems);
        }
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
        let folder = id
            .strip_prefix(plain)
            .is_some_and(|rest| rest.starts_with('/'));
        if plain == id || folder || Glob::new(plain).matches(id) {
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
                } else if path.is_dir() {
                    if path.is_symlink() && deep {
                        let shown = self.shown(&path);
                        let problem = Problem::warning(format!(
                            "{} is a link to a folder and is not read",
                            shown.display()
                        ));
                        self.problems
                            .push(problem.help("put the folder itself there"));
                    }
                } else if ending == Some("yaml") {
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

    /// What has an error in its file takes no further part, nor does what builds on it: nothing true
    /// can be said of a scenario whose flow can't be read.
    fn drop_unsound(&mut self) {
        let bad: BTreeSet<PathBuf> = self
            .problems
            .iter()
            .filter(|p| p.level == Level::Error)
            .filter_map(|p| Some(p.place.as_ref()?.0.path.clone()))
            .collect();
        self.scenarios.retain(|s| !bad.contains(&s.source.path));
        self.fixtures.retain(|_, f| !bad.contains(&f.source.path));
        loop {
            let known: BTreeSet<String> = self.fixtures.keys().cloned().collect();
            let whole =
                |steps: &[Step]| check::flows_in(steps).all(|(flow, _)| known.contains(flow));
            self.fixtures.retain(|_, fixture| match &fixture.kind {
                FixtureKind::Flow(flow) => whole(&flow.steps) && whole(&flow.after),
                FixtureKind::Server(_) => true,
            });
            self.scenarios.retain(|scenario| {
                let fixtures = &scenario.fixtures;
                whole(&scenario.steps) && fixtures.iter().all(|f| known.contains(&f.value))
            });
            if self.fixtures.len() == known.len() {
                return;
            }
        }
    }
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
