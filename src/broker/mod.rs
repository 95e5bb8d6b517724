//! The one who acts: owns a scenario's user context, proxy, tabs and secrets, and nothing else.
//!
//! Not `Clone`, `&mut self`, no getter for the driver: whoever wants something done to a page asks
//! here. The broker acts only on an offered node of its latest observation; a stale one is refused;
//! a hit test at act time guards it. Secret entry ([`entry`]) borrows the broker whole, so that a
//! picture, a model call or a read of text inside it does not compile.

mod cover;
mod covers;
mod downloads;
mod effect;
mod entry;
mod extract;
mod fields;
mod form;
mod going;
mod hands;
mod happen;
mod held;
mod kept;
mod lists;
mod login;
mod outcome;
mod pictures;
mod places;
mod service;
mod session;
mod settling;
mod tabs;
mod types;
mod watch;

pub use effect::Mark;
pub use extract::Found;
pub use hands::Prepared;
pub use kept::Kept;
pub use login::{LoginEnd, LoginWish};
pub use pictures::{Box2, Shot};
pub use service::DocumentId;
pub use session::{Broker, Setup};
pub use types::{Answer, Arrival, BrokerError, Effect, Happening, Limits, Primitive, Unfit};
