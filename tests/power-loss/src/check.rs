//! The check after the cut.

use crate::client::Client;
use crate::history::{CLIENTS, Change, History, KEYS};
use crate::load::AHEAD_MAX;
use crate::mark::{Mark, Marks};
use std::io;
use std::path::Path;

/// A key's changes that matter after a cut.
struct Expected {
    /// The last acknowledged one.
    last: (u64, Change),
    /// Those that may have been sent, but whose acknowledgement is not on the disk.
    pending: Vec<(u64, Change)>,
}

/// The changes of each of a client's keys.
fn expected(mark: &Mark, client: usize) -> Vec<Expected> {
    let history = mark.history();
    let count = mark.counts[client];
    let mut keys: Vec<Expected> = (0..KEYS)
        .map(|key| Expected {
            last: (key, history.operation(client, key).change),
            pending: Vec::new(),
        })
        .collect();
    for index in KEYS..count {
        let operation = history.operation(client, index);
        keys[operation.key as usize].last = (index, operation.change);
    }
    for index in count..count + AHEAD_MAX {
        let operation = history.operation(client, index);
        let change = (index, operation.change);
        keys[operation.key as usize].pending.push(change);
    }
    keys
}

/// What is wrong with a key's item, if anything is.
fn judge(
    mark: &Mark,
    client: usize,
    expected: &Expected,
    found: Option<&[u8]>,
    is_strict: bool,
) -> Result<(), String> {
    let Some(value) = found else {
        let may_be_missing =
            !is_strict || expected.last.1 == Change::Delete || !expected.pending.is_empty();
        return may_be_missing.then_some(()).ok_or("it is lost".into());
    };
    let Some((life, index)) = History::named_by(value) else {
        return Err(format!("{} bytes that nobody stored", value.len()));
    };
    if life != mark.life {
        // Without strictness an earlier life's item may be back, but only whole.
        return is_strict
            .then(|| format!("a value of life {life}"))
            .map_or(Ok(()), Err);
    }
    let known = std::iter::once(&expected.last).chain(&expected.pending);
    let is_known = known.clone().any(|&(at, _)| at == index);
    if is_strict && !is_known {
        let pending = expected.pending.len();
        return Err(format!(
            "the value of operation {index}, not of {} or {pending} later ones",
            expected.last.0
        ));
    }
    let change = mark.history().operation(client, index).change;
    let is_whole = matches!(change, Change::Set(bytes)
        if mark.history().value(client, index, bytes) == value);
    is_whole
        .then_some(())
        .ok_or_else(|| format!("a damaged value of operation {index}"))
}

/// Reads every key. Without a mark nothing is known of them, and nothing is checked.
///
/// # Errors
/// The first item that must not be as it is, and the system's.
pub fn run(address: &str, marks: &Path, is_strict: bool) -> io::Result<String> {
    let mut connection = Client::connect(address)?;
    let Some(mark) = Marks::open(marks)?.read()? else {
        return Ok("no mark: nothing to compare with".into());
    };
    let mut present = 0;
    for client in 0..CLIENTS {
        for (key, expected) in expected(&mark, client).iter().enumerate() {
            let name = History::key_name(client, key as u64);
            let found = connection.get(&name)?;
            present += u32::from(found.is_some());
            judge(&mark, client, expected, found.as_deref(), is_strict).map_err(|fault| {
                let counts = mark.counts[client];
                io::Error::other(format!(
                    "life {} seed {} key {name} after {counts} operations: {fault}",
                    mark.life, mark.seed
                ))
            })?;
        }
    }
    let sum: u64 = mark.counts.iter().sum();
    Ok(format!(
        "{present} items right after {sum} acknowledged operations"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked() -> (Mark, usize, usize) {
        let mut mark = Mark::of_start(1, 5);
        mark.counts = [400; CLIENTS];
        let keys = expected(&mark, 0);
        let is_quiet = |one: &Expected| one.pending.is_empty();
        let stored = |one: &Expected| matches!(one.last.1, Change::Set(_));
        let set = keys.iter().position(|one| is_quiet(one) && stored(one));
        let deleted = keys.iter().position(|one| is_quiet(one) && !stored(one));
        (mark, set.unwrap(), deleted.unwrap())
    }

    fn value_of(mark: &Mark, index: u64) -> Vec<u8> {
        let Change::Set(bytes) = mark.history().operation(0, index).change else {
            panic!("operation {index} stores nothing");
        };
        mark.history().value(0, index, bytes)
    }

    #[test]
    fn what_was_acknowledged_last_is_right_and_everything_else_is_wrong() {
        let (mark, set, deleted) = marked();
        let keys = expected(&mark, 0);
        let (set, deleted) = (&keys[set], &keys[deleted]);
        let right = value_of(&mark, set.last.0);
        assert!(judge(&mark, 0, set, Some(&right), true).is_ok());
        assert!(judge(&mark, 0, set, None, true).is_err());
        assert!(judge(&mark, 0, deleted, None, true).is_ok());
        assert!(judge(&mark, 0, deleted, Some(&right), true).is_err());
        let mut damaged = right.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert!(judge(&mark, 0, set, Some(&damaged), true).is_err());
        assert!(judge(&mark, 0, set, Some(&right[..right.len() - 1]), true).is_err());
        let older = mark.history().value(0, 0, 100);
        assert!(judge(&mark, 0, set, Some(&older), true).is_err());
        let earlier = History { life: 0, seed: 5 };
        assert!(judge(&mark, 0, set, Some(&earlier.value(0, 1, 99)), true).is_err());
    }

    #[test]
    fn what_was_under_way_may_be_there_or_not() {
        let (mark, ..) = marked();
        let keys = expected(&mark, 0);
        let is_pending_set = |one: &&Expected| {
            let first = one.pending.first();
            first.is_some_and(|(_, change)| matches!(change, Change::Set(_)))
        };
        let key = keys.iter().find(is_pending_set).unwrap();
        let newer = value_of(&mark, key.pending[0].0);
        assert!(judge(&mark, 0, key, Some(&newer), true).is_ok());
        assert!(judge(&mark, 0, key, None, true).is_ok());
    }
}
