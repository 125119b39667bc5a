//! A network inside one process, for tests: deterministic, and broken on demand.
//!
//! Ports of one [`Network`] reach each other from any thread. Nothing moves by itself: what is sent
//! waits in the receiver's mailbox until that port is progressed, in the order in which it was
//! sent, unless a [`Rule`] has it otherwise. So a test in one thread sees the same thing in every
//! run.
//!
//! | part | what it does |
//! |---|---|
//! | [`Network`] | makes ports; breaks things |
//! | [`MemoryPort`] | one end, a [`Port`](crate::Port) |
//! | [`Rule`], [`Action`] | what is to happen to which message |
//! | `links`, `bodies` | parts of it: its connections; large bodies under way |
//! | `wire` | mailboxes and connections, shared by all ports |
//!
//! Unlike a real network it counts a message as unsent until the receiver has taken it, so that a
//! peer that does not progress is felt at once.

mod bodies;
mod faults;
mod links;
mod network;
mod port;
mod wire;

pub use {
    faults::{Action, Rule},
    network::{Death, Network},
    port::MemoryPort,
};
