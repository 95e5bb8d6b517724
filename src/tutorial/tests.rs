//! Tutorials from journals as runs write them.

mod journal;

mod curation;
mod exports;
mod prose;
