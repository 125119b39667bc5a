//! Items at their place, and the memory they lie in: what the store and its log are made of.
//!
//! Knows nothing of where memory goes, of who owns a key, or of devices. Threads, locks, atomics
//! and time are taken from here, so that models can take their place in store and log at once.
//!
//! | part | what it does |
//! |---|---|
//! | `region` | address space reserved at once, filled by the kernel as it is touched |
//! | `item` | header, key and value at their place |
//! | `location` | where an item lies, in memory or on a device, in 43 bits |
//! | `free_map` | which of many equal parts are free, and how many in a row |
//! | `epoch` | when memory that left the index may be reused |
//! | `prefetch` | which cache lines will be read soon |
//! | `schedule`, `sync` | threads, locks, atomics and time: the real ones, or a model's |

pub mod epoch;
mod free_map;
pub mod item;
pub mod location;
pub mod prefetch;
pub mod region;
pub mod schedule;
pub mod sync;

pub use free_map::FreeMap;
