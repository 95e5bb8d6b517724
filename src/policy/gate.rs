//! The live gate for writes: every request that would change something needs a declaration (R89).
//!
//! Only requests decide, never labels. The gate counts; it keeps no clock: whoever opens a window
//! closes it, after the step's requests have settled.

use super::facts::RequestFacts;
use super::signin::{Carries, SignIn};
use super::suggest::Suggestion;
use super::writes::{SafeRequest, WriteRule};

/// Why a request of a sign-in passes.
pub const LOGIN: &str = "login";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Read,
    /// Called a read by entry `rule` (from 0) of `safe_requests`.
    Safe {
        rule: usize,
    },
    /// A declared change: `because` says by whom and as what.
    Write {
        because: String,
    },
    /// Stopped and noted, ends nothing: `beacon`, `ping`, `report`.
    Stop {
        note: &'static str,
    },
    /// Stopped, ends the scenario.
    Undeclared {
        suggest: Suggestion,
        /// Set when an entry would match but its `times` are used up.
        spent: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WindowId(u64);

#[derive(Debug)]
struct Window {
    id: WindowId,
    what: String,
    covers: Covers,
}

#[derive(Debug)]
enum Covers {
    Everything,
    /// Its one request, unless that has gone out already.
    SignIn {
        sign_in: SignIn,
        used: bool,
    },
}

impl Covers {
    /// A sign-in that still waits for its request.
    fn waiting(&self) -> Option<&SignIn> {
        match self {
            Self::SignIn {
                sign_in,
                used: false,
            } => Some(sign_in),
            _ => None,
        }
    }

    /// Uses the sign-in up.
    fn take(&mut self, request: &RequestFacts) -> bool {
        match self {
            Self::Everything => true,
            Self::SignIn { sign_in, used } => {
                let covered = !*used && sign_in.covers(request);
                *used |= covered;
                covered
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Gate {
    writes: Vec<(WriteRule, u32)>,
    /// Approved for one action.
    approved: Vec<(WriteRule, u32)>,
    safe: Vec<SafeRequest>,
    windows: Vec<Window>,
    opened: u64,
}

impl Gate {
    pub fn new(writes: Vec<WriteRule>, safe: Vec<SafeRequest>) -> Self {
        Self {
            writes: writes.into_iter().map(|rule| (rule, 0)).collect(),
            safe,
            ..Self::default()
        }
    }

    /// For a step that carries `write: <what it changes>`.
    pub fn open_window(&mut self, what: &str) -> WindowId {
        self.open(what, Covers::Everything)
    }

    /// For a credential that was entered: the request that takes it to its origin passes, once.
    pub fn open_login(&mut self, sign_in: SignIn) -> WindowId {
        let used = false;
        self.open(LOGIN, Covers::SignIn { sign_in, used })
    }

    /// The site answered a sign-in by asking for the same request at another address of its own.
    pub fn login_redirected(&mut self) {
        for window in &mut self.windows {
            if let Covers::SignIn { used, .. } = &mut window.covers {
                *used = false;
            }
        }
    }

    /// Set where the ruling hangs on whether the body holds what was entered.
    pub fn wants_carried(&self, request: &RequestFacts) -> Option<Carries> {
        let waiting = self.windows.iter().filter_map(|w| w.covers.waiting());
        let mut may = waiting.filter(|sign_in| sign_in.may_cover(request));
        may.next().map(|sign_in| sign_in.carries.clone())
    }

    /// Requests approved for one action, beside the declared ones; replaces earlier ones.
    pub fn declare(&mut self, rules: Vec<WriteRule>) {
        self.approved = rules.into_iter().map(|rule| (rule, 0)).collect();
    }

    /// The approved action is over.
    pub fn withdraw(&mut self) {
        self.approved.clear();
    }

    fn open(&mut self, what: &str, covers: Covers) -> WindowId {
        self.opened += 1;
        let id = WindowId(self.opened);
        let what = what.to_owned();
        self.windows.push(Window { id, what, covers });
        id
    }

    /// Closing twice is harmless: every way out of a step closes.
    pub fn close_window(&mut self, id: WindowId) {
        self.windows.retain(|window| window.id != id);
    }

    pub fn is_open(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Whether the ruling on such a request could depend on the operations in its body, or would be
    /// a refusal whose suggestion should name them.
    pub fn wants_operations(&self, request: &RequestFacts) -> bool {
        if request.reads() {
            return false;
        }
        let named =
            |safe: &SafeRequest| !safe.operations.is_empty() && safe.request.matches(request);
        let opened = |window: &Window| matches!(window.covers, Covers::Everything);
        let covered = self.windows.iter().any(opened)
            || self
                .writes
                .iter()
                .any(|(rule, _)| rule.request.matches(request));
        self.safe.iter().any(named) || !covered && request.url.path().contains("graphql")
    }

    /// Counts a use where an entry of `writes` lets the request through.
    pub fn judge(&mut self, request: &RequestFacts) -> Ruling {
        if request.reads() {
            return Ruling::Read;
        }
        // A method override makes another request of it than the one declared.
        let safe = self.safe.iter().position(|safe| safe.matches(request));
        if let (None, Some(rule)) = (&request.method_override, safe) {
            return Ruling::Safe { rule };
        }
        let spent = match self.declared(request) {
            Ok(because) => return Ruling::Write { because },
            Err(spent) => spent,
        };
        if let Some(note) = request.fired_and_forgotten() {
            return Ruling::Stop { note };
        }
        match self.window_for(request) {
            Some(what) => Ruling::Write {
                because: what.to_owned(),
            },
            None => Ruling::Undeclared {
                suggest: Suggestion::for_request(request),
                spent,
            },
        }
    }

    fn declared(&mut self, request: &RequestFacts) -> Result<String, Option<String>> {
        let mut spent = None;
        for (rule, used) in self.writes.iter_mut().chain(&mut self.approved) {
            if !rule.request.matches(request) {
                continue;
            }
            match rule.times {
                Some(times) if *used >= times => {
                    spent = Some(format!(
                        "`{}` was declared for {times} and has been used {used}",
                        rule.what
                    ));
                }
                _ => {
                    *used += 1;
                    return Ok(rule.what.clone());
                }
            }
        }
        Err(spent)
    }

    fn window_for(&mut self, request: &RequestFacts) -> Option<&str> {
        self.windows
            .iter_mut()
            .rev()
            .find_map(|window| window.covers.take(request).then_some(window.what.as_str()))
    }
}
