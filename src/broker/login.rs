//! Signing in, by the broker alone (security.md 2.1, 2.3; R19–R25): from the form that is there to how
//! it ended. While a secret is typed the only read is the probe, a fixed function that answers
//! booleans, counts and positions.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::page;
use crate::page::acts::{self, Probe, ProbeKind};
use crate::policy::Origin;
use crate::scenario::Expectation;

use super::entry::Entry;
use super::outcome::After;
use super::session::Broker;
use super::types::BrokerError;

/// How a login ended. The words are stable reasons of failures.
#[derive(Debug, Clone, PartialEq)]
pub enum LoginEnd {
    SignedIn,
    /// There is no form, and the step's `expect` holds.
    AlreadySignedIn,
    NoForm {
        saw: String,
    },
    /// The page, its form or the form's action belong to another origin.
    WrongOrigin {
        credential: String,
        page: String,
    },
    /// The form is still there after it was sent.
    Rejected {
        saw: String,
    },
    /// The form is still there, and no request left the machine: nobody has refused anything.
    NotSent {
        saw: String,
    },
    HumanNeeded {
        saw: String,
    },
    Captcha,
    /// A form that can't be filled safely.
    UnsafeForm {
        why: String,
    },
    /// The focus left the field while the secret was typed.
    FocusMoved,
    /// A request was refused on the way; what happened tells which.
    Stopped,
}

/// What is asked of a login.
pub struct LoginWish<'a> {
    pub credential: &'a str,
    /// The step's own evidence, where it has any.
    pub expect: &'a [Expectation],
    pub within: Duration,
    /// Told before the first key: the form's words for the journal.
    pub now: u64,
}

impl LoginWish<'_> {
    /// Whether the step's own evidence is there.
    fn shows_in(&self, observation: &page::Observation) -> bool {
        let checked =
            crate::resolve::check_all(self.expect, observation, &serde_json::Value::Null, &[]);
        !checked.is_empty() && checked.iter().all(|c| c.holds)
    }
}

impl Broker {
    pub async fn login(&mut self, wish: &LoginWish<'_>) -> Result<LoginEnd, BrokerError> {
        let Some(credential) = self.credentials.get(wish.credential) else {
            return Ok(LoginEnd::UnsafeForm {
                why: format!("credential {} is not loaded", wish.credential),
            });
        };
        let bound = match credential.origin.as_deref().map(Origin::parse) {
            Some(Ok(origin)) => origin,
            _ => {
                return Ok(LoginEnd::UnsafeForm {
                    why: format!("credential {} has no usable origin", wish.credential),
                });
            }
        };
        let until = Instant::now() + wish.within;
        let first = match self.await_form(until, wish).await? {
            Ok(probe) => probe,
            Err(end) => return Ok(end),
        };
        // What was filled by hand before is sent by its own step or not at all.
        self.end_window();
        self.entering(&bound);
        let result = self.enter(first, &bound, wish).await;
        self.entered();
        // Whatever went wrong, nothing typed stays behind; if it does, the document stays protected:
        // no picture, no model, no values.
        if self.held {
            let _ = self.clear().await;
        }
        let _ = acts::hold_back(&self.realm(), self.tab.id(), false).await;
        if result.as_ref().is_ok_and(|end| *end != LoginEnd::SignedIn) {
            // The user name may still stand in its field: pictures cover what has been read there.
            let _ = self.look().await;
        }
        result
    }

    /// Waits for a form that can be filled; a page without one may be signed in already.
    async fn await_form(
        &mut self,
        until: Instant,
        wish: &LoginWish<'_>,
    ) -> Result<Result<Probe, LoginEnd>, BrokerError> {
        self.seek(wish.expect.iter().flat_map(Expectation::targets));
        loop {
            let (observation, probe) = match self.look_and_probe().await {
                Ok(both) => both,
                // The page was just being replaced.
                Err(BrokerError::Stale) if Instant::now() < until => continue,
                Err(error) => return Err(error),
            };
            match probe.kind {
                ProbeKind::Login | ProbeKind::UsernameFirst => return Ok(Ok(probe)),
                ProbeKind::OneText if self.has_words_of_sign_in() => return Ok(Ok(probe)),
                ProbeKind::ChangeOrRegistration => {
                    let why = match probe.passwords + probe.new_passwords {
                        1 => {
                            "the form asks for a new password (autocomplete=new-password), as a registration does"
                        }
                        _ => {
                            "the form has several password fields, as a registration or change form does"
                        }
                    };
                    return Ok(Err(LoginEnd::UnsafeForm { why: why.into() }));
                }
                _ => {}
            }
            if wish.shows_in(&observation) {
                return Ok(Err(LoginEnd::AlreadySignedIn));
            }
            if Instant::now() >= until {
                let saw = format!(
                    "the page is \"{}\" at {}",
                    observation.title,
                    page::shown_address(&observation.url)
                );
                return Ok(Err(LoginEnd::NoForm { saw }));
            }
            sleep(Duration::from_millis(60)).await;
        }
    }

    /// A single text field is a user name only where the page speaks of signing in.
    fn has_words_of_sign_in(&self) -> bool {
        let words = [
            "sign in", "log in", "login", "accedi", "continue", "next", "user", "email", "e-mail",
        ];
        self.last.as_ref().is_some_and(|o| {
            let text = o
                .documents
                .first()
                .map(|d| d.text.to_lowercase())
                .unwrap_or_default();
            words.iter().any(|w| text.contains(w))
        })
    }

    pub(super) async fn look_and_probe(
        &mut self,
    ) -> Result<(std::sync::Arc<page::Observation>, Probe), BrokerError> {
        let observation = self.look().await?;
        Ok((observation, self.probe().await?))
    }

    pub(super) async fn probe(&self) -> Result<Probe, BrokerError> {
        let probe = acts::probe(&self.realm(), self.tab.id(), self.generation).await?;
        probe.ok_or(BrokerError::Stale)
    }

    /// User name, password, code; each on its own page where the site wants it so.
    async fn enter(
        &mut self,
        first: Probe,
        bound: &Origin,
        wish: &LoginWish<'_>,
    ) -> Result<LoginEnd, BrokerError> {
        let mut probe = first;
        let shown_before = self.last.as_ref().is_some_and(|o| wish.shows_in(o));
        for _ in 0..4 {
            match self.check_form(bound, &probe, wish.credential).await? {
                Err(end) => return Ok(end),
                Ok(Some(way)) if way.new_tab && !self.follows_tab() => {
                    return Ok(LoginEnd::UnsafeForm {
                        why: "the form answers in a new tab; put `opens: tab` beside the step"
                            .into(),
                    });
                }
                Ok(_) => {}
            }
            let before = self.before_submit();
            let mut entry = Entry {
                broker: self,
                bound,
                credential: wish.credential,
            };
            let entered = match probe.kind {
                ProbeKind::Code => entry.code(&probe, wish.now).await?,
                _ => entry.fields(&probe).await?,
            };
            if let Some(end) = entered {
                return Ok(end);
            }
            let end = match self.after_submit(&before, probe.kind, wish.within).await? {
                After::Form(next) if next.kind == ProbeKind::Code && !self.has_totp(wish) => {
                    LoginEnd::HumanNeeded {
                        saw: "the site asks for a code".into(),
                    }
                }
                After::Form(next) => {
                    probe = next;
                    continue;
                }
                After::Gone => LoginEnd::SignedIn,
                After::Captcha => LoginEnd::Captcha,
                After::Human(saw) => LoginEnd::HumanNeeded { saw: saw.into() },
                After::Stopped => LoginEnd::Stopped,
                After::NoPassword => LoginEnd::NoForm {
                    saw: "the site took the user name and showed no password field".into(),
                },
                After::Again => {
                    let left = self.has_left_since(&before);
                    self.clear().await?;
                    let saw = self.alert_words().await?;
                    // A page may keep its form: what the step expects tells, if it came with the answer.
                    let shown = self.last.as_ref().is_some_and(|o| wish.shows_in(o));
                    match left {
                        true if shown && !shown_before => LoginEnd::SignedIn,
                        true => LoginEnd::Rejected { saw },
                        false => LoginEnd::NotSent { saw },
                    }
                }
            };
            return Ok(end);
        }
        Ok(LoginEnd::UnsafeForm {
            why: "the site asked for more pages than a sign-in has".into(),
        })
    }

    fn follows_tab(&self) -> bool {
        self.watch.state().rules.follow_tab
    }

    fn has_totp(&self, wish: &LoginWish<'_>) -> bool {
        self.credentials
            .get(wish.credential)
            .is_some_and(|c| c.totp.is_some())
    }

    /// Empties what was filled and proves it by probe; only then may pictures be taken again.
    pub(super) async fn clear(&mut self) -> Result<(), BrokerError> {
        let left = match acts::clear_protected(&self.realm(), self.tab.id()).await {
            Ok(left) => left,
            // The document is gone, and what it held with it.
            Err(page::ReadError::Call(page::CallFault::Gone(_))) => 0,
            Err(error) => return Err(error.into()),
        };
        self.held = left > 0;
        Ok(())
    }

    async fn alert_words(&mut self) -> Result<String, BrokerError> {
        let observation = self.look().await?;
        let alert = observation
            .nodes()
            .find(|(_, n)| matches!(n.role.as_str(), "alert" | "status"))
            .map(|(id, _)| observation.text_of(id).to_owned());
        Ok(match alert.filter(|t| !t.trim().is_empty()) {
            Some(text) => format!(
                "the page says \"{}\"",
                crate::text::cut(&crate::text::fold::fold(&text), 200)
            ),
            None => "the sign-in form is still there".into(),
        })
    }
}
