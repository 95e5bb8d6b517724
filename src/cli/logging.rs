//! The log on standard error, for people who look for a fault of the tool itself.
//!
//! Libraries below log what they send, keys and passwords included (measured): their targets are
//! barred above warnings whatever `RUST_LOG` says (T5, case 074).

use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Libraries whose records may hold what must not leave.
const BARRED: &[&str] = &[
    "thirtyfour",
    "reqwest",
    "hyper",
    "hyper_util",
    "tungstenite",
    "tokio_tungstenite",
    "async_openai",
    "rustls",
    "h2",
    "age",
    "tower",
    "rmcp",
];

/// `-v` shows what is done, `-vv` how; `RUST_LOG` narrows or widens, but never the barred ones.
pub fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "rehearsal=info,warn",
        _ => "rehearsal=debug,warn",
    };
    let wanted = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let barred = BARRED.iter().fold(
        Targets::new().with_default(LevelFilter::TRACE),
        |targets, name| targets.with_target(*name, LevelFilter::OFF),
    );
    let layer = fmt::layer()
        .with_writer(std::io::stderr)
        .without_time()
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_filter(wanted)
        .with_filter(barred);
    // Set twice only where tests call main in one process.
    let _ = tracing_subscriber::registry().with(layer).try_init();
}
