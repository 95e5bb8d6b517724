//! Reading pages: the in-page reader (JavaScript in a BiDi sandbox), readiness, masking.
//! In: driver. Out: [`Observation`], frames.
//!
//! The reader is one JavaScript program ([`script::INSTALL`], sources in `js/`). It lives in the
//! isolated world [`script::SANDBOX`] of each document, so that nothing a page overrides reaches it, and
//! keeps the elements of its latest read by generation and index: later calls act on those, and an
//! older generation is refused.
//!
//! * [`Realm`]: the one call this room needs of the driver.
//! * [`observe()`]: one wave over a page and its frames → [`Reading`] ([`Observation`] and marks for masks).
//! * [`acts`]: what the broker asks of an element before, during and after an action.
//! * [`pictures`]: where secrets show, covering them, standing still.
//! * [`Scrub`]: every string that leaves this room has passed it.
//!
//! Same-origin frames (to depth 5) and shadow roots are read in place; closed roots are found by BiDi
//! serialisation and handed to the reader; frames of another origin are read in their own context. A
//! page's point coordinates are those of the context that was read, frames in place included.

pub mod acts;
mod address;
mod columns;
mod internals;
pub mod observation;
mod observe;
pub mod pictures;
pub mod places;
mod realm;
pub mod script;
mod scrub;
mod wire;

#[cfg(test)]
mod tests;

pub use address::shown_address;
pub use observation::*;
pub use observe::{FRAME_DEPTH, Reading, Wave, observe};
pub use realm::{CallFault, ReadError, Realm, call, install};
pub use scrub::{Nothing, Scrub, replace_text};
