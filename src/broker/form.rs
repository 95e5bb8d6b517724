//! Whether the form at hand may be given a credential, and where it sends it (R19–R22).

use url::Url;

use crate::page::acts::{self, FormFacts, Press, Probe};
use crate::page::{self, NodeId};
use crate::policy::Origin;

use super::login::LoginEnd;
use super::session::Broker;
use super::types::BrokerError;

/// The way a form is sent.
#[derive(Debug)]
pub(super) struct Way {
    pub goes_to: Url,
    /// Its answer opens a tab of its own.
    pub new_tab: bool,
}

impl Broker {
    /// Page, form and action must all be at the credential's origin, exactly. `None` without a form.
    pub(super) async fn check_form(
        &mut self,
        bound: &Origin,
        probe: &Probe,
        credential: &str,
    ) -> Result<Result<Option<Way>, LoginEnd>, BrokerError> {
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
        let unsafe_method = puts_into_address(&form, button.as_ref());
        let own = button.map(|button| button.submitter);
        let target = own
            .as_ref()
            .and_then(|b| b.formtarget.as_ref())
            .or(form.target.as_ref());
        let new_tab = target.is_some_and(|target| is(target, "_blank"));
        let mut goes_to = page;
        goes_to.set_fragment(None);
        for action in [
            form.action,
            form.submitter.formaction,
            own.and_then(|b| b.formaction),
        ] {
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
        Ok(unsafe_method.map_or(Ok(Some(Way { goes_to, new_tab })), Err))
    }

    pub(super) async fn address_now(&self) -> Result<String, BrokerError> {
        Ok(self.tab.document().await?.0)
    }
}

/// A form without `method` is a GET form only if the page lets it submit by itself; scripts usually
/// take it over, and the proxy stops a secret in an address in any case.
fn puts_into_address(form: &FormFacts, button: Option<&FormFacts>) -> Option<LoginEnd> {
    let gets = |method: Option<&String>| method.is_some_and(|method| is(method, "get"));
    let why = if gets(form.method.as_ref()) || gets(form.submitter.formmethod.as_ref()) {
        "the form says method=get, which would put the secret into the address"
    } else if gets(button.and_then(|b| b.submitter.formmethod.as_ref())) {
        "its button says formmethod=get, which would put the secret into the address"
    } else {
        return None;
    };
    Some(LoginEnd::UnsafeForm { why: why.into() })
}

fn is(written: &str, word: &str) -> bool {
    written.trim().eq_ignore_ascii_case(word)
}

/// The field that stands for the form.
fn first_field(probe: &Probe) -> Option<u32> {
    let one = |at: i64| u32::try_from(at).ok();
    one(probe.password)
        .or_else(|| one(probe.username))
        .or_else(|| probe.codes.first().copied())
}
