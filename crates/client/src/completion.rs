//! How operations end.

use crate::operation::Reply;
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};

/// How an operation ended, with everything that was lent to it.
#[derive(Debug)]
pub struct Completion {
    /// What it brought.
    pub outcome: Result<Reply, crate::Error>,
    /// The value that was lent with [`Value::Lent`](crate::Value::Lent).
    pub lent: Option<SendBytes>,
    /// The memory that was given for a value, where the operation failed and left it unused; what
    /// it holds is unspecified.
    pub unused: Option<ReceiveBytes>,
}

/// Called once when an operation has ended.
pub struct Notice(Box<dyn FnOnce() + Send>);

impl Notice {
    /// A notice that calls this.
    pub fn new(call: impl FnOnce() + Send + 'static) -> Self {
        Notice(Box::new(call))
    }

    /// Calls it.
    pub fn call(self) {
        (self.0)();
    }
}

impl std::fmt::Debug for Notice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Notice")
    }
}

/// An item that was got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its value.
    pub value: Vec<u8>,
    /// The application's number, as stored.
    pub flags: u32,
    /// Its CAS token.
    pub cas: u64,
}

/// What is known of an item beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemInfo {
    /// The application's number, as stored.
    pub flags: u32,
    /// Its CAS token.
    pub cas: u64,
}
