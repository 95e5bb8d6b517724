//! Carrying out a plan: the only room that makes events.
//!
//! One attempt at one scenario is [`attempt`]; [`suite`] runs them all with workers, fixtures and
//! retries. In: [`crate::plan::Plan`]. Out: [`crate::event::Event`]s.

mod act;
mod attempt;
mod closing;
mod cooldown;
mod emit;
mod failure;
mod find;
mod goal;
mod hold;
mod human;
mod keeping;
mod locks;
mod look;
mod pictures;
mod servers;
mod settings;
mod signin;
mod suite;
mod writeup;

pub use attempt::Ended;
pub use cooldown::forget_rejections;
pub use emit::{Listener, Stream};
pub use hold::{Did, Held, House, Meant, Stopped};
pub use human::Human;
pub use servers::{FixtureError, Running, Servers};
pub use settings::{Mode, Outgoing, RunContext};
pub use suite::{RunEnd, look, run};
