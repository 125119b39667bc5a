//! The store with a tier: what leaves memory stays a hit, comes back after a restart, and is never wrong.

mod common;
mod crash;
mod faults;
mod full;
mod gaps;
mod model;
mod operations;
mod restart;
mod room;
mod short;
mod spill;
