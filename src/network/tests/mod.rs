//! Over real sockets on loopback: a site that records what reaches it, a client that sends raw bytes,
//! the proxy between them. What counts as proof of a refusal is the site's own log.

mod faults;
mod hosts;
mod inspect;
mod parsing;
mod quiet;
mod rig;
mod sockets;
mod upstream;
mod writes;
