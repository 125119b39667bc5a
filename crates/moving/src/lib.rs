//! Keys on their way from their old owner to the new one: what may be brought, and when.
//!
//! Maps, keys, frames and the time go in; what may be stored, and what is to be asked next, come
//! out. The new owner decides alone: it asks the old one for what that holds, and keeps of it what
//! it has not decided on itself since ([`Stream`]). It begins only when the old owner has
//! acknowledged that it has stopped deciding.
//!
//! | part | what it does |
//! |---|---|
//! | [`stream`] | the keys that come from one server: which have been decided on, what may be kept |
//! | [`taking`] | all streams of a server, as one map follows another |
//! | [`course`] | what the new owner asks next, and when it gives up |
//! | [`predecessors`] | who may still decide by an older map |
//! | [`giving`] | what the old owner may hand out |
//! | [`figures`] | how a move fares |
//! | [`pace`] | how fast items come |
//! | [`ease`] | how much slower, where clients wait |
//! | [`patience`] | how long who asked in vain waits, where maps differ for an instant |
#![forbid(unsafe_code)]

pub mod course;
pub mod ease;
pub mod figures;
pub mod giving;
pub mod pace;
pub mod patience;
pub mod predecessors;
pub mod stream;
pub mod taking;

pub use course::{Course, Step};
pub use figures::Figures;
pub use giving::Giving;
pub use pace::Pace;
pub use predecessors::Predecessor;
pub use stream::{KeyPlace, Stage, Stream};
pub use taking::{Table, Taking};
