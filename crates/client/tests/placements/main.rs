//! Clients and servers that code for one another: whoever stores or reads the parts of a value, in
//! the end it is the same value.

#[path = "../repair/fleet.rs"]
#[allow(dead_code)] // Each test program uses its own part of this.
mod fleet;
#[path = "../support/mod.rs"]
mod support;

mod healthy;
