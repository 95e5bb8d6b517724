//! Signing in, by the broker alone (security.md 2.1, 2.3; R19–R25).
//!
//! While a secret is typed the only read is the probe, a fixed function that answers booleans, counts
//! and positions. [`Entry`] borrows the broker whole: a picture, a model call or a read of text
//! between the first key and the settled page does not compile.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use url::Url;

use crate::driver::{Actions, Key};
use crate::page::acts::{self, Probe, ProbeKind};
use crate::page::{self, NodeId};
use crate::policy::Origin;
use crate::scenario::Expectation;
use crate::secrets::{Kind, Secret};

use super::hands::{Fit, Prepared};
use super::session::Broker;
use super::types::{BrokerError, Primitive, Unfit};

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
    /// The form is still there after submitting.
    Rejected {
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
        // Only requests to the credential's own origin are covered by the login.
        let window = self.gate().open_login(bound.clone());
        let result = self.enter(first, &bound, wish).await;
        self.gate().close_window(window);
        if self.held {
            // Whatever went wrong, nothing typed stays behind; if it does, the document stays
            // protected: no picture, no model, no values.
            let _ = self.clear().await;
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
            let observation = self.look().await?;
            let probe = self.probe().await?;
            match probe.kind {
                ProbeKind::Login | ProbeKind::UsernameFirst => return Ok(Ok(probe)),
                ProbeKind::OneText if self.has_words_of_sign_in() => return Ok(Ok(probe)),
                ProbeKind::ChangeOrRegistration => {
                    return Ok(Err(LoginEnd::UnsafeForm { why: "the form has several password fields, as a registration or change form does".into() }));
                }
                _ => {}
            }
            if !wish.expect.is_empty() {
                let checked = crate::resolve::check_all(
                    wish.expect,
                    &observation,
                    &serde_json::Value::Null,
                    &[],
                );
                if checked.iter().all(|c| c.holds) {
                    return Ok(Err(LoginEnd::AlreadySignedIn));
                }
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

    async fn look_and_probe(
        &mut self,
    ) -> Result<(std::sync::Arc<page::Observation>, Probe), BrokerError> {
        let observation = self.look().await?;
        Ok((observation, self.probe().await?))
    }

    async fn probe(&self) -> Result<Probe, BrokerError> {
        Ok(acts::probe(&self.realm(), self.tab.id(), self.generation).await?)
    }

    /// User name, password, code; each on its own page where the site wants it so.
    async fn enter(
        &mut self,
        first: Probe,
        bound: &Origin,
        wish: &LoginWish<'_>,
    ) -> Result<LoginEnd, BrokerError> {
        let mut probe = first;
        let mut used_code = false;
        for _ in 0..4 {
            if let Some(end) = self.origin_problem(bound, &probe, wish.credential).await? {
                return Ok(end);
            }
            let url_before = self
                .last
                .as_ref()
                .map(|o| o.url.clone())
                .unwrap_or_default();
            let documents = self.documents_loaded();
            let entered = {
                let mut entry = Entry {
                    broker: self,
                    bound,
                    credential: wish.credential,
                };
                match probe.kind {
                    ProbeKind::Code => {
                        used_code = true;
                        entry.code(&probe, wish.now).await?
                    }
                    _ => entry.fields(&probe).await?,
                }
            };
            if let Some(end) = entered {
                self.clear().await?;
                return Ok(end);
            }
            let next = self.after_submit(&url_before, documents, wish).await?;
            match next {
                After::Form(again)
                    if again.kind == probe.kind && probe.kind != ProbeKind::UsernameFirst =>
                {
                    self.clear().await?;
                    let saw = self.alert_words().await?;
                    return Ok(LoginEnd::Rejected { saw });
                }
                After::Form(again)
                    if again.kind == ProbeKind::Code
                        && (used_code || !self.has_totp(wish.credential)) =>
                {
                    self.clear().await?;
                    return Ok(LoginEnd::HumanNeeded {
                        saw: "the site asks for a code".into(),
                    });
                }
                After::Form(again) => probe = again,
                After::Gone => return Ok(LoginEnd::SignedIn),
                After::Captcha => return Ok(LoginEnd::Captcha),
                After::Stopped => {
                    self.clear().await?;
                    return Ok(LoginEnd::Stopped);
                }
                After::Still => {
                    self.clear().await?;
                    let saw = self.alert_words().await?;
                    return Ok(LoginEnd::Rejected { saw });
                }
            }
        }
        Ok(LoginEnd::UnsafeForm {
            why: "the site asked for more pages than a sign-in has".into(),
        })
    }

    fn has_totp(&self, credential: &str) -> bool {
        self.credentials
            .get(credential)
            .is_some_and(|c| c.totp.is_some())
    }

    /// Page, form and action must all be at the credential's origin, exactly (R19–R22).
    async fn origin_problem(
        &mut self,
        bound: &Origin,
        probe: &Probe,
        credential: &str,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        let observation = self.last.clone().ok_or(BrokerError::Stale)?;
        let wrong = |page: String| {
            Some(LoginEnd::WrongOrigin {
                credential: format!("{credential} belongs to {bound}"),
                page,
            })
        };
        let here = self.address_now().await?;
        match Url::parse(&here) {
            Ok(url) if bound.holds(&url) => {}
            _ => {
                return Ok(wrong(format!(
                    "the page is at {}",
                    page::shown_address(&here)
                )));
            }
        }
        let Some(field) = [probe.password, probe.username, probe.code]
            .into_iter()
            .find(|at| *at >= 0)
        else {
            return Ok(None);
        };
        let id = NodeId {
            generation: observation.generation,
            document: 0,
            node: field as u32,
        };
        // A same-origin frame is read in place; its own address counts as the form's.
        if let Some(own) = acts::own_context(&self.realm(), self.tab.id(), id).await?
            && own != self.tab.id()
        {
            return Ok(wrong("the form lies in a frame".into()));
        }
        let Some(facts) = acts::form_facts(&self.realm(), self.tab.id(), id).await? else {
            return Ok(None);
        };
        let mut button_gets = false;
        let mut actions = vec![facts.action];
        actions.push(facts.submitter.formaction);
        if let Some(button) = acts::submitter(&self.realm(), self.tab.id(), id).await?
            && let Some(of_button) = acts::form_facts(&self.realm(), self.tab.id(), button).await?
        {
            button_gets = of_button
                .submitter
                .formmethod
                .as_deref()
                .is_some_and(|m| m.eq_ignore_ascii_case("get"));
            actions.push(of_button.submitter.formaction);
        }
        for action in actions
            .into_iter()
            .flatten()
            .filter(|a| !a.trim().is_empty())
        {
            match Url::parse(&facts.base)
                .ok()
                .and_then(|base| base.join(action.trim()).ok())
            {
                Some(url) if bound.holds(&url) => {}
                Some(url) => {
                    return Ok(wrong(format!(
                        "the form is sent to {}",
                        page::shown_address(url.as_str())
                    )));
                }
                None => {
                    return Ok(Some(LoginEnd::UnsafeForm {
                        why: "the form's action is no address".into(),
                    }));
                }
            }
        }
        let method = facts.method.as_deref().unwrap_or("").to_ascii_lowercase();
        // A form without `method` is a GET form only if the page lets it submit by itself; scripts
        // usually take it over, and the proxy stops a secret in an address in any case.
        if method == "get"
            || facts
                .submitter
                .formmethod
                .as_deref()
                .is_some_and(|m| m.eq_ignore_ascii_case("get"))
        {
            return Ok(Some(LoginEnd::UnsafeForm {
                why: "the form says method=get, which would put the secret into the address".into(),
            }));
        }
        if button_gets {
            return Ok(Some(LoginEnd::UnsafeForm {
                why: "its button says formmethod=get, which would put the secret into the address"
                    .into(),
            }));
        }
        Ok(None)
    }

    async fn address_now(&self) -> Result<String, BrokerError> {
        Ok(self.tab.document().await?.0)
    }

    /// After the submit was answered: the page has moved on, asks for more, or shows the form again.
    async fn after_submit(
        &mut self,
        url_before: &str,
        documents: u64,
        wish: &LoginWish<'_>,
    ) -> Result<After, BrokerError> {
        let until = Instant::now() + wish.within.max(Duration::from_secs(5));
        // Something must answer: a navigation, a request, a change of the form.
        loop {
            self.watch.arrived(self.limits.navigation).await;
            self.follow().await?;
            self.drain_network();
            if self.must_stop() {
                return Ok(After::Stopped);
            }
            let moved = self.documents_loaded() != documents;
            let quiet = self.is_quiet().await;
            if moved || quiet {
                // Structure only: what was filled may still be there.
                self.held = true;
                let (observation, probe) = match self.look_and_probe().await {
                    Ok(both) => both,
                    // The page was just being replaced.
                    Err(BrokerError::Stale) if Instant::now() < until => continue,
                    Err(error) => return Err(error),
                };
                self.held = probe.held > 0;
                let captcha = observation
                    .nodes()
                    .any(|(_, n)| n.tag == "iframe" && n.name.to_lowercase().contains("captcha"));
                if captcha {
                    return Ok(After::Captcha);
                }
                match probe.kind {
                    ProbeKind::Login
                    | ProbeKind::UsernameFirst
                    | ProbeKind::Code
                    | ProbeKind::OneText
                        if probe.held == 0
                            && (moved
                                || probe.kind == ProbeKind::Code
                                || (observation.url != url_before)) =>
                    {
                        if probe.kind == ProbeKind::OneText {
                            return Ok(self.gone());
                        }
                        return Ok(After::Form(probe));
                    }
                    ProbeKind::Login if probe.password >= 0 && probe.held == 0 => {
                        return Ok(After::Form(probe));
                    }
                    ProbeKind::None | ProbeKind::OneText
                        if moved || observation.url != url_before || probe.held == 0 =>
                    {
                        return Ok(self.gone());
                    }
                    _ => {}
                }
            }
            if Instant::now() >= until {
                return Ok(After::Still);
            }
            sleep(Duration::from_millis(40)).await;
        }
    }

    fn gone(&mut self) -> After {
        self.held = false;
        After::Gone
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

    // ---- a secret filled by hand (`fill:` with `credential:`) ------------------------------

    /// Fills one secret field the author named. The same checks as for a login; the document is
    /// protected until it goes away or the secret leaves it.
    pub(super) async fn fill_secret(
        &mut self,
        prepared: &Prepared,
        credential: &str,
        field: &str,
    ) -> Fit<Vec<String>> {
        let wrong = |why: String| Ok(Err(Unfit::WrongKind { why }));
        let Some(record) = self.credentials.get(credential) else {
            return wrong(format!("credential {credential} is not loaded"));
        };
        let Some(bound) = record.origin.as_deref().and_then(|o| Origin::parse(o).ok()) else {
            return wrong(format!("credential {credential} has no usable origin"));
        };
        let Some(value) = record.fields.get(field).map(Secret::duplicate) else {
            return wrong(format!("credential {credential} has no field {field}"));
        };
        let secret_field = field != "username";
        let at = prepared.id.node as i64;
        let probe = Probe {
            kind: ProbeKind::Login,
            username: -1,
            password: at,
            code: -1,
            held: 0,
            passwords: 1,
            new_passwords: 0,
        };
        if prepared.id.document != 0 {
            return Ok(Err(Unfit::WrongOrigin {
                why: format!("{credential} is never filled into a frame of another origin"),
            }));
        }
        match self.origin_problem(&bound, &probe, credential).await? {
            None => {}
            Some(LoginEnd::WrongOrigin { credential, page }) => {
                return Ok(Err(Unfit::WrongOrigin {
                    why: format!("{credential}, but {page}"),
                }));
            }
            Some(LoginEnd::UnsafeForm { why }) => return wrong(why),
            Some(_) => return wrong("the form can't be filled safely".into()),
        }
        if secret_field {
            acts::protect(
                &self.realm(),
                &prepared.context,
                prepared.id.generation,
                &[prepared.id.node],
                true,
            )
            .await?;
        }
        let mut entry = Entry {
            broker: self,
            bound: &bound,
            credential,
        };
        let typed = match secret_field {
            true => entry.type_into(prepared.id, &value).await,
            false => entry.type_name(prepared.id, &value).await,
        };
        match typed {
            Ok(None) => {}
            Ok(Some(LoginEnd::WrongOrigin { credential, page })) => {
                self.clear().await?;
                return Ok(Err(Unfit::WrongOrigin {
                    why: format!("{credential}, but {page}"),
                }));
            }
            Ok(Some(_)) => {
                self.clear().await?;
                return wrong(
                    "the focus moved away while it was typed; what was typed was removed again"
                        .into(),
                );
            }
            Err(error) => {
                let _ = self.clear().await;
                return Err(error);
            }
        }
        if secret_field {
            self.hold(bound);
        }
        Ok(Ok(Vec::new()))
    }
}

/// What came after a submit.
enum After {
    Form(Probe),
    Gone,
    Still,
    Captcha,
    Stopped,
}

/// The protected motion. Reads nothing but the probe's kind of answers.
struct Entry<'a> {
    broker: &'a mut Broker,
    bound: &'a Origin,
    credential: &'a str,
}

impl Entry<'_> {
    /// User name and password of one form, then its submit; `Some` ends the login.
    async fn fields(&mut self, probe: &Probe) -> Result<Option<LoginEnd>, BrokerError> {
        let generation = self.broker.generation;
        let node = |at: i64| {
            (at >= 0).then_some(NodeId {
                generation,
                document: 0,
                node: at as u32,
            })
        };
        let mut last = None;
        if let (Some(id), Some(name)) = (node(probe.username), self.value("username")) {
            if let Some(end) = self.type_name(id, &name).await? {
                return Ok(Some(end));
            }
            last = Some(id);
        }
        if let Some(id) = node(probe.password) {
            let Some(password) = self.value("password") else {
                return Ok(Some(LoginEnd::UnsafeForm {
                    why: format!("credential {} has no password", self.credential),
                }));
            };
            self.protect(id).await?;
            if let Some(end) = self.type_into(id, &password).await? {
                return Ok(Some(end));
            }
            last = Some(id);
        }
        self.submit(last, probe).await
    }

    async fn code(&mut self, probe: &Probe, now: u64) -> Result<Option<LoginEnd>, BrokerError> {
        let Some(record) = self.broker.credentials.get(self.credential) else {
            return Ok(None);
        };
        let Some(totp) = &record.totp else {
            return Ok(Some(LoginEnd::HumanNeeded {
                saw: "the site asks for a code".into(),
            }));
        };
        let code = totp.at(now);
        for scrubber in [&self.broker.scrubber, &self.broker.run_scrubber] {
            scrubber.register(self.credential, "code", &code, Kind::Otp);
        }
        let id = NodeId {
            generation: self.broker.generation,
            document: 0,
            node: probe.code.max(0) as u32,
        };
        self.protect(id).await?;
        if let Some(end) = self.type_into(id, &code).await? {
            return Ok(Some(end));
        }
        self.submit(Some(id), probe).await
    }

    fn value(&self, field: &str) -> Option<Secret> {
        self.broker
            .credentials
            .get(self.credential)?
            .fields
            .get(field)
            .map(Secret::duplicate)
    }

    async fn protect(&mut self, id: NodeId) -> Result<(), BrokerError> {
        let context = self.broker.tab.id().to_owned();
        Ok(acts::protect(
            &self.broker.realm(),
            &context,
            id.generation,
            &[id.node],
            true,
        )
        .await?)
    }

    /// A user name is no secret to its own site: typed in one go, under the same checks.
    async fn type_name(
        &mut self,
        id: NodeId,
        name: &Secret,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        let before = self.broker.held;
        let typed = self.guarded(id, name, usize::MAX).await;
        self.broker.held = before;
        typed
    }

    /// One key at a time: a page that grabs the focus gets at most the one under way.
    async fn type_into(
        &mut self,
        id: NodeId,
        value: &Secret,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        self.guarded(id, value, 1).await
    }

    /// Keys that would land elsewhere in the document are stopped before the page hears them.
    async fn guarded(
        &mut self,
        id: NodeId,
        value: &Secret,
        at_once: usize,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        if let Some(end) = self.origin_moved().await? {
            return Ok(Some(end));
        }
        self.broker.held = true;
        let context = self.broker.tab.id().to_owned();
        if !acts::guard(&self.broker.realm(), &context, id, true).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        let typed = self.keys(&context, id, value, at_once).await;
        match acts::guard(&self.broker.realm(), &context, id, false).await {
            Ok(_) | Err(page::ReadError::Call(page::CallFault::Gone(_))) => {}
            Err(error) => return typed.and(Err(error.into())),
        }
        match typed {
            // The document went away under the keys, or the focus with it: where is the page now?
            Ok(Some(LoginEnd::FocusMoved)) | Err(BrokerError::Stale) => {
                self.broker
                    .watch
                    .arrived(self.broker.limits.navigation)
                    .await;
                let moved = self.origin_moved().await?;
                Ok(Some(moved.unwrap_or(LoginEnd::FocusMoved)))
            }
            typed => typed,
        }
    }

    /// Focus proved, keys sent, focus proved again. The value leaves only as keys.
    async fn keys(
        &mut self,
        context: &str,
        id: NodeId,
        value: &Secret,
        at_once: usize,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        if !acts::focus(&self.broker.realm(), context, id).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        acts::select_text(&self.broker.realm(), context, id).await?;
        self.broker
            .act(context, Actions::chord(&[Key::Delete]))
            .await?;
        let letters: Vec<char> = value.expose().chars().collect();
        for part in letters.chunks(at_once.min(letters.len()).max(1)) {
            if !acts::has_focus(&self.broker.realm(), context, id).await? {
                return Ok(Some(LoginEnd::FocusMoved));
            }
            let part: zeroize::Zeroizing<String> = zeroize::Zeroizing::new(part.iter().collect());
            let actions = Actions::text(&part).map_err(|_| {
                BrokerError::Other("the secret holds characters that can't be typed".into())
            })?;
            self.broker.act(context, actions).await?;
        }
        if !acts::has_focus(&self.broker.realm(), context, id).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        let back = acts::read_back(&self.broker.realm(), context, id).await?;
        let length = back.length.or(back.value.map(|v| v.encode_utf16().count()));
        if length.is_some_and(|n| n != value.expose().encode_utf16().count()) {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        Ok(None)
    }

    async fn origin_moved(&mut self) -> Result<Option<LoginEnd>, BrokerError> {
        let here = self.broker.address_now().await?;
        let holds = Url::parse(&here).is_ok_and(|url| self.bound.holds(&url));
        Ok((!holds).then(|| LoginEnd::WrongOrigin {
            credential: format!("{} belongs to {}", self.credential, self.bound),
            page: format!("the page is at {}", page::shown_address(&here)),
        }))
    }

    /// Origin and action checked once more, then the form's own button or Enter.
    async fn submit(
        &mut self,
        last: Option<NodeId>,
        probe: &Probe,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        if let Some(end) = self
            .broker
            .origin_problem(self.bound, probe, self.credential)
            .await?
        {
            return Ok(Some(end));
        }
        let Some(last) = last else {
            return Ok(Some(LoginEnd::UnsafeForm {
                why: "the form has no field this credential fills".into(),
            }));
        };
        let context = self.broker.tab.id().to_owned();
        let button = acts::submitter(&self.broker.realm(), &context, last).await?;
        if let Some(button) = button
            && let Ok(ready) = self.broker.prepare(button, &Primitive::Click).await?
        {
            self.broker.click(&ready).await?.ok();
            return Ok(None);
        }
        acts::focus(&self.broker.realm(), &context, last).await?;
        self.broker
            .act(&context, Actions::chord(&[Key::Enter]))
            .await?;
        Ok(None)
    }
}
