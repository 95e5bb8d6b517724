//! Which driver and browser: found on PATH or named by setting, with their versions.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::error::DriverError;
use crate::system::{hardening, which};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BrowserKind {
    #[default]
    Chromium,
    Firefox,
}

impl BrowserKind {
    pub fn name(self) -> &'static str {
        match self {
            BrowserKind::Chromium => "Chromium",
            BrowserKind::Firefox => "Firefox",
        }
    }

    fn drivers(self) -> &'static [&'static str] {
        match self {
            BrowserKind::Chromium => &["chromedriver"],
            BrowserKind::Firefox => &["geckodriver"],
        }
    }

    fn browsers(self) -> &'static [&'static str] {
        match self {
            BrowserKind::Chromium => &["chromium", "google-chrome", "google-chrome-stable"],
            BrowserKind::Firefox => &["firefox-esr", "firefox"],
        }
    }

    fn remedy(self, program: &str) -> String {
        match (self, program) {
            (BrowserKind::Chromium, _) => {
                "on Debian: apt-get install chromium chromium-driver".to_owned()
            }
            (BrowserKind::Firefox, "geckodriver") => {
                "install it with: cargo install geckodriver --locked".to_owned()
            }
            (BrowserKind::Firefox, _) => "on Debian: apt-get install firefox-esr".to_owned(),
        }
    }
}

/// Chromium's sandbox: on unless root, where it can't start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sandbox {
    #[default]
    Auto,
    On,
    Off,
}

impl Sandbox {
    /// Is the browser started without its sandbox? [`Found::notes`] says so to the reader.
    pub fn is_off(self) -> bool {
        match self {
            Sandbox::Auto => hardening::is_root(),
            Sandbox::On => false,
            Sandbox::Off => true,
        }
    }
}

/// A driver and a browser that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub kind: BrowserKind,
    pub driver: PathBuf,
    pub browser: PathBuf,
}

/// Looks for both; settings win over PATH.
pub fn find(
    kind: BrowserKind,
    driver: Option<&Path>,
    browser: Option<&Path>,
) -> Result<Found, DriverError> {
    // Absolute, because the driver runs in a folder of its own.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    Ok(Found {
        kind,
        driver: absolute(locate(kind, driver, kind.drivers())?),
        browser: absolute(locate(kind, browser, kind.browsers())?),
    })
}

fn locate(kind: BrowserKind, given: Option<&Path>, names: &[&str]) -> Result<PathBuf, DriverError> {
    let program = names.first().copied().unwrap_or_default();
    match given {
        Some(path) => which(path).ok_or_else(|| DriverError::Missing {
            program: program.to_owned(),
            looked: format!(" at {} (named by setting)", path.display()),
            remedy: format!("correct the setting, or {}", kind.remedy(program)),
        }),
        None => names
            .iter()
            .find_map(which)
            .ok_or_else(|| DriverError::Missing {
                program: program.to_owned(),
                looked: " on PATH".to_owned(),
                remedy: kind.remedy(program),
            }),
    }
}

/// Versions of a pair, as both programs print them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    pub driver: String,
    pub browser: String,
}

impl Found {
    /// Asks both programs. Starts two short-lived processes; for `doctor`, and for the message
    /// when a session could not be made.
    pub async fn versions(&self) -> Result<Versions, DriverError> {
        let (driver, browser) = tokio::join!(version(&self.driver), version(&self.browser));
        Ok(Versions {
            driver: driver?,
            browser: browser?,
        })
    }

    /// Case 106: one line when the two don't belong together. Firefox's numbers are unrelated.
    pub fn compare(&self, versions: &Versions) -> Result<(), DriverError> {
        if self.kind == BrowserKind::Firefox || major(&versions.driver) == major(&versions.browser)
        {
            return Ok(());
        }
        Err(DriverError::VersionMismatch {
            driver: self.driver.clone(),
            driver_version: versions.driver.clone(),
            browser: self.browser.clone(),
            browser_version: versions.browser.clone(),
        })
    }

    /// What the run's header should say about how the browser is started.
    pub fn notes(&self, sandbox: Sandbox) -> Vec<String> {
        let mut notes = Vec::new();
        if self.kind == BrowserKind::Chromium && sandbox.is_off() {
            notes.push(match sandbox {
                Sandbox::Auto => {
                    "running as root: Chromium's sandbox can't start and is off".to_owned()
                }
                _ => "Chromium's sandbox is off by setting".to_owned(),
            });
        }
        if self.kind == BrowserKind::Chromium && small_shared_memory() {
            notes.push(
                "/dev/shm is small: Chromium uses temporary files instead (slower)".to_owned(),
            );
        }
        notes
    }
}

/// Chromium dies in the middle of a page with less (case 112; containers default to 64 MB).
const SHARED_MEMORY: u64 = 512 * 1024 * 1024;

/// Is there too little shared memory, or none?
pub fn small_shared_memory() -> bool {
    let mut stats = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is a C string literal and `stats` is writable; it is read only when the
    // call says it was filled.
    unsafe {
        if libc::statvfs(c"/dev/shm".as_ptr(), stats.as_mut_ptr()) != 0 {
            return true;
        }
        let stats = stats.assume_init();
        stats.f_bavail.saturating_mul(stats.f_frsize) < SHARED_MEMORY
    }
}

async fn version(program: &Path) -> Result<String, DriverError> {
    let not_started = |reason: String| DriverError::NotStarted {
        program: program.display().to_string(),
        reason,
    };
    let run = tokio::process::Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(10), run)
        .await
        .map_err(|_| not_started("no answer to --version within 10 s".to_owned()))?
        .map_err(|error| not_started(error.to_string()))?;
    number(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| not_started("its answer to --version holds no version".to_owned()))
}

/// The first word that looks like a version.
fn number(text: &str) -> Option<String> {
    text.split_ascii_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .find(|word| {
            word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()) && word.len() < 40
        })
        .map(str::to_owned)
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Found {
        Found {
            kind: BrowserKind::Chromium,
            driver: "/opt/chromedriver".into(),
            browser: "/opt/chromium".into(),
        }
    }

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(
            number("ChromeDriver 156.0.8078.114 (ea19f97-refs/branch-heads/8078@{#5})").as_deref(),
            Some("156.0.8078.114")
        );
        assert_eq!(
            number("Mozilla Firefox 153.8.0esr\n").as_deref(),
            Some("153.8.0esr")
        );
        assert_eq!(number("garbage"), None);
    }

    #[test]
    fn case_106_two_versions_give_one_clear_line() {
        let versions = |driver: &str, browser: &str| Versions {
            driver: driver.into(),
            browser: browser.into(),
        };
        assert!(pair().compare(&versions("156.0.1.2", "156.0.9.9")).is_ok());
        let said = pair()
            .compare(&versions("114.0.5735.90", "119.0.6045.105"))
            .unwrap_err()
            .to_string();
        assert!(!said.contains('\n'));
        for word in [
            "/opt/chromedriver",
            "114.0.5735.90",
            "/opt/chromium",
            "119.0.6045.105",
        ] {
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn a_missing_driver_is_said_with_its_remedy() {
        let said = find(
            BrowserKind::Chromium,
            Some(Path::new("/nowhere/chromedriver")),
            None,
        )
        .unwrap_err()
        .to_string();
        assert!(said.contains("/nowhere/chromedriver"), "{said}");
        assert!(
            said.contains("apt-get install chromium chromium-driver"),
            "{said}"
        );
    }

    #[test]
    fn case_112_a_sandbox_turned_off_is_said() {
        assert!(Sandbox::Off.is_off() && !Sandbox::On.is_off());
        assert!(pair().notes(Sandbox::Off)[0].contains("sandbox is off by setting"));
        assert!(
            pair()
                .notes(Sandbox::On)
                .iter()
                .all(|note| !note.contains("sandbox"))
        );
    }
}
