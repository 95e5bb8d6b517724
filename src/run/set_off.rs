//! What a step's act set off: judged as it comes, and waited for where the step declares it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::broker::Happening;
use crate::event::{Status, What};
use crate::plan::PlannedStep;
use crate::scenario::{Act, Picture};

use super::attempt::AttemptRun;
use super::failure::Fault;

/// A download may take so long, unless the step says otherwise.
const DOWNLOADED_WITHIN: Duration = Duration::from_secs(30);

impl AttemptRun<'_> {
    /// Waits until the page is quiet and judges what the act set off, also where the page never
    /// came to rest.
    pub(super) async fn settle(&mut self, step: &PlannedStep) -> Result<(), Fault> {
        let settled = if step.step.picture == Some(Picture::Drop) {
            self.broker.settle().await
        } else {
            self.broker.settle_in_picture().await
        };
        let settled = settled.map_err(Fault::from);
        let judged = self.judge_happenings(step);
        match (settled, judged) {
            (Err(fault), Err(graver)) if graver.is_graver_than(&fault) => Err(graver),
            (settled, judged) => settled.and(judged),
        }
    }

    /// Turns what happened beside the act into events, and ends the step where it must.
    pub(super) fn judge_happenings(&mut self, step: &PlannedStep) -> Result<(), Fault> {
        let mut fault: Option<Fault> = None;
        // Of several refusals the first is the cause: what follows may be the page's answer to it.
        let refuse = |fault: &mut Option<Fault>, refusal: Fault| {
            if fault
                .as_ref()
                .is_none_or(|known| refusal.is_graver_than(known))
            {
                *fault = Some(refusal);
            }
        };
        for happening in self.broker.happenings() {
            match happening {
                Happening::Dialog {
                    text,
                    answer,
                    expected,
                } => {
                    if !expected {
                        fault.get_or_insert(
                            Fault::failed("unexpected_dialog", format!("a dialog opened that the step does not mention, and was dismissed: \"{text}\""))
                                .help("say what to do with it: `dialog: accept` or `dialog: dismiss`"),
                        );
                    }
                    self.say.say(What::Dialog {
                        text,
                        answer,
                        expected,
                    });
                }
                Happening::TabOpened { url, followed, .. } => {
                    let url = crate::page::shown_address(&url);
                    if !followed {
                        self.aside.push(url.clone());
                    }
                    self.say.say(What::TabOpened { url, followed });
                }
                Happening::TabOpenedAgain => self
                    .say
                    .note("the new tab could not be read; its address was opened again"),
                Happening::TooManyTabs => self.say.note(
                    "the page opened tabs without end; all beyond the eighth were closed at once",
                ),
                Happening::TabClosed => self.say.note("the page closed its tab"),
                Happening::Download {
                    name,
                    bytes,
                    accepted,
                    ..
                } => self.say.say(What::Download {
                    name,
                    bytes,
                    accepted,
                }),
                Happening::Blocked(blocked) => self.say.say(What::Blocked(blocked)),
                Happening::Wrote {
                    method,
                    url,
                    because,
                } => {
                    // Signing in changes nothing that a second try could double.
                    self.writes_sent += u32::from(because != crate::policy::LOGIN);
                    self.say.say(What::Wrote {
                        method,
                        url: crate::page::shown_address(&url),
                        because,
                    });
                }
                Happening::LeftHosts { url } => {
                    let url = crate::page::shown_address(&url);
                    let message = format!("left allowed hosts: the page went to {url}");
                    let left = Fault::new(Status::Refused, "host_left", message)
                        .help("add the host to `hosts` if the scenario needs it");
                    refuse(&mut fault, left);
                }
                Happening::SecretInUrl { host } => {
                    let message = format!(
                        "a request to {host} held a registered secret in its address, and was stopped"
                    );
                    let leaving = Fault::new(Status::Refused, "secret_in_url", message)
                        .help("a form that sends secrets must say method=post");
                    refuse(&mut fault, leaving);
                }
                Happening::UndeclaredWrite { method, url, add } => {
                    let url = crate::page::shown_address(&url);
                    let message =
                        format!("an undeclared write was stopped before it left: {method} {url}");
                    let help = if add.is_empty() {
                        "its address held part of a secret: find out what the page sends there before it is declared".to_owned()
                    } else if matches!(step.step.act, Act::Plan(_)) || step.place.is_empty() {
                        format!("declare it: {add}")
                    } else {
                        format!(
                            "put `write: <what it changes>` beside the step, or declare it: {add}"
                        )
                    };
                    let write = Fault::new(Status::Refused, "undeclared_write", message).help(help);
                    refuse(&mut fault, write);
                }
            }
        }
        fault.map_or(Ok(()), Err)
    }

    /// What a WebSocket says is judged by nobody, so that there was one is told (R74).
    pub(super) fn note_sockets(&self) {
        for socket in self.broker.sockets() {
            let (opened, sent, place) = (socket.opened, socket.sent, socket.place);
            let of = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            self.say.note(format!(
                "{} to {place}, {} sent: what they say is not judged",
                of(opened.into(), "WebSocket"),
                of(sent, "message")
            ));
        }
    }

    /// Tabs that opened and were not followed: a likely reason why something is not there.
    pub(super) fn tabs_left_aside(&self) -> Vec<String> {
        self.aside
            .iter()
            .map(|url| {
                format!("a new tab was opened ({url}) and not followed; `opens: tab` on its step follows it")
            })
            .collect()
    }

    /// The dialog, the tab and the file the step says it sets off; what is worth telling of them.
    pub(super) async fn await_declared(
        &mut self,
        step: &PlannedStep,
    ) -> Result<Option<String>, Fault> {
        let note = match &step.step.dialog {
            Some(_) => self.await_dialog(step).await?,
            None => None,
        };
        if step.step.opens_tab {
            self.await_tab(step).await?;
        }
        if let Some(wanted) = &step.step.download {
            self.await_download(step, wanted).await?;
        }
        Ok(note)
    }

    /// A page may ask a moment later; the step's answer holds until then. That none came is no
    /// failure: `expect` says what must come of the step.
    async fn await_dialog(&mut self, step: &PlannedStep) -> Result<Option<String>, Fault> {
        let within = self.timeout_of(step);
        if !self.broker.await_dialog(within).await {
            let seconds = within.as_secs_f32();
            return Ok(Some(format!("no dialog opened within {seconds} s")));
        }
        self.settle(step).await?;
        Ok(None)
    }

    async fn await_tab(&mut self, step: &PlannedStep) -> Result<(), Fault> {
        if !self.broker.await_tab(self.timeout_of(step)).await? {
            return Err(Fault::failed(
                "no_tab",
                "the step says it opens a tab, but none was opened",
            )
            .help("leave `opens: tab` out if the page stays in its tab"));
        }
        self.judge_happenings(step)
    }

    async fn await_download(&mut self, step: &PlannedStep, wanted: &str) -> Result<(), Fault> {
        let until = Instant::now() + step.step.timeout.unwrap_or(DOWNLOADED_WITHIN);
        while !self.broker.download_came() {
            self.judge_happenings(step)?;
            if Instant::now() > until || self.must_stop() {
                let names = [
                    ("refused", self.broker.downloads_refused()),
                    ("downloaded before", self.broker.downloads()),
                ];
                let mut seen: Vec<String> = names
                    .into_iter()
                    .filter(|(_, names)| !names.is_empty())
                    .map(|(what, names)| format!("{what}: {}", names.join(", ")))
                    .collect();
                if seen.is_empty() {
                    seen.push("nothing was downloaded".into());
                }
                return Err(Fault::failed(
                    "download",
                    format!("no download called {wanted} was finished"),
                )
                .seen(seen));
            }
            sleep(Duration::from_millis(50)).await;
        }
        self.judge_happenings(step)
    }
}
