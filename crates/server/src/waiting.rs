//! Who waits for other servers.

/// A session that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Whose it is.
    pub waiter: Waiter,
    /// Which of its waits.
    pub wait: u64,
    /// Which of the requests of that.
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
