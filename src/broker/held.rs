//! The protected window of a secret filled by hand (security.md 2.1).
//!
//! Held: structure may be read, no picture, no model, no value. No timer opens it. It ends when the
//! document that was filled is gone, or when the broker empties the field and proves it: after the step
//! that sent it to its origin has settled, and before the end is judged. Until then the request that
//! takes it to that origin counts as the credential's sign-in.

use url::Url;

use crate::page::acts::{Probe, ProbeKind};
use crate::page::{self, acts};
use crate::policy::Origin;
use crate::secrets::Secret;

use super::entry::Entry;
use super::hands::{Fit, Prepared};
use super::login::LoginEnd;
use super::session::Broker;
use super::types::{BrokerError, Unfit};

/// A secret that lies in a document.
#[derive(Debug)]
pub(super) struct Held {
    /// Documents loaded when it was filled.
    documents: u64,
    sent: bool,
}

impl Broker {
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
            codes: Vec::new(),
            held: 0,
            passwords: 1,
            new_passwords: 0,
        };
        if prepared.id.document != 0 {
            return Ok(Err(Unfit::WrongOrigin {
                why: format!("{credential} is never filled into a frame of another origin"),
            }));
        }
        let action = match self.check_form(&bound, &probe, credential).await? {
            Ok(way) => way.map(|way| way.goes_to),
            Err(LoginEnd::WrongOrigin { credential, page }) => {
                return Ok(Err(Unfit::WrongOrigin {
                    why: format!("{credential}, but {page}"),
                }));
            }
            Err(LoginEnd::UnsafeForm { why }) => return wrong(why),
            Err(_) => return wrong("the form can't be filled safely".into()),
        };
        if secret_field {
            acts::protect(
                &self.realm(),
                &prepared.context,
                prepared.id.generation,
                &[prepared.id.node],
                true,
            )
            .await?;
            self.entering(&bound);
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
        let unfit = match typed {
            Ok(None) => None,
            Ok(Some(LoginEnd::WrongOrigin { credential, page })) => Some(Unfit::WrongOrigin {
                why: format!("{credential}, but {page}"),
            }),
            Ok(Some(LoginEnd::UnsafeForm { why })) => Some(Unfit::WrongKind { why }),
            Ok(Some(_)) => Some(Unfit::WrongKind {
                why: "the focus moved away while it was typed; what was typed was removed again"
                    .into(),
            }),
            Err(error) => {
                if secret_field {
                    self.entered();
                }
                let _ = self.clear().await;
                return Err(error);
            }
        };
        if let Some(unfit) = unfit {
            if secret_field {
                self.entered();
            }
            self.clear().await?;
            return Ok(Err(unfit));
        }
        if secret_field {
            self.hold(bound, action, &value);
        }
        Ok(Ok(Vec::new()))
    }

    fn hold(&mut self, origin: Origin, action: Option<Url>, value: &Secret) {
        self.cover(&origin, action, value);
        self.held = true;
        self.by_hand = Some(Held {
            documents: self.documents_loaded(),
            sent: false,
        });
    }

    /// A request that the window covered went out.
    pub(super) fn held_was_sent(&mut self) {
        if let Some(held) = &mut self.by_hand {
            held.sent = true;
        }
    }

    /// After a page settled: is the secret gone with its document, or sent and to be cleared?
    pub(super) async fn held_settled(&mut self) -> Result<(), BrokerError> {
        let Some(held) = &self.by_hand else {
            return Ok(());
        };
        let moved = self.documents_loaded() != held.documents;
        if moved {
            // Another document; it may show the form again, filled by the site.
            self.end_window();
            self.held = self.still_filled().await?;
        } else if held.sent {
            self.end_window();
            self.clear().await?;
        }
        Ok(())
    }

    /// Before the end is judged: what is still there is emptied.
    pub async fn release(&mut self) -> Result<(), BrokerError> {
        self.end_window();
        if self.held {
            self.clear().await?;
        }
        Ok(())
    }

    pub(super) fn end_window(&mut self) {
        if self.by_hand.take().is_some() {
            self.entered();
        }
    }

    async fn still_filled(&mut self) -> Result<bool, BrokerError> {
        let left = acts::held_fields(&self.realm(), self.tab.id()).await;
        match left {
            Ok(left) => Ok(left > 0),
            Err(page::ReadError::Call(page::CallFault::Gone(_))) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
