//! A real Chromium for the `page` room's tests: chromedriver, one session, a static server for
//! `fixtures/`, and the room's [`Realm`] over thirtyfour's BiDi.

use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rehearsal::page::{CallFault, Realm};
use serde_json::{Value, json};
use thirtyfour::common::command::{Command, ExtensionCommand};
use thirtyfour::{CapabilitiesHelper, ChromiumLikeCapabilities, DesiredCapabilities, WebDriver};

pub struct Browser {
    pub driver: WebDriver,
    pub bidi: thirtyfour::bidi::BiDi,
    /// The only tab.
    pub top: String,
    /// `http://127.0.0.1:port` of the folder `fixtures/`.
    pub site: String,
    child: Child,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The child was started here; its browser ends with the session or with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    pub async fn start() -> Self {
        let port = free_port();
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".into());
        let child = Process::new(program)
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut wish = DesiredCapabilities::chrome();
        for arg in [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--window-size=1280,943",
        ] {
            wish.add_arg(arg).expect("an argument");
        }
        wish.enable_bidi().expect("BiDi");
        let address = format!("http://127.0.0.1:{port}");
        let mut tries = 0;
        let driver = loop {
            match WebDriver::new(&address, wish.clone()).await {
                Ok(driver) => break driver,
                Err(_) if tries < 50 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => panic!("no session: {error}"),
            }
        };
        let bidi = driver.bidi().await.expect("a BiDi connection");
        let tree = bidi
            .send_raw("browsingContext.getTree", json!({}))
            .await
            .expect("a tree");
        let top = tree["contexts"][0]["context"]
            .as_str()
            .expect("a tab")
            .to_owned();
        Self {
            driver,
            bidi,
            top,
            site: serve().await,
            child,
        }
    }

    pub async fn go(&self, path: &str) {
        let url = format!("{}/{path}", self.site);
        let params = json!({"context": self.top, "url": url, "wait": "complete"});
        self.bidi
            .send_raw("browsingContext.navigate", params)
            .await
            .expect("a page");
    }

    /// The classic commands on one element: computed role or computed label.
    pub async fn computed(&self, element: &str, what: &'static str) -> Result<String, String> {
        let ask = Command::ExtensionCommand(Box::new(Computed {
            element: element.to_owned(),
            what,
        }));
        let answer = self.driver.handle().cmd(ask).await;
        answer
            .and_then(|a| a.value::<String>())
            .map_err(|e| e.to_string())
    }

    /// A script in the page's own world.
    pub async fn script(&self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "awaitPromise": true, "target": {"context": self.top}
        });
        let answer = self
            .bidi
            .send_raw("script.evaluate", params)
            .await
            .expect("a script");
        answer["result"]["value"].clone()
    }

    pub async fn click(&self, x: f64, y: f64) {
        let params = json!({"context": self.top, "actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [
                {"type": "pointerMove", "x": x.round() as i64, "y": y.round() as i64},
                {"type": "pointerDown", "button": 0},
                {"type": "pointerUp", "button": 0}
            ]
        }]});
        self.bidi
            .send_raw("input.performActions", params)
            .await
            .expect("a click");
    }

    pub async fn quit(self) {
        let _ = self.driver.clone().quit().await;
    }
}

impl Realm for Browser {
    async fn call_function(
        &self,
        context: &str,
        sandbox: &str,
        declaration: &str,
        arguments: Vec<Value>,
        serialization: Option<Value>,
    ) -> Result<Value, CallFault> {
        let mut params = json!({
            "functionDeclaration": declaration, "awaitPromise": true, "arguments": arguments,
            "target": {"context": context, "sandbox": sandbox}
        });
        if let Some(options) = serialization {
            params["serializationOptions"] = options;
        }
        let answer = self
            .bidi
            .send_raw("script.callFunction", params)
            .await
            .map_err(|e| CallFault::Refused(e.to_string()))?;
        if answer["type"] == "exception" {
            let said = answer["exceptionDetails"]["text"].to_string();
            return Err(CallFault::Refused(said));
        }
        Ok(answer["result"].clone())
    }

    async fn accessibility(&self, context: &str, shared_id: &str) -> Option<Value> {
        let node: u64 = shared_id.rsplit_once(".e.")?.1.parse().ok()?;
        let asked = json!({"context": context});
        let session = self
            .bidi
            .send_raw("goog:cdp.getSession", asked)
            .await
            .ok()?;
        let ask = json!({"method": "Accessibility.getPartialAXTree", "session": session["session"],
                         "params": {"backendNodeId": node, "fetchRelatives": false}});
        let answer = self.bidi.send_raw("goog:cdp.sendCommand", ask).await.ok()?;
        answer["result"]["nodes"].get(0).cloned()
    }
}

#[derive(Debug)]
struct Computed {
    element: String,
    what: &'static str,
}

impl ExtensionCommand for Computed {
    fn parameters_json(&self) -> Option<Value> {
        None
    }
    fn method(&self) -> axum::http::Method {
        axum::http::Method::GET
    }
    fn endpoint(&self) -> Arc<str> {
        format!("/element/{}/{}", self.element, self.what).into()
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a port")
        .port()
}

pub fn fixtures() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

async fn serve() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = axum::Router::new().fallback(|uri: axum::http::Uri| async move {
        let html = [("content-type", "text/html; charset=utf-8")];
        match tokio::fs::read(fixtures().join(uri.path().trim_start_matches('/'))).await {
            Ok(bytes) => (axum::http::StatusCode::OK, html, bytes),
            Err(_) => (axum::http::StatusCode::NOT_FOUND, html, Vec::new()),
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}
