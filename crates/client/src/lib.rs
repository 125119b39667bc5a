//! Farcache's client: memcached's operations over the fabric or sockets, non-blocking inside.
#![forbid(unsafe_code)]

mod config;
pub mod distribution;
pub mod engine;
mod error;
pub mod hash;
mod operation;
mod values;

pub use config::{
    ClientConfig, Credentials, TRANSPORT_VARIABLE, TlsSettings, Transport, parse_servers,
};
pub use error::Error;
pub use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
pub use operation::{
    Completion, Delivery, Direction, Initial, Operation, Reply, Route, Store, StoreMode, Value,
};
pub use values::{ItemRef, Values};
