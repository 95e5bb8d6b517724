//! Carrying out a plan: the only room that makes events.
//!
//! One attempt at one scenario is [`attempt`]; [`suite`] runs them all with workers, fixtures and
//! retries. In: [`crate::plan::Plan`]. Out: [`crate::event::Event`]s.

mod act;
mod asking;
mod attempt;
mod closing;
mod cooldown;
mod emit;
mod ends;
mod failure;
mod find;
mod goal;
mod hold;
mod human;
mod keeping;
mod locks;
mod look;
mod mend;
mod pictures;
mod planning;
mod rates;
mod redact;
mod replay;
mod selfcheck;
mod servers;
mod set_off;
mod settings;
mod signin;
mod suite;
mod turn;
mod verdict;
mod worker;
mod writeup;

pub use attempt::Ended;
pub use closing::search_run;
pub use cooldown::forget_rejections;
pub use emit::{Listener, Stream};
pub use hold::{Did, Held, House, Meant, Opened, Stopped};
pub use human::Human;
pub use servers::{FixtureError, Running, Servers};
pub use settings::{Mode, Outgoing, RunContext};
pub use suite::{RunEnd, grace_is_over, look, run};
