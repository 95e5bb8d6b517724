//! End-to-end tests: a real browser, a real HTTP server, the built program.

mod agent;
mod browser;
mod cases;
mod driver;
mod lifecycle;
mod oracle;
mod page;
mod review;
mod safety;
mod serve;
