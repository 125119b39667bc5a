//! Farcache's client: memcached's operations over the fabric or over sockets.
//!
//! A [`Client`] is a handle to one or several servers. Where a server is Farcache's and both ends
//! have a network that UCX can use, operations travel over the fabric; any other memcached is
//! served over its socket, by its binary protocol. Which of the two it is makes no difference to a
//! program.
//!
//! ```no_run
//! use farcache_client::{Client, ClientConfig, Operation, ReceiveBytes, Reply, Store};
//!
//! # fn main() -> Result<(), farcache_client::Error> {
//! let client = Client::new(&ClientConfig::new("cache-1:11211,cache-2:11211")?)?;
//!
//! // Blocking calls.
//! client.set("greeting", "hello", 60)?;
//! let item = client.get("greeting")?.expect("stored a moment ago");
//! assert_eq!(item.value, b"hello");
//! let values = client.get_many(&["greeting", "absent"])?;
//! assert_eq!(values.found(), 1);
//!
//! // The same without blocking: what is submitted together travels together.
//! let into = ReceiveBytes::default();
//! let get = client.submit(Operation::Get { key: b"greeting", into });
//! let set = client.submit(Operation::Store(Store::set(b"farewell", "bye")));
//! client.flush();
//! while !client.test(&get) {
//!     // Something useful.
//! }
//! if let Reply::Value { value, .. } = client.wait(get)? {
//!     assert_eq!(&value[..], b"hello");
//! }
//! client.wait(set)?;
//! # Ok(())
//! # }
//! ```
//!
//! Everything is an [`Operation`] that is submitted, and a [`Request`] until its result has been
//! fetched; the blocking calls are no more than that. Memory that is lent to an operation, a value
//! to store or room for one to get, comes back with its [`Completion`].
//!
//! | part | what it does |
//! |---|---|
//! | [`Client`] | the handle: submitting, testing, waiting, and the blocking calls |
//! | [`ClientConfig`] | servers, transport, encryption, time limits |
//! | [`distribution`], [`hash`] | on which server a key lives, bit for bit as libmemcached has it |
//! | [`engine`] | requests without I/O and without a clock |
//! | [`text`] | servers that do not speak the binary protocol |
//! | `connections` | operations on one server each, which all others are made of |
//! | `part_rooms` | where parts of a value on several servers are received |
//! | `redundant` | values on several servers, by the plans of `farcache-redundancy` |
//! | `driver` | joins the engine with ports, connections and the clock; how threads wait |
//! | `connect` | name, socket, encryption, authentication, the question for the fabric |
//!
//! The user's page is `docs/client.md`.
#![forbid(unsafe_code)]

mod calls;
mod client;
mod completion;
mod config;
mod connect;
mod connections;
mod driver;
pub mod engine;
mod error;
mod operation;
mod part_rooms;
mod redundant;
mod request;
mod store;
pub mod text;
mod values;

pub use client::Client;
pub use completion::{Completion, Item, ItemInfo, Notice};
pub use config::{
    CLUSTER_VARIABLE, ClientConfig, Credentials, PROGRESS_VARIABLE, REDUNDANCY_VARIABLE,
    TRANSPORT_VARIABLE, TlsSettings, Transport, parse_redundancy, parse_servers,
};
pub use connect::{ClientPort, Fabric, Ucx};
pub use error::{ConnectError, ConnectStage, Error};
pub use farcache_base::version::Keeping;
pub use farcache_cluster::{distribution, hash};
pub use farcache_fabric::bytes::{Keeper, LentMemory, ReceiveBytes, SendBytes, zeroed_memory};
pub use farcache_proto::binary::INCOMPLETE;
pub use farcache_redundancy::{InvalidPolicy, Policy};
pub use operation::{Delivery, Direction, Front, Initial, Operation, Reply, Route, VersionTerms};
pub use part_rooms::PartRooms;
pub use request::{GetManyRequest, Request};
pub use store::{Store, StoreMode, Value};
pub use values::{ItemRef, Values};
