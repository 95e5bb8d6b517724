//! Whether the form at hand may be given a credential, and where it sends it (R19–R22).

use url::Url;

use crate::page::acts::{self, FormFacts, Press, Probe};
use crate::page::{self, NodeId};
use crate::policy::Origin;

use super::login::LoginEnd;
use super::session::Broker;
use super::types::BrokerError;

impl Broker {
    /// Page, form and action must all be at the credential's origin, exactly. Says where the form
    /// is sent; `None` without a form.
    pub(super) async fn check_form(
        &mut self,
        bound: &Origin,
        probe: &Probe,
        credential: &str,
    ) -> Result<Result<Option<Url>, LoginEnd>, BrokerError> {
        let observation = self.last.clone().ok_or(BrokerError::Stale)?;
        let wrong = |page: String| {
            Ok(Err(LoginEnd::WrongOrigin {
                credential: format!("{credential} belongs to {bound}"),
                page,
            }))
        };
        let here = self.address_now().await?;
        let page = match Url::parse(&here) {
            Ok(url) if bound.holds(&url) => url,
            _ => {
                return wrong(format!("the page is at {}", page::shown_address(&here)));
            }
        };
        let Some(field) = first_field(probe) else {
            return Ok(Ok(None));
        };
        let id = NodeId {
            generation: observation.generation,
            document: 0,
            node: field,
        };
        let (realm, tab) = (self.realm(), self.tab.id());
        // A same-origin frame is read in place; its own address counts as the form's.
        if let Some(own) = acts::own_context(&realm, tab, id).await?
            && own != tab
        {
            return wrong("the form lies in a frame".into());
        }
        let button = match acts::sign_in_button(&realm, tab, id).await? {
            Press::Button { id, .. } | Press::Elsewhere(id) => {
                acts::form_facts(&realm, tab, id).await?
            }
            _ => None,
        };
        let form = acts::form_facts(&realm, tab, id).await?;
        // Fields inside a web component belong to no form; the button's is the one that is sent.
        let Some(form) = form.or_else(|| button.clone()) else {
            return Ok(Ok(None));
        };
        let button = button.filter(|button| button.submits);
        if let Some(end) = self.unsafe_way(&form, button.as_ref()) {
            return Ok(Err(end));
        }
        let of_button = button.and_then(|button| button.submitter.formaction);
        let mut goes_to = page;
        goes_to.set_fragment(None);
        for action in [form.action, form.submitter.formaction, of_button] {
            let Some(action) = action.filter(|a| !a.trim().is_empty()) else {
                continue;
            };
            let resolved = Url::parse(&form.base).and_then(|base| base.join(action.trim()));
            match resolved {
                Ok(url) if bound.holds(&url) => goes_to = url,
                Ok(url) => {
                    return wrong(format!(
                        "the form is sent to {}",
                        page::shown_address(url.as_str())
                    ));
                }
                Err(_) => {
                    return Ok(Err(LoginEnd::UnsafeForm {
                        why: "the form's action is no address".into(),
                    }));
                }
            }
        }
        Ok(Ok(Some(goes_to)))
    }

    /// A form without `method` is a GET form only if the page lets it submit by itself; scripts
    /// usually take it over, and the proxy stops a secret in an address in any case.
    fn unsafe_way(&self, form: &FormFacts, button: Option<&FormFacts>) -> Option<LoginEnd> {
        let is = |written: Option<&String>, word: &str| {
            written.is_some_and(|written| written.trim().eq_ignore_ascii_case(word))
        };
        let of_button = button.map(|button| &button.submitter);
        let by_button = of_button.and_then(|b| b.formmethod.as_ref());
        let why =
            if is(form.method.as_ref(), "get") || is(form.submitter.formmethod.as_ref(), "get") {
                "the form says method=get, which would put the secret into the address"
            } else if is(by_button, "get") {
                "its button says formmethod=get, which would put the secret into the address"
            } else {
                let target = of_button
                    .and_then(|b| b.formtarget.as_ref())
                    .or(form.target.as_ref());
                let followed = self.watch.state().rules.follow_tab;
                (is(target, "_blank") && !followed)
                    .then_some("the form answers in a new tab; put `opens: tab` beside the step")?
            };
        Some(LoginEnd::UnsafeForm { why: why.into() })
    }

    pub(super) async fn address_now(&self) -> Result<String, BrokerError> {
        Ok(self.tab.document().await?.0)
    }
}

/// The field that stands for the form.
fn first_field(probe: &Probe) -> Option<u32> {
    let one = |at: i64| u32::try_from(at).ok();
    one(probe.password)
        .or_else(|| one(probe.username))
        .or_else(|| probe.codes.first().copied())
}
