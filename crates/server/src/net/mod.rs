//! Sockets: where clients come from and how bytes move.

pub mod listen;
pub mod tls;
pub mod transport;
pub mod waker;
