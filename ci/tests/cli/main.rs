//! The command line as a black box, without a browser: what goes wrong is said with file, line,
//! column and a fix, and every exit code is the documented one.

mod bad_input;
mod commands;
mod environment;
mod help;
mod injector;
mod rig;
mod rooms;
