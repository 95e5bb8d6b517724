//! `rehearsal credentials`: asks without echo; no value is ever an argument, none is ever shown.

use std::path::PathBuf;

use crate::run::forget_rejections;
use crate::secrets::{Secret, Sources, Vault, VaultError, origin};

use super::args::CredentialsCommand;
use super::exit;
use super::say::Say;
use super::settings::Effective;

pub fn credentials(command: &CredentialsCommand, say: &Say) -> i32 {
    let Some(vault) = Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)) else {
        return say.fail(
            exit::ENVIRONMENT,
            "there is no place for a vault: set HOME, or REHEARSAL_VAULT to a path",
        );
    };
    match carry_out(command, &vault, say) {
        Ok(code) => code,
        Err(Trouble::Vault(error)) => {
            let code = match error.is_of_what_was_asked() {
                true => exit::USAGE,
                false => exit::ENVIRONMENT,
            };
            say.fail(code, &error.to_string())
        }
        Err(Trouble::Said(code, message)) => say.fail(code, &message),
    }
}

enum Trouble {
    Vault(VaultError),
    Said(i32, String),
}

impl From<VaultError> for Trouble {
    fn from(error: VaultError) -> Self {
        Self::Vault(error)
    }
}

fn carry_out(command: &CredentialsCommand, vault: &Vault, say: &Say) -> Result<i32, Trouble> {
    match command {
        CredentialsCommand::Add { name, origin, totp } => {
            let origin = origin::canonical(origin)
                .map_err(|e| Trouble::Said(exit::USAGE, format!("--origin {e}")))?;
            // Before anything is asked: a person types no password for nothing.
            vault.may_add(name)?;
            if !vault.exists() {
                vault.create()?;
            }
            let mut fields = vec![
                ("username".to_owned(), ask("User name: ")?),
                ("password".to_owned(), ask("Password: ")?),
            ];
            if *totp {
                fields.push((
                    "totp".to_owned(),
                    ask("One-time code seed (base32 or otpauth://): ")?,
                ));
            }
            vault.add(name, &origin, fields.into_iter().collect())?;
            say.line(&format!("{name} is kept for {origin}"));
            Ok(exit::PASSED)
        }
        CredentialsCommand::List => {
            if !vault.exists() {
                say.line("there is no vault yet");
                return Ok(exit::PASSED);
            }
            for one in vault.list()? {
                say.line(&format!(
                    "{:<24} {:<32} {}",
                    one.name,
                    one.origin,
                    one.fields.join(", ")
                ));
            }
            Ok(exit::PASSED)
        }
        CredentialsCommand::Remove { name } => {
            vault.remove(name)?;
            say.line(&format!("{name} is removed"));
            Ok(exit::PASSED)
        }
        CredentialsCommand::Rotate { name } => {
            vault.may_rotate(name, "password")?;
            let value = ask("New password: ")?;
            vault.rotate(name, "password", &value)?;
            say.line(&format!("{name} has a new password"));
            Ok(exit::PASSED)
        }
        CredentialsCommand::Test { name, reset } => test(name, *reset, say),
    }
}

fn test(name: &str, reset: bool, say: &Say) -> Result<i32, Trouble> {
    let settings = Effective::find(None)
        .map(|e| e.file.credentials)
        .unwrap_or_default();
    let vault =
        Vault::of_user(|name| std::env::var_os(name).map(PathBuf::from)).filter(Vault::exists);
    let sources = Sources::new(settings).vault(vault);
    match sources.load(name) {
        Ok(credential) => {
            let origin = credential.origin.clone().unwrap_or_default();
            if reset {
                forget_rejections(name, &origin);
            }
            let fields: Vec<&str> = credential.fields.keys().map(String::as_str).collect();
            say.line(&format!(
                "{name}: from the {}, for {origin}, with {}",
                credential.source,
                fields.join(", ")
            ));
            Ok(exit::PASSED)
        }
        Err(error) => Err(Trouble::Said(
            exit::USAGE,
            format!("credential {name}: {error}"),
        )),
    }
}

/// Asked on the terminal without echo, or read from standard input where that is no terminal.
fn ask(prompt: &str) -> Result<Secret, Trouble> {
    let text = rpassword::prompt_password(prompt).map_err(|e| {
        Trouble::Said(
            exit::ENVIRONMENT,
            format!("nothing could be read without echo: {e}; a terminal is needed"),
        )
    })?;
    Secret::new(text).map_err(|_| Trouble::Said(exit::USAGE, "an empty value is no value".into()))
}
