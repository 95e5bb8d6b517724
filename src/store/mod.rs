//! Files: the run folder, its journal, pictures by content, and the scan on the way out.
//!
//! A file is written whole or not at all; a reader never sees half of one. What goes wrong with
//! the disk is told apart by kind, so that a run can go on in memory and say so at its end.

pub mod atomic;
pub mod frames;
pub mod journal;
pub mod names;
pub mod outgoing;

pub mod run_folder;

pub use atomic::{StoreError, write, write_private};
pub use journal::{Journal, JournalEnd};

pub use outgoing::{LeakOrIo, Outgoing, Written};
pub use run_folder::{RunFolder, new_run_id};
