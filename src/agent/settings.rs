//! Which endpoint, which model, which key, and how long to wait.
//!
//! Where and whom to ask stands in `[model]` of `rehearsal.toml` or the environment; what only few
//! servers need, the longest reply and the temperature, in the environment alone.
//!
//! An address is used as written: the slash is put right, a version part is neither added nor
//! dropped, since servers differ in it.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::scenario::{ModelTable, parse_duration};

#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub base: Base,
    pub model: String,
    pub key: Option<SecretString>,
    pub vision: bool,
    /// For one question altogether: tries, pauses and the second asking included.
    pub timeout: Duration,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub patience: Patience,
}

/// How often and after which pause a failed request is sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    pub tries: u32,
    pub first_pause: Duration,
    /// Caps `Retry-After` and the growing pause.
    pub longest_pause: Duration,
    /// Longest silence in the middle of a reply.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tries: 3,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            idle: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingsError {
    #[error("the model's address {address:?} is no http address: {problem}")]
    Address { address: String, problem: String },
    #[error(
        "the model's address {0} must be https: only a server on this machine may be asked in clear text"
    )]
    ClearText(String),
    #[error("the model's address must not hold a user name or password; put the key into {0}")]
    UserInfo(String),
    #[error(
        "an address for the model is set, but no model name; set `name` under [model] or OPENAI_MODEL"
    )]
    NoName,
    #[error("the key in {0} holds characters that cannot stand in a header; copy it again")]
    Key(String),
    #[error("`timeout` under [model] is {0:?}; write it as 60s or 500ms")]
    Timeout(String),
    #[error("{name} is {value:?}, which is not {wanted}")]
    Variable {
        name: &'static str,
        value: String,
        wanted: &'static str,
    },
}

/// The longest reply, in tokens; named by the messages about replies that were cut off.
pub const MAX_TOKENS: &str = "REHEARSAL_MODEL_MAX_TOKENS";
/// Not sent unless set: some models refuse every value but their own.
pub const TEMPERATURE: &str = "REHEARSAL_MODEL_TEMPERATURE";

/// No service gives out shorter ones.
const SHORTEST_KEY: usize = 8;
const PUBLIC_BASE: &str = "https://api.openai.com/v1";

impl ModelSettings {
    /// Environment over file over defaults. `None`: no model is configured.
    pub fn read(
        table: &ModelTable,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        let set = |names: &[&str]| {
            let value = |name: &&str| env(name).map(|v| v.trim().to_owned());
            names.iter().filter_map(value).find(|v| !v.is_empty())
        };
        let key_env = table.key_env.as_deref().unwrap_or("OPENAI_API_KEY");
        let key = read_key(key_env, env(key_env))?;
        let address = set(&["REHEARSAL_MODEL_BASE_URL", "OPENAI_BASE_URL"])
            .or_else(|| table.base_url.clone());
        let name = set(&["REHEARSAL_MODEL_NAME", "OPENAI_MODEL"]).or_else(|| table.name.clone());
        let Some(model) = name else {
            // A key alone lies about in many environments and says nothing about this tool.
            return match address {
                Some(_) => Err(SettingsError::NoName),
                None => Ok(None),
            };
        };
        if address.is_none() && key.is_none() {
            return Ok(None);
        }
        let base = Base::parse(address.as_deref().unwrap_or(PUBLIC_BASE), key_env)?;
        let timeout = match &table.timeout {
            None => Duration::from_secs(120),
            Some(text) => parse_duration(text)
                .filter(|limit| !limit.is_zero())
                .ok_or_else(|| SettingsError::Timeout(text.clone()))?,
        };
        let max_tokens = number(
            MAX_TOKENS,
            set(&[MAX_TOKENS]),
            "a whole number from 1",
            |n| *n >= 1,
        )?;
        let temperature = number(
            TEMPERATURE,
            set(&[TEMPERATURE]),
            "a number from 0 to 2",
            |t| (0.0..=2.0).contains(t),
        )?;
        Ok(Some(Self {
            base,
            model,
            key,
            vision: table.vision.unwrap_or(false),
            timeout,
            max_tokens: max_tokens.unwrap_or(2048),
            temperature,
            patience: Patience::default(),
        }))
    }

    /// The key, to be registered with the scrubber: it is a secret like any other (T26). `none`,
    /// `EMPTY` and the like, which servers that want no key are given, are no secrets, and would be
    /// found on every page.
    pub fn key_for_scrubber(&self) -> Option<crate::secrets::Secret> {
        let key = self.key.as_ref()?;
        if key.expose_secret().len() < SHORTEST_KEY {
            return None;
        }
        crate::secrets::Secret::new(key.expose_secret().to_owned()).ok()
    }

    /// Base address and model name, for the run's header. Never the key.
    pub fn shown(&self) -> String {
        format!("{} at {}", self.model, self.base)
    }
}

/// A number of the environment; empty is unset.
fn number<T: std::str::FromStr>(
    name: &'static str,
    value: Option<String>,
    wanted: &'static str,
    good: impl Fn(&T) -> bool,
) -> Result<Option<T>, SettingsError> {
    let Some(value) = value else { return Ok(None) };
    match value.parse().ok().filter(good) {
        Some(number) => Ok(Some(number)),
        None => Err(SettingsError::Variable {
            name,
            value,
            wanted,
        }),
    }
}

fn read_key(name: &str, value: Option<String>) -> Result<Option<SecretString>, SettingsError> {
    let Some(value) = value else { return Ok(None) };
    let key = SecretString::from(value.trim().to_owned());
    let text = key.expose_secret();
    if text.is_empty() {
        return Ok(None);
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(SettingsError::Key(name.to_owned()));
    }
    Ok(Some(key))
}

/// An endpoint's address without the last slash, its query kept apart (Azure wants one).
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    address: String,
    query: Vec<(String, String)>,
    host: String,
}

impl Base {
    pub fn parse(text: &str, key_env: &str) -> Result<Self, SettingsError> {
        let bad = |problem: &str| SettingsError::Address {
            // What may be user name and password is not repeated.
            address: text
                .rsplit('@')
                .next()
                .and_then(|t| t.split('?').next())
                .unwrap_or_default()
                .to_owned(),
            problem: problem.to_owned(),
        };
        let url = Url::parse(text.trim()).map_err(|e| bad(&e.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(SettingsError::UserInfo(key_env.to_owned()));
        }
        let host = url.host().ok_or_else(|| bad("it names no host"))?;
        let local = match &host {
            url::Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
            url::Host::Ipv4(ip) => ip.is_loopback(),
            url::Host::Ipv6(ip) => ip.is_loopback(),
        };
        let host = host.to_string();
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        let address = bare.as_str().trim_end_matches('/').to_owned();
        match url.scheme() {
            "https" => {}
            "http" if local => {}
            "http" => return Err(SettingsError::ClearText(address)),
            other => return Err(bad(&format!("the scheme is {other}"))),
        }
        Ok(Self {
            address,
            query: url.query_pairs().into_owned().collect(),
            host,
        })
    }

    /// Joined with a path that begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }

    pub fn as_str(&self) -> &str {
        &self.address
    }

    /// Azure takes the key in a header of its own.
    pub fn is_azure(&self) -> bool {
        self.host.ends_with(".openai.azure.com")
            || self.host.ends_with(".cognitiveservices.azure.com")
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}
