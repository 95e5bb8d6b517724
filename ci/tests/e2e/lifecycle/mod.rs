//! What a run promises about its own life: faults of pages and servers, signals, deaths of every
//! process, fixtures. Everything is looked at from outside: exit codes, files, `/proc`.

mod deaths;
mod pages;
mod servers;
mod signals;
mod site;
mod suite;
