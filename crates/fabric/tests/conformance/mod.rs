//! What every network must do, as functions over ports that its test file makes.
#![allow(dead_code, reason = "each network's test file uses a part of it")]

pub mod closing;
pub mod exchange;
pub mod harness;
pub mod large;
pub mod sleeping;
