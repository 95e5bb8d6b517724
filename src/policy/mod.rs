//! What may be reached and what may be changed: hosts, origins, writes.
//!
//! Pure decisions on plain values. Nothing here looks at a page, opens a socket or keeps a clock,
//! so every rule is tested as a table. `network` asks for each request; `plan` and `broker` ask
//! before there is a request at all.

mod allow;
mod facts;
mod gate;
mod glob;
mod hosts;
mod operations;
mod origin;
mod risky;
mod signin;
mod suggest;
mod writes;

#[cfg(test)]
mod tests;

pub use allow::{AllowSet, Denial, navigable};
pub use facts::RequestFacts;
pub use gate::{Gate, LOGIN, Ruling, WindowId};
pub use glob::Glob;
pub use hosts::{HostError, HostRule, Scheme, mixed_scripts};
pub use operations::operations;
pub use origin::{Origin, OriginError};
pub use risky::{languages as risky_languages, risky};
pub use signin::{Carries, SignIn};
pub use suggest::Suggestion;
pub use writes::{RequestPattern, SafeRequest, WriteError, WriteRule};
