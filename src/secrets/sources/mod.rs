//! Where a credential's values come from: environment, vault, command, in this order. The first
//! source that has anything for a name serves it whole; a hole in it is an error, not a reason
//! to look further, so that nobody signs in with half of one account and half of another.

mod error;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

pub use self::error::{CredentialProblem, SourceError};
use super::command::{CommandLine, TIME_LIMIT};
use super::origin;
use super::scrub::{Kind, Scrubber};
use super::totp::Totp;
use super::value::Secret;
use super::vault::{Listed, Vault, VaultError};

/// A table `[credentials.<name>]` of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialSettings {
    pub origin: Option<String>,
    pub command: Option<FieldCommands>,
}

/// One command for the password, or one per field.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a command (a line or a list), or a table of field = command"
)]
pub enum FieldCommands {
    Password(CommandLine),
    Each(BTreeMap<String, CommandLine>),
}

impl FieldCommands {
    fn fields(&self) -> BTreeMap<&str, &CommandLine> {
        match self {
            Self::Password(line) => BTreeMap::from([("password", line)]),
            Self::Each(lines) => lines.iter().map(|(f, l)| (f.as_str(), l)).collect(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Environment,
    Vault,
    Command,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "environment",
            Self::Vault => "vault",
            Self::Command => "command",
        })
    }
}

/// A credential with its values, for the broker of one scenario.
pub struct Credential {
    pub name: String,
    /// Canonical: `scheme://host[:port]`.
    pub origin: Option<String>,
    /// `username`, `password` and further ones. A TOTP seed is not a field to type: see `totp`.
    pub fields: BTreeMap<String, Secret>,
    pub totp: Option<Totp>,
    pub source: SourceKind,
}

type Environment = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

impl Credential {
    /// Makes every value known to the scrubber, the TOTP seed included. Before anything is typed.
    pub fn register(&self, scrubber: &Scrubber) {
        for (field, value) in &self.fields {
            let kind = match field.as_str() {
                "username" => Kind::Username,
                _ => Kind::Password,
            };
            scrubber.register(&self.name, field, value, kind);
        }
        if let Some(totp) = &self.totp {
            scrubber.register(&self.name, "totp", &totp.seed(), Kind::Key);
        }
    }
}

/// Names in, values out.
pub struct Sources {
    settings: BTreeMap<String, CredentialSettings>,
    environment: Environment,
    vault: Option<Vault>,
    /// Fields that are used, by name; a password where nothing is said.
    wanted: BTreeMap<String, Vec<String>>,
}

/// A name's fields; without a value where it was only asked whether they are there.
type Fields = BTreeMap<String, Option<Secret>>;

/// How far to go for a name.
enum Look {
    /// Open the vault, run the command.
    Values,
    /// See whether everything is there. The vault's list is read once for all names.
    Names(Option<Vec<Listed>>),
}

impl Sources {
    /// The real environment; no vault yet.
    pub fn new(settings: BTreeMap<String, CredentialSettings>) -> Self {
        Self::with_environment(settings, |name| std::env::var_os(name))
    }

    pub fn with_environment(
        settings: BTreeMap<String, CredentialSettings>,
        environment: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings,
            environment: Box::new(environment),
            vault: None,
            wanted: BTreeMap::new(),
        }
    }

    /// Adds the vault, which is opened only when the environment has nothing for a name.
    pub fn vault(mut self, vault: Option<Vault>) -> Self {
        self.vault = vault;
        self
    }

    /// Says that a field is used, so that its absence is found before a browser starts and its
    /// environment variable is read. Without any, `password` is needed.
    pub fn want(&mut self, name: &str, field: &str) {
        let fields = self.wanted.entry(name.to_owned()).or_default();
        if !fields.iter().any(|f| f == field) {
            fields.push(field.to_owned());
        }
    }

    /// What stands in the way of using these names. Runs no command.
    pub fn check<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<CredentialProblem> {
        let mut look = Look::Names(None);
        let mut problems = Vec::new();
        for name in names {
            if let Err(error) = self.serve(name, &mut look) {
                let name = name.to_owned();
                problems.push(CredentialProblem { name, error });
            }
        }
        problems
    }

    /// What a person should know about the vault after [`Sources::check`] or [`Sources::load`].
    pub fn warning(&self) -> Option<String> {
        self.vault.as_ref()?.warning()
    }

    /// The values of a name. Blocks: it may open the vault or run a command.
    pub fn load(&self, name: &str) -> Result<Credential, SourceError> {
        self.serve(name, &mut Look::Values)
    }

    fn serve(&self, name: &str, look: &mut Look) -> Result<Credential, SourceError> {
        if !is_name(name) {
            return Err(SourceError::BadName);
        }
        let fields = self.in_environment(name)?;
        if !fields.is_empty() {
            self.complete(name, SourceKind::Environment, &fields)?;
            return finish(name, self.origin(name)?, fields, SourceKind::Environment);
        }
        if let Some((origin, fields)) = self.in_vault(name, look)? {
            self.complete(name, SourceKind::Vault, &fields)?;
            if let Some(settings) = self.settings_origin(name)?
                && settings != origin
            {
                return Err(SourceError::OriginsDiffer {
                    settings,
                    vault: origin,
                });
            }
            return finish(name, origin, fields, SourceKind::Vault);
        }
        let Some(commands) = self.settings.get(name).and_then(|s| s.command.as_ref()) else {
            return Err(SourceError::NoSource {
                name: name.to_owned(),
                variable: variable(name, "password"),
            });
        };
        let commands = commands.fields();
        let mut fields: Fields = commands.keys().map(|f| ((*f).to_owned(), None)).collect();
        self.complete(name, SourceKind::Command, &fields)?;
        let origin = self.origin(name)?;
        if matches!(look, Look::Values) {
            fields = run(commands)?;
        }
        finish(name, origin, fields, SourceKind::Command)
    }

    fn in_vault(
        &self,
        name: &str,
        look: &mut Look,
    ) -> Result<Option<(String, Fields)>, VaultError> {
        let Some(vault) = self.vault.as_ref().filter(|vault| vault.exists()) else {
            return Ok(None);
        };
        let listed = match look {
            Look::Values => {
                let opened = vault.get(name)?;
                let value = |(field, value)| (field, Some(value));
                return Ok(opened.map(|o| (o.origin, o.fields.into_iter().map(value).collect())));
            }
            Look::Names(Some(listed)) => listed,
            Look::Names(none) => none.insert(vault.list()?),
        };
        let Some(entry) = listed.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        entry.for_pages()?;
        let fields = entry.fields.iter().map(|f| (f.clone(), None));
        Ok(Some((entry.origin.clone(), fields.collect())))
    }

    fn needed(&self, name: &str) -> Vec<String> {
        let wanted = self.wanted.get(name).cloned().unwrap_or_default();
        if wanted.is_empty() {
            vec!["password".into()]
        } else {
            wanted
        }
    }

    fn complete(&self, name: &str, from: SourceKind, fields: &Fields) -> Result<(), SourceError> {
        let mut needed = self.needed(name).into_iter();
        match needed.find(|field| !fields.contains_key(field)) {
            None => Ok(()),
            Some(field) => Err(SourceError::NoField {
                from,
                hint: match from {
                    SourceKind::Environment => format!(": set {}", variable(name, &field)),
                    SourceKind::Vault => format!(": run `rehearsal credentials add {name}`"),
                    SourceKind::Command => format!(": add one under [credentials.{name}.command]"),
                },
                field,
            }),
        }
    }

    fn in_environment(&self, name: &str) -> Result<Fields, SourceError> {
        let mut fields = BTreeMap::new();
        let mut names = vec!["username", "password", "totp"];
        let wanted = self.wanted.get(name).into_iter().flatten();
        names.extend(wanted.map(String::as_str));
        for field in names {
            if let Some(value) = self.variable(&variable(name, field))? {
                fields.insert(field.to_owned(), Some(value));
            }
        }
        Ok(fields)
    }

    fn variable(&self, variable: &str) -> Result<Option<Secret>, SourceError> {
        let Some(value) = (self.environment)(variable) else {
            return Ok(None);
        };
        let variable = || variable.to_owned();
        let value = value.into_string().map_err(|_| SourceError::NotText {
            variable: variable(),
        })?;
        let value = Secret::new(value).map_err(|_| SourceError::SetButEmpty {
            variable: variable(),
        })?;
        Ok(Some(value))
    }

    /// The origin for sources that don't keep one: the environment's over the settings'.
    fn origin(&self, name: &str) -> Result<String, SourceError> {
        let variable = variable(name, "origin");
        if let Some(text) = self.variable(&variable)? {
            return Ok(origin::canonical(text.expose())?);
        }
        self.settings_origin(name)?
            .ok_or_else(|| SourceError::NoOrigin {
                name: name.to_owned(),
                variable,
            })
    }

    fn settings_origin(&self, name: &str) -> Result<Option<String>, SourceError> {
        let text = self.settings.get(name).and_then(|s| s.origin.as_deref());
        Ok(text.map(origin::canonical).transpose()?)
    }
}

fn run(commands: BTreeMap<&str, &CommandLine>) -> Result<Fields, SourceError> {
    let mut fields = Fields::new();
    for (field, line) in commands {
        let value = line.secret(TIME_LIMIT);
        let value = value.map_err(|error| SourceError::Command {
            field: field.to_owned(),
            error,
        })?;
        fields.insert(field.to_owned(), Some(value));
    }
    Ok(fields)
}

fn finish(
    name: &str,
    origin: String,
    fields: Fields,
    source: SourceKind,
) -> Result<Credential, SourceError> {
    let values = fields.into_iter().filter_map(|(f, v)| Some((f, v?)));
    let mut fields: BTreeMap<String, Secret> = values.collect();
    let totp = fields.remove("totp");
    let totp = totp.map(|seed| Totp::parse(&seed)).transpose()?;
    Ok(Credential {
        name: name.to_owned(),
        origin: Some(origin),
        fields,
        totp,
        source,
    })
}

/// Whether `name` is a credential name.
pub fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

/// `code-host-user`, `password` → `CODE_HOST_USER_PASSWORD`.
pub fn variable(name: &str, field: &str) -> String {
    format!("{name}_{field}").to_uppercase().replace('-', "_")
}

#[cfg(test)]
mod tests;
