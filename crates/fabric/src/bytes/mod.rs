//! Memory that a client lends to the network: values on their way out, room for values to come.
//!
//! Both kinds are either Rust's own memory, given away and given back, or memory that somebody else
//! answers for (a C program's buffer), which only `unsafe` code can bring in.

mod foreign;
mod lent;
mod received;
mod sent;

pub use crate::huge_pages::zeroed_memory;
pub use foreign::Keeper;
pub use lent::LentMemory;
pub use received::ReceiveBytes;
pub use sent::SendBytes;
