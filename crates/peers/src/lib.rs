//! What the servers of a cluster say to one another, without I/O: bytes and the time go in, bytes
//! and events come out.
//!
//! A server that is asked for a key which another one owns wraps the client's request, as it came,
//! in a frame, and gets the owner's reply in a frame, as the client is to get it. So a forwarded
//! request means what it means to the owner, in each protocol, and nothing is encoded anew.
//!
//! | part | what it does |
//! |---|---|
//! | [`greeting`] | how a peer shows who it is, before anything else |
//! | [`frame`] | the heads of requests and replies |
//! | [`listing`] | what a server has of values that lie on several, for those who lack some of it |
//! | [`moves`] | what is asked and sent while keys move from one server to another |
//! | [`link`] | the end of a connection that asks: what is outstanding, replies put together |
#![forbid(unsafe_code)]

pub mod frame;
pub mod greeting;
pub mod link;
pub mod listing;
pub mod moves;
