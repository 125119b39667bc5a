//! Sockets: where clients come from and how bytes move.

pub mod listen;
pub mod transport;
pub mod waker;
