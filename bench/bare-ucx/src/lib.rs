//! UCX's active messages with owned buffers, for programs that are no Farcache: the benchmark of
//! bare UCX (`bench/src/limits`), and tests that send to the fabric's port what no port sends.
//!
//! The fabric moves memory that it owns by other means (pinned segments), so it takes the raw
//! handles of `farcache-ucx-sys` and answers for the lifetimes itself.
//!
//! | part | what it holds |
//! |---|---|
//! | [`Worker`] | one thread's progress engine; [`Worker::arm`] before sleeping |
//! | [`Endpoint`] | the way to one other worker; sends active messages |
//! | [`Body`] | what a message handler is given: bytes in place, or a rendezvous to receive |
//!
//! # Rules that hold for every caller
//! - A handler is called from within [`Worker::progress`] or [`Endpoint::send`]. It may send and
//!   drop endpoints; it must not progress, connect or set handlers, which panics.
//! - A panic in a handler ends the process: there is C between it and its caller.
//! - An operation that never completes (its peer was killed in the middle of a rendezvous over
//!   shared memory) leaks its buffers: memory that the network may still touch is not freed.

mod address;
mod endpoint;
mod receive;
mod send;
mod worker;

pub use {
    address::Address,
    endpoint::Endpoint,
    receive::{Body, Rendezvous},
    worker::{Arming, Worker},
};
