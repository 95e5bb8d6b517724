//! The broker as a service: held pages, recipes and consent, for other programs and agents.
//!
//! Two principals. An *owner* asks for things (a bearer token each); the *approver* says yes or no to
//! what would change something or use a credential, on a channel no owner's token opens
//! ([`consent`]). Everything a caller sends is translated to the steps and plans a run takes, and
//! everything it gets back was read through the scrubber; [`reply`] looks through the bytes once more.

mod act;
mod acting;
mod approver;
mod audit;
mod batch;
mod bound;
mod client;
mod consent;
mod draft;
mod guard;
mod http;
mod intake;
mod json;
mod mcp;
mod openapi;
mod opening;
mod read;
mod recipe;
mod refusal;
mod reply;
mod routes;
mod running;
mod runs;
mod service;
mod session;
mod starting;
mod tokens;
mod weigh;

pub use act::Approval;
pub use audit::Audit;
pub use client::{Client, ClientError};
pub use http::{Listening, serve};
pub use intake::{Handed, IntakeError, Taken, Words, take};
pub use mcp::{McpError, Tools};
pub use openapi::document as openapi;
pub use service::{Means, Options, Service};
pub use starting::RunWish;
pub use tokens::{TokenError, Tokens, state_folder};

/// Served here unless set.
pub const PORT: u16 = 8771;

#[cfg(test)]
mod tests;
