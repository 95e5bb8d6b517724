//! Arguments in, exit code out. One file per command; layering of settings in [`settings`].

mod accept;
mod args;
mod check;
mod credentials;
mod doctor;
mod draft;
mod examples;
mod init;
mod known;
mod logging;
mod look;
mod mcp;
mod remote;
mod replay;
mod review;
mod review_web;
mod run;
mod say;
mod scan;
mod schema;
mod serve;
mod settings;

use std::io::Write;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};

/// Exit codes of the language document.
pub use crate::report::exit;

/// What is wrong with a `credentials` command, in words of ours alone: what stands there too much may
/// be a secret, and is not said again (R12).
fn misread_credentials(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let what = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        // Arguments as we declare them, not as they were written.
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing))) => {
            format!("it lacks {}", missing.join(" and "))
        }
        (ErrorKind::UnknownArgument, _) => "it has an argument too many".to_owned(),
        (ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand, _) => {
            "it must go on with add, list, remove, rotate or test".to_owned()
        }
        _ => "it can't be read as it stands".to_owned(),
    };
    format!(
        "error: this `rehearsal credentials` command can't be run: {what}\n  \
         = help: no value is ever an argument: user name and password are asked for without echo\n  \
         = help: `rehearsal credentials --help` shows what there is"
    )
}

/// Runs the program; the answer is its exit code.
pub fn main() -> i32 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; everything else is a usage error.
            let code = if error.use_stderr() {
                exit::USAGE
            } else {
                exit::PASSED
            };
            if error.use_stderr() && std::env::args().any(|arg| arg == "credentials") {
                // What stands there too much may be a secret: it is not said again (R12).
                let _ = writeln!(std::io::stderr(), "{}", misread_credentials(&error));
            } else {
                let _ = error.print();
            }
            return code;
        }
    };
    logging::start(cli.verbose);
    let say = say::Say::new(cli.color);
    match cli.command {
        Command::Init(args) => init::init(&args, &say),
        Command::Run(args) => match cli.broker {
            Some(broker) => with_runtime(remote::run(*args, &broker, say, cli.verbose)),
            None => with_runtime(run::run(*args, say, cli.verbose)),
        },
        _ if cli.broker.is_some() => say.fail(
            exit::USAGE,
            "--broker before the command goes with `run` only",
        ),
        Command::Check(args) => check::check(&args, &say),
        Command::Accept(args) => accept::accept(&args, &say),
        Command::Review(args) => review::review(&args, say),
        Command::Look(args) => with_runtime(look::look(*args, say)),
        Command::Replay(args) => replay::replay(&args, &say),
        Command::Credentials(args) => credentials::credentials(&args.command, &say),
        Command::Scan(args) => scan::scan(&args, &say),
        Command::Mcp(args) => with_runtime(mcp::mcp(args, say)),
        Command::Draft(args) => draft::draft(&args, &say),
        Command::Serve(args) => serve::serve(*args, say),
        Command::Schema(args) => schema::schema(&args, &say),
        Command::Doctor(args) => with_runtime(doctor::doctor(args, say)),
        Command::Completions { shell } => {
            // Written in one go: a closed pipe must not end in a panic of the generator.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "rehearsal", &mut script);
            let _ = std::io::stdout().write_all(&script);
            exit::PASSED
        }
        Command::Man => {
            match clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout()) {
                Ok(()) => exit::PASSED,
                Err(error) => say.fail(
                    exit::ENVIRONMENT,
                    &format!("the manual page could not be written: {error}"),
                ),
            }
        }
    }
}

/// A panic's own words may hold what a page said (a slice names the text it was taken from), so only
/// its place is printed.
pub fn say_panics_without_their_words() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(|| "an unknown place".into(), ToString::to_string);
        let _ = writeln!(
            std::io::stderr(),
            "error: internal error at {place}; please report it"
        );
    }));
}

fn with_runtime(work: impl Future<Output = i32>) -> i32 {
    match tokio::runtime::Builder::new_multi_thread()
        // A planner's turn lies in a step, that in a scenario, that in a suite: without optimisation
        // their frames come to more than the usual two megabytes.
        .thread_stack_size(16 << 20)
        .enable_all()
        .build()
    {
        Ok(runtime) => {
            let code = runtime.block_on(work);
            // A thread still reading the terminal must not hold the exit up.
            runtime.shutdown_timeout(std::time::Duration::from_millis(200));
            code
        }
        Err(error) => {
            eprintln!("error: the runtime could not be started: {error}");
            exit::ENVIRONMENT
        }
    }
}
