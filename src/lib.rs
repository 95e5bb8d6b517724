//! Rehearsal: a declarative, test-style runner for browser workflows.
//!
//! Rooms, ground floor first: `text`, `system`, `secrets`, `store`, `policy`, `scenario`, `snapshot`,
//! `plan`, `driver`, `network`, `page`, `resolve`, `agent`, `event`, `broker`, `tutorial`, `run`,
//! `report`, `serve`, `cli`. A room imports only from rooms before it in this list; only `driver`
//! names thirtyfour, only `agent` the model client (held by `ci/tests/cli/rooms.rs`).

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
