//! The protected motion: a credential's values typed into its fields, then sent.
//!
//! [`Entry`] borrows the broker whole: a picture, a model call or a read of text between the first key
//! and the settled page does not compile.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use url::Url;

use crate::driver::{Actions, Key};
use crate::page::acts::{self, Press, Probe, ProbeKind};
use crate::page::{self, NodeId};
use crate::policy::Origin;
use crate::secrets::{Kind, Secret};

use super::login::LoginEnd;
use super::session::Broker;
use super::types::{BrokerError, Primitive};

/// A button that waits for the last key is enabled within this.
const ENABLED_WITHIN: Duration = Duration::from_secs(2);

/// From the last digit to the request of a page that sends a code by itself.
const SENDS_ITSELF: Duration = Duration::from_millis(100);

/// Reads nothing but the probe's kind of answers.
pub(super) struct Entry<'a> {
    pub broker: &'a mut Broker,
    pub bound: &'a Origin,
    pub credential: &'a str,
}

/// What keys may do to the focus besides filling their field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Focus {
    Stays,
    /// A box of one digit hands on to the next.
    MayGoOn,
}

impl Entry<'_> {
    /// User name and password of one form, then its submit; `Some` ends the login.
    pub async fn fields(&mut self, probe: &Probe) -> Result<Option<LoginEnd>, BrokerError> {
        let mut last = None;
        if let (Some(id), Some(name)) = (self.node(probe.username), self.value("username")) {
            if let Some(end) = self.type_name(id, &name).await? {
                return Ok(Some(end));
            }
            last = Some((id, name));
        }
        if let Some(id) = self.node(probe.password) {
            let Some(password) = self.value("password") else {
                return Ok(Some(LoginEnd::UnsafeForm {
                    why: format!("credential {} has no password", self.credential),
                }));
            };
            self.protect(&[id.node]).await?;
            if let Some(end) = self.type_into(id, &password).await? {
                return Ok(Some(end));
            }
            last = Some((id, password));
        }
        let Some((id, value)) = last else {
            return Ok(Some(LoginEnd::UnsafeForm {
                why: "the form has no field this credential fills".into(),
            }));
        };
        let action = match self.ready(probe).await? {
            Ok(action) => action,
            Err(end) => return Ok(Some(end)),
        };
        let press = match self.press(id).await? {
            Ok(press) => press,
            Err(end) => return Ok(Some(end)),
        };
        self.broker.cover(self.bound, action, &value);
        self.send(id, press).await
    }

    /// A one-time code, into its field or one digit to a box. Many pages send it by themselves.
    pub async fn code(&mut self, probe: &Probe, now: u64) -> Result<Option<LoginEnd>, BrokerError> {
        let human = LoginEnd::HumanNeeded {
            saw: "the site asks for a code".into(),
        };
        let record = self.broker.credentials.get(self.credential);
        let Some(totp) = record.and_then(|record| record.totp.as_ref()) else {
            return Ok(Some(human));
        };
        let code = totp.at(now);
        for scrubber in [&self.broker.scrubber, &self.broker.run_scrubber] {
            scrubber.register(self.credential, "code", &code, Kind::Otp);
        }
        let parts: Vec<Secret> = match probe.codes.len() {
            1 => vec![code.duplicate()],
            _ => code
                .expose()
                .chars()
                .filter_map(|digit| Secret::new(digit.into()).ok())
                .collect(),
        };
        if parts.len() != probe.codes.len() {
            return Ok(Some(human));
        }
        let action = match self.ready(probe).await? {
            Ok(action) => action,
            Err(end) => return Ok(Some(end)),
        };
        self.protect(&probe.codes).await?;
        let before = self.broker.before_submit();
        self.broker.cover(self.bound, action, &code);
        let mut last = None;
        for (at, part) in probe.codes.iter().zip(&parts) {
            let Some(id) = self.node(i64::from(*at)) else {
                continue;
            };
            let end = match parts.len() {
                1 => self.type_into(id, part).await?,
                _ => self.type_digit(id, part).await?,
            };
            match end {
                None => last = Some(id),
                // The form went away under its last key: it was sent.
                Some(LoginEnd::FocusMoved) if !self.still_asks_for_code().await? => {
                    return Ok(None);
                }
                Some(end) => return Ok(Some(end)),
            }
        }
        sleep(SENDS_ITSELF).await;
        let Some(last) = last.filter(|_| !self.broker.has_left_since(&before)) else {
            return Ok(None);
        };
        if let Err(end) = self.ready(probe).await? {
            return Ok(Some(end));
        }
        match self.press(last).await? {
            Ok(press) => self.send(last, press).await,
            Err(end) => Ok(Some(end)),
        }
    }

    async fn still_asks_for_code(&mut self) -> Result<bool, BrokerError> {
        match self.broker.probe().await {
            Ok(probe) => Ok(probe.kind == ProbeKind::Code),
            Err(BrokerError::Stale) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn node(&self, at: i64) -> Option<NodeId> {
        Some(NodeId {
            generation: self.broker.generation,
            document: 0,
            node: u32::try_from(at).ok()?,
        })
    }

    fn value(&self, field: &str) -> Option<Secret> {
        self.broker
            .credentials
            .get(self.credential)?
            .fields
            .get(field)
            .map(Secret::duplicate)
    }

    async fn protect(&mut self, nodes: &[u32]) -> Result<(), BrokerError> {
        let (context, generation) = (self.broker.tab.id(), self.broker.generation);
        Ok(acts::protect(&self.broker.realm(), context, generation, nodes, true).await?)
    }

    /// Origin and action once more, and nothing refused while it was typed; says where the form goes.
    async fn ready(&mut self, probe: &Probe) -> Result<Result<Option<Url>, LoginEnd>, BrokerError> {
        self.broker.drain_network();
        if self.broker.must_stop() {
            return Ok(Err(LoginEnd::Stopped));
        }
        let without_password = !matches!(probe.kind, ProbeKind::Login | ProbeKind::Code);
        acts::hold_back(&self.broker.realm(), self.broker.tab.id(), without_password).await?;
        let checked = self
            .broker
            .check_form(self.bound, probe, self.credential)
            .await?;
        Ok(checked.map(|way| way.map(|way| way.goes_to)))
    }

    /// What sends the form; a button may be enabled a moment after the last key.
    async fn press(&mut self, last: NodeId) -> Result<Result<Press, LoginEnd>, BrokerError> {
        let until = Instant::now() + ENABLED_WITHIN;
        loop {
            let found =
                acts::sign_in_button(&self.broker.realm(), self.broker.tab.id(), last).await?;
            let why = match found {
                Press::Button { .. } | Press::Enter => return Ok(Ok(found)),
                Press::Disabled if Instant::now() < until => {
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
                Press::Disabled => "its button stays disabled",
                Press::Unclear => "two of its buttons could be the one that signs in",
                Press::Elsewhere(_) => {
                    "its button sends the form to another address than the form's own"
                }
                Press::None => "none of its buttons signs in",
            };
            return Ok(Err(LoginEnd::UnsafeForm { why: why.into() }));
        }
    }

    async fn send(&mut self, last: NodeId, press: Press) -> Result<Option<LoginEnd>, BrokerError> {
        let context = self.broker.tab.id().to_owned();
        if let Press::Button { id, enter } = press {
            match self.broker.prepare(id, &Primitive::Click).await? {
                Ok(ready) => {
                    self.broker.click(&ready).await?.ok();
                    return Ok(None);
                }
                Err(_) if enter => {}
                Err(unfit) => {
                    return Ok(Some(LoginEnd::UnsafeForm {
                        why: format!("its button can't be pressed: {}", unfit.message()),
                    }));
                }
            }
        }
        acts::focus(&self.broker.realm(), &context, last).await?;
        self.broker
            .act(&context, Actions::chord(&[Key::Enter]))
            .await?;
        Ok(None)
    }

    /// A user name is no secret to its own site: typed in one go, under the same checks.
    pub async fn type_name(
        &mut self,
        id: NodeId,
        name: &Secret,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        let before = self.broker.held;
        let typed = self.guarded(id, name, usize::MAX, Focus::Stays).await;
        self.broker.held = before;
        typed
    }

    /// One key at a time: a page that grabs the focus gets at most the one under way.
    pub async fn type_into(
        &mut self,
        id: NodeId,
        value: &Secret,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        self.guarded(id, value, 1, Focus::Stays).await
    }

    /// One digit into a box of its own.
    async fn type_digit(
        &mut self,
        id: NodeId,
        digit: &Secret,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        self.guarded(id, digit, 1, Focus::MayGoOn).await
    }

    /// Keys that would land elsewhere in the document are stopped before the page hears them.
    async fn guarded(
        &mut self,
        id: NodeId,
        value: &Secret,
        at_once: usize,
        focus: Focus,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        if let Some(end) = self.origin_moved().await? {
            return Ok(Some(end));
        }
        self.broker.held = true;
        let context = self.broker.tab.id().to_owned();
        if !acts::guard(&self.broker.realm(), &context, id, true).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        let typed = self.keys(&context, id, value, at_once, focus).await;
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
        focus: Focus,
    ) -> Result<Option<LoginEnd>, BrokerError> {
        if !acts::focus(&self.broker.realm(), context, id).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        acts::select_text(&self.broker.realm(), context, id).await?;
        if focus == Focus::Stays {
            self.broker
                .act(context, Actions::chord(&[Key::Delete]))
                .await?;
        }
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
        if focus == Focus::Stays && !acts::has_focus(&self.broker.realm(), context, id).await? {
            return Ok(Some(LoginEnd::FocusMoved));
        }
        let back = acts::read_back(&self.broker.realm(), context, id).await?;
        let length = back.length.or(back.value.map(|v| v.encode_utf16().count()));
        let wanted = value.expose().encode_utf16().count();
        let why = match length {
            Some(held) if held < wanted => {
                "the field holds fewer characters than were typed: its `maxlength` or a script cut the value"
            }
            Some(held) if held > wanted => "the page added to what was typed",
            _ => return Ok(None),
        };
        Ok(Some(LoginEnd::UnsafeForm { why: why.into() }))
    }

    async fn origin_moved(&mut self) -> Result<Option<LoginEnd>, BrokerError> {
        let here = self.broker.address_now().await?;
        let holds = Url::parse(&here).is_ok_and(|url| self.bound.holds(&url));
        Ok((!holds).then(|| LoginEnd::WrongOrigin {
            credential: format!("{} belongs to {}", self.credential, self.bound),
            page: format!("the page is at {}", page::shown_address(&here)),
        }))
    }
}
