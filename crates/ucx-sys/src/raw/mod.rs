//! UCX's C interface under its C names, as of API version 1.13.
//!
//! Written by hand from the published header `ucp/api/ucp.h`. UCX promises that structures only
//! grow at their end and that it reads and writes only the fields named in a structure's mask, so
//! these also serve with later versions of the same major number. Sizes and offsets are asserted
//! when this is compiled, and compared with the installed header by `tests/layout.rs`.
//!
//! Pointers to types without fields (`ucp_context`, `ucp_worker` ...) are handles: only UCX looks
//! behind them.
#![allow(non_camel_case_types)]

mod context;
mod endpoint;
mod functions;
mod layout;
mod memory;
mod message;
mod status;
mod worker;

pub(crate) use functions::loader_reason;
pub use {
    context::*, endpoint::*, functions::Functions, layout::Constant, layout::Field, layout::Layout,
    memory::*, message::*, status::*, worker::*,
};

/// The UCX API that this module declares: major and minor version number, the least that
/// [`crate::Library::load`] accepts.
pub const API_VERSION: (u32, u32) = (1, 13);

/// Every structure declared here, to be compared with the header.
pub const LAYOUTS: &[&[Layout]] = &[
    context::LAYOUTS,
    worker::LAYOUTS,
    endpoint::LAYOUTS,
    message::LAYOUTS,
    memory::LAYOUTS,
];

/// Every constant declared here, to be compared with the header.
pub const CONSTANTS: &[&[Constant]] = &[
    status::CONSTANTS,
    context::CONSTANTS,
    worker::CONSTANTS,
    endpoint::CONSTANTS,
    message::CONSTANTS,
    memory::CONSTANTS,
];
