//! The operations that change items, a file each.

mod arithmetic;
mod delete;
mod extend;
mod reservation;
mod rewrite;
mod set;
mod touch;
mod verdict;
mod versioned;

pub use reservation::{Reservation, Uncommitted};
