//! The machine underneath: time, processes that must not outlive us, signals, folders.
//!
//! Linux only where it matters (`/proc`, process groups); nothing here knows a browser.

pub mod child;
pub mod clock;
pub mod find;
pub mod folders;
pub mod guard;
pub mod hardening;
pub mod proc;
pub mod signals;

pub use child::{ChildSpec, GuardError, Guarded};
pub use clock::{Clock, boot_time, now_rfc3339};
pub use find::which;
pub use folders::{PrivateFolder, remove_stale_sessions};
pub use signals::{Signal, Stop, StopLevel, Stopper};
