//! `rehearsal.toml`: every value optional, so that the command line and the environment can be
//! laid over it. Unknown keys are errors with their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::{emulation, yaml};
use crate::policy::Origin;
use crate::text::{Problem, Source, Span, nearest, visible};

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub run: RunSettings,
    pub browser: BrowserSettings,
    pub model: ModelTable,
    pub credentials: BTreeMap<String, crate::secrets::CredentialSettings>,
    pub network: NetworkSettings,
    pub budget: BudgetSettings,
    pub mask: Vec<MaskSettings>,
    /// Text is literal, `/…/` a pattern.
    pub volatile: Vec<String>,
    /// The file itself, to show the place of what is wrong; none: all are defaults.
    #[serde(skip)]
    source: Option<Arc<Source>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    pub jobs: Option<u32>,
    pub retries: Option<u32>,
    pub out: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct BrowserSettings {
    pub name: Option<String>,
    pub binary: Option<PathBuf>,
    pub sandbox: Option<bool>,
    pub driver: Option<PathBuf>,
    pub webdriver: Option<String>,
    pub headed: Option<bool>,
    /// `1280x800`
    pub viewport: Option<String>,
    pub locale: Option<String>,
    pub time_zone: Option<String>,
}

/// Of the room `agent`, which lays the environment over it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ModelTable {
    pub base_url: Option<String>,
    pub name: Option<String>,
    pub vision: Option<bool>,
    /// Name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// `30s`
    pub timeout: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct NetworkSettings {
    /// `inspect` or `tunnel`
    pub mode: Option<String>,
    pub upstream: Option<String>,
    pub ca_file: Option<PathBuf>,
    /// Where the proxies listen, for browsers of a remote grid.
    pub bind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct BudgetSettings {
    pub actions: Option<u32>,
    /// `120s`
    pub time: Option<String>,
    pub model_calls: Option<u32>,
    pub tokens: Option<u64>,
}

impl BudgetSettings {
    /// Durations were checked when the file was read.
    pub fn limits(&self) -> super::Budget {
        super::Budget {
            actions: self.actions,
            time: self.time.as_deref().and_then(super::bind::duration),
            model_calls: self.model_calls,
            tokens: self.tokens,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct MaskSettings {
    pub text: Option<String>,
    pub target: Option<String>,
    #[serde(rename = "as")]
    pub name: Option<String>,
}

const TABLES: &[(&str, &[&str])] = &[
    ("run", &["jobs", "retries", "out"]),
    (
        "browser",
        &[
            "name",
            "binary",
            "sandbox",
            "driver",
            "webdriver",
            "headed",
            "viewport",
            "locale",
            "time_zone",
        ],
    ),
    (
        "model",
        &["base_url", "name", "vision", "key_env", "timeout"],
    ),
    ("credentials", &["origin", "command"]),
    ("network", &["mode", "upstream", "ca_file", "bind"]),
    ("budget", &["actions", "time", "model_calls", "tokens"]),
    ("mask", &["text", "target", "as"]),
    ("volatile", &[]),
];

impl Settings {
    /// The settings of a suite; defaults where it has no `rehearsal.toml`.
    pub fn load(root: &Path) -> Result<Settings, Vec<Problem>> {
        let path = root.join("rehearsal.toml");
        // A link that leads nowhere is there, and can't be read.
        if path.symlink_metadata().is_err() {
            return Ok(Settings::default());
        }
        let source = yaml::load(&path, Path::new("rehearsal.toml")).map_err(|p| vec![*p])?;
        Self::parse(&source)
    }

    pub fn parse(source: &Arc<Source>) -> Result<Settings, Vec<Problem>> {
        let text = source.text.trim_start_matches('\u{FEFF}');
        let skipped = source.text.len() - text.len();
        let failed = |e: toml::de::Error| {
            let span = e.span().unwrap_or(0..0);
            let span = Span {
                start: span.start + skipped,
                end: span.end + skipped,
            };
            Problem::error(e.message().to_string())
                .at(source, span)
                .help("rehearsal.toml is TOML: text in quotes, tables in [brackets]")
        };
        let tree: Json = toml::from_str(text).map_err(|e| vec![failed(e)])?;
        let mut problems = unknown_keys(source, &tree);
        match toml::from_str::<Settings>(text) {
            Ok(settings) => {
                let settings = Settings {
                    source: Some(source.clone()),
                    ..settings
                };
                problems.extend(settings.values());
                if problems.is_empty() {
                    Ok(settings)
                } else {
                    Err(problems)
                }
            }
            // A key that is not known was told already.
            Err(e) if !problems.is_empty() && e.message().starts_with("unknown field") => {
                Err(problems)
            }
            Err(e) => {
                problems.push(failed(e));
                Err(problems)
            }
        }
    }

    /// The problem with the place of the key it is about, where the file has that key.
    pub fn place(&self, problem: Problem, table: &str, key: &str) -> Problem {
        match &self.source {
            Some(source) => problem.at(source, key_span(&source.text, table, key)),
            None => problem,
        }
    }

    /// The same for a key whose value may hold a password: nothing behind the key is shown.
    pub fn place_of_key(&self, problem: Problem, table: &str, key: &str) -> Problem {
        let Some(source) = &self.source else {
            return problem;
        };
        let span = key_span(&source.text, table, key);
        let shown = Source {
            path: source.path.clone(),
            text: format!("{} = …", &source.text[..span.end]),
        };
        problem.at(&Arc::new(shown), span)
    }

    /// Values that have a form of their own.
    fn values(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let (browser, network) = (&self.browser, &self.network);
        let mut check = |table: &str,
                         key: &str,
                         value: &Option<String>,
                         good: fn(&str) -> bool,
                         wanted: &str| {
            if let Some(value) = value.as_deref().filter(|v| !good(v)) {
                let value = visible(value);
                let problem = Problem::error(format!("{table}.{key}: `{value}` is not {wanted}"));
                problems.push(self.place(problem, table, key));
            }
        };
        check(
            "model",
            "timeout",
            &self.model.timeout,
            is_duration,
            "a duration such as 30s",
        );
        check(
            "budget",
            "time",
            &self.budget.time,
            is_duration,
            "a duration such as 120s",
        );
        check(
            "network",
            "mode",
            &network.mode,
            |t| ["inspect", "tunnel"].contains(&t),
            "inspect or tunnel",
        );
        check(
            "network",
            "bind",
            &network.bind,
            |t| parse_bind(t).is_some(),
            BIND_WANTED,
        );
        check(
            "browser",
            "viewport",
            &browser.viewport,
            |t| super::parse_viewport(t).is_some(),
            "a size from 200x200 to 8000x8000, such as 1280x800",
        );
        check(
            "browser",
            "locale",
            &browser.locale,
            emulation::is_locale,
            "a language tag such as en-GB",
        );
        check(
            "browser",
            "time_zone",
            &browser.time_zone,
            emulation::is_time_zone,
            "a time zone such as Europe/Rome, UTC or +05:30",
        );
        check(
            "browser",
            "webdriver",
            &browser.webdriver,
            |t| t.starts_with("http://") || t.starts_with("https://"),
            "an address such as http://127.0.0.1:4444",
        );
        if self.run.jobs == Some(0) {
            let problem = Problem::error("run.jobs: 0 would run nothing; write 1 or more");
            problems.push(self.place(problem, "run", "jobs"));
        }
        for (name, credential) in &self.credentials {
            let table = format!("credentials.{name}");
            if let Some(Err(error)) = credential.origin.as_deref().map(Origin::parse) {
                let problem = Problem::error(format!("{table}.origin: {error}"));
                problems.push(self.place(problem, &table, "origin"));
            }
        }
        let masked = self.mask.iter().filter_map(|m| m.text.as_deref());
        let patterns = masked.map(|text| ("mask", text));
        let patterns = patterns.chain(self.volatile.iter().map(|t| ("volatile", t.as_str())));
        for (key, text) in patterns {
            if let Err(unfit) = super::parse_pattern(text) {
                let message = format!("{key}: `{}`: {}", visible(text), unfit.message);
                let problem = Problem::error(message).help(unfit.help);
                problems.push(self.place(problem, key, text));
            }
        }
        for mask in &self.mask {
            if let Some(target) = &mask.target
                && super::parse_target(target).is_err()
            {
                let message = format!(
                    "mask.target: `{}` is not a target such as img \"Avatar\"",
                    visible(target)
                );
                problems.push(self.place(Problem::error(message), "mask", target));
            }
            if mask.text.is_some() == mask.target.is_some() || mask.name.is_none() {
                let problem =
                    Problem::error("mask: an entry has either `text` or `target`, and `as`")
                        .help("mask = [ { text = \"Example Workspace\", as = \"workspace\" } ]");
                problems.push(self.place(problem, "mask", "as"));
            }
        }
        problems
    }
}

fn is_duration(text: &str) -> bool {
    super::parse_duration(text).is_some_and(|d| !d.is_zero())
}

fn unknown_keys(source: &Arc<Source>, tree: &Json) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut unknown = |table: &str, key: &str, known: &[&str]| {
        let path = if table.is_empty() {
            String::new()
        } else {
            format!("{table}: ")
        };
        let help = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        let problem = Problem::error(format!("{path}unknown key `{}`", visible(key)));
        problems.push(
            problem
                .at(source, key_span(&source.text, table, key))
                .label("not known here")
                .help(help),
        );
    };
    let tables: Vec<&str> = TABLES.iter().map(|(n, _)| *n).collect();
    let empty = serde_json::Map::new();
    for (name, value) in tree.as_object().unwrap_or(&empty) {
        let Some((_, keys)) = TABLES.iter().find(|(n, _)| n == name) else {
            unknown("", name, &tables);
            continue;
        };
        let maps: Vec<(String, &Json)> = match (name.as_str(), value) {
            ("credentials", Json::Object(all)) => all
                .iter()
                .map(|(k, v)| (format!("credentials.{k}"), v))
                .collect(),
            (_, Json::Array(items)) => items.iter().map(|v| (name.clone(), v)).collect(),
            (_, value) => vec![(name.clone(), value)],
        };
        for (table, map) in maps {
            for key in map
                .as_object()
                .unwrap_or(&empty)
                .keys()
                .filter(|k| !keys.contains(&k.as_str()))
            {
                unknown(&table, key, keys);
            }
        }
    }
    problems
}

pub const BIND_WANTED: &str =
    "an address of this machine that browsers elsewhere reach, such as 10.0.0.5";

/// One place, so that a browser can be told it.
pub fn parse_bind(text: &str) -> Option<std::net::IpAddr> {
    let address: std::net::IpAddr = text.parse().ok()?;
    (!address.is_unspecified() && !address.is_multicast()).then_some(address)
}

/// Where a key stands: the first such word behind the head of its table.
fn key_span(text: &str, table: &str, key: &str) -> Span {
    let from = text
        .find(&format!("[{table}]"))
        .or_else(|| text.find(table))
        .unwrap_or(0);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let found = text[from..]
        .match_indices(key)
        .map(|(i, _)| from + i)
        .find(|i| !text[..*i].ends_with(is_word) && !text[i + key.len()..].starts_with(is_word));
    let start = found.unwrap_or(from);
    Span {
        start,
        end: start + if found.is_some() { key.len() } else { 0 },
    }
}
