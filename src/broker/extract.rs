//! Data read off pages, by CSS without a model, page after page (R93, R94).

use serde_json::{Map, Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::agent::{Asking, Model, extract as agent_extract};
use crate::page::Sought;
use crate::page::acts;
use crate::resolve::{self, Miss, MissKind, Query};
use crate::scenario::{Extract, Extractor, Scope, Target, Verb};

use super::session::Broker;
use super::types::{BrokerError, Primitive};

/// Pages read unless the scenario says otherwise.
const PAGES: u32 = 20;
/// A page of rows is given so long to appear after `next`.
const NEXT_WITHIN: Duration = Duration::from_secs(10);

/// One named piece of data.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub name: String,
    pub value: Value,
    /// "raw text: there is no model", "stopped after 20 pages", …
    pub note: Option<String>,
}

/// Nothing found by a selector nobody understands is no data.
fn bad_selector(css: &str) -> BrokerError {
    BrokerError::Missed(Box::new(Miss::bad_selector(css)))
}

impl Broker {
    pub async fn extract(
        &mut self,
        extract: &Extract,
        model: Option<&Model>,
    ) -> Result<Vec<Found>, BrokerError> {
        let mut all = Vec::new();
        for (name, extractor) in &extract.fields {
            let (value, note) = match extractor {
                Extractor::Prompt(prompt) => self.by_prompt(prompt, model).await?,
                Extractor::Each {
                    next: Some(next),
                    pages,
                    ..
                } => {
                    self.by_pages(extractor, next, pages.unwrap_or(PAGES))
                        .await?
                }
                _ => match self.by_css_spec(extractor).await? {
                    Ok(value) => (value, None),
                    Err(css) => return Err(bad_selector(&css)),
                },
            };
            all.push(Found {
                name: name.value.clone(),
                value: self.clean_value(value),
                note,
            });
        }
        Ok(all)
    }

    async fn by_css_spec(
        &mut self,
        extractor: &Extractor,
    ) -> Result<Result<Value, String>, BrokerError> {
        let spec = spec(extractor);
        // Rows that are still being built are waited for, a moment.
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let value = acts::extract(&self.realm(), self.tab.id(), &spec).await?;
            let empty = match &value {
                Ok(Value::Array(rows)) => rows.is_empty(),
                Ok(Value::Null) => true,
                _ => false,
            };
            if !empty
                || (self.is_quiet().await && Instant::now() + Duration::from_millis(1500) >= until)
                || Instant::now() >= until
            {
                return Ok(value);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Rows of page after page, until `next` is absent or disabled.
    async fn by_pages(
        &mut self,
        extractor: &Extractor,
        next: &Target,
        pages: u32,
    ) -> Result<(Value, Option<String>), BrokerError> {
        let mut rows = Vec::new();
        for page in 1..=pages {
            let here = match self.by_css_spec(extractor).await? {
                Ok(Value::Array(here)) => here,
                Ok(_) => Vec::new(),
                Err(css) => return Err(bad_selector(&css)),
            };
            let before = here.clone();
            rows.extend(here);
            let observation = self.look().await?;
            let scope = Scope::default();
            // As a step that clicks it would find it: "Next ›" is near, two of them are no choice.
            let query = Query {
                target: next,
                verb: Verb::Click,
                scope: &scope,
                near: true,
                sentence: false,
            };
            let found = match resolve::sought(next) {
                Some(Sought::Css(css)) => self.by_css(&css, &scope).await?,
                Some(Sought::Text(text)) => self.by_text(&text, &scope).await?,
                None => resolve::resolve(&observation, &query),
            };
            let pick = match found {
                Ok(pick) => pick,
                Err(miss) if miss.kind == MissKind::NotFound => {
                    return Ok((Value::Array(rows), None));
                }
                Err(miss) => return Err(BrokerError::Missed(Box::new(miss))),
            };
            if observation.node(pick.id).is_some_and(|n| n.states.disabled) {
                return Ok((Value::Array(rows), None));
            }
            if page == pages {
                return Ok((
                    Value::Array(rows),
                    Some(format!("stopped after {pages} pages; there are more")),
                ));
            }
            match self.prepare(pick.id, &Primitive::Click).await? {
                Ok(ready) => self
                    .perform(ready, &Primitive::Click)
                    .await?
                    .map(drop)
                    .unwrap_or_default(),
                Err(unfit) => {
                    return Ok((
                        Value::Array(rows),
                        Some(format!(
                            "the next page could not be opened: {}",
                            unfit.message()
                        )),
                    ));
                }
            }
            self.settle().await?;
            let until = Instant::now() + NEXT_WITHIN;
            loop {
                let now = acts::extract(&self.realm(), self.tab.id(), &spec(extractor)).await;
                let changed = matches!(&now, Ok(Ok(Value::Array(rows))) if !rows.is_empty() && *rows != before);
                if changed || self.must_stop() {
                    break;
                }
                if Instant::now() >= until {
                    return Ok((
                        Value::Array(rows),
                        Some("the next page showed the same rows".into()),
                    ));
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
        Ok((Value::Array(rows), None))
    }

    async fn by_prompt(
        &mut self,
        prompt: &str,
        model: Option<&Model>,
    ) -> Result<(Value, Option<String>), BrokerError> {
        let observation = self.look().await?;
        let Some(model) = model.filter(|_| !self.held) else {
            let raw = agent_extract::raw_text(&observation);
            let note = format!("{}: there is no model", raw.label());
            return Ok((raw.into_value(), Some(note)));
        };
        let scrubber = self.scrubber.clone();
        let asked = model
            .extract(&Asking::new(&scrubber), prompt, &observation)
            .await;
        let extracted = match asked.outcome {
            Ok(extracted) => extracted,
            Err(error) => {
                let raw = agent_extract::raw_text(&observation);
                let note = format!("{}: {error}", raw.label());
                return Ok((raw.into_value(), Some(note)));
            }
        };
        let label = extracted.label();
        Ok((
            extracted.into_value(),
            (label != "json").then(|| label.to_owned()),
        ))
    }

    fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.scrubber.clean(&text).as_str().to_owned()),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|v| self.clean_value(v)).collect())
            }
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(k, v)| (k, self.clean_value(v)))
                    .collect::<Map<_, _>>(),
            ),
            other => other,
        }
    }
}

/// The reader's form of an extractor.
fn spec(extractor: &Extractor) -> Value {
    match extractor {
        Extractor::Css { css, attr } => json!({"css": css, "attr": attr}),
        Extractor::Each { each, fields, .. } => {
            let fields: Map<String, Value> = fields
                .iter()
                .map(|(name, e)| (name.clone(), spec(e)))
                .collect();
            json!({"each": each, "fields": fields})
        }
        Extractor::Prompt(_) => Value::Null,
    }
}
