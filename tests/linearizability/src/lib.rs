//! Is there an order of all operations on a key, each between its call and its return, in which the
//! key behaves as its users saw? Nothing here knows of threads, files, sockets or clocks.
//!
//! | file | what it does |
//! |---|---|
//! | `model` | what each operation does to a key, and what it may answer |
//! | `search` | the search for an order |
//! | `shrink` | the part of a history that is refused already |
//! | `text` | histories as lines of text |
#![forbid(unsafe_code)]

mod model;
mod search;
mod shrink;
mod text;

pub use model::{Answer, Deed, State, Value};
pub use search::{Verdict, check};
pub use shrink::shrink;
pub use text::{parse, print};

/// One operation on a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who asked, for people who read the history.
    pub client: u32,
    /// What was asked for.
    pub deed: Deed,
    /// What the caller was told.
    pub answer: Answer,
    /// When it was asked for, in any unit.
    pub called: u64,
    /// When the answer was there; none where nobody knows whether the operation was carried out: it
    /// may take effect at any time from its call on, or never.
    pub returned: Option<u64>,
}
