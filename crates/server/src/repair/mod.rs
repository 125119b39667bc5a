//! Copies and shards that this server should have and lacks are fetched from the other owners.
//!
//! A thread of its own runs `farcache_redundancy::plan::repair` over connections of its own: it may
//! wait for answers and for devices, which no worker may.
//!
//! | file | what it does |
//! |---|---|
//! | `run` | the thread: when a pass begins, and what it has to do |
//! | `pass` | one pass: the plan's actions carried out |
//! | `sources`, `source` | the connections to other servers; one of them |
//! | `here` | what this server has itself |
//! | `making` | parts made of others' parts, and stored |

mod here;
mod making;
mod pass;
mod run;
mod source;
mod sources;

pub use run::start;
