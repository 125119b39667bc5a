//! Servers of a cluster that lose what they had, and get it back from the others by themselves:
//! real processes, killed with signal 9 while a client writes.

#[path = "../support/mod.rs"]
mod support;

mod fleet;
mod returns;

use fleet::Fleet;
