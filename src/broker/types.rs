//! What goes in and out of the broker: primitives, what they need, what came of them.

use std::path::PathBuf;
use std::time::Duration;

use crate::page::{NodeId, Rect};
use crate::resolve::Miss;

/// The closed set of things that can be done to a page (R34). A step is reduced to these.
#[derive(Debug, Clone, PartialEq)]
pub enum Primitive {
    Click,
    /// Replaces the value of a field, read back after blur.
    Fill {
        text: String,
    },
    /// As `Fill`, with a value the broker alone knows (`name`, `field`).
    FillSecret {
        credential: String,
        field: String,
    },
    Select {
        option: String,
    },
    Check {
        on: bool,
    },
    Press {
        keys: String,
    },
    Hover,
    ScrollTo,
    Scroll {
        dx: i32,
        dy: i32,
    },
    /// Drop on this element.
    Drag {
        to: NodeId,
    },
    Upload {
        file: PathBuf,
    },
    /// Submits the form that holds the element, by its own button where it has one.
    Submit,
}

impl Primitive {
    /// The word of the language document's table.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Click | Self::Press { .. } | Self::Drag { .. } => "click",
            Self::Fill { .. }
            | Self::FillSecret { .. }
            | Self::Select { .. }
            | Self::Check { .. }
            | Self::Upload { .. } => "fill",
            Self::Hover | Self::ScrollTo | Self::Scroll { .. } => "wait",
            Self::Submit => "submit",
        }
    }
}

/// Answer to a native dialog the step said it would open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Accept(Option<String>),
    Dismiss,
}

/// Why an element can't be acted on now; each is a named check with its reason kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfit {
    /// Role and name of what lies on top.
    Covered {
        by: String,
    },
    Disabled {
        by: Option<String>,
    },
    ReadOnly {
        why: String,
    },
    Moving,
    NoSize,
    OutOfView,
    PassesPointerThrough,
    /// The element left the document between the read and now.
    Rerendered,
    /// A credential would go to another origin than its own.
    WrongOrigin {
        why: String,
    },
    /// Not something this primitive can be done to.
    WrongKind {
        why: String,
    },
    /// A list without the option, or with it disabled: it may still come.
    NotOffered {
        why: String,
    },
}

impl Unfit {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Covered { .. } => "covered",
            Self::Disabled { .. } => "disabled",
            Self::ReadOnly { .. } => "read_only",
            Self::Moving => "moving",
            Self::NoSize => "no_size",
            Self::OutOfView => "out_of_view",
            Self::PassesPointerThrough => "passes_pointer_through",
            Self::Rerendered => "re_rendered",
            Self::WrongOrigin { .. } => "wrong_origin",
            Self::WrongKind { .. } | Self::NotOffered { .. } => "wrong_kind",
        }
    }

    pub fn message(&self) -> String {
        match self {
            Self::Covered { by } => format!("it is covered by {by}"),
            Self::Disabled { by: Some(by) } => format!("it is disabled by {by}"),
            Self::Disabled { by: None } => "it is disabled".into(),
            Self::ReadOnly { why } => format!("it is read-only: {why}"),
            Self::Moving => "it does not hold still".into(),
            Self::NoSize => "it has no size".into(),
            Self::OutOfView => "it can't be scrolled into view".into(),
            Self::PassesPointerThrough => {
                "it lets the pointer through (pointer-events: none)".into()
            }
            Self::Rerendered => "the page re-rendered it again and again".into(),
            Self::WrongOrigin { why } | Self::WrongKind { why } | Self::NotOffered { why } => {
                why.clone()
            }
        }
    }

    pub fn help(&self) -> Option<String> {
        match self {
            Self::Covered { by } => Some(format!("put a step before this one that closes {by}")),
            Self::Disabled { .. } => {
                Some("do first what enables it, or give the step a longer `timeout:`".into())
            }
            _ => None,
        }
    }

    /// Whether waiting can help.
    pub fn may_pass(&self) -> bool {
        !matches!(self, Self::WrongKind { .. } | Self::WrongOrigin { .. })
    }
}

/// What a primitive set off, as far as it can be attributed to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Effect {
    /// One line: "address changed", "heading “Editing README.md” appeared". `None`: nothing seen.
    pub change: Option<String>,
    /// Where the pointer went, in CSS pixels of the top viewport.
    pub point: Option<(f64, f64)>,
    pub rect: Option<Rect>,
    /// Things worth telling: typed again, option opened late.
    pub notes: Vec<String>,
}

/// What happened beside the primitive itself, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    Dialog {
        text: String,
        answer: String,
        expected: bool,
    },
    /// The followed tab could not be read as it was opened, so its address was opened again.
    TabOpenedAgain,
    TabOpened {
        /// Its browsing context.
        tab: String,
        url: String,
        followed: bool,
    },
    TabClosed,
    /// More tabs than are let live; the others were closed at once.
    TooManyTabs,
    Download {
        name: String,
        /// Where it lies, if it was kept.
        path: Option<std::path::PathBuf>,
        bytes: u64,
        accepted: bool,
    },
    Blocked(crate::event::Blocked),
    Wrote {
        method: String,
        url: String,
        because: String,
    },
    /// A top document or popup outside the list.
    LeftHosts {
        url: String,
    },
    /// A request whose address holds a registered secret; stopped.
    SecretInUrl {
        host: String,
    },
    /// A request that changes something and that nobody declared; ends the scenario.
    UndeclaredWrite {
        method: String,
        url: String,
        add: String,
    },
}

/// How a navigation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// Final address; `redirected` names another listed origin on the way.
    Arrived {
        url: String,
        note: Option<String>,
    },
    Refused {
        reason: String,
        url: String,
    },
    /// `dns`, `refused`, `tls`, `too_many_redirects`, `timeout`, …
    Failed {
        reason: String,
        message: String,
    },
}

/// How long things may take, all monotonic.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub command: Duration,
    pub navigation: Duration,
    pub settle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command: Duration::from_secs(10),
            navigation: Duration::from_secs(30),
            settle: Duration::from_millis(1500),
        }
    }
}

/// What can end a broker's call before its time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BrokerError {
    #[error("the browser or its driver is gone: {0}")]
    Lost(String),
    #[error("{command} took longer than {seconds} s; the page may be busy for ever")]
    Hung { command: String, seconds: u64 },
    #[error("{address}: the page was not there within {seconds} s")]
    NoAnswer { address: String, seconds: f32 },
    #[error("this was read before the page changed; look again")]
    Stale,
    #[error("the page interferes with reading: {0}")]
    PageInterferes(String),
    /// What a broker looks for on its own (the next page of an extraction) has no one match.
    #[error("{}", .0.message)]
    Missed(Box<Miss>),
    #[error("{0}")]
    Other(String),
}
