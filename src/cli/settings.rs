//! Command line over environment over file over defaults; each value remembers where it came from.

use std::path::{Path, PathBuf};

use crate::driver::{BrowserKind, LaunchSettings, Sandbox};
use crate::scenario::{Budget, Mask, MaskWhat, NetworkMode, Pattern, Settings, Suite, find_root};
use crate::text::Problem;

use super::args::BrowserArgs;

/// A value in force and its origin, for `doctor`.
#[derive(Debug, Clone)]
pub struct From {
    pub key: &'static str,
    pub value: String,
    pub source: &'static str,
}

/// Everything the files and the environment say.
pub struct Effective {
    pub root: PathBuf,
    pub file: Settings,
    pub ci: bool,
}

impl Effective {
    /// Finds the suite and reads its settings.
    pub fn find(suite: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let here = std::env::current_dir().map_err(|e| {
            vec![Problem::error(format!(
                "the current folder can't be read: {e}"
            ))]
        })?;
        let root = match suite {
            Some(given) => {
                if !given.is_dir() {
                    return Err(vec![Problem::error(format!("--suite {}: there is no such folder", given.display()))]);
                }
                given.canonicalize().unwrap_or_else(|_| given.to_owned())
            }
            None => find_root(&here).ok_or_else(|| {
                vec![Problem::error("no suite here: neither this folder nor one above it holds `rehearsal.toml` or `scenarios/`")
                    .help("make one with `rehearsal init <address>`, or name one with `--suite DIR`")]
            })?,
        };
        Ok(Self {
            file: Settings::load(&root)?,
            root,
            ci: std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0"),
        })
    }

    /// Defaults and environment alone.
    pub fn without_suite() -> Self {
        Self {
            root: std::env::temp_dir(),
            file: Settings::default(),
            ci: false,
        }
    }

    pub fn suite(&self) -> Suite {
        Suite::load(&self.root)
    }

    fn env(name: &str) -> Option<String> {
        std::env::var(format!("REHEARSAL_{name}"))
            .ok()
            .filter(|v| !v.is_empty())
    }

    /// How to start a browser.
    pub fn launch(&self, args: &BrowserArgs) -> Result<(LaunchSettings, Option<String>), Problem> {
        let browser = &self.file.browser;
        let name = args
            .browser
            .clone()
            .or_else(|| Self::env("BROWSER"))
            .or_else(|| browser.name.clone())
            .unwrap_or_else(|| "chromium".into());
        let kind = match name.as_str() {
            "chromium" | "chrome" => BrowserKind::Chromium,
            "firefox" => BrowserKind::Firefox,
            other => {
                return Err(
                    Problem::error(format!("`{other}` is no browser this tool drives"))
                        .help("write `chromium` or `firefox`"),
                );
            }
        };
        let headed = args.headed
            || Self::env("HEADED").is_some_and(|v| v == "true" || v == "1")
            || browser.headed.unwrap_or(false);
        let settings = LaunchSettings {
            kind,
            driver: Self::env("DRIVER")
                .map(PathBuf::from)
                .or_else(|| browser.driver.clone()),
            browser: Self::env("BINARY")
                .map(PathBuf::from)
                .or_else(|| browser.binary.clone()),
            sandbox: match browser.sandbox {
                Some(true) => Sandbox::On,
                Some(false) => Sandbox::Off,
                None => Sandbox::Auto,
            },
            headed,
            viewport: self.viewport(),
            ..LaunchSettings::default()
        };
        let webdriver = args
            .webdriver
            .clone()
            .or_else(|| Self::env("WEBDRIVER"))
            .or_else(|| browser.webdriver.clone());
        Ok((settings, webdriver))
    }

    pub fn viewport(&self) -> (u32, u32) {
        self.file
            .browser
            .viewport
            .as_deref()
            .and_then(crate::scenario::parse_viewport)
            .map_or((1280, 800), |v| (v.width, v.height))
    }

    pub fn jobs(&self, given: Option<u32>) -> u32 {
        given
            .or_else(|| Self::env("JOBS")?.parse().ok())
            .or(self.file.run.jobs)
            .unwrap_or(1)
            .max(1)
    }

    pub fn retries(&self, given: Option<u32>) -> u32 {
        given
            .or_else(|| Self::env("RETRIES")?.parse().ok())
            .or(self.file.run.retries)
            .unwrap_or(0)
    }

    /// A folder from the command line is meant from here, one from the file from the suite.
    pub fn out(&self, given: Option<&Path>) -> PathBuf {
        given
            .map(Path::to_owned)
            .or_else(|| Self::env("OUT").map(PathBuf::from))
            .or_else(|| self.file.run.out.as_ref().map(|out| self.root.join(out)))
            .unwrap_or_else(|| self.root.join("runs"))
    }

    pub fn network(&self) -> NetworkMode {
        match self.file.network.mode.as_deref() {
            Some("tunnel") => NetworkMode::Tunnel,
            _ => NetworkMode::Inspect,
        }
    }

    /// Limits of the settings, where a scenario sets none of its own.
    pub fn fill_budget(&self, budget: &mut Budget) {
        let file = &self.file.budget;
        budget.actions = budget.actions.or(file.actions);
        budget.model_calls = budget.model_calls.or(file.model_calls);
        budget.tokens = budget.tokens.or(file.tokens);
        // Checked when the file was read.
        budget.time = budget
            .time
            .or_else(|| crate::scenario::parse_duration(file.time.as_deref()?));
    }

    /// Masks of the settings; each was checked when the file was read.
    pub fn masks(&self) -> Vec<Mask> {
        self.file
            .mask
            .iter()
            .filter_map(|m| {
                let what = match (&m.text, &m.target) {
                    (Some(text), _) => MaskWhat::Text(pattern(text)),
                    (None, Some(target)) => {
                        MaskWhat::Target(crate::scenario::parse_target(target).ok()?)
                    }
                    (None, None) => return None,
                };
                Some(Mask {
                    what,
                    name: m.name.clone().unwrap_or_else(|| "masked".into()),
                    span: Default::default(),
                })
            })
            .collect()
    }

    pub fn volatile(&self) -> Vec<Pattern> {
        self.file
            .volatile
            .iter()
            .map(|text| pattern(text))
            .collect()
    }

    /// The values in force, with their sources.
    pub fn shown(&self) -> Vec<From> {
        let pick = |key: &'static str, env: &str, file: Option<String>, default: &str| match (
            Self::env(env),
            file,
        ) {
            (Some(value), _) => From {
                key,
                value,
                source: "environment",
            },
            (None, Some(value)) => From {
                key,
                value,
                source: "rehearsal.toml",
            },
            (None, None) => From {
                key,
                value: default.to_owned(),
                source: "default",
            },
        };
        let (run, browser, network) = (&self.file.run, &self.file.browser, &self.file.network);
        vec![
            pick("run.jobs", "JOBS", run.jobs.map(|n| n.to_string()), "1"),
            pick(
                "run.retries",
                "RETRIES",
                run.retries.map(|n| n.to_string()),
                "0",
            ),
            pick(
                "run.out",
                "OUT",
                run.out.as_ref().map(|p| p.display().to_string()),
                "runs",
            ),
            pick("browser.name", "BROWSER", browser.name.clone(), "chromium"),
            pick(
                "browser.driver",
                "DRIVER",
                browser.driver.as_ref().map(|p| p.display().to_string()),
                "on PATH",
            ),
            pick(
                "browser.binary",
                "BINARY",
                browser.binary.as_ref().map(|p| p.display().to_string()),
                "on PATH",
            ),
            pick(
                "browser.webdriver",
                "WEBDRIVER",
                browser.webdriver.clone(),
                "none: a driver is started",
            ),
            pick(
                "browser.headed",
                "HEADED",
                browser.headed.map(|h| h.to_string()),
                "false",
            ),
            pick(
                "browser.viewport",
                "VIEWPORT",
                browser.viewport.clone(),
                "1280x800",
            ),
            pick(
                "network.mode",
                "NETWORK_MODE",
                network.mode.clone(),
                "inspect",
            ),
            pick(
                "network.upstream",
                "UPSTREAM",
                network.upstream.clone(),
                "none",
            ),
        ]
    }
}

/// Text is literal, `/…/` a pattern.
fn pattern(text: &str) -> Pattern {
    match text.strip_prefix('/').and_then(|t| t.strip_suffix('/')) {
        Some(inside) if !inside.is_empty() => Pattern::Regex(inside.to_owned()),
        _ => Pattern::Literal(text.to_owned()),
    }
}
