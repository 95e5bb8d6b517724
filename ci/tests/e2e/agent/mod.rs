//! The agent through the whole program, against a scripted model: loop guard, locks, tape, rates.

mod answers;
mod guard;
mod locks;
mod prose;
mod rates;
mod suite;
mod tape;
