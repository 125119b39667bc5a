//! The store with a tier: what leaves memory stays a hit, comes back after a restart, and is never
//! wrong.

mod absent;
mod admission;
mod ahead;
mod check;
mod common;
mod crash;
mod faults;
mod fences;
mod full;
mod gaps;
mod model;
mod operations;
mod restart;
mod room;
mod runs;
mod short;
mod spill;
mod starts;
mod tombstones;
mod undurable;
mod versions;
