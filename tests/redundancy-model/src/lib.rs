//! A model of `docs/design/redundancy.md`: one key, its three owners, two writers and a reader,
//! servers that crash, return and are cut off from the keeper of the map.
//!
//! A request and its reply are one step. A client that takes no step for a while stands for one
//! that has died, or whose requests are under way for long.
#![forbid(unsafe_code)]

mod clients;
mod members;
mod model;
mod state;

pub use model::{Action, Mutation, Redundancy};
pub use state::{Answer, Client, Phase, Promise, Server, State};
