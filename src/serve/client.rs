//! The way to a running service from another process of this machine.

use std::time::Duration;

use serde_json::Value;

use crate::secrets::Secret;

/// The machine is our own: who takes no connection within this is not there.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
/// The longest call is a batch of actions on a slow site.
const ANSWERS_WITHIN: Duration = Duration::from_secs(300);

/// A running service and an owner's token for it.
pub struct Client {
    base: String,
    token: Secret,
    http: reqwest::Client,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{0}` is no address of a service of this machine; write it as http://127.0.0.1:8771")]
    Address(String),
    #[error("the client could not be made: {0}")]
    Http(#[from] reqwest::Error),
}

impl Client {
    /// A service answers at names of this machine alone; the token goes nowhere else.
    pub fn new(base: &str, token: Secret) -> Result<Self, ClientError> {
        let address = || ClientError::Address(crate::text::visible(base));
        let url = url::Url::parse(base).map_err(|_| address())?;
        let own = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        let bare = url.path() == "/"
            && url.query().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if url.scheme() != "http" || !own || !bare {
            return Err(address());
        }
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECTS_WITHIN)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            base: url.as_str().trim_end_matches('/').to_owned(),
            token,
            http,
        })
    }

    /// Where the service is told to be.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The answer's head; its body is read by whoever asked.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> Result<reqwest::Response, String> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).map_err(|e| e.to_string())?;
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(self.token.expose());
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        request.send().await.map_err(|_| {
            format!(
                "no service answers at {}; start `rehearsal serve`",
                self.base
            )
        })
    }

    /// The whole answer: its status and its JSON.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> Result<(u16, Value), String> {
        let answer = async {
            let response = self.send(method, path, body).await?;
            let status = response.status().as_u16();
            let text = response.text().await.map_err(|e| e.to_string())?;
            Ok::<_, String>((status, text))
        };
        let (status, text) = tokio::time::timeout(ANSWERS_WITHIN, answer)
            .await
            .map_err(|_| {
                let seconds = ANSWERS_WITHIN.as_secs();
                format!("the service at {} gave no answer within {seconds} s; whether it did what was asked is not known", self.base)
            })??;
        let answer = serde_json::from_str(&text)
            .map_err(|_| format!("what answers at {} is no service", self.base))?;
        Ok((status, answer))
    }
}
