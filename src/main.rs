//! The program: the guard's hidden command first, then everything else.

use std::process::ExitCode;

use rehearsal::system::{guard, hardening};

fn main() -> ExitCode {
    if let Some(code) = guard::run_if_asked(std::env::args_os().skip(1)) {
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    for failure in hardening::keep_memory_private() {
        eprintln!("rehearsal: {failure}");
    }
    ExitCode::SUCCESS
}
