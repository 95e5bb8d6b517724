//! One tab: navigation, pictures, input, dialogs.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use thirtyfour::bidi::RawEventStream;
use tokio::task::unconstrained;

use super::bidi::{CallOptions, Connection, DEADLINE};
use super::error::DriverError;
use super::input::Actions;
use super::navigation::{self, NavFailure, NavOutcome, Wait};
use super::values;

/// Our own small questions run here, out of the page's reach.
const SANDBOX: &str = "rehearsal-driver";

#[derive(Debug, Clone)]
pub struct Tab {
    connection: Connection,
    context: String,
}

/// What part of the viewport a picture shows, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A tab or frame and the frames in it. Addresses are raw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    pub context: String,
    pub url: String,
    pub user_context: String,
    pub opener: Option<String>,
    pub children: Vec<TreeNode>,
}

impl Tab {
    pub(super) fn new(connection: Connection, context: String) -> Self {
        Self {
            connection,
            context,
        }
    }

    /// The tab's browsing context.
    pub fn id(&self) -> &str {
        &self.context
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Another tab of the same browser, by its browsing context.
    pub fn other(&self, context: &str) -> Self {
        Self::new(self.connection.clone(), context.to_owned())
    }

    async fn send(
        &self,
        method: &'static str,
        mut params: Value,
        deadline: Duration,
    ) -> Result<Value, DriverError> {
        params["context"] = json!(self.context);
        self.connection.send(method, params, deadline).await
    }

    /// Goes to an address. A page that does not come is an outcome with a failure; an error is
    /// a tab or browser that can't be used. After [`DriverError::Timeout`] the load may go on:
    /// [`Tab::stop_loading`].
    pub async fn navigate(
        &self,
        url: &str,
        wait: Wait,
        deadline: Duration,
    ) -> Result<NavOutcome, DriverError> {
        let params = json!({"url": url, "wait": wait.word()});
        let events = self.connection.bidi().subscribe_raw();
        match self
            .send("browsingContext.navigate", params, deadline)
            .await
        {
            Ok(answer) if became_download(events, &answer) => Ok(NavOutcome {
                url: url.to_owned(),
                navigation: answer["navigation"].as_str().map(str::to_owned),
                failure: Some(NavFailure::Aborted),
            }),
            Ok(answer) => self.arrived(url, answer, wait).await,
            Err(error) => navigation::outcome_of(url, error),
        }
    }

    pub async fn reload(&self, wait: Wait, deadline: Duration) -> Result<NavOutcome, DriverError> {
        let params = json!({"wait": wait.word()});
        match self.send("browsingContext.reload", params, deadline).await {
            Ok(answer) => self.arrived("", answer, wait).await,
            Err(error) => navigation::outcome_of("", error),
        }
    }

    /// Back (-1), forward (1). Answers `false` when there is no such entry. Does not wait.
    pub async fn traverse_history(&self, delta: i32) -> Result<bool, DriverError> {
        let params = json!({"delta": delta});
        match self
            .send("browsingContext.traverseHistory", params, DEADLINE)
            .await
        {
            Ok(_) => Ok(true),
            Err(DriverError::Command { error, .. }) if error == "no such history entry" => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn arrived(
        &self,
        asked: &str,
        answer: Value,
        wait: Wait,
    ) -> Result<NavOutcome, DriverError> {
        let navigation = answer["navigation"].as_str().map(str::to_owned);
        if wait == Wait::None {
            return Ok(NavOutcome {
                url: answer["url"].as_str().unwrap_or(asked).to_owned(),
                navigation,
                failure: None,
            });
        }
        let (url, failure) = self.document().await?;
        Ok(NavOutcome {
            url,
            navigation,
            failure,
        })
    }

    /// The present document's own address (raw), and the failure if it is an error page.
    pub async fn document(&self) -> Result<(String, Option<NavFailure>), DriverError> {
        let answer = self
            .connection
            .call_function(
                &self.context,
                Some(SANDBOX),
                "() => [document.URL.slice(0, 16384), \
                   /^chrome-error:/.test(document.URL) \
                     ? String(document.querySelector('.error-code')?.textContent ?? '')\
                         .slice(0, 200) || String(document.documentElement.innerText).slice(0, 4000)\
                     : '']",
                Vec::new(),
                &CallOptions::default(),
            )
            .await?;
        let answer = values::plain(&answer);
        let url = answer[0].as_str().unwrap_or_default().to_owned();
        let failure = navigation::is_error_page(&url).then(|| {
            navigation::failure_of_page(&url)
                .or_else(|| navigation::failure_in(answer[1].as_str().unwrap_or_default()))
                .unwrap_or_else(|| NavFailure::Other("error page".to_owned()))
        });
        Ok((url, failure))
    }

    /// Ends a load that never ends; the page that was there stays. Chromium's driver answers no
    /// script while a navigation is under way but has a word of its own for this; Firefox's lets a
    /// script do it (measured). Where neither helps, the tab goes to an empty page.
    pub async fn stop_loading(&self) -> Result<(), DriverError> {
        const LIMIT: Duration = Duration::from_secs(3);
        let session = self.send("goog:cdp.getSession", json!({}), LIMIT).await;
        if let Ok(session) = session {
            let stop = json!({"method": "Page.stopLoading", "params": {},
                              "session": session["session"]});
            let stopped = self
                .connection
                .send("goog:cdp.sendCommand", stop, LIMIT)
                .await;
            if stopped.is_ok() {
                return Ok(());
            }
        } else {
            let options = CallOptions {
                deadline: LIMIT,
                ..CallOptions::default()
            };
            let stop = "() => window.stop()";
            let stopped = self
                .connection
                .call_function(&self.context, Some(SANDBOX), stop, Vec::new(), &options)
                .await;
            if stopped.is_ok() {
                return Ok(());
            }
        }
        self.send(
            "browsingContext.navigate",
            json!({"url": "about:blank", "wait": "none"}),
            LIMIT,
        )
        .await
        .map(drop)
    }

    /// The browser's own accessibility node of an element of `frame`; `None` from a driver without the
    /// DevTools protocol (Firefox), whose shared ids say nothing either.
    pub async fn accessibility(&self, frame: &str, element: &str) -> Option<Value> {
        const LIMIT: Duration = Duration::from_secs(3);
        // `f.<frame>.d.<document>.e.<node>`
        let node: u64 = element.rsplit_once(".e.")?.1.parse().ok()?;
        let asked = json!({"context": frame});
        let session = self
            .connection
            .send("goog:cdp.getSession", asked, LIMIT)
            .await
            .ok()?;
        let ask = json!({"method": "Accessibility.getPartialAXTree", "session": session["session"],
                         "params": {"backendNodeId": node, "fetchRelatives": false}});
        let answer = self
            .connection
            .send("goog:cdp.sendCommand", ask, LIMIT)
            .await
            .ok()?;
        answer["result"]["nodes"].get(0).cloned()
    }

    /// Brings the tab to the front: a hidden one neither paints nor takes clicks.
    pub async fn activate(&self) -> Result<(), DriverError> {
        self.send("browsingContext.activate", json!({}), DEADLINE)
            .await
            .map(drop)
    }

    /// Closes the tab; a `beforeunload` handler is not asked.
    pub async fn close(&self) -> Result<(), DriverError> {
        match self
            .send(
                "browsingContext.close",
                json!({"promptUnload": false}),
                DEADLINE,
            )
            .await
        {
            Err(DriverError::NoSuchFrame { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub async fn set_viewport(&self, width: u32, height: u32) -> Result<(), DriverError> {
        self.send(
            "browsingContext.setViewport",
            json!({"viewport": {"width": width, "height": height}}),
            DEADLINE,
        )
        .await
        .map(drop)
    }

    /// A PNG of the viewport, or of a part of it.
    pub async fn screenshot(&self, clip: Option<Clip>) -> Result<Vec<u8>, DriverError> {
        const COMMAND: &str = "browsingContext.captureScreenshot";
        let mut params = json!({"origin": "viewport", "format": {"type": "image/png"}});
        if let Some(clip) = clip {
            params["clip"] = json!({"type": "box", "x": clip.x, "y": clip.y,
                                    "width": clip.width, "height": clip.height});
        }
        let answer = self.send(COMMAND, params, DEADLINE).await?;
        base64::engine::general_purpose::STANDARD
            .decode(answer["data"].as_str().unwrap_or_default())
            .ok()
            .filter(|bytes| !bytes.is_empty())
            .ok_or(DriverError::Malformed {
                command: COMMAND,
                what: "no picture",
            })
    }

    /// Trusted input: one `performActions`, whatever it holds.
    pub async fn perform(&self, actions: Actions, deadline: Duration) -> Result<(), DriverError> {
        self.perform_in(&self.context, actions, deadline).await
    }

    /// As [`Tab::perform`], with coordinates and elements of a frame of this tab.
    pub async fn perform_in(
        &self,
        frame: &str,
        actions: Actions,
        deadline: Duration,
    ) -> Result<(), DriverError> {
        self.connection
            .send(
                "input.performActions",
                json!({"context": frame, "actions": actions.into_json()}),
                deadline,
            )
            .await
            .map(drop)
    }

    /// Lets go of all keys and buttons.
    pub async fn release_actions(&self) -> Result<(), DriverError> {
        self.send("input.releaseActions", json!({}), DEADLINE)
            .await
            .map(drop)
    }

    /// Puts files into a file box of `frame` (this tab's id for its own document).
    pub async fn set_files(
        &self,
        frame: &str,
        element: &str,
        files: &[PathBuf],
    ) -> Result<(), DriverError> {
        self.connection
            .send(
                "input.setFiles",
                json!({"context": frame, "element": {"sharedId": element}, "files": files}),
                DEADLINE,
            )
            .await
            .map(drop)
    }

    /// Answers an open dialog.
    pub async fn handle_prompt(&self, accept: bool, text: Option<&str>) -> Result<(), DriverError> {
        let mut params = json!({"accept": accept});
        if let Some(text) = text {
            params["userText"] = json!(text);
        }
        self.send("browsingContext.handleUserPrompt", params, DEADLINE)
            .await
            .map(drop)
    }

    /// The tab and all its frames, now.
    pub async fn tree(&self) -> Result<TreeNode, DriverError> {
        const COMMAND: &str = "browsingContext.getTree";
        let answer = self
            .connection
            .send(COMMAND, json!({"root": self.context}), DEADLINE)
            .await?;
        answer["contexts"]
            .get(0)
            .and_then(tree_node)
            .ok_or(DriverError::Malformed {
                command: COMMAND,
                what: "no context",
            })
    }
}

/// Firefox's driver calls a navigation that became a download a success; it has told of the download
/// by then (measured), and events stand in their stream before the answers that came after them.
fn became_download(mut events: RawEventStream, answer: &Value) -> bool {
    while let Some(Some(event)) = unconstrained(events.next()).now_or_never() {
        if event.method == "browsingContext.downloadWillBegin"
            && answer["navigation"].is_string()
            && event.params.get("navigation") == answer.get("navigation")
        {
            return true;
        }
    }
    false
}

fn tree_node(node: &Value) -> Option<TreeNode> {
    let text = |key: &str| node[key].as_str().map(str::to_owned);
    Some(TreeNode {
        context: text("context")?,
        url: text("url").unwrap_or_default(),
        user_context: text("userContext").unwrap_or_default(),
        opener: text("originalOpener"),
        children: node["children"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(tree_node)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_with_its_frames() {
        let tree = tree_node(&json!({
            "context": "A", "url": "http://a.test/", "userContext": "1",
            "children": [{"context": "B", "url": "http://b.test/", "userContext": "1",
                          "children": []}, {"url": "no id"}]
        }))
        .unwrap();
        assert_eq!(tree.children.len(), 1);
        assert_eq!(tree.children[0].context, "B");
        assert_eq!(tree.opener, None);
    }
}
