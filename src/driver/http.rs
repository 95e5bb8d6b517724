//! The HTTP client for New Session and Delete Session: no proxy, no redirects, bounded answers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::{Request, Response};
use thirtyfour::error::{WebDriverError, WebDriverResult};
use thirtyfour::session::http::{Body, HttpClient};

/// No honest answer to the two commands we send is anywhere near this (F5).
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Client(reqwest::Client);

impl Client {
    /// `HTTP_PROXY` and its kin are ignored: the driver is here, or where the user said.
    pub(super) fn new(limit: Duration) -> Result<Self, reqwest::Error> {
        // Two providers lie in the tree through others' features; without a chosen one
        // connections panic. A second call changes nothing.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(limit)
            .build()
            .map(Self)
    }

    async fn exchange(&self, request: Request<Body<'_>>) -> WebDriverResult<Response<Bytes>> {
        let (parts, body) = request.into_parts();
        let mut outgoing = self
            .0
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers);
        if let Body::Json(json) = body {
            // Selenium Grid refuses JSON whose header does not say UTF-8; thirtyfour's header
            // does, so the body is set without touching it.
            outgoing = outgoing.body(serde_json::to_vec(json)?);
        }
        let mut incoming = outgoing.send().await?;
        let mut answer = Response::builder().status(incoming.status());
        for (name, value) in incoming.headers() {
            answer = answer.header(name, value);
        }
        let mut bytes = BytesMut::new();
        while let Some(chunk) = incoming.chunk().await? {
            if bytes.len() + chunk.len() > LARGEST_ANSWER {
                return Err(WebDriverError::RequestFailed(
                    "the answer is larger than 32 MiB".to_owned(),
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
        answer
            .body(bytes.freeze())
            .map_err(|error| WebDriverError::RequestFailed(error.to_string()))
    }
}

type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

impl HttpClient for Client {
    fn send<'s, 'b, 'f>(
        &'s self,
        request: Request<Body<'b>>,
    ) -> Future<'f, WebDriverResult<Response<Bytes>>>
    where
        's: 'f,
        'b: 'f,
        Self: 'f,
    {
        Box::pin(self.exchange(request))
    }

    fn new<'s, 'f>(&'s self) -> Future<'f, Arc<dyn HttpClient>>
    where
        's: 'f,
        Self: 'f,
    {
        let client: Arc<dyn HttpClient> = Arc::new(self.clone());
        Box::pin(async move { client })
    }
}
