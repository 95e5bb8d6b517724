//! Command line over environment over file over defaults; each value remembers where it came from.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use crate::agent::Base;
use crate::driver::{BrowserKind, LaunchSettings, Sandbox};
use crate::network::{Trust, UpstreamProxy};
use crate::scenario::{
    BIND_WANTED, Budget, Mask, MaskWhat, NetworkMode, Pattern, Settings, Suite, Viewport,
    find_root, parse_bind, parse_pattern, parse_viewport,
};
use crate::text::{Problem, visible};

use super::args::BrowserArgs;

/// Reached by no other machine.
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A value in force and its origin, for `doctor`.
#[derive(Debug, Clone)]
pub struct From {
    pub key: &'static str,
    pub value: String,
    pub source: &'static str,
}

/// Values of the environment that have a form of their own, read once: one that can't be read is an
/// error like one in a file.
#[derive(Debug, Clone, Default)]
struct Environment {
    jobs: Option<u32>,
    retries: Option<u32>,
    headed: Option<bool>,
    viewport: Option<Viewport>,
    network: Option<NetworkMode>,
    bind: Option<IpAddr>,
}

impl Environment {
    fn read(env: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let read = Self {
            jobs: form(&env, &mut problems, "JOBS", "a whole number from 1", |t| {
                t.parse().ok().filter(|n| *n > 0)
            }),
            retries: form(&env, &mut problems, "RETRIES", "a whole number", |t| {
                t.parse().ok()
            }),
            headed: form(
                &env,
                &mut problems,
                "HEADED",
                "true or false",
                |t| match t {
                    "true" | "1" => Some(true),
                    "false" | "0" => Some(false),
                    _ => None,
                },
            ),
            viewport: form(
                &env,
                &mut problems,
                "VIEWPORT",
                "a size from 200x200 to 8000x8000, such as 1280x800",
                parse_viewport,
            ),
            network: form(
                &env,
                &mut problems,
                "NETWORK_MODE",
                "inspect or tunnel",
                network_mode,
            ),
            bind: form(&env, &mut problems, "BIND", BIND_WANTED, parse_bind),
        };
        match problems.is_empty() {
            true => Ok(read),
            false => Err(problems),
        }
    }
}

/// A variable's value in the form it must have; unset and empty are the same.
fn form<T>(
    env: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
    name: &str,
    wanted: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let value = env(name)?;
    let found = read(&value);
    if found.is_none() {
        let value = visible(&value);
        let message = format!("REHEARSAL_{name}: `{value}` is not {wanted}");
        problems.push(Problem::error(message));
    }
    found
}

fn network_mode(text: &str) -> Option<NetworkMode> {
    match text {
        "inspect" => Some(NetworkMode::Inspect),
        "tunnel" => Some(NetworkMode::Tunnel),
        _ => None,
    }
}

/// Everything the files and the environment say.
pub struct Effective {
    pub root: PathBuf,
    pub file: Settings,
    pub ci: bool,
    env: Environment,
}

/// Whether this is a job of a CI service.
pub(super) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0")
}

impl Effective {
    /// Finds the suite and reads its settings.
    pub fn find(suite: Option<&Path>) -> Result<Self, Vec<Problem>> {
        Self::search(suite)?.ok_or_else(|| {
            vec![Problem::error("no suite here: neither this folder nor one above it holds `rehearsal.toml` or `scenarios/`")
                .help("make one with `rehearsal init <address>`, or name one with `--suite DIR`")]
        })
    }

    /// The same for commands that can do without a suite: `None` where there is none. One that is
    /// there and can't be read, or is named and isn't there, is an error for them too.
    pub fn search(suite: Option<&Path>) -> Result<Option<Self>, Vec<Problem>> {
        let here = std::env::current_dir().map_err(|e| {
            vec![Problem::error(format!(
                "the current folder can't be read: {e}"
            ))]
        })?;
        let root = match suite {
            Some(given) if !given.is_dir() => {
                return Err(vec![Problem::error(format!(
                    "--suite {}: there is no such folder",
                    given.display()
                ))]);
            }
            Some(given) => given.canonicalize().unwrap_or_else(|_| given.to_owned()),
            None => match find_root(&here) {
                Some(root) => root,
                None => return Ok(None),
            },
        };
        let effective = Self {
            file: Settings::load(&root)?,
            root,
            ci: in_ci(),
            env: Environment::read(Self::env)?,
        };
        match effective.check() {
            problems if problems.is_empty() => Ok(Some(effective)),
            problems => Err(problems),
        }
    }

    /// Values other rooms know the form of.
    fn check(&self) -> Vec<Problem> {
        let file = &self.file;
        let address = file.model.base_url.as_deref().and_then(|address| {
            let key = file.model.key_env.as_deref().unwrap_or("OPENAI_API_KEY");
            let error = Base::parse(address, key).err()?;
            let problem = Problem::error(format!("model.base_url: {error}"));
            Some(file.place_of_key(problem, "model", "base_url"))
        });
        let certificates = file.network.ca_file.as_deref().and_then(|path| {
            let error = std::fs::metadata(self.root.join(path)).err()?;
            let problem = format!("network.ca_file: {} can't be read: {error}", path.display());
            Some(file.place(Problem::error(problem), "network", "ca_file"))
        });
        let launch = self.launch(&BrowserArgs::default()).err();
        [launch, self.upstream().err(), address, certificates]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Defaults and environment alone.
    pub fn without_suite() -> Self {
        Self {
            root: std::env::temp_dir(),
            file: Settings::default(),
            ci: false,
            env: Environment::read(Self::env).unwrap_or_default(),
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
        let here = args.browser.clone().or_else(|| Self::env("BROWSER"));
        let kind = match here.as_deref().or(browser.name.as_deref()) {
            None | Some("chromium" | "chrome") => BrowserKind::Chromium,
            Some("firefox") => BrowserKind::Firefox,
            Some(other) => {
                let other = visible(other);
                let problem = Problem::error(format!("`{other}` is no browser this tool drives"))
                    .help("write `chromium` or `firefox`");
                return Err(match here {
                    Some(_) => problem,
                    None => self.file.place(problem, "browser", "name"),
                });
            }
        };
        let headed = args.headed || self.env.headed.or(browser.headed).unwrap_or(false);
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
            proxies_at: self.bind(),
            ..LaunchSettings::default()
        };
        let webdriver = args
            .webdriver
            .clone()
            .or_else(|| Self::env("WEBDRIVER"))
            .or_else(|| browser.webdriver.clone());
        Ok((settings, webdriver))
    }

    /// Those of the system, and of `ca_file`.
    pub fn trust(&self) -> Result<Trust, Problem> {
        let wrong = |error: &dyn std::fmt::Display| {
            let problem = Problem::error(format!("network.ca_file: {error}"));
            self.file.place(problem, "network", "ca_file")
        };
        let path = self.file.network.ca_file.as_deref();
        let pem = path.map(|path| std::fs::read(self.root.join(path)));
        let pem = pem.transpose().map_err(|e| wrong(&e))?;
        Trust::system(pem.as_deref()).map_err(|e| wrong(&e))
    }

    /// Where the proxies listen.
    pub fn bind(&self) -> IpAddr {
        let file = self.file.network.bind.as_deref().and_then(parse_bind);
        self.env.bind.or(file).unwrap_or(LOCALHOST)
    }

    pub fn upstream(&self) -> Result<Option<UpstreamProxy>, Problem> {
        let here = Self::env("UPSTREAM");
        let address = here.as_deref().or(self.file.network.upstream.as_deref());
        let parsed = address.map(UpstreamProxy::parse).transpose();
        parsed.map_err(|error| match here {
            Some(_) => Problem::error(format!("REHEARSAL_UPSTREAM: {error}")),
            None => {
                let problem = Problem::error(format!("network.upstream: {error}"));
                self.file.place_of_key(problem, "network", "upstream")
            }
        })
    }

    pub fn viewport(&self) -> (u32, u32) {
        let file = self.file.browser.viewport.as_deref();
        self.env
            .viewport
            .or_else(|| parse_viewport(file?))
            .map_or((1280, 800), |v| (v.width, v.height))
    }

    pub fn jobs(&self, given: Option<u32>) -> u32 {
        given.or(self.env.jobs).or(self.file.run.jobs).unwrap_or(1)
    }

    pub fn retries(&self, given: Option<u32>) -> u32 {
        given
            .or(self.env.retries)
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
        let file = self.file.network.mode.as_deref();
        self.env
            .network
            .or_else(|| network_mode(file?))
            .unwrap_or(NetworkMode::Inspect)
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
                    (Some(text), _) => MaskWhat::Text(parse_pattern(text).ok()?),
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

    /// Patterns of the settings; each was checked when the file was read.
    pub fn volatile(&self) -> Vec<Pattern> {
        let texts = self.file.volatile.iter();
        texts.filter_map(|text| parse_pattern(text).ok()).collect()
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
            pick("network.bind", "BIND", network.bind.clone(), "127.0.0.1"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_cannot_be_read_is_an_error_and_an_empty_one_is_unset() {
        let read = |name: &'static str, value: &'static str| {
            Environment::read(move |asked| (asked == name).then(|| value.to_owned()))
        };
        for (name, bad) in [
            ("JOBS", "abc"),
            ("JOBS", "0"),
            ("RETRIES", "-1"),
            ("HEADED", "maybe"),
            ("VIEWPORT", "1x1"),
            ("NETWORK_MODE", "off"),
            ("BIND", "0.0.0.0"),
        ] {
            let problems = read(name, bad).expect_err(bad);
            let said = &problems[0].message;
            assert!(
                said.contains(&format!("REHEARSAL_{name}")) && said.contains(bad),
                "{said}"
            );
        }
        assert_eq!(read("JOBS", "3").expect("fine").jobs, Some(3));
        assert_eq!(read("HEADED", "0").expect("fine").headed, Some(false));
        let viewport = read("VIEWPORT", "800x600").expect("fine").viewport;
        assert_eq!(viewport.map(|v| v.width), Some(800));
    }
}
