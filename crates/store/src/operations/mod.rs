//! The operations that change items, a file each, and the rules that they follow (`terms`,
//! `verdict`).

mod arithmetic;
mod delete;
mod extend;
mod reservation;
mod rewrite;
mod set;
mod terms;
mod touch;
mod verdict;
mod versioned;

pub use reservation::{Reservation, Uncommitted};
