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
//! | [`InUse`] | keeps the end of the process from ending UCX under a thread |
//!
//! Whoever calls the functions answers for the lifetimes: the fabric for its pinned segments, and
//! `bench/bare-ucx` for messages with owned buffers, by which UCX itself is measured and tested.

mod context;
mod ending;
mod error;
mod library;
pub mod raw;
mod signals;

pub use {
    context::Context,
    ending::InUse,
    error::Error,
    library::{LIBRARY_FILE, Library, LoadError},
};
