//! The fabric over UCX.
//!
//! | part | what it does |
//! |---|---|
//! | [`Network`] | opens UCX, registers memory, makes ports |
//! | [`UcxPort`] | one end, a [`Port`](crate::Port): composition of the rest |
//! | `settle`, `closing` | parts of it: notes turned into events; ends of connections |
//! | `worker`, `endpoint`, `region` | what UCX hands out, given back when dropped |
//! | `arrivals` | handlers: what comes in is put away |
//! | `finished` | callbacks: what has ended is noted |
//! | `sending`, `receiving` | the memory that UCX reads from and writes to, and its owners |
//! | `links` | the connections of a port |
//! | `sessions`, `short_form` | whose a short message is; sending one |
//! | `home`, `address` | where a port is found, and whether that is whole |
//! | `wake` | what a port sleeps on |
//! | `process` | whether a peer can still be at work |
//! | `layout` | whether two ends agree how messages lie in shared memory |
//! | `named` | shared memory that has a name, for users of a group |
//! | `probe`, `renewal` | whether peers can still reach the port; starting anew where they cannot |
//!
//! # Calls into UCX, and back
//! UCX calls handlers and callbacks only from within calls that the port makes. They reach two
//! places, [`arrivals`] and [`finished`], by pointers; the port looks at these only between calls.
//! Neither calls back into the port, so nothing is ever entered twice.
//!
//! # Who may touch a body
//! From the start of a send or a reception until its callback, UCX. A forced close has UCX complete
//! everything of the endpoint: what it tracks itself, when the transports' own endpoints have been
//! flushed with "cancel" (`ucp_ep_discard_lanes`, `ucp_ep_reqs_purge`); after a callback no
//! transport of 1.13 reads or writes the memory. A peer may: one that was lent memory for one-sided
//! access (a rendezvous over verbs) and lives on can still read what it was offered, or write what
//! it was asked to, until UCX takes its right away, which it does for memory that it registered
//! itself, and not for memory registered by [`Network::register`]. See docs/ownership.md.

mod address;
mod arrivals;
mod closing;
mod endpoint;
mod errors;
mod finished;
mod home;
mod lanes;
mod layout;
mod links;
mod named;
mod network;
mod port;
mod probe;
mod process;
mod receiving;
mod region;
mod renewal;
mod sending;
mod sessions;
mod settings;
mod settle;
mod short_form;
mod slots;
mod wake;
mod worker;

pub use farcache_ucx_sys::InUse;
pub use {
    layout::defaults as shared_memory_defaults,
    network::Network,
    port::UcxPort,
    settings::{Settings, rdma_devices},
};
