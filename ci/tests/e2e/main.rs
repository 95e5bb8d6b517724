//! End-to-end tests: a real browser, a real HTTP server, the built program.

mod browser;
mod driver;
mod oracle;
mod page;
mod serve;
