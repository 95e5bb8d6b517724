//! The `login` step: outcomes named, evidence asked for, lock-outs avoided.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::broker::{LoginEnd, LoginWish};
use crate::event::Status;
use crate::plan::PlannedStep;

use super::act::Done;
use super::attempt::AttemptRun;
use super::cooldown::Cooldown;
use super::failure::Fault;

/// A sign-in form is given so long to appear, and its answer to come.
const FORM_WITHIN: Duration = Duration::from_secs(5);

impl AttemptRun<'_> {
    pub(super) async fn login(
        &mut self,
        step: &PlannedStep,
        credential: &str,
    ) -> Result<Done, Fault> {
        let origin = self
            .broker
            .credential_origin(credential)
            .unwrap_or_default();
        let cooldown = Cooldown::new(credential, &origin);
        if let Some(minutes) = cooldown.remaining_minutes() {
            return Err(Fault::failed("login_cooling_down", format!("{credential} was rejected three times at {origin}; no further try for {minutes} min"))
                .help(format!("mend the credential, then `rehearsal credentials test {credential} --reset`")));
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let wish = LoginWish {
            credential,
            expect: &step.step.expect,
            within: step.step.timeout.unwrap_or(FORM_WITHIN),
            now,
        };
        let end = self.broker.login(&wish).await?;
        // Nothing was entered where there was no form to enter it in.
        let nothing_done = matches!(
            end,
            LoginEnd::AlreadySignedIn | LoginEnd::NoForm { .. } | LoginEnd::WrongOrigin { .. }
        );
        if !nothing_done {
            self.said_acted(
                step,
                "submit",
                &format!(
                    "Sign in with {credential} (user {}, password [HIDDEN])",
                    self.broker.shown_user(credential)
                ),
                None,
                None,
                Some(format!("credential {credential}")),
            );
        }
        match end {
            LoginEnd::SignedIn => {
                cooldown.forget();
                self.signed_in_by = Some("credential".into());
                Ok(Done::default())
            }
            LoginEnd::AlreadySignedIn => {
                self.signed_in_by.get_or_insert_with(|| "already signed in".into());
                Ok(Done { notes: vec!["already signed in".into()], skipped: false })
            }
            LoginEnd::Rejected { saw } => {
                if !self.rejection_is_expected() {
                    cooldown.rejected();
                }
                Err(Fault::failed("login_rejected", format!("the site did not accept {credential}")).seen([saw]))
            }
            LoginEnd::NotSent { saw } => Err(Fault::failed("login_not_sent", format!("{credential} was filled in, but no request left when the form was sent"))
                .seen([saw])
                .help("the page may want something else filled in or ticked first; put it in steps before the login")),
            LoginEnd::NoForm { saw } => Err(Fault::failed("no_form", "there is no sign-in form on this page")
                .seen([saw])
                .help("go to the page with the form first; give the step an `expect:` if one may be signed in already")),
            LoginEnd::WrongOrigin { credential, page } => {
                Err(Fault::new(Status::Refused, "wrong_origin", format!("{credential}, but {page}; nothing was filled")))
            }
            LoginEnd::HumanNeeded { saw } => {
                self.human.wait(&saw).await.map_err(|why| Fault::failed("human_needed", why))?;
                self.signed_in_by = Some("human".into());
                Ok(Done { notes: vec!["a person finished the sign-in".into()], skipped: false })
            }
            // The refusal itself is told as what happened beside the step.
            LoginEnd::Stopped => Err(Fault::new(Status::Refused, "login_stopped", "a request of the sign-in was refused")),
            LoginEnd::Captcha => Err(Fault::failed("captcha", "the site shows a CAPTCHA")),
            LoginEnd::UnsafeForm { why } => Err(Fault::failed("unsafe_form", why)
                .help(format!("where the form is sound all the same, fill it by steps: `fill: <field>` with `credential: {credential}.password`, then `click` its button"))),
            LoginEnd::FocusMoved => Err(Fault::failed("focus_moved", "the page moved the focus while the secret was typed; what was typed was removed again")),
        }
    }

    /// A scenario that tests a rejected sign-in must not lock its account out.
    fn rejection_is_expected(&self) -> bool {
        self.planned.scenario.ends.reason.as_deref() == Some("login_rejected")
    }
}
