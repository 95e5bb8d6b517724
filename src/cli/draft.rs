//! `rehearsal draft`: a scenario out of free text. Credentials in it go to the vault and nowhere else.

use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

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
        .take(LONGEST)
        .read_to_string(&mut text);
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
    if let Some(handed) = &taken.credential
        && let Err((code, why)) = keep(handed)
    {
        return say.fail(code, &why);
    }
    match &args.out {
        None => say.line(yaml.trim_end()),
        Some(path) => {
            let written = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)
                .and_then(|mut file| file.write_all(yaml.as_bytes()));
            if let Err(error) = written {
                let why = format!("{}: {error}", path.display());
                return say.fail(exit::ENVIRONMENT, &why);
            }
        }
    }
    exit::PASSED
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
