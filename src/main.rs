//! The program: the guard's hidden command first, then the command line.

use std::process::ExitCode;

use rehearsal::system::{guard, hardening};

fn main() -> ExitCode {
    if let Some(code) = guard::run_if_asked(std::env::args_os().skip(1)) {
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    rehearsal::cli::say_panics_without_their_words();
    hardening::keep_memory_private();
    rehearsal::network::install_crypto();
    ExitCode::from(u8::try_from(rehearsal::cli::main()).unwrap_or(u8::MAX))
}
