//! Reading pages: the in-page reader (JavaScript in a BiDi sandbox), readiness, masking.
//! In: driver. Out: [`Observation`], frames.

pub mod observation;
pub use observation::*;
