//! `rehearsal.toml`: every value optional, so that the command line and the environment can be
//! laid over it. Unknown keys are errors with their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::yaml;
use crate::text::{Problem, Source, Span, nearest, visible};

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub run: RunSettings,
    pub browser: BrowserSettings,
    pub model: ModelSettings,
    pub credentials: BTreeMap<String, crate::secrets::CredentialSettings>,
    pub network: NetworkSettings,
    pub budget: BudgetSettings,
    pub mask: Vec<MaskSettings>,
    /// Text is literal, `/…/` a pattern.
    pub volatile: Vec<String>,
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

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
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
    ("network", &["mode", "upstream", "ca_file"]),
    ("budget", &["actions", "time", "model_calls", "tokens"]),
    ("mask", &["text", "target", "as"]),
    ("volatile", &[]),
];

impl Settings {
    /// The settings of a suite; defaults where it has no `rehearsal.toml`.
    pub fn load(root: &Path) -> Result<Settings, Vec<Problem>> {
        let path = root.join("rehearsal.toml");
        if !path.exists() {
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
        let settings = toml::from_str::<Settings>(text);
        match settings {
            Ok(settings) => {
                problems.extend(settings.values(source));
                if problems.is_empty() {
                    Ok(settings)
                } else {
                    Err(problems)
                }
            }
            Err(e) => {
                problems.push(failed(e));
                Err(problems)
            }
        }
    }

    /// Values that are text in TOML and have a form of their own.
    fn values(&self, source: &Arc<Source>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = |table: &str,
                         key: &str,
                         value: &Option<String>,
                         good: &dyn Fn(&str) -> bool,
                         wanted: &str| {
            if let Some(value) = value.as_deref().filter(|v| !good(v)) {
                let problem = Problem::error(format!(
                    "{table}.{key}: `{}` is not {wanted}",
                    visible(value)
                ));
                problems.push(problem.at(source, key_span(&source.text, table, key)));
            }
        };
        let duration = |t: &str| super::bind::duration(t).is_some();
        check(
            "model",
            "timeout",
            &self.model.timeout,
            &duration,
            "a duration such as 30s",
        );
        check(
            "budget",
            "time",
            &self.budget.time,
            &duration,
            "a duration such as 120s",
        );
        check(
            "network",
            "mode",
            &self.network.mode,
            &|t| ["inspect", "tunnel"].contains(&t),
            "inspect or tunnel",
        );
        check(
            "browser",
            "viewport",
            &self.browser.viewport,
            &|t| super::parse_viewport(t).is_some(),
            "a size such as 1280x800",
        );
        for mask in &self.mask {
            check(
                "mask",
                "target",
                &mask.target,
                &|t| super::parse_target(t).is_ok(),
                "a target such as img \"Avatar\"",
            );
        }
        for mask in &self.mask {
            if mask.text.is_some() == mask.target.is_some() || mask.name.is_none() {
                let problem =
                    Problem::error("mask: an entry has either `text` or `target`, and `as`");
                problems.push(
                    problem
                        .at(source, key_span(&source.text, "mask", "as"))
                        .help("mask = [ { text = \"Example Workspace\", as = \"workspace\" } ]"),
                );
            }
        }
        problems
    }
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
