//! `rehearsal serve`: the broker as a service, and the tokens that open it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::{Model, ModelSettings, Tape};
use crate::network::Authority;
use crate::secrets::{Scrubber, Secret, Vault};
use crate::serve::{Listening, Means, Options, Service, Tokens, state_folder};
use crate::system::{Stop, Stopper, remove_stale_sessions};

use super::args::{BrowserArgs, ServeArgs, ServeCommand, TokenCommand};
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn serve(args: ServeArgs, say: Say) -> i32 {
    let Some(state) = state_folder() else {
        let why = "there is no place for the service's state: set HOME or XDG_STATE_HOME";
        return say.fail(exit::ENVIRONMENT, why);
    };
    match &args.command {
        Some(ServeCommand::Token { command }) => tokens(command, &Tokens::at(&state), &say),
        None => super::with_runtime(listen(args, say, state)),
    }
}

fn tokens(command: &TokenCommand, tokens: &Tokens, say: &Say) -> i32 {
    let shown = |secret: Secret| {
        say.line(secret.expose());
        eprintln!("keep it now: it is not shown again, and only its hash is stored");
    };
    let done = match command {
        TokenCommand::Add { owner } => tokens.add(owner).map(shown),
        TokenCommand::Approver => tokens.set_approver().map(shown),
        TokenCommand::Remove { owner } => tokens.remove(owner),
        TokenCommand::List => tokens.list().map(|list| {
            for (owner, made) in list {
                say.line(&format!("{owner:<40} {made}"));
            }
        }),
    };
    match done {
        Ok(()) => exit::PASSED,
        Err(error) => say.fail(exit::USAGE, &error.to_string()),
    }
}

async fn listen(args: ServeArgs, say: Say, state: PathBuf) -> i32 {
    let stopper = Stopper::new();
    if let Err(error) = stopper.listen() {
        let why = format!("signals can't be heard: {error}");
        return say.fail(exit::ENVIRONMENT, &why);
    }
    let effective = match Effective::search(args.suite.as_deref()) {
        // Sessions and recipes need no suite; one whose settings are wrong is not passed over: its masks
        // and its network would be missing.
        Ok(found) => found.unwrap_or_else(Effective::without_suite),
        Err(problems) => {
            say.problems(&problems);
            return exit::USAGE;
        }
    };
    let tokens = Tokens::at(&state);
    match (tokens.list(), tokens.has_approver()) {
        (Ok(owners), Ok(approver)) => {
            if owners.is_empty() {
                eprintln!("nobody can call yet: `rehearsal serve token add <owner>`");
            }
            if !approver {
                eprintln!("nobody can approve yet: `rehearsal serve token approver`");
            }
        }
        (Err(error), _) | (_, Err(error)) => {
            return say.fail(exit::ENVIRONMENT, &error.to_string());
        }
    }
    for gone in remove_stale_sessions() {
        tracing::info!(?gone, "removed what a killed run left");
    }
    let options = Options {
        strict_confirm: args.strict_confirm,
        origins: args.origin.clone(),
        idle: None,
    };
    let stop = stopper.watch();
    let service = match means(&effective, &args.browser, stop.clone(), &say)
        .and_then(|means| start(means, options, &state, &say))
    {
        Ok(service) => Arc::new(service),
        Err(code) => return code,
    };
    let listening = match Listening::on(args.port).await {
        Ok(listening) => listening,
        Err(error) => {
            let why = format!(
                "port {} of 127.0.0.1 can't be served: {error}; another one is chosen with --port",
                args.port
            );
            return say.fail(exit::ENVIRONMENT, &why);
        }
    };
    let port = listening.port();
    say.line(&format!("serving at http://127.0.0.1:{port}"));
    say.line(&format!("approvals at http://127.0.0.1:{port}/approvals"));
    let asked = stop.clone();
    let asked = async move {
        asked.asked().await;
    };
    let whole = async {
        crate::serve::serve(listening, service.clone(), asked).await;
        service.shut_down().await;
    };
    tokio::select! {
        () = whole => {}
        // A second signal: whatever still runs dies with its guards when we leave.
        _ = stop.now() => {}
    }
    stop.signal()
        .map_or(exit::PASSED, |signal| signal.exit_code())
}

fn start(means: Means, options: Options, state: &Path, say: &Say) -> Result<Service, i32> {
    Service::new(means, options, state).map_err(|e| say.fail(exit::ENVIRONMENT, &e.to_string()))
}

/// The user's vault, where there is one.
fn vault() -> Option<Vault> {
    Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from))
}

fn means(
    effective: &Effective,
    browser: &BrowserArgs,
    stop: Stop,
    say: &Say,
) -> Result<Means, i32> {
    let problem = |p: crate::text::Problem| {
        say.problem(&p);
        exit::USAGE
    };
    let usage = |e: &dyn std::fmt::Display| say.fail(exit::USAGE, &e.to_string());
    let (launch, webdriver) = effective.launch(browser).map_err(problem)?;
    let settings = super::run::model_settings(effective).map_err(problem)?;
    let model_key = settings.as_ref().and_then(ModelSettings::key_for_scrubber);
    let model = Model::from_settings(settings, Tape::Off).map_err(|e| usage(&e))?;
    let scrubber = Scrubber::new();
    if let Some(key) = &model_key {
        scrubber.register_key("model", key);
    }
    Ok(Means {
        suite_root: effective.root.clone(),
        launch,
        webdriver,
        authority: Arc::new(Authority::new().map_err(|e| usage(&e))?),
        trust: effective.trust().map_err(problem)?,
        upstream: effective.upstream().map_err(problem)?,
        model: model.map(Arc::new),
        model_key,
        credentials: effective.file.credentials.clone(),
        vault,
        viewport: effective.viewport(),
        locale: effective.file.browser.locale.clone(),
        time_zone: effective.file.browser.time_zone.clone(),
        masks: effective.masks(),
        budget: effective.file.budget.limits(),
        network: effective.network(),
        bind: effective.bind(),
        volatile: effective.volatile(),
        jobs: effective.jobs(None),
        retries: effective.retries(None),
        scrubber,
        stop,
    })
}
