//! Every operation against real servers.

#[path = "../support/mod.rs"]
mod support;

mod blocking;
mod connecting;
mod fabric;
mod together;
mod versions;
