//! What a submit of a sign-in form came to: the page moved on, asks for more, or shows the form again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::page::acts::{Probe, ProbeKind};

use super::session::Broker;
use super::types::BrokerError;

/// What came after a submit.
#[derive(Debug, PartialEq)]
pub(super) enum After {
    /// The next page of the sign-in.
    Form(Probe),
    Gone,
    /// The form, or an earlier one of the same sign-in, is there again.
    Again,
    /// No password field came after the user name.
    NoPassword,
    /// Something only a person can answer.
    Human(&'static str),
    Captcha,
    Stopped,
}

/// Before the submit.
pub(super) struct Before {
    pub url: String,
    pub documents: u64,
    /// Requests that had left.
    pub departed: u64,
}

impl Broker {
    pub(super) fn before_submit(&mut self) -> Before {
        self.drain_network();
        Before {
            url: self
                .last
                .as_ref()
                .map(|o| o.url.clone())
                .unwrap_or_default(),
            documents: self.documents_loaded(),
            departed: self.departed,
        }
    }

    /// Whether anything went to a site: without that nobody can have refused the credential.
    pub(super) fn has_left_since(&mut self, before: &Before) -> bool {
        self.drain_network();
        self.departed != before.departed
            || self.documents_loaded() != before.documents
            || !self.proxy.sees_requests()
    }

    /// Waits until something answers: a navigation, a request, a change of the form.
    pub(super) async fn after_submit(
        &mut self,
        before: &Before,
        asked: ProbeKind,
        within: Duration,
    ) -> Result<After, BrokerError> {
        let until = Instant::now() + within.max(Duration::from_secs(5));
        loop {
            self.watch.arrived(self.limits.navigation).await;
            self.follow().await?;
            self.drain_network();
            if self.must_stop() {
                return Ok(After::Stopped);
            }
            let moved = self.documents_loaded() != before.documents;
            if moved || self.is_quiet().await {
                // Structure only: what was filled may still be there.
                self.held = true;
                let (observation, probe) = match self.look_and_probe().await {
                    Ok(both) => both,
                    // The page was just being replaced.
                    Err(BrokerError::Stale) if Instant::now() < until => continue,
                    Err(error) => return Err(error),
                };
                // Read while its answer came in: half a page says nothing.
                if self.watch.navigating() && Instant::now() < until {
                    continue;
                }
                self.held = probe.held > 0;
                let captcha = observation
                    .nodes()
                    .any(|(_, n)| n.tag == "iframe" && n.name.to_lowercase().contains("captcha"));
                if captcha {
                    return Ok(After::Captcha);
                }
                let moved = moved || observation.url != before.url;
                if let Some(after) = verdict(asked, probe, moved) {
                    self.held &= after != After::Gone;
                    return Ok(after);
                }
            }
            if Instant::now() >= until {
                return Ok(match self.documents_loaded() != before.documents {
                    true if is_user_name(asked) => After::NoPassword,
                    _ => After::Again,
                });
            }
            sleep(Duration::from_millis(40)).await;
        }
    }
}

fn is_user_name(kind: ProbeKind) -> bool {
    matches!(kind, ProbeKind::UsernameFirst | ProbeKind::OneText)
}

/// What a page that has come to rest says to the form that was sent; `None`: not yet to be told.
fn verdict(asked: ProbeKind, probe: Probe, moved: bool) -> Option<After> {
    let first = is_user_name(asked);
    match probe.kind {
        ProbeKind::Login if probe.held > 0 => None,
        ProbeKind::Login if first => Some(After::Form(probe)),
        ProbeKind::Login => Some(After::Again),
        // A digit that was typed may still lie in its field.
        ProbeKind::Code if asked == ProbeKind::Code => {
            (probe.held == 0 || moved).then_some(After::Again)
        }
        ProbeKind::Code => Some(After::Form(probe)),
        ProbeKind::ManyCodes => Some(After::Human("the site asks for a code")),
        ProbeKind::ChangeOrRegistration => {
            moved.then_some(After::Human("the site asks for a new password"))
        }
        // Back at the start.
        ProbeKind::UsernameFirst => (moved && probe.held == 0).then_some(After::Again),
        // After the user name alone a password must come, however long the page takes to show it.
        ProbeKind::None | ProbeKind::OneText if first => None,
        ProbeKind::None | ProbeKind::OneText => (moved || probe.held == 0).then_some(After::Gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(kind: ProbeKind, held: u32) -> Probe {
        Probe {
            kind,
            username: -1,
            password: -1,
            codes: Vec::new(),
            held,
            passwords: 0,
            new_passwords: 0,
        }
    }

    #[test]
    fn r23_what_a_page_says_to_a_sign_in() {
        use ProbeKind::*;
        let form = |kind| Some(After::Form(probe(kind, 0)));
        let code = Some(After::Human("the site asks for a code"));
        for (asked, kind, held, moved, after) in [
            (Login, None, 0, true, Some(After::Gone)),
            (Login, OneText, 0, true, Some(After::Gone)),
            (Login, None, 0, false, Some(After::Gone)),
            (Login, None, 1, false, Option::None),
            (Login, Login, 1, false, Option::None),
            (Login, Login, 0, true, Some(After::Again)),
            (Login, UsernameFirst, 0, true, Some(After::Again)),
            (Login, Code, 0, true, form(Code)),
            (Login, ManyCodes, 0, true, code),
            (Code, Code, 0, true, Some(After::Again)),
            (Code, Code, 1, false, Option::None),
            (Code, Login, 0, true, Some(After::Again)),
            (UsernameFirst, Login, 0, false, form(Login)),
            (OneText, Login, 0, true, form(Login)),
            // The same page still, or one that shows its password field in a moment.
            (OneText, OneText, 0, false, Option::None),
            (UsernameFirst, None, 0, true, Option::None),
            (UsernameFirst, UsernameFirst, 0, true, Some(After::Again)),
        ] {
            let said = verdict(asked, probe(kind, held), moved);
            assert_eq!(
                said, after,
                "{asked:?} then {kind:?}, {held} held, moved {moved}"
            );
        }
    }
}
