//! The binary protocol from bytes in to bytes out, with a store behind it.

mod authentication;
mod catching_up;
mod client;
mod counting;
mod errors;
mod items;
mod older_versions;
mod owner;
mod placed;
mod splits;
mod statistics;
mod values;
mod versions;
