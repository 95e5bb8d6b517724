//! What a sign-in lets out beside the declared writes: the one request that takes the credential to
//! its origin (R89). Whatever else a page sends meanwhile needs a declaration of its own.

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::facts::RequestFacts;
use super::origin::Origin;

type Holds = dyn Fn(&[u8]) -> bool + Send + Sync;

/// Whether a body holds the value that was entered.
#[derive(Clone)]
pub struct Carries(Arc<Holds>);

impl Carries {
    pub fn new(holds: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    pub fn body(&self, body: &[u8]) -> bool {
        (self.0)(body)
    }
}

impl fmt::Debug for Carries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carries")
    }
}

#[derive(Debug, Clone)]
pub struct SignIn {
    pub origin: Origin,
    /// Where the form itself is sent: pages that hash the value first still submit their form.
    pub action: Option<Url>,
    pub carries: Carries,
}

impl SignIn {
    /// As far as the head of a request tells.
    pub(super) fn may_cover(&self, request: &RequestFacts) -> bool {
        request.method == "POST"
            && request.method_override.is_none()
            && self.origin.holds(&request.url)
    }

    pub(super) fn covers(&self, request: &RequestFacts) -> bool {
        self.may_cover(request) && (request.carries || self.is_own_submit(request))
    }

    /// What a form sends, not what a script does: a navigation, where the browser says so, in one of
    /// the encodings forms have.
    fn is_own_submit(&self, request: &RequestFacts) -> bool {
        let kind = request.content_type.as_deref().unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let of_forms = [
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
        ];
        let mode = request.fetch_mode.as_deref();
        of_forms
            .iter()
            .any(|known| kind.eq_ignore_ascii_case(known))
            && mode.is_none_or(|mode| mode == "navigate")
            && self.action.as_ref().is_some_and(|action| {
                let mut action = action.clone();
                action.set_fragment(None);
                action == request.url
            })
    }
}
