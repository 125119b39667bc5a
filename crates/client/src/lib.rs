//! Farcache's client: memcached's operations over the fabric or sockets, non-blocking inside.
#![forbid(unsafe_code)]

mod calls;
mod client;
mod config;
mod connect;
pub mod distribution;
mod driver;
pub mod engine;
mod error;
pub mod hash;
mod operation;
mod request;
mod values;

pub use calls::{Item, ItemInfo};
pub use client::Client;
pub use config::{
    ClientConfig, Credentials, TRANSPORT_VARIABLE, TlsSettings, Transport, parse_servers,
};
pub use connect::{ClientPort, Fabric, Ucx};
pub use error::Error;
pub use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
pub use operation::{
    Completion, Delivery, Direction, Initial, Operation, Reply, Route, Store, StoreMode, Value,
};
pub use request::{GetManyRequest, Request};
pub use values::{ItemRef, Values};
