//! Recipes: an entry address, steps of four kinds, an extraction (R82–R88, R91–R96).
//!
//! A recipe is translated to a scenario and runs as one. The gate is decided by the recipe's text
//! alone, before anything is started.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::secrets::Secret;

use super::json;
use super::tokens::{hex, same};

/// More than anyone writes by hand.
const STEPS: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(alias = "url")]
    entry: String,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    extract: Option<Map<String, Value>>,
    #[serde(default)]
    confirm: Option<Confirm>,
    #[serde(default)]
    dry: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Confirm {
    Plain(bool),
    Digest(String),
}

/// Exactly one of the four verbs, with what belongs to it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Step {
    goto: Option<String>,
    #[serde(rename = "type")]
    fill: Option<Value>,
    click: Option<Value>,
    wait_for: Option<Value>,
    text: Option<String>,
    secret: Option<Hidden>,
    write: Option<bool>,
    timeout: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Hidden {
    /// `text` is the secret (R17).
    Text(bool),
    /// `name.field` of a credential.
    Named(String),
}

/// A secret that came with the recipe, and the one origin it may be typed at.
pub struct Inline {
    pub value: Secret,
    pub origin: String,
}

/// By the name of the credential that stands for it.
pub type Inlines = BTreeMap<String, Inline>;

/// A recipe that was understood.
pub struct Recipe {
    pub dry: bool,
    writes: bool,
    confirm: Option<Confirm>,
    digest: String,
    document: Value,
    inlines: Inlines,
}

/// Whether the gate lets it run.
#[derive(Debug, PartialEq, Eq)]
pub enum Gate {
    Reads,
    Confirmed,
    Refused(String),
}

impl Recipe {
    /// Errors name the place, never a value: a secret may stand where it doesn't belong (T10).
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let written: Written = json::read(bytes, "the recipe")?;
        if written.steps.len() > STEPS {
            return Err(format!("a recipe has at most {STEPS} steps"));
        }
        let mut whole: Value = json::read(bytes, "the recipe")?;
        if let Value::Object(map) = &mut whole {
            map.remove("confirm");
            map.remove("dry");
        }
        // A hash of a secret is no secret any more (T34): the digest holds that there is one.
        for step in whole["steps"].as_array_mut().into_iter().flatten() {
            if step["secret"] == true {
                step["text"] = Value::Null;
            }
        }
        let mut credentials = Vec::new();
        let mut inlines = Inlines::new();
        let mut at = written.entry.clone();
        let mut steps = Vec::new();
        for (index, step) in written.steps.iter().enumerate() {
            if let Some(address) = &step.goto {
                at = joined(&at, address);
            }
            let translated = step
                .translate(index + 1, &mut credentials)
                .and_then(|translated| {
                    if let Some((name, value)) = step.inline(index + 1)? {
                        let origin = origin_of(&at)?;
                        credentials.push(name.clone());
                        inlines.insert(name, Inline { value, origin });
                    }
                    Ok(translated)
                })
                .map_err(|why| format!("step {}: {why}", index + 1))?;
            steps.push(translated);
        }
        if steps.is_empty() {
            steps.push(json!({ "expect": { "url": "**" } }));
        }
        let mut document = json!({
            "name": "a recipe",
            "start": written.entry,
            "hosts": written.hosts,
            "credentials": credentials,
            "steps": steps,
            "expect": { "url": "**" },
        });
        if let Some(extract) = written.extract
            && !extract.is_empty()
        {
            document["extract"] = Value::Object(extract);
        }
        Ok(Self {
            dry: written.dry,
            writes: written.steps.iter().any(|s| s.write == Some(true)),
            confirm: written.confirm,
            digest: digest(&whole),
            document,
            inlines,
        })
    }

    /// Depends on the recipe alone (R84). `strict`: only the digest of this very recipe counts.
    pub fn gate(&self, strict: bool) -> Gate {
        if !self.writes {
            return Gate::Reads;
        }
        let resend = if strict {
            format!("resend with confirm: \"{}\"", self.digest)
        } else {
            "resend with confirm: true".to_owned()
        };
        match &self.confirm {
            Some(Confirm::Plain(true)) if !strict => Gate::Confirmed,
            Some(Confirm::Digest(given)) if same(given, &self.digest) => Gate::Confirmed,
            Some(Confirm::Digest(_)) => Gate::Refused(format!(
                "this is not the recipe that was confirmed; if it is meant, {resend}"
            )),
            _ => Gate::Refused(format!(
                "this recipe has a step that writes and nothing was done; if it is meant, {resend}"
            )),
        }
    }

    pub fn mode(&self) -> &'static str {
        if self.dry { "dry" } else { "live" }
    }

    pub fn writes(&self) -> bool {
        self.writes
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The scenario it is.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The secrets that came with it.
    pub fn into_inlines(self) -> Inlines {
        self.inlines
    }

    /// R85, to the letter.
    pub fn refusal(&self, error: &str) -> Value {
        json!({ "ok": false, "mode": self.mode(), "steps": [], "error": error })
    }
}

impl Step {
    fn translate(&self, number: usize, credentials: &mut Vec<String>) -> Result<Value, String> {
        let verbs = [
            self.goto.is_some(),
            self.fill.is_some(),
            self.click.is_some(),
            self.wait_for.is_some(),
        ];
        if verbs.iter().filter(|on| **on).count() != 1 {
            return Err("write exactly one of `goto`, `type`, `click`, `waitFor`".into());
        }
        if self.write.is_some() && self.click.is_none() {
            return Err("only a `click` may carry `write`".into());
        }
        if (self.text.is_some() || self.secret.is_some()) && self.fill.is_none() {
            return Err("`text` and `secret` belong to `type`".into());
        }
        let mut step = Map::new();
        if let Some(address) = &self.goto {
            step.insert("goto".into(), json!(address));
        }
        if let Some(target) = &self.click {
            step.insert("click".into(), target_of(target)?);
            if self.write == Some(true) {
                step.insert(
                    "write".into(),
                    json!(format!("step {number} of the recipe")),
                );
            }
        }
        if let Some(target) = &self.wait_for {
            step.insert("wait".into(), target_of(target)?);
        }
        if let Some(target) = &self.fill {
            step.insert("fill".into(), target_of(target)?);
            match (&self.text, &self.secret) {
                (Some(text), None | Some(Hidden::Text(false))) => {
                    step.insert("with".into(), json!(text));
                }
                (Some(_), Some(Hidden::Text(true))) => {
                    let name = inline_name(number);
                    step.insert("credential".into(), json!(format!("{name}.password")));
                }
                (None, Some(Hidden::Named(secret))) => {
                    let name = secret.split('.').next().unwrap_or_default().to_owned();
                    if !secret.contains('.') {
                        return Err("write `secret` as name.field".into());
                    }
                    step.insert("credential".into(), json!(secret));
                    if !credentials.contains(&name) {
                        credentials.push(name);
                    }
                }
                _ => {
                    return Err("`type` needs `text`, or `text` with `secret: true`, or `secret` as name.field".into());
                }
            }
        }
        if let Some(timeout) = &self.timeout {
            step.insert("timeout".into(), json!(timeout));
        }
        Ok(Value::Object(step))
    }

    /// The text that is a secret, under the name of a credential of this one run.
    fn inline(&self, number: usize) -> Result<Option<(String, Secret)>, String> {
        let (Some(text), Some(Hidden::Text(true))) = (&self.text, &self.secret) else {
            return Ok(None);
        };
        let value = Secret::new(text.clone()).map_err(|_| "`text` is empty")?;
        Ok(Some((inline_name(number), value)))
    }
}

fn inline_name(number: usize) -> String {
    format!("recipe-step-{number}")
}

fn joined(at: &str, address: &str) -> String {
    let whole = match url::Url::parse(at) {
        Ok(base) => base.join(address),
        Err(_) => url::Url::parse(address),
    };
    whole.map_or_else(|_| address.to_owned(), |url| url.to_string())
}

fn origin_of(address: &str) -> Result<String, String> {
    let url = url::Url::parse(address).map_err(|_| "the page's address can't be read")?;
    Ok(url.origin().ascii_serialization())
}

/// Text in the language's syntax, or `{"css": "…"}`.
fn target_of(target: &Value) -> Result<Value, String> {
    match target {
        Value::String(_) => Ok(target.clone()),
        Value::Object(map) if map.len() == 1 && map.get("css").is_some_and(Value::is_string) => {
            Ok(target.clone())
        }
        _ => Err("a target is a text such as `button \"Save\"`, or {\"css\": \"…\"}".into()),
    }
}

/// SHA-256 over the recipe with its keys sorted, so that only what it says counts.
fn digest(recipe: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort();
                let pairs = keys.into_iter().map(|k| (k.clone(), sorted(&map[k])));
                Value::Object(pairs.collect())
            }
            Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    hex(&Sha256::digest(sorted(recipe).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Recipe, String> {
        Recipe::read(value.to_string().as_bytes())
    }

    fn recipe(value: Value) -> Recipe {
        read(value).unwrap_or_else(|e| panic!("{e}"))
    }

    fn error(value: Value) -> String {
        read(value).err().expect("an error")
    }

    fn writing() -> Value {
        json!({ "entry": "http://shop.test/", "steps": [{ "waitFor": "Pay" }, { "click": "Pay", "write": true }] })
    }

    #[test]
    fn r82_only_a_click_may_carry_write() {
        for step in [
            json!({ "goto": "/", "write": true }),
            json!({ "type": "Name", "text": "x", "write": true }),
            json!({ "waitFor": "Name", "write": false }),
        ] {
            let told = error(json!({ "entry": "http://a.test/", "steps": [step] }));
            assert_eq!(told, "step 1: only a `click` may carry `write`");
        }
    }

    #[test]
    fn r83_r85_a_write_needs_confirm_and_the_refusal_has_one_shape() {
        let recipe = recipe(writing());
        let Gate::Refused(error) = recipe.gate(false) else {
            panic!("it is refused")
        };
        assert!(error.ends_with("resend with confirm: true"), "{error}");
        let refusal = recipe.refusal(&error).to_string();
        assert!(
            refusal.starts_with(r#"{"ok":false,"mode":"live","steps":[],"error":""#),
            "{refusal}"
        );
    }

    #[test]
    fn r87_in_strict_mode_only_the_digest_of_this_very_recipe_confirms() {
        let digest = recipe(writing()).digest().to_owned();
        let with = |confirm: Value, mut value: Value| {
            value["confirm"] = confirm;
            recipe(value).gate(true)
        };
        assert!(matches!(with(json!(true), writing()), Gate::Refused(_)));
        assert_eq!(with(json!(digest), writing()), Gate::Confirmed);
        let mut other = writing();
        other["steps"][1]["click"] = json!("Pay ");
        assert!(matches!(with(json!(digest), other), Gate::Refused(_)));
        // The order of keys says nothing.
        let same = json!({ "steps": writing()["steps"], "entry": "http://shop.test/" });
        assert_eq!(recipe(same).digest(), digest);
    }

    #[test]
    fn r88_reads_need_no_confirmation() {
        let read = recipe(json!({ "url": "http://a.test/", "steps": [{ "click": "More" }] }));
        assert_eq!(read.gate(true), Gate::Reads);
    }

    #[test]
    fn r96_unknown_keys_are_refused_at_every_level_and_values_are_not_echoed() {
        let told = error(json!({ "entry": "http://a.test/", "selector": "x" }));
        assert!(told.starts_with("unknown field `selector`"), "{told}");
        let told = error(json!({ "entry": "http://a.test/", "steps": [{ "press": "x" }] }));
        assert!(told.starts_with("unknown field `press`"), "{told}");
        let told = error(json!({ "entry": "http://a.test/", "steps": "hunter2-canary" }));
        assert!(
            !told.contains("canary") && told.contains("line 1"),
            "{told}"
        );
        let told = error(json!({ "steps": [] }));
        assert!(told.starts_with("missing field `entry`"), "{told}");
    }

    #[test]
    fn a_secret_is_a_reference() {
        let recipe = recipe(json!({ "entry": "http://a.test/", "steps": [
            { "type": "Password", "secret": "a-user.password" } ] }));
        assert_eq!(recipe.document()["credentials"], json!(["a-user"]));
        assert_eq!(
            recipe.document()["steps"][0]["credential"],
            "a-user.password"
        );
    }

    #[test]
    fn r17_text_that_is_a_secret_is_in_neither_plan_nor_digest_nor_error() {
        let with = |text: &str| {
            json!({ "entry": "http://a.test/x", "steps": [
                { "type": "PIN", "text": text, "secret": true },
                { "goto": "http://b.test/y" },
                { "type": "Code", "text": text, "secret": true } ] })
        };
        let one = recipe(with("hunter2-canary"));
        assert!(!one.document().to_string().contains("canary"));
        assert_eq!(one.digest(), recipe(with("other-canary")).digest());
        assert_eq!(
            one.document()["steps"][0]["credential"],
            "recipe-step-1.password"
        );
        let inlines = one.into_inlines();
        let typed: Vec<(&str, &str, &str)> = inlines
            .iter()
            .map(|(name, inline)| (name.as_str(), inline.origin.as_str(), inline.value.expose()))
            .collect();
        assert_eq!(
            typed,
            [
                ("recipe-step-1", "http://a.test", "hunter2-canary"),
                ("recipe-step-3", "http://b.test", "hunter2-canary")
            ]
        );
        for bad in [
            json!({ "type": "PIN", "secret": true }),
            json!({ "type": "PIN", "text": "", "secret": true }),
            json!({ "type": "PIN", "text": "hunter2-canary", "secret": "a.b" }),
            json!({ "type": "PIN", "text": "hunter2-canary", "secret": 7 }),
            json!({ "click": "PIN", "text": "hunter2-canary", "secret": true }),
        ] {
            let told = error(json!({ "entry": "http://a.test/", "steps": [bad] }));
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn the_same_name_twice_in_an_extraction_is_an_error() {
        let told = Recipe::read(br#"{"entry":"http://a.test/","extract":{"h":"h1","h":"p"}}"#);
        let told = told.err().expect("an error");
        assert!(told.starts_with("duplicate field `h`"), "{told}");
    }
}
