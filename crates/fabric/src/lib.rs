//! The fabric: messages that carry memcached's binary packets, over whatever network both ends
//! have.
//!
//! A [`Port`] is one thread's end of it. It sends messages, small ones whole and large bodies by
//! rendezvous, and hands what arrives to an [`Inbox`]. It knows nothing of the store, of requests
//! or of clocks; what the packets mean is the business of server and client.
//!
//! | part | what it does |
//! |---|---|
//! | [`port`] | the interface that every network implements |
//! | [`inbox`] | what a port hands over: messages, offers of large bodies, completions, losses |
//! | [`limits`] | how long messages may be that come whole |
//! | [`whole`] | messages that are handled while the network still has them |
//! | [`frame`] | the fixed header in front of every message |
//! | [`short`] | the short forms of a get that travels alone, and of its answer |
//! | [`grant`] | what a server answers to a client that asks to be let in |
//! | [`memory`] | a network inside one process, for tests |
//! | [`tcp`] | an ordinary memcached's byte stream, for clients |
//! | [`ucx`] | UCX: verbs, shared memory, TCP |
//! | [`bytes`], [`split`] | memory that a client lends to the network, whole or in ranges |
//!
//! The wire format and the rules of the conversation are in `docs/design/fabric.md`.

pub mod bytes;
pub mod error;
pub mod frame;
pub mod grant;
mod huge_pages;
pub mod inbox;
pub mod limits;
pub mod memory;
mod peer;
pub mod port;
pub mod short;
pub mod split;
pub mod tcp;
pub mod ucx;
pub mod whole;

pub use {
    error::Error,
    frame::{Frame, Kind},
    grant::Grant,
    inbox::{Event, Inbox, Offer},
    limits::Limits,
    port::{Arming, Payload, Peer, Port, SHARED_BYTES_MIN},
    whole::{Handler, Whole},
};
