//! One HTTP exchange, bounded in bytes and silence.
//!
//! It stands below async-openai as its HTTP service, for three reasons: the crate's own service
//! retries by itself and reads bodies without a limit, its errors lose status and content type
//! when the body is not the expected JSON, and it logs such bodies whole.

use std::error::Error as _;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::error::{BadStatus, ModelFailure};
use super::settings::{Base, ModelSettings};

/// Bytes of a reply that are read; a longer one is refused.
pub const BODY_LIMIT: usize = 1 << 20;
/// Some servers begin their JSON with one.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();
/// Bytes of an error's body that are shown.
const SHOWN: usize = 200;

pub type ChatClient = async_openai::Client<Endpoint>;

/// async-openai's client with our transport and without environment proxies.
pub fn chat_client(settings: &ModelSettings) -> Result<ChatClient, ModelFailure> {
    let http = reqwest::Client::builder()
        .no_proxy()
        // A redirect would carry the prompt to a host nobody named.
        .redirect(Policy::none())
        .connect_timeout(settings.timeout.min(Duration::from_secs(10)))
        .build()
        .map_err(|e| ModelFailure::Request(reasons(&e)))?;
    let endpoint = Endpoint::new(settings)?;
    let service = Exchange {
        http,
        key: settings.key.clone(),
        idle: settings.patience.idle,
    };
    Ok(async_openai::Client::build(service.http.clone(), endpoint).with_http_service(service))
}

/// Address and headers as async-openai asks for them.
pub struct Endpoint {
    base: Base,
    key: SecretString,
    headers: HeaderMap,
}

impl Endpoint {
    fn new(settings: &ModelSettings) -> Result<Self, ModelFailure> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            let key = key.expose_secret();
            let (name, text) = match settings.base.is_azure() {
                true => (HeaderName::from_static("api-key"), key.to_owned()),
                false => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                ModelFailure::Request("the key holds characters that no header may hold".into())
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            base: settings.base.clone(),
            key: settings.key.clone().unwrap_or_default(),
            headers,
        })
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }
    fn url(&self, path: &str) -> String {
        self.base.join(path)
    }
    fn query(&self) -> Vec<(&str, &str)> {
        let pairs = self.base.query().iter();
        pairs.map(|(k, v)| (k.as_str(), v.as_str())).collect()
    }
    fn api_base(&self) -> &str {
        self.base.as_str()
    }
    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

#[derive(Clone)]
struct Exchange {
    http: reqwest::Client,
    key: Option<SecretString>,
    idle: Duration,
}

impl tower_service::Service<HttpRequestFactory> for Exchange {
    type Response = reqwest::Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<reqwest::Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            this.exchange(request)
                .await
                .map_err(|failure| OpenAIError::Boxed(Box::new(failure)))
        })
    }
}

impl Exchange {
    async fn exchange(&self, request: reqwest::Request) -> Result<reqwest::Response, ModelFailure> {
        let mut address = request.url().clone();
        address.set_query(None);
        let address = address.to_string();
        #[cfg(feature = "leak-injector")]
        let request = leaking(request);
        let response = self
            .http
            .execute(request)
            .await
            .map_err(|e| self.connect(&address, &e))?;
        let status = response.status();
        let content_type = header(response.headers(), CONTENT_TYPE.as_str())
            .unwrap_or_else(|| "no content type".into());
        let retry_after = retry_after(response.headers());
        let mut body = self.body(response, &address, !status.is_success()).await?;
        if body.starts_with(BYTE_ORDER_MARK) {
            body.drain(..BYTE_ORDER_MARK.len());
        }
        let parsed = serde_json::from_slice::<Value>(&body).ok();
        match &parsed {
            Some(reply) if status.is_success() && !tells_error(reply) => {
                Ok(hyper::Response::new(body).into())
            }
            None if status.is_success() => Err(ModelFailure::NotJson {
                address,
                status: status.as_u16(),
                content_type,
                start: self.start(&body),
            }),
            _ => Err(self.status(
                address,
                status.as_u16(),
                content_type,
                retry_after,
                &body,
                parsed,
            )),
        }
    }

    /// Reads up to the limit. An error's body is cut there, a reply's is refused.
    async fn body(
        &self,
        mut response: reqwest::Response,
        address: &str,
        cut: bool,
    ) -> Result<Vec<u8>, ModelFailure> {
        let mut body = Vec::new();
        loop {
            let next = tokio::time::timeout(self.idle, response.chunk()).await;
            let chunk = match next {
                Err(_) => {
                    return Err(ModelFailure::Stalled {
                        address: address.to_owned(),
                        limit: self.idle,
                    });
                }
                // The status of an error is worth more than the rest of its body.
                Ok(Err(_)) if cut => return Ok(body),
                Ok(Err(e)) => return Err(self.connect(address, &e)),
                Ok(Ok(None)) => return Ok(body),
                Ok(Ok(Some(chunk))) => chunk,
            };
            body.extend_from_slice(&chunk);
            if body.len() > BODY_LIMIT {
                if cut {
                    return Ok(body);
                }
                return Err(ModelFailure::TooLarge {
                    address: address.to_owned(),
                    limit: BODY_LIMIT,
                });
            }
        }
    }

    fn status(
        &self,
        address: String,
        status: u16,
        content_type: String,
        retry_after: Option<Duration>,
        body: &[u8],
        parsed: Option<Value>,
    ) -> ModelFailure {
        let error = parsed.as_ref().map(|v| v.get("error").unwrap_or(v));
        let field = |name| Some(error?.get(name)?.as_str()?.to_owned());
        let told = || {
            error?
                .get("code")?
                .as_u64()
                .and_then(|n| u16::try_from(n).ok())
        };
        let told = told().filter(|code| (400..600).contains(code));
        let told = told.filter(|code| *code != status);
        let words = field("message").or_else(|| Some(error?.as_str()?.to_owned()));
        let start = match words {
            Some(words) => self.start(words.as_bytes()),
            None => self.start(body),
        };
        let code = field("code");
        let quota = |word: &Option<String>| word.as_deref() == Some("insufficient_quota");
        if told.unwrap_or(status) == 429 && (quota(&code) || quota(&field("type"))) {
            return ModelFailure::Quota { address, start };
        }
        ModelFailure::Status(Box::new(BadStatus {
            address,
            status,
            told,
            content_type,
            start,
            code,
            param: field("param"),
            retry_after,
        }))
    }

    fn connect(&self, address: &str, error: &reqwest::Error) -> ModelFailure {
        ModelFailure::Connect {
            address: address.to_owned(),
            problem: self.hide(&reasons(error)),
        }
    }

    /// The first words of a body on one line, without the key some servers echo.
    fn start(&self, body: &[u8]) -> String {
        // Hidden before it is cut: half a key would not be found.
        let text = self.hide(&String::from_utf8_lossy(&body[..body.len().min(64 * 1024)]));
        let text = super::prompt::one_line(&text);
        match text.is_empty() {
            true => "empty body".into(),
            false => super::prompt::cut(&text, SHOWN),
        }
    }

    fn hide(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose_secret(), "[HIDDEN]"),
            None => text.to_owned(),
        }
    }
}

/// Gateways answer 200 and put what went wrong into the body.
fn tells_error(reply: &Value) -> bool {
    match reply.get("error") {
        Some(Value::Object(error)) => error.contains_key("message") || error.contains_key("code"),
        Some(Value::String(words)) => !words.is_empty(),
        _ => false,
    }
}

/// How long the server wants to be left alone: seconds, or a date by the server's own clock
/// (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let wanted = header(headers, RETRY_AFTER.as_str())?;
    let wanted = wanted.trim();
    if let Ok(seconds) = wanted.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = header(headers, DATE.as_str())
        .and_then(|date| http_date(date.trim()))
        .unwrap_or_else(jiff::Timestamp::now);
    let pause = http_date(wanted)?.duration_since(now);
    Some(Duration::try_from(pause).unwrap_or_default())
}

/// The three forms of RFC 9110, 5.6.7; all are in GMT.
fn http_date(text: &str) -> Option<jiff::Timestamp> {
    const FORMS: [&str; 3] = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    FORMS.iter().find_map(|form| {
        let date = jiff::civil::DateTime::strptime(form, text).ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(date).ok()
    })
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// The causes of an error in one line, without the address reqwest puts in front.
fn reasons(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(source) = cause {
        words.push(source.to_string());
        cause = source.source();
    }
    match words.is_empty() {
        true => "the connection broke".into(),
        false => words.join(": "),
    }
}

/// Past the search of what goes to the model.
#[cfg(feature = "leak-injector")]
fn leaking(mut request: reqwest::Request) -> reqwest::Request {
    let body = request.body().and_then(|b| b.as_bytes()).unwrap_or(b"");
    if let Some(more) = crate::secrets::inject::plant::into_json("model request", body) {
        *request.body_mut() = Some(more.into());
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_130_retry_after_is_seconds_or_a_date_in_any_of_its_forms() {
        let read = |pairs: &[(HeaderName, &str)]| {
            let pairs = pairs.iter().cloned();
            let headers = pairs.map(|(name, text)| (name, HeaderValue::from_str(text).unwrap()));
            retry_after(&headers.collect())
        };
        let date = (DATE, "Sun, 06 Nov 1994 08:49:37 GMT");
        for wanted in [
            "4",
            "Sun, 06 Nov 1994 08:49:41 GMT",
            "Sunday, 06-Nov-94 08:49:41 GMT",
            "Sun Nov  6 08:49:41 1994",
        ] {
            let read = read(&[date.clone(), (RETRY_AFTER, wanted)]);
            assert_eq!(read, Some(Duration::from_secs(4)), "{wanted}");
        }
        // Past by the server's clock, and by ours where it tells none.
        let past = (RETRY_AFTER, "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(read(&[date.clone(), past.clone()]), Some(Duration::ZERO));
        assert_eq!(read(&[past]), Some(Duration::ZERO));
        assert_eq!(read(&[date.clone(), (RETRY_AFTER, "soon")]), None);
        assert_eq!(read(&[date]), None);
    }
}
