//! The request engine with simulated servers and simulated time.

mod chaos;
mod credits;
mod failures;
mod large;
mod limits;
mod malformed;
mod parts;
mod retiring;
mod solo;
mod solo_store;
mod world;
