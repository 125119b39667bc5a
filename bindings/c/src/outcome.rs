//! What an operation has brought.

use crate::status::{Failure, Status, c_text};
use farcache_client::{Completion, Error, ReceiveBytes, Reply, Values};
use std::ffi::{CString, c_char, c_void};
use std::ptr::null;

/// What an operation has brought. Pointers are valid until its request is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Outcome {
    /// The value, in the room that was given or else in the library's memory; of
    /// farcache_server_version the text.
    pub value: *const c_void,
    /// Its length in bytes; with FARCACHE_STATUS_BUFFER_TOO_SMALL what it would be.
    pub value_bytes: usize,
    /// The item's CAS token, where there is one.
    pub cas: u64,
    /// The number after counting.
    pub number: u64,
    /// How many items there are for farcache_result_item: keys of a multi-get, or statistics.
    pub items: usize,
    /// The application's number, as stored.
    pub flags: u32,
}

/// One of several: a key of a multi-get, or a statistic. Pointers are valid until the request is
/// freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    /// The statistic's name, a text; null for a key.
    pub name: *const c_char,
    /// The value; a statistic's is a text.
    pub value: *const c_void,
    /// Its length in bytes, a text's without the zero byte.
    pub value_bytes: usize,
    /// The item's CAS token.
    pub cas: u64,
    /// The application's number, as stored.
    pub flags: u32,
    /// FARCACHE_STATUS_OK, FARCACHE_STATUS_NOT_FOUND, or why the value could not be had.
    pub status: Status,
}

/// Of a request that has brought nothing, or not yet.
pub const NOTHING: Outcome = Outcome {
    value: null(),
    value_bytes: 0,
    cas: 0,
    number: 0,
    items: 0,
    flags: 0,
};

/// How a request ended, and what it brought.
pub struct Brought {
    pub status: Status,
    /// Why it failed; empty where it did not.
    pub message: CString,
    pub outcome: Outcome,
    items: Items,
    /// What the pointers above point into, unless it is the caller's.
    _kept: Kept,
}

// SAFETY: the pointers point into `_kept`, `items` and the caller's memory, which any thread may
// read.
unsafe impl Send for Brought {}

enum Items {
    None,
    Keys(Values),
    Statistics(Vec<(CString, CString)>),
}

enum Kept {
    Nothing,
    Value(#[expect(dead_code, reason = "pointed into")] ReceiveBytes),
    Text(#[expect(dead_code, reason = "pointed into")] CString),
}

impl Brought {
    fn done(outcome: Outcome, items: Items, kept: Kept) -> Self {
        Brought {
            status: Status::Ok,
            message: CString::default(),
            outcome,
            items,
            _kept: kept,
        }
    }

    /// Of a single operation. What was lent to it is the caller's again.
    pub fn of(completion: Completion) -> Self {
        match completion.outcome {
            Ok(reply) => Brought::of_reply(reply),
            Err(error) => Brought::failed(&error),
        }
    }

    fn failed(error: &Error) -> Self {
        let Failure { status, message } = Failure::from(error);
        let value_bytes = match error {
            Error::BufferTooSmall { value_bytes } => *value_bytes,
            _ => 0,
        };
        Brought {
            status,
            message,
            outcome: Outcome {
                value_bytes,
                ..NOTHING
            },
            items: Items::None,
            _kept: Kept::Nothing,
        }
    }

    fn of_reply(reply: Reply) -> Self {
        let (mut outcome, mut items, mut kept) = (NOTHING, Items::None, Kept::Nothing);
        match reply {
            Reply::Value { value, flags, cas } => {
                outcome.value = value.as_ptr().cast();
                outcome.value_bytes = value.len();
                (outcome.flags, outcome.cas) = (flags, cas);
                kept = Kept::Value(value);
            }
            Reply::Done { cas } => outcome.cas = cas,
            // Of operations that this interface does not offer.
            Reply::Part { cas: version, .. }
            | Reply::Older { current: version }
            | Reply::Unsure { current: version }
            | Reply::Promised {
                current: version, ..
            }
            | Reply::Deleted { version }
            | Reply::Absent { version } => outcome.cas = version,
            Reply::Number { number, cas } => (outcome.number, outcome.cas) = (number, cas),
            Reply::Text(text) => {
                let text = c_text(text);
                outcome.value = text.as_ptr().cast();
                outcome.value_bytes = text.as_bytes().len();
                kept = Kept::Text(text);
            }
            Reply::Statistics(statistics) => {
                let statistics = statistics.into_iter();
                let pairs = statistics.map(|(name, value)| (c_text(name), c_text(value)));
                let pairs: Vec<_> = pairs.collect();
                outcome.items = pairs.len();
                items = Items::Statistics(pairs);
            }
        }
        Brought::done(outcome, items, kept)
    }

    /// Of a multi-get, which is done whatever became of its keys.
    pub fn of_values(values: Values) -> Self {
        let items = values.len();
        Brought::done(
            Outcome { items, ..NOTHING },
            Items::Keys(values),
            Kept::Nothing,
        )
    }

    /// One of several that it has brought.
    pub fn item(&self, index: usize) -> Option<Item> {
        match &self.items {
            Items::Keys(values) if index < values.len() => Some(key(values, index)),
            Items::Statistics(pairs) => pairs.get(index).map(|(name, value)| Item {
                name: name.as_ptr(),
                value: value.as_ptr().cast(),
                value_bytes: value.as_bytes().len(),
                cas: 0,
                flags: 0,
                status: Status::Ok,
            }),
            _ => None,
        }
    }
}

fn key(values: &Values, index: usize) -> Item {
    let mut item = Item {
        name: null(),
        value: null(),
        value_bytes: 0,
        cas: 0,
        flags: 0,
        status: Status::NotFound,
    };
    match values.get(index) {
        Ok(Some(found)) => {
            item.status = Status::Ok;
            item.value = found.value.as_ptr().cast();
            item.value_bytes = found.value.len();
            (item.cas, item.flags) = (found.cas, found.flags);
        }
        Ok(None) => {}
        Err(error) => item.status = error.into(),
    }
    item
}
