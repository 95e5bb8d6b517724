//! `rehearsal --broker URL run`: the scenarios of a running service, run there and told here.
//!
//! Nothing is loaded or checked here, suite and credentials least of all: the service has them. The run
//! is the service's; this process can be killed and another one goes on telling it (R28).

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::event::{Event, What};
use crate::report::{Console, Files, Options, Style};
use crate::run::{Listener, Outgoing};
use crate::secrets::{Scrubber, Secret};
use crate::serve::{Approval, Client, RunWish};
use crate::text::visible;

use super::args::{BrowserArgs, Format, RunArgs};
use super::exit;
use super::run::{ConsoleListener, JsonLines, JunitKeeper, columns, vars};
use super::say::Say;

/// Never an argument: those show in process lists.
const TOKEN: &str = "REHEARSAL_TOKEN";
/// How often the approver's answer is asked for.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(500);
/// A journal's line holds no picture; more is none.
const LONGEST_LINE: usize = 16 << 20;

type Failed = (i32, String);

pub async fn run(args: RunArgs, broker: &str, say: Say, verbose: u8) -> i32 {
    match follow(&args, broker, &say, verbose).await {
        Ok(code) => code,
        Err((code, why)) => say.fail(code, &why),
    }
}

async fn follow(args: &RunArgs, broker: &str, say: &Say, verbose: u8) -> Result<i32, Failed> {
    let wish = wish(args).map_err(|why| (exit::USAGE, why))?;
    let token = std::env::var(TOKEN).ok().and_then(|t| Secret::new(t).ok());
    let Some(token) = token else {
        let why = format!("{TOKEN} is not set; make one with `rehearsal serve token add <owner>`");
        return Err((exit::USAGE, why));
    };
    let client = Client::new(broker, token).map_err(|e| (exit::USAGE, e.to_string()))?;
    let (id, folder) = match &args.attach {
        Some(id) => attach(&client, id).await?,
        None => start(&client, wish).await?,
    };
    eprintln!(
        "run {id} goes on in the broker when this ends; `rehearsal --broker {} run --attach {id}` tells it again",
        client.base()
    );
    tell(&client, &id, &folder, args, say, verbose).await
}

/// What can be passed on; in so many words what can't be.
fn wish(args: &RunArgs) -> Result<RunWish, String> {
    // Taken apart whole, so that a new flag has to be thought of here.
    let RunArgs {
        scenarios,
        tag,
        shard,
        jobs,
        retries,
        fail_on_flaky,
        repeat,
        min_rate,
        var,
        confirm_writes,
        confirm,
        suggest,
        locked,
        offline,
        fresh,
        dry,
        record_model,
        replay_model,
        browser:
            BrowserArgs {
                headed,
                browser,
                webdriver,
            },
        out,
        html,
        suite,
        attach,
        junit: _,
        format: _,
        steps: _,
    } = args;
    let kept = [
        (*suggest, "--suggest"),
        (*dry, "--dry"),
        (record_model.is_some(), "--record-model"),
        (replay_model.is_some(), "--replay-model"),
        (*headed, "--headed"),
        (browser.is_some(), "--browser"),
        (webdriver.is_some(), "--webdriver"),
        (out.is_some(), "--out"),
        (html.is_some(), "--html"),
        (suite.is_some(), "--suite"),
    ];
    if let Some((_, flag)) = kept.iter().find(|(given, _)| *given) {
        return Err(format!(
            "{flag} can't be passed on to a broker, which has a suite, a browser and files of its own; leave it out, or leave --broker out"
        ));
    }
    let wish = RunWish {
        scenarios: scenarios.clone(),
        tags: tag.clone(),
        shard: shard.clone(),
        vars: vars(var).map_err(|problem| problem.message)?,
        confirm: confirm.clone(),
        confirm_writes: *confirm_writes,
        locked: *locked,
        offline: *offline,
        fresh: *fresh,
        jobs: *jobs,
        retries: *retries,
        repeat: *repeat,
        min_rate: *min_rate,
        fail_on_flaky: *fail_on_flaky,
        approval: None,
    };
    if attach.is_some()
        && serde_json::to_value(&wish).ok() != serde_json::to_value(RunWish::default()).ok()
    {
        return Err(
            "--attach tells a run that was started already; what is run, and how, was said then"
                .into(),
        );
    }
    Ok(RunWish {
        locked: *locked || (super::settings::in_ci() && !fresh),
        ..wish
    })
}

/// The run's id and its folder.
async fn attach(client: &Client, id: &str) -> Result<(String, PathBuf), Failed> {
    let (status, answer) = ask(client, "GET", "/runs", None).await?;
    refused(status, &answer)?;
    let runs = answer["runs"].as_array();
    let run = runs.into_iter().flatten().find(|run| run["run"] == id);
    let run = run.ok_or_else(|| {
        let known: Vec<&str> = runs
            .into_iter()
            .flatten()
            .filter_map(|r| r["run"].as_str())
            .collect();
        let why = match known.is_empty() {
            true => "the broker knows no run of yours".to_owned(),
            false => format!(
                "the broker knows no run {}; it knows {}",
                visible(id),
                known.join(", ")
            ),
        };
        (exit::USAGE, why)
    })?;
    named(run)
}

/// Starts it; where writes were confirmed here, after the approver's yes.
async fn start(client: &Client, mut wish: RunWish) -> Result<(String, PathBuf), Failed> {
    loop {
        let body = serde_json::to_value(&wish).map_err(|e| (exit::ENVIRONMENT, e.to_string()))?;
        let (status, answer) = ask(client, "POST", "/runs", Some(&body)).await?;
        if status != 428 || wish.approval.is_some() {
            refused(status, &answer)?;
            return named(&answer);
        }
        wish.approval = Some(approved(client, &answer).await?);
    }
}

fn named(run: &Value) -> Result<(String, PathBuf), Failed> {
    match (run["run"].as_str(), run["folder"].as_str()) {
        (Some(id), Some(folder)) => Ok((id.to_owned(), folder.into())),
        _ => Err((exit::ENVIRONMENT, "the broker's answer names no run".into())),
    }
}

/// Waits for the answer of the person the broker asks.
async fn approved(client: &Client, asked: &Value) -> Result<Approval, Failed> {
    let id = asked["approval_id"].as_str().unwrap_or_default();
    eprintln!(
        "a person must approve this at {}/approvals within {} s:",
        client.base(),
        asked["expires_in"]
    );
    for line in asked["summary"].as_array().into_iter().flatten() {
        eprintln!("  {}", visible(line.as_str().unwrap_or_default()));
    }
    let claim = format!("/approvals/{id}/token");
    loop {
        let (status, answer) = ask(client, "POST", &claim, Some(&serde_json::json!({}))).await?;
        if status == 403 {
            let why = "it was denied, or not answered in time; nothing was run".to_owned();
            return Err((exit::REFUSED, why));
        }
        refused(status, &answer)?;
        if let Ok(approval) = serde_json::from_value(answer["approval"].clone()) {
            return Ok(approval);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<(u16, Value), Failed> {
    let answer = client.ask(method, path, body.map(Value::to_string)).await;
    answer.map_err(|why| (exit::ENVIRONMENT, why))
}

/// The exit code of what the broker does not do.
fn refused(status: u16, answer: &Value) -> Result<(), Failed> {
    let code = match status {
        200 => return Ok(()),
        400 | 401 | 404 | 413 => exit::USAGE,
        403 | 428 => exit::REFUSED,
        _ => exit::ENVIRONMENT,
    };
    let why = answer["error"].as_str().unwrap_or("the broker refused it");
    let lines: Vec<String> = why.lines().map(visible).collect();
    let why = lines.join("\n");
    Err((code, why.trim_start_matches("error: ").to_owned()))
}

/// Prints the ordinary report out of the run's events; its exit code.
async fn tell(
    client: &Client,
    id: &str,
    folder: &Path,
    args: &RunArgs,
    say: &Say,
    verbose: u8,
) -> Result<i32, Failed> {
    let broken = |why: String| (exit::ENVIRONMENT, why);
    let mut events = client
        .send("GET", &format!("/runs/{id}/events"), None)
        .await
        .map_err(broken)?;
    if !events.status().is_success() {
        let why = format!("the broker tells nothing of run {id} ({})", events.status());
        return Err(broken(why));
    }
    let options = Options {
        run_folder: folder.display().to_string(),
        suite_folder: String::new(),
    };
    let text = args.format == Format::Text;
    let out: Box<dyn Write + Send> = match text {
        true => Box::new(std::io::stdout()),
        false => Box::new(std::io::sink()),
    };
    let style = Style {
        colour: say.colour(),
        width: columns(),
        verbose: args.steps || verbose > 0,
        progress: text && std::io::stderr().is_terminal() && std::io::stdout().is_terminal(),
    };
    let console = Arc::new(Mutex::new(
        Console::new(style, out).with_options(options.clone()),
    ));
    let mut listeners: Vec<Box<dyn Listener>> = vec![Box::new(ConsoleListener(console.clone()))];
    if !text {
        listeners.push(Box::new(JsonLines));
    }
    if let Some(junit) = &args.junit {
        // What comes was looked through where the values are known.
        let outgoing = Outgoing::new(Path::new("."), &Scrubber::new());
        listeners.push(Box::new(JunitKeeper::new(vec![junit.clone()], outgoing)));
    }
    let mut lines = Lines::default();
    let mut told: Vec<Event> = Vec::new();
    while let Some(chunk) = events.chunk().await.map_err(|_| cut(id))? {
        for line in lines.whole(&chunk).map_err(broken)? {
            let event: Event = serde_json::from_slice(&line).map_err(|_| no_event(&line))?;
            for listener in &mut listeners {
                listener.event(&event);
            }
            told.push(event);
        }
    }
    let Some(What::RunFinished { exit: code, .. }) = told.last().map(|e| &e.what) else {
        return Err(cut(id));
    };
    let files = Files {
        folder,
        options: &options,
        junit: args.junit.as_deref(),
        html: None,
    };
    console
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .finish(&files.outputs(&told));
    Ok(*code)
}

fn cut(id: &str) -> Failed {
    let why = format!(
        "the broker stopped telling of run {id} before its end; --attach {id} tells it again if the broker is there"
    );
    (exit::ENVIRONMENT, why)
}

/// The broker's word in the place of an event.
fn no_event(line: &[u8]) -> Failed {
    let told: Value = serde_json::from_slice(line).unwrap_or_default();
    match told["reason"].as_str() {
        Some("leak") => (
            exit::LEAK,
            "an event held a registered secret and was not sent".into(),
        ),
        _ => (
            exit::ENVIRONMENT,
            "the broker sent what is no event; is it of another version?".into(),
        ),
    }
}

/// Lines out of pieces.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// The lines that are whole now, without their ends.
    fn whole(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.0.extend_from_slice(piece);
        let Some(end) = self.0.iter().rposition(|b| *b == b'\n') else {
            return match self.0.len() > LONGEST_LINE {
                true => Err("the broker sent a line without end".into()),
                false => Ok(Vec::new()),
            };
        };
        let rest = self.0.split_off(end + 1);
        let whole = std::mem::replace(&mut self.0, rest);
        let lines = whole.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(<[u8]>::to_vec).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        for piece in ["{\"a\"", ":1}\n{\"b\":2}\n{", "\"c\":3", "}\n"] {
            got.extend(lines.whole(piece.as_bytes()).expect("lines"));
        }
        assert_eq!(
            got,
            [
                b"{\"a\":1}".to_vec(),
                b"{\"b\":2}".to_vec(),
                b"{\"c\":3}".to_vec()
            ]
        );
        assert!(lines.whole(&vec![b'x'; LONGEST_LINE + 1]).is_err());
    }

    #[test]
    fn flags_that_mean_this_machine_s_files_are_refused_by_name() {
        let refused = [
            (
                RunArgs {
                    dry: true,
                    ..RunArgs::default()
                },
                "--dry",
            ),
            (
                RunArgs {
                    suite: Some(".".into()),
                    ..RunArgs::default()
                },
                "--suite",
            ),
            (
                RunArgs {
                    html: Some("x.html".into()),
                    ..RunArgs::default()
                },
                "--html",
            ),
            (
                RunArgs {
                    attach: Some("r1".into()),
                    fresh: true,
                    ..RunArgs::default()
                },
                "--attach",
            ),
        ];
        for (args, flag) in refused {
            let why = wish(&args).expect_err(flag);
            assert!(why.starts_with(flag), "{why}");
        }
        let passed = RunArgs {
            tag: vec!["smoke".into()],
            junit: Some("j.xml".into()),
            ..RunArgs::default()
        };
        assert_eq!(wish(&passed).expect("a wish").tags, ["smoke"]);
        assert!(
            wish(&RunArgs {
                attach: Some("r1".into()),
                ..RunArgs::default()
            })
            .is_ok()
        );
    }
}
