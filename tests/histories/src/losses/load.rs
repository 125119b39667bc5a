//! Writers and readers of all keys, several at a time.

use crate::book::{self, Content, Entry};
use farcache_client::{Client, Error};
use farcache_histories::Outcome;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// Faults that are told one by one.
const TOLD_MAX: usize = 10;

/// What makes a client.
pub type MakeClient<'a> = &'a (dyn Fn() -> Outcome<Client> + Sync);

/// What a writer does to a key.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Set(u32),
    Delete,
}

/// What has come of writing.
#[derive(Debug, Default)]
pub struct Written {
    /// Bytes of values that writers are through with.
    pub bytes: AtomicU64,
    pub acknowledged: AtomicUsize,
    pub open: AtomicUsize,
}

/// What has come of reading.
#[derive(Debug, Default)]
pub struct Checked {
    pub keys: AtomicUsize,
    pub faults: Mutex<Vec<String>>,
}

/// What was acknowledged is not there.
#[derive(Debug)]
pub struct Lost(String);

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

impl Checked {
    fn fault(&self, what: String) {
        if let Ok(mut faults) = self.faults.lock() {
            faults.push(what);
        }
    }

    /// # Errors
    /// What was read is not what was acknowledged.
    pub fn verdict(self, when: &str) -> Outcome<usize> {
        let keys = self.keys.into_inner();
        let faults = self.faults.into_inner().unwrap_or_default();
        if faults.is_empty() {
            return Ok(keys);
        }
        let told = faults.iter().take(TOLD_MAX).cloned();
        let told = told.collect::<Vec<_>>().join("\n");
        let count = faults.len();
        let what = format!("{when}: {count} of {keys} keys are not as acknowledged:\n{told}");
        Err(Lost(what).into())
    }
}

fn name(key: usize) -> String {
    format!("losses-{key}")
}

/// Does to each key what `deed` says, with so many writers, each on its own part of the keys.
///
/// # Errors
/// There can be no such client.
pub fn write(
    entries: &mut [Entry],
    writers: usize,
    make: MakeClient<'_>,
    deed: &(dyn Fn(usize) -> Option<Deed> + Sync),
    written: &Written,
) -> Outcome<()> {
    let each = entries.len().div_ceil(writers).max(1);
    let clients = (0..writers).map(|_| make()).collect::<Outcome<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for ((part, entries), client) in entries.chunks_mut(each).enumerate().zip(&clients) {
            scope.spawn(move || {
                for (at, entry) in entries.iter_mut().enumerate() {
                    let key = part * each + at;
                    if let Some(deed) = deed(key) {
                        write_one(client, key, deed, entry, written);
                    }
                }
            });
        }
    });
    Ok(())
}

fn write_one(client: &Client, key: usize, deed: Deed, entry: &mut Entry, written: &Written) {
    let (content, outcome) = match deed {
        Deed::Set(number) => {
            let value = book::value(key, number);
            written.bytes.fetch_add(value.len() as u64, SeqCst);
            let outcome = client.set(name(key), value, 0).map(drop);
            (Content::Value(number), outcome)
        }
        Deed::Delete => (Content::Nothing, client.delete(name(key))),
    };
    match outcome {
        // That there was nothing to delete is no failure.
        Ok(()) | Err(Error::NotFound) => {
            entry.acknowledge(content);
            written.acknowledged.fetch_add(1, SeqCst);
        }
        Err(_) => {
            entry.leave_open(content);
            written.open.fetch_add(1, SeqCst);
        }
    }
}

/// Reads each key, with so many readers, until all are read or `is_over` says so.
///
/// # Errors
/// There can be no such client.
pub fn check(
    entries: &[Entry],
    readers: usize,
    make: MakeClient<'_>,
    is_over: &(dyn Fn() -> bool + Sync),
    checked: &Checked,
) -> Outcome<()> {
    let each = entries.len().div_ceil(readers).max(1);
    let clients = (0..readers).map(|_| make()).collect::<Outcome<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for ((part, entries), client) in entries.chunks(each).enumerate().zip(&clients) {
            scope.spawn(move || {
                for (at, entry) in entries.iter().enumerate() {
                    if is_over() {
                        return;
                    }
                    check_one(client, part * each + at, entry, checked);
                }
            });
        }
    });
    Ok(())
}

fn check_one(client: &Client, key: usize, entry: &Entry, checked: &Checked) {
    checked.keys.fetch_add(1, SeqCst);
    let content = match client.get(name(key)) {
        Ok(None) => Ok(Content::Nothing),
        Ok(Some(item)) => book::read(key, &item.value).map(Content::Value),
        Err(error) => Err(error.to_string()),
    };
    let wanted = entry.wanted();
    match content {
        Ok(content) if entry.allows(content) => {}
        Ok(content) => checked.fault(format!("key {key}: {content:?} instead of {wanted}")),
        Err(why) => checked.fault(format!("key {key}: {why} instead of {wanted}")),
    }
}
