//! The load generator's parts: what to ask for, how to ask, and how to time the answers.

pub mod blocking;
pub mod closed_loop;
pub mod connection;
pub mod fleet;
pub mod keys;
pub mod measurement;
pub mod meta;
pub mod open_loop;
pub mod poller;
pub mod probe;
pub mod protocol;
pub mod run_limits;
pub mod runner;
pub mod scanner;
pub mod values;
pub mod workload;
