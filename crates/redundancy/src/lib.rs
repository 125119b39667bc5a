//! How a value is written to and read from several servers, so that it survives the loss of some.
//!
//! The rules stand in `docs/design/redundancy.md`. The crate knows nothing of threads, files,
//! sockets or clocks: the time and what servers answer go in, requests come out, so a client and a
//! server that acts for one run the same plan.
//!
//! | part | what it does |
//! |---|---|
//! | [`Clock`] | a writer's hybrid logical clock, which gives [`Version`]s |
//! | [`Redundancy`] | in how many places a value lies: `none`, `replicate:3`, `ec:3,2` |
//! | [`Policy`] | which redundancy a value gets, by its key and its length |
//! | [`coding`] | the bytes of parts: made of a value, and a value made of them |
//! | [`spread`] | what a client tells a server that codes for it |
//! | [`Holders`] | which owners have the bytes of a small value |
//! | [`stored`] | how a part of a value lies in a server |
//! | [`Untold`] | which complete versions a server is still to be told of |
//! | [`Uses`] | which owners are to be told that a key is in use |
//! | [`plan`] | [`plan::Write`] and [`plan::Read`]: what is asked of which server, and when it is done |
//!
//! ```
//! use farcache_redundancy::Policy;
//!
//! let policy: Policy = "session/=replicate:3,async;ec:3,2".parse()?;
//! assert_eq!(policy.of_value(b"session/7", 100).to_string(), "replicate:3,async");
//! assert_eq!(policy.of_value(b"image/7", 1 << 20).to_string(), "ec:3,2");
//! // Small values are copied: m + 1 copies survive the loss of m servers, as the shards do.
//! assert_eq!(policy.of_value(b"image/7", 100).to_string(), "replicate:3");
//! # Ok::<(), farcache_redundancy::InvalidPolicy>(())
//! ```
#![forbid(unsafe_code)]

mod clock;
pub mod coding;
mod holders;
pub mod plan;
mod policy;
mod scheme;
pub mod spread;
pub mod stored;
mod untold;
mod uses;

pub use clock::{Clock, SKEW_MAX, TooFarAhead};
pub use farcache_base::version::{TICKS_PER_SECOND, Ticks, Version, Writer};
pub use farcache_erasure::{Coder, Scheme};
pub use holders::Holders;
pub use policy::{InvalidPolicy, Policy, Side, THRESHOLD_BYTES_DEFAULT};
pub use scheme::{Acknowledgement, InvalidRedundancy, Redundancy};
pub use untold::Untold;
pub use uses::Uses;
