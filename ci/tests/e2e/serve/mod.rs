//! The broker as a service, over real HTTP, against the bundled sites.

mod consent;
mod doors;
mod outcome;
mod recipes;
mod rig;
mod runs;
mod talking;
