//! `rehearsal doctor`: what is installed, what is missing, what is in force.

use crate::agent::{MAX_TOKENS, Model, Tape};
use crate::driver::find;

use super::args::DoctorArgs;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub async fn doctor(args: DoctorArgs, say: Say) -> i32 {
    let mut code = exit::PASSED;
    say.line(&format!("rehearsal {}", env!("CARGO_PKG_VERSION")));
    // The machine can be looked at without a suite, and with one whose settings are wrong.
    let effective = match Effective::search(args.suite.as_deref()) {
        Ok(Some(effective)) => {
            say.line(&format!("\nsuite      {}", effective.root.display()));
            effective
        }
        Ok(None) => {
            say.line("\nsuite      none here");
            Effective::without_suite()
        }
        Err(problems) => {
            say.line("\nsuite      its settings can't be used; what follows is without them");
            say.problems(&problems);
            code = exit::USAGE;
            Effective::without_suite()
        }
    };
    say.line("\nbrowser");
    match effective.launch(&args.browser) {
        Err(problem) => {
            say.problem(&problem);
            code = exit::gravest([code, exit::USAGE]);
        }
        Ok((_, Some(address))) => {
            say.line(&format!("  webdriver  {address}"));
            let bind = effective.bind();
            say.line(&format!("             its browsers reach sites through proxies of this machine: they must be able to connect to {bind}, at any port"));
            if bind.is_loopback() {
                say.line("             for browsers on another machine set `bind` under [network] to an address they reach");
            }
        }
        Ok((launch, None)) => match find::find(
            launch.kind,
            launch.driver.as_deref(),
            launch.browser.as_deref(),
        ) {
            Err(error) => {
                say.line(&format!("  missing    {error}"));
                code = exit::gravest([code, exit::ENVIRONMENT]);
            }
            Ok(found) => {
                say.line(&format!("  driver     {}", found.driver.display()));
                say.line(&format!("  browser    {}", found.browser.display()));
                match found.versions().await {
                    Err(error) => {
                        say.line(&format!("  versions   {error}"));
                        code = exit::gravest([code, exit::ENVIRONMENT]);
                    }
                    Ok(versions) => match found.compare(&versions) {
                        Ok(()) => say.line(&format!(
                            "  versions   {} and {}",
                            versions.driver, versions.browser
                        )),
                        Err(error) => {
                            say.line(&format!("  versions   {error}"));
                            code = exit::gravest([code, exit::ENVIRONMENT]);
                        }
                    },
                }
                for note in found.notes(launch.sandbox) {
                    say.line(&format!("  note       {note}"));
                }
            }
        },
    }
    say.line("\nsettings");
    for one in effective.shown() {
        say.line(&format!(
            "  {:<20} {:<28} {}",
            one.key, one.value, one.source
        ));
    }
    say.line("\nmodel");
    match super::run::model_settings(&effective) {
        Err(problem) => {
            say.line(&format!("  {}", problem.message));
            code = exit::gravest([code, exit::USAGE]);
        }
        Ok(None) => say.line("  none       set OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY, or [model] in rehearsal.toml"),
        Ok(Some(settings)) => {
            say.line(&format!("  {}", settings.shown()));
            say.line(&format!(
                "  replies    of {} tokens at most; {MAX_TOKENS} sets another limit",
                settings.max_tokens
            ));
            if args.model {
                code = exit::gravest([code, probe(settings, &say).await]);
            }
        }
    }
    code
}

async fn probe(settings: crate::agent::ModelSettings, say: &Say) -> i32 {
    let model = match Model::from_settings(Some(settings), Tape::Off) {
        Ok(Some(model)) => model,
        Ok(None) => return exit::PASSED,
        Err(error) => return say.fail(exit::ENVIRONMENT, &error.to_string()),
    };
    match model.probe().await {
        Ok(probe) => {
            let works = probe
                .works()
                .map_or("no kind of answer works".to_owned(), |mode| {
                    format!("answers as {}", mode.name())
                });
            say.line(&format!("  probe      {works}"));
            exit::PASSED
        }
        Err(error) => {
            say.line(&format!("  probe      {error}"));
            exit::ENVIRONMENT
        }
    }
}
