//! Scenario files: read, bound by the verb table, checked. In: text. Out: [`Scenario`].

pub mod model;
pub use model::*;
