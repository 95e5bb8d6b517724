//! The browser and its driver: processes, BiDi calls, events, deadlines.
//!
//! The only room that names thirtyfour. After New Session nothing but BiDi is spoken (classic
//! commands race and deadlock with it); every command has a deadline of its own, because a
//! page in `while(1)` hangs them all past the driver's own time-outs (F6).
//!
//! Whatever comes out of here that a page could have written (messages, addresses, names) is
//! raw: it must pass the scrubber before it leaves the program.

pub mod bidi;
pub mod browser;
pub mod capabilities;
pub mod context;
pub mod error;
pub mod events;
pub mod find;
mod http;
pub mod input;
pub mod launch;
pub mod navigation;
pub mod tab;
pub mod values;

pub use bidi::{CallOptions, Connection, Ownership};
pub use browser::{Browser, BrowserVersion};
pub use context::{ContextSettings, Downloads, UserContext};
pub use error::{DriverError, Raw};
pub use events::{DriverEvent, Events, NavPhase, PromptKind};
pub use find::{BrowserKind, Found, Sandbox};
pub use input::{Actions, Button, Key, Origin};
pub use launch::LaunchSettings;
pub use navigation::{NavFailure, NavOutcome, Wait, is_error_page};
pub use tab::{Clip, Tab, TreeNode};
