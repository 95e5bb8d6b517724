//! `rehearsal draft`: a scenario out of free text. Credentials in it go to the vault and nowhere else.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::secrets::Vault;
use crate::serve::{Handed, Words, take};

use super::args::DraftArgs;
use super::exit;
use super::say::Say;

/// More is no request any more.
const LONGEST: u64 = 64 << 10;

pub fn draft(args: &DraftArgs, say: &Say) -> i32 {
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin()
        .lock()
        .take(LONGEST + 1)
        .read_to_string(&mut text);
    if read.as_ref().is_ok_and(|n| *n as u64 > LONGEST) {
        let why = format!(
            "the text is longer than {} KiB; say it in fewer words",
            LONGEST >> 10
        );
        return say.fail(exit::USAGE, &why);
    }
    if read.is_err() || text.trim().is_empty() {
        return say.fail(
            exit::USAGE,
            "write what you want on standard input, as text",
        );
    }
    let taken = match Words::built_in().and_then(|words| take(&text, &words)) {
        Ok(taken) => taken,
        Err(error) => return say.fail(exit::USAGE, &error.to_string()),
    };
    // Before anything is kept: a text without a site is no request.
    let Some(yaml) = taken.scenario() else {
        return say.fail(exit::USAGE, "the text names no site; add its address");
    };
    // And a draft that can't be written must not leave a credential behind.
    let mut draft = match args.out.as_deref().map(Draft::create).transpose() {
        Ok(draft) => draft,
        Err(why) => return say.fail(exit::ENVIRONMENT, &why),
    };
    if let Some(handed) = &taken.credential
        && let Err((code, why)) = keep(handed)
    {
        if let Some(draft) = draft {
            draft.remove();
        }
        return say.fail(code, &why);
    }
    match &mut draft {
        None => say.line(yaml.trim_end()),
        Some(draft) => {
            if let Err(why) = draft.write(&yaml) {
                return say.fail(exit::ENVIRONMENT, &why);
            }
        }
    }
    exit::PASSED
}

/// The file a draft is written to; it was not there before.
struct Draft<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> Draft<'a> {
    fn create(path: &'a Path) -> Result<Self, String> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path, file })
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| format!("{}: {e}", self.path.display()))
    }

    /// Nothing was drafted.
    fn remove(self) {
        let _ = std::fs::remove_file(self.path);
    }
}

/// Kept after a yes at the terminal. Without one nothing is kept and nothing is drafted.
fn keep(handed: &Handed) -> Result<(), (i32, String)> {
    let by_hand = format!(
        "rehearsal credentials add {} --origin {}",
        handed.name, handed.origin
    );
    let terminal = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty");
    let Ok(mut terminal) = terminal else {
        return Err((
            exit::REFUSED,
            format!(
                "the text holds a credential, and no terminal is there to confirm that it is kept; take it out of the text and run `{by_hand}`"
            ),
        ));
    };
    let environment = |why: String| (exit::ENVIRONMENT, why);
    write!(
        terminal,
        "Keep a credential for {} in the vault as {}? [y/N] ",
        handed.origin, handed.name
    )
    .map_err(|e| environment(e.to_string()))?;
    let mut line = String::new();
    std::io::BufReader::new(&terminal)
        .read_line(&mut line)
        .map_err(|e| environment(e.to_string()))?;
    if !matches!(line.trim(), "y" | "Y" | "yes" | "s" | "sì" | "si") {
        return Err((exit::REFUSED, "nothing was kept and nothing drafted".into()));
    }
    let vault = Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from))
        .ok_or_else(|| environment("there is no place for a vault: set HOME".into()))?;
    handed.keep(&vault).map_err(|e| environment(e.to_string()))
}
