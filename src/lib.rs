//! Rehearsal: a declarative, test-style runner for browser workflows.
//!
//! Rooms, ground floor first. A room imports only from rooms above it in this list
//! (held by a test, `ci/tests/unit/rooms.rs`).

pub mod agent;
pub mod broker;
pub mod cli;
pub mod driver;
pub mod event;
pub mod network;
pub mod page;
pub mod plan;
pub mod policy;
pub mod report;
pub mod resolve;
pub mod run;
pub mod scenario;
pub mod secrets;
pub mod serve;
pub mod snapshot;
pub mod store;
pub mod system;
pub mod text;
pub mod tutorial;
