//! The command line as typed. What it means together with files and environment is worked out in
//! [`super::settings`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

use super::examples;

#[derive(Debug, Parser)]
#[command(
    name = "rehearsal",
    version,
    about = "Rehearse browser workflows: YAML scenarios in, proof out. No credential leaks, no write unasked.",
    after_help = "\
Examples:
  rehearsal init http://localhost:3000      a suite with a first scenario for an address
  rehearsal look http://localhost:3000      the page's controls, in the syntax scenarios use
  rehearsal check                           every problem of every file, no browser
  rehearsal run                             run the suite of this folder
  rehearsal run --tag smoke --jobs 2        some of it, two at a time
  rehearsal run orders/refund --confirm-writes
  rehearsal accept                          take over what the last run proposed

Exit codes: 0 passed, 1 failed, 2 scenario or usage error, 3 environment, 4 refused,
            5 leak found, 6 snapshot pending, 129/130/143 stopped by a signal.",
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// More on standard error: -v for what is done, -vv for how. Never shows a secret.
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Everywhere")]
    pub verbose: u8,

    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto, global = true, value_name = "WHEN", help_heading = "Everywhere")]
    pub color: Colour,

    /// Run in the `rehearsal serve` at this address; its owner's token is in REHEARSAL_TOKEN. Goes with `run`
    #[arg(long, value_name = "URL", help_heading = "Everywhere")]
    pub broker: Option<String>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a suite with a first scenario for an address
    #[command(after_help = examples::INIT)]
    Init(InitArgs),
    /// Run scenarios in a browser
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Find every problem of every file, without a browser
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Take over pending snapshots of the last run
    #[command(after_help = examples::ACCEPT)]
    Accept(AcceptArgs),
    /// Step through pending snapshots: accept, reject or skip
    #[command(after_help = examples::REVIEW)]
    Review(ReviewArgs),
    /// Print a page's targets in the language's syntax, to paste into a scenario
    #[command(after_help = examples::LOOK)]
    Look(Box<LookArgs>),
    /// Build every report of a run again from its journal
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// Keep, list and test credentials; no value is ever an argument
    #[command(after_help = examples::CREDENTIALS)]
    Credentials(CredentialsArgs),
    /// Search files for credential values and key-like text
    #[command(after_help = examples::SCAN)]
    Scan(ScanArgs),
    /// Print the JSON Schema of scenario files
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Serve held pages, recipes and approvals to programs of this machine
    #[command(after_help = examples::SERVE)]
    Serve(Box<ServeArgs>),
    /// Offer a running service's tools to an agent, on standard input and output (MCP)
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Make a scenario of free text on standard input; credentials in it go to the vault
    #[command(after_help = examples::DRAFT)]
    Draft(DraftArgs),
    /// What is installed, what is missing and how to install it
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    #[command(hide = true)]
    Man,
}

/// A share of all attempts. 0 gates nothing, and above 1 nothing passes.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "write a number from 0 to 1, such as 0.9".into())
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Address the first scenario starts at
    #[arg(default_value = "http://localhost:8080/")]
    pub address: String,
    /// Folder to make the suite in
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
}

/// What chooses a browser and how it is driven.
#[derive(Debug, Args, Clone, Default)]
pub struct BrowserArgs {
    /// Show the browser's window
    #[arg(long, help_heading = "Browser")]
    pub headed: bool,
    /// `chromium` or `firefox`
    #[arg(long, value_name = "NAME", help_heading = "Browser")]
    pub browser: Option<String>,
    /// Use a running WebDriver server or Selenium Grid instead of starting a driver
    #[arg(long, value_name = "URL", help_heading = "Browser")]
    pub webdriver: Option<String>,
}

#[derive(Debug, Args, Clone, Default)]
pub struct RunArgs {
    /// Scenario ids, files, folders or globs; all when none is named
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Only scenarios with this tag; `!tag` leaves them out; repeatable
    #[arg(long, value_name = "TAG", help_heading = "Selection")]
    pub tag: Vec<String>,
    /// Only this part of the selection, e.g. 1/3
    #[arg(long, value_name = "K/N", help_heading = "Selection")]
    pub shard: Option<String>,
    /// How many scenarios run at a time
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "How it runs")]
    pub jobs: Option<u32>,
    /// Run a failed scenario again, at most so often; never after a write was sent
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub retries: Option<u32>,
    /// A pass on a retry fails the run
    #[arg(long, help_heading = "How it runs")]
    pub fail_on_flaky: bool,
    /// Run each scenario so often and report the pass rate with its 95 % interval
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), help_heading = "How it runs")]
    pub repeat: Option<u32>,
    /// Lowest acceptable lower bound of the pass rate
    #[arg(
        long,
        value_name = "RATE",
        value_parser = rate,
        requires = "repeat",
        help_heading = "How it runs"
    )]
    pub min_rate: Option<f64>,
    /// Replace a variable of the scenarios
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Selection")]
    pub var: Vec<String>,

    /// Confirm the declared writes of every selected scenario
    #[arg(long, help_heading = "Writes")]
    pub confirm_writes: bool,
    /// Confirm the declared writes of one scenario; repeatable
    #[arg(long, value_name = "ID", help_heading = "Writes")]
    pub confirm: Vec<String>,
    /// Print `hosts`, `writes` and `safe_requests` lines for what was stopped
    #[arg(long, help_heading = "Writes")]
    pub suggest: bool,

    /// Missing locks and snapshots are pending too, and locked steps never ask a model (default when CI is set)
    #[arg(long, help_heading = "Snapshots and the model")]
    pub locked: bool,
    /// Never ask a model
    #[arg(long, help_heading = "Snapshots and the model")]
    pub offline: bool,
    /// Neither compare nor propose snapshots and locks: tests the agent itself
    #[arg(
        long,
        conflicts_with = "locked",
        help_heading = "Snapshots and the model"
    )]
    pub fresh: bool,
    /// Print the plan and stop: no browser, no network
    #[arg(long, help_heading = "How it runs")]
    pub dry: bool,
    /// Keep the model's answers in this folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "replay_model",
        help_heading = "Snapshots and the model"
    )]
    pub record_model: Option<PathBuf>,
    /// Answer from a folder made by --record-model instead of a model
    #[arg(long, value_name = "DIR", help_heading = "Snapshots and the model")]
    pub replay_model: Option<PathBuf>,

    #[command(flatten)]
    pub browser: BrowserArgs,

    /// Folder for run folders [default: runs]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Also write the JUnit file here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Also write the HTML report here
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// What standard output gets; json: one event a line, as in `events.jsonl`
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,
    /// One line per step
    #[arg(long, help_heading = "Output")]
    pub steps: bool,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR", help_heading = "Selection")]
    pub suite: Option<PathBuf>,
    /// With `--broker`: tell a run that goes on there, or is over, from its first event
    #[arg(long, value_name = "RUN", help_heading = "Selection")]
    pub attach: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Scenario ids, files, folders or globs; all when none is named
    pub scenarios: Vec<String>,
    /// Replace a variable of the scenarios
    #[arg(long, value_name = "NAME=VALUE")]
    pub var: Vec<String>,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// Scenario ids; all pending ones when none is named
    pub scenarios: Vec<String>,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Scenario ids; all pending ones when none is named
    pub scenarios: Vec<String>,
    /// Open a local page with texts and pictures side by side instead of asking here
    #[arg(long, conflicts_with = "prune")]
    pub web: bool,
    /// Remove snapshots whose scenario is gone, approved and pending; what else is pending stays
    #[arg(long)]
    pub prune: bool,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct LookArgs {
    /// An address, or the id of a scenario (with --after)
    pub what: String,
    /// Carry out the scenario up to and including this step, then look
    #[arg(long, value_name = "STEP")]
    pub after: Option<String>,
    #[command(flatten)]
    pub browser: BrowserArgs,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A run folder, or its events.jsonl
    pub run: PathBuf,
    /// Where to write; beside the journal when not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CredentialsArgs {
    #[command(subcommand)]
    pub command: CredentialsCommand,
}

#[derive(Debug, Subcommand)]
pub enum CredentialsCommand {
    /// Add a credential to the vault; asks for the values without echo
    #[command(after_help = examples::CREDENTIALS_ADD)]
    Add {
        /// Letters, digits and dashes, as scenarios name it
        name: String,
        /// scheme://host[:port] it may be filled at
        #[arg(long)]
        origin: String,
        /// Also ask for a one-time code seed
        #[arg(long)]
        totp: bool,
    },
    /// Names, origins and fields; never a value
    #[command(after_help = examples::CREDENTIALS_LIST)]
    List,
    /// Remove a credential from the vault
    #[command(after_help = examples::CREDENTIALS_REMOVE)]
    Remove {
        /// Its name
        name: String,
    },
    /// Ask for new values
    #[command(after_help = examples::CREDENTIALS_ROTATE)]
    Rotate {
        /// Its name
        name: String,
    },
    /// Whether a credential can be loaded, and from where
    #[command(after_help = examples::CREDENTIALS_TEST)]
    Test {
        /// Its name
        name: String,
        /// Forget rejected sign-ins (ends the cool-down)
        #[arg(long)]
        reset: bool,
    },
}

#[derive(Debug, Args)]
pub struct ScanArgs {
    /// Files or folders
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// `scenario`, `fixture`, `report` or `tutorial`
    #[arg(default_value = "scenario")]
    pub what: String,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// Port on 127.0.0.1; 0 takes a free one and prints it
    #[arg(long, default_value_t = crate::serve::PORT)]
    pub port: u16,
    /// An origin whose pages may call; repeatable, none unless named
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Vec<String>,
    /// A recipe's writes are confirmed by its digest only
    #[arg(long)]
    pub strict_confirm: bool,
    #[command(flatten)]
    pub browser: BrowserArgs,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Tokens of those who call; each is shown once
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// A new token for an owner of sessions
    Add { owner: String },
    /// A new token for the one who approves; replaces the one before
    Approver,
    /// Owners and dates, never a token
    List,
    /// Take all tokens of an owner away
    Remove { owner: String },
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Address of the running `rehearsal serve`; the owner's token is in REHEARSAL_TOKEN
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8771")]
    pub broker: String,
}

#[derive(Debug, Args)]
pub struct DraftArgs {
    /// Where to write the scenario; standard output when not given
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub browser: BrowserArgs,
    /// Also ask the model which kind of answers it can give
    #[arg(long)]
    pub model: bool,
    /// Suite folder, instead of the nearest one upwards
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
}
