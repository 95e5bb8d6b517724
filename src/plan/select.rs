//! Which scenarios a command means: ids, files, folders, globs, tags, shards.

use std::path::Path;

use crate::scenario::Scenario;
use crate::text::Problem;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids, files, folders or globs as typed.
    pub names: Vec<String>,
    pub tags: Vec<String>,
    pub shard: Option<Shard>,
}

/// `1/3`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub part: usize,
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`--shard {text}` is no part of a whole; write e.g. `--shard 1/3`");
        let (part, of) = text.split_once('/').ok_or_else(bad)?;
        let (part, of) = (part.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
        if part == 0 || of == 0 || part > of { Err(bad()) } else { Ok(Self { part, of }) }
    }
}

impl Selection {
    /// Indices of the chosen scenarios. A name that chooses nothing is a problem of its own.
    pub fn choose(&self, scenarios: &[Scenario], root: &Path, cwd: &Path) -> Result<Vec<usize>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut chosen: Vec<usize> = if self.names.is_empty() {
            (0..scenarios.len()).collect()
        } else {
            let mut chosen = Vec::new();
            for name in &self.names {
                let hits: Vec<usize> = (0..scenarios.len()).filter(|i| names(name, &scenarios[*i], root, cwd)).collect();
                if hits.is_empty() {
                    problems.push(unknown(name, scenarios));
                }
                chosen.extend(hits);
            }
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        };
        chosen.retain(|i| self.tags_hold(&scenarios[*i]));
        if let Some(shard) = self.shard {
            chosen = chosen.into_iter().enumerate().filter(|(n, _)| n % shard.of == shard.part - 1).map(|(_, i)| i).collect();
        }
        if problems.is_empty() { Ok(chosen) } else { Err(problems) }
    }

    fn tags_hold(&self, scenario: &Scenario) -> bool {
        let has = |tag: &str| scenario.tags.iter().any(|t| t.value == tag);
        let (without, with): (Vec<&String>, Vec<&String>) = self.tags.iter().partition(|t| t.starts_with('!'));
        without.iter().all(|t| !has(&t[1..])) && (with.is_empty() || with.iter().any(|t| has(t)))
    }
}

/// An id, a path to the file, a folder of them, or a glob over ids.
fn names(name: &str, scenario: &Scenario, root: &Path, cwd: &Path) -> bool {
    if scenario.id == name || scenario.id.starts_with(&format!("{}/", name.trim_end_matches('/'))) {
        return true;
    }
    let path = cwd.join(name);
    let file = root.join("scenarios").join(format!("{}.yaml", scenario.id));
    if let (Ok(path), Ok(file)) = (path.canonicalize(), file.canonicalize())
        && (file == path || (path.is_dir() && file.starts_with(&path)))
    {
        return true;
    }
    name.contains(['*', '?']) && globset::Glob::new(name).is_ok_and(|g| g.compile_matcher().is_match(&scenario.id))
}

fn unknown(name: &str, scenarios: &[Scenario]) -> Problem {
    let ids: Vec<&str> = scenarios.iter().map(|s| s.id.as_str()).collect();
    let problem = Problem::error(format!("no scenario is called `{name}`"));
    match crate::text::nearest(name, &ids) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if ids.is_empty() => problem.help("this suite has no scenarios"),
        None => problem.help(format!("there are: {}", ids.iter().take(8).copied().collect::<Vec<_>>().join(", "))),
    }
}
