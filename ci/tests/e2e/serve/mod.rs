//! The broker as a service, over real HTTP, against the bundled sites.

mod batch;
mod consent;
mod doors;
mod downloads;
mod outcome;
mod recipes;
mod rig;
mod runs;
mod talking;
