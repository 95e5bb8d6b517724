//! Keeping a signed-in state for the next scenario: cookies and the origin's local storage.
//!
//! Everything in here is as good as a password: it has no `Debug`, goes into no journal, and the
//! values that can be searched for are registered with the scrubber.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::page;
use crate::secrets::{Kind, Secret};

use super::session::Broker;
use super::types::BrokerError;

/// A cookie value from this length on is no word that could stand on a page by chance.
const TELLING: usize = 16;

/// The state of one user context, to be put into another.
pub struct Kept {
    /// JSON: `{"cookies": […], "storage": [[key, value], …]}`
    state: Zeroizing<String>,
}

impl Kept {
    /// As text, for the vault alone.
    pub fn to_secret(&self) -> Option<Secret> {
        Secret::new(self.state.to_string()).ok()
    }

    pub fn from_secret(secret: &Secret) -> Self {
        Self {
            state: Zeroizing::new(secret.expose().to_owned()),
        }
    }
}

impl Broker {
    /// Takes the state of the context as it is now.
    pub async fn keep(&mut self) -> Result<Kept, BrokerError> {
        let partition = json!({"type": "storageKey", "userContext": self.context.id()});
        let answer = self
            .command("storage.getCookies", json!({"partition": partition}))
            .await?;
        let cookies = answer["cookies"].as_array().cloned().unwrap_or_default();
        for cookie in &cookies {
            let value = cookie["value"]["value"].as_str().unwrap_or_default();
            let telling = value.len() >= TELLING
                || cookie["httpOnly"].as_bool() == Some(true) && value.len() >= 8;
            if telling && let Ok(secret) = Secret::new(value.to_owned()) {
                let name =
                    crate::store::names::safe_name(cookie["name"].as_str().unwrap_or("cookie"));
                self.scrubber
                    .register("session-cookie", &name, &secret, Kind::Cookie);
            }
        }
        let storage = page::call(&self.realm(), self.tab.id(), "storageEntries", &[], None).await?;
        let storage: Value = page::script::remote_text(&storage)
            .and_then(|t| serde_json::from_str(t).ok())
            .unwrap_or_else(|| json!([]));
        Ok(Kept {
            state: Zeroizing::new(json!({"cookies": cookies, "storage": storage}).to_string()),
        })
    }

    /// Puts a kept state into this context; the page is opened again afterwards by the caller.
    pub async fn put_back(&mut self, kept: &Kept) -> Result<(), BrokerError> {
        let state: Value = serde_json::from_str(&kept.state)
            .map_err(|_| BrokerError::Other("the kept session can't be read".into()))?;
        let partition = json!({"type": "storageKey", "userContext": self.context.id()});
        for cookie in state["cookies"].as_array().into_iter().flatten() {
            let mut wanted = json!({
                "name": cookie["name"], "value": cookie["value"], "domain": cookie["domain"],
            });
            for key in ["path", "httpOnly", "secure", "sameSite", "expiry"] {
                if !cookie[key].is_null() {
                    wanted[key] = cookie[key].clone();
                }
            }
            self.command(
                "storage.setCookie",
                json!({"cookie": wanted, "partition": partition}),
            )
            .await?;
        }
        page::call(
            &self.realm(),
            self.tab.id(),
            "setStorage",
            &[state["storage"].clone()],
            None,
        )
        .await?;
        Ok(())
    }

    async fn command(&self, method: &'static str, params: Value) -> Result<Value, BrokerError> {
        Ok(self
            .tab
            .connection()
            .send(method, params, self.limits.command)
            .await?)
    }
}
