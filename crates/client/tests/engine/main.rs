//! The request engine with simulated servers and simulated time.

mod chaos;
mod credits;
mod failures;
mod large;
mod limits;
mod lone;
mod lone_store;
mod malformed;
mod world;
