//! Who waits for other servers.

/// A session that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// What the session belongs to.
    pub waiter: Waiter,
    /// The number of the wait among the waiter's.
    pub wait: u64,
    /// The place of the request among those of the wait.
    pub index: usize,
}

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// The connection in this slot.
    Connection(usize),
    /// A message on the fabric, by its place among those that wait.
    Message(usize),
}
