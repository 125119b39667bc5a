//! UCX for Farcache: what the fabric needs of `libucp`, found at run time.
//!
//! Nothing of UCX is needed to build. [`Library::load`] opens `libucp.so.0` with `dlopen`; on a
//! machine without it the answer is a [`LoadError`] that names the file that was looked for, and
//! the program goes on without a fabric. Tested with UCX 1.13.1 and 1.22.0.
//!
//! | part | what it holds |
//! |---|---|
//! | [`raw`] | types, constants and functions under their C names, so that UCX's own documentation applies |
//! | [`Library`] | the loaded functions; one per process, never unloaded |
//! | [`Context`] | UCX's resources of this process; shared by its workers |
//! | [`Worker`] | one thread's progress engine; [`Worker::arm`] before sleeping |
//! | [`Endpoint`] | the way to one other worker; sends active messages |
//! | [`Body`] | what a message handler is given: bytes in place, or a rendezvous to receive |
//!
//! The safe types cover messages with owned buffers. Programs that are no Farcache use them: the
//! benchmark of bare UCX (`bench/src/limits`), and tests that send to the fabric's port what no
//! port sends. The fabric moves memory that it owns by other means (pinned segments), so it takes
//! the raw handles and answers for the lifetimes itself.
//!
//! # Rules that hold for every caller
//! - A handler is called from within [`Worker::progress`] or [`Endpoint::send`]. It may send and
//!   drop endpoints; it must not progress, connect or set handlers, which panics.
//! - A panic in a handler ends the process: there is C between it and its caller.
//! - An operation that never completes (its peer was killed in the middle of a rendezvous over
//!   shared memory) leaks its buffers: memory that the network may still touch is not freed.

mod address;
mod context;
mod endpoint;
mod error;
mod library;
pub mod raw;
mod receive;
mod send;
mod signals;
mod worker;

pub use {
    address::Address,
    context::Context,
    endpoint::Endpoint,
    error::Error,
    library::{LIBRARY_FILE, Library, LoadError},
    receive::{Body, Rendezvous},
    worker::{Arming, Worker},
};
