//! The check after the cut.

use crate::client::Client;
use crate::history::{CLIENTS, Change, History, KEYS};
use crate::load::AHEAD_MAX;
use crate::mark::{Mark, Marks, Progress};
use std::io;
use std::path::Path;

/// One change of a key.
#[derive(Clone, Copy)]
struct Step {
    history: History,
    index: u32,
    change: Change,
}

/// A key's changes that matter after a cut.
#[derive(Clone, Default)]
struct Expected {
    /// The last acknowledged one; none where that lies further back than the mark tells.
    last: Option<Step>,
    /// Those that may have been sent, but whose acknowledgement is not on the disk.
    pending: Vec<Step>,
}

/// A key as the server is asked for it.
#[derive(Clone, Copy)]
struct Key {
    client: usize,
    number: u32,
}

/// The changes of each of a client's keys.
fn expected(mark: &Mark, client: usize) -> Vec<Expected> {
    let mut keys = vec![Expected::default(); KEYS as usize];
    for life in mark.before.iter().chain([&mark.now]) {
        add_life(&mut keys, life, client);
    }
    keys
}

fn add_life(keys: &mut [Expected], life: &Progress, client: usize) {
    let (history, count) = (life.history, life.counts[client]);
    for index in 0..count + AHEAD_MAX {
        let operation = history.operation(client, index);
        let change = operation.change;
        let step = Step {
            history,
            index,
            change,
        };
        let key = &mut keys[operation.key as usize];
        if index < count {
            *key = Expected {
                last: Some(step),
                pending: Vec::new(),
            };
        } else {
            key.pending.push(step);
        }
    }
}

impl Expected {
    fn may_be_missing(&self) -> bool {
        let Some(last) = self.last else { return true };
        last.change == Change::Delete || !self.pending.is_empty()
    }

    /// Whether a value may be the one that this operation stored.
    fn knows(&self, life: u32, index: u32) -> bool {
        let mut steps = self.last.iter().chain(&self.pending);
        self.last.is_none() || steps.any(|step| step.history.life == life && step.index == index)
    }
}

/// Whether a key's value was compared byte by byte; or what is wrong with it.
fn judge(
    mark: &Mark,
    key: Key,
    expected: &Expected,
    found: Option<&[u8]>,
    is_strict: bool,
) -> Result<bool, String> {
    let Some(value) = found else {
        let is_right = !is_strict || expected.may_be_missing();
        return is_right.then_some(false).ok_or("it is lost".into());
    };
    let Some((life, index)) = History::named_by(value) else {
        return Err(format!("{} bytes that nobody stored", value.len()));
    };
    if is_strict && !expected.knows(life, index) {
        let last = expected.last.expect("else everything is known");
        return Err(format!(
            "the value of life {life}, operation {index}, not of life {}, operation {} or {} later ones",
            last.history.life,
            last.index,
            expected.pending.len()
        ));
    }
    let mut lives = mark.before.iter().chain([&mark.now]);
    let Some(of_life) = lives.find(|one| one.history.life == life) else {
        // An item of an earlier life, of which nothing is known any more.
        return Ok(false);
    };
    is_whole(of_life.history, key, index, value)
        .then_some(true)
        .ok_or_else(|| format!("a damaged value of life {life}, operation {index}"))
}

fn is_whole(history: History, key: Key, index: u32, value: &[u8]) -> bool {
    let operation = history.operation(key.client, index);
    match operation.change {
        Change::Set(bytes) => {
            operation.key == key.number && history.value(key.client, index, bytes) == value
        }
        Change::Delete => false,
    }
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
    let mut compared = 0;
    for client in 0..CLIENTS {
        for (number, expected) in (0..).zip(expected(&mark, client)) {
            let key = Key { client, number };
            let name = History::key_name(client, number);
            let found = connection.get(&name)?;
            let judged = judge(&mark, key, &expected, found.as_deref(), is_strict);
            compared += u32::from(judged.map_err(|fault| {
                let Progress { history, counts } = &mark.now;
                io::Error::other(format!(
                    "life {} seed {} key {name} after {} operations: {fault}",
                    history.life, history.seed, counts[client]
                ))
            })?);
        }
    }
    let sum: u32 = mark.now.counts.iter().sum();
    Ok(format!(
        "{compared} items right after {sum} acknowledged operations"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: History = History { life: 2, seed: 5 };
    const BEFORE: History = History { life: 1, seed: 4 };

    fn mark(count_now: u32, count_before: u32) -> Mark {
        let progress = |history, count| Progress {
            history,
            counts: [count; CLIENTS],
        };
        Mark {
            now: progress(NOW, count_now),
            before: Some(progress(BEFORE, count_before)),
        }
    }

    /// The first key of client 0 whose changes are such.
    fn key(mark: &Mark, is_wanted: impl Fn(&Expected) -> bool) -> (Key, Expected) {
        let mut keys = (0..).zip(expected(mark, 0));
        let (number, found) = keys.find(|(_, one)| is_wanted(one)).expect("one of forty");
        (Key { client: 0, number }, found)
    }

    fn is_quiet_set(one: &Expected) -> bool {
        one.pending.is_empty() && one.last.is_some_and(|last| last.change != Change::Delete)
    }

    fn value_of(step: &Step) -> Vec<u8> {
        let Change::Set(bytes) = step.change else {
            panic!("operation {} stores nothing", step.index);
        };
        step.history.value(0, step.index, bytes)
    }

    #[test]
    fn what_was_acknowledged_last_is_right_and_everything_else_is_wrong() {
        let mark = mark(400, 400);
        let (set, of_set) = key(&mark, is_quiet_set);
        let (deleted, of_deleted) = key(&mark, |one| {
            one.pending.is_empty() && one.last.is_some_and(|last| last.change == Change::Delete)
        });
        let strictly = |key, of_key, found: Option<&[u8]>| judge(&mark, key, of_key, found, true);
        let right = value_of(&of_set.last.unwrap());
        assert_eq!(strictly(set, &of_set, Some(&right)), Ok(true));
        assert!(strictly(set, &of_set, None).is_err());
        assert_eq!(strictly(deleted, &of_deleted, None), Ok(false));
        assert!(strictly(deleted, &of_deleted, Some(&right)).is_err());
        let mut damaged = right.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert!(strictly(set, &of_set, Some(&damaged)).is_err());
        assert!(strictly(set, &of_set, Some(&right[..right.len() - 1])).is_err());
        let older = NOW.value(0, 0, 100);
        assert!(strictly(set, &of_set, Some(&older)).is_err());
        let earlier = BEFORE.value(0, 1, 99);
        assert!(strictly(set, &of_set, Some(&earlier)).is_err());
    }

    #[test]
    fn a_whole_value_of_another_key_is_wrong_without_strictness_too() {
        let mark = mark(400, 400);
        let (set, of_set) = key(&mark, is_quiet_set);
        let right = value_of(&of_set.last.unwrap());
        assert_eq!(judge(&mark, set, &of_set, Some(&right), false), Ok(true));
        let other = Key {
            number: (set.number + 1) % KEYS,
            ..set
        };
        assert!(judge(&mark, other, &of_set, Some(&right), false).is_err());
    }

    #[test]
    fn what_was_under_way_may_be_there_or_not() {
        let mark = mark(400, 0);
        let (at, of_key) = key(&mark, |one| {
            let first = one.pending.first();
            first.is_some_and(|step| step.change != Change::Delete)
        });
        let newer = value_of(&of_key.pending[0]);
        assert_eq!(judge(&mark, at, &of_key, Some(&newer), true), Ok(true));
        assert_eq!(judge(&mark, at, &of_key, None, true), Ok(false));
    }

    #[test]
    fn until_a_key_is_stored_again_the_life_before_tells_of_it() {
        // The keys behind the first five, and those that may have been sent, are still the old
        // ones.
        let mark = mark(5, 400);
        let (at, of_key) = key(&mark, |one| {
            is_quiet_set(one) && one.last.is_some_and(|last| last.history == BEFORE)
        });
        assert!(at.number >= 5 + AHEAD_MAX);
        let right = value_of(&of_key.last.unwrap());
        assert_eq!(judge(&mark, at, &of_key, Some(&right), true), Ok(true));
        assert!(judge(&mark, at, &of_key, None, true).is_err());
        let newer = NOW.value(0, at.number, 100);
        assert!(judge(&mark, at, &of_key, Some(&newer), true).is_err());
    }

    #[test]
    fn of_what_lies_further_back_nothing_is_known() {
        let mark = mark(0, 0);
        let (at, of_key) = key(&mark, |one| one.last.is_none() && one.pending.is_empty());
        assert_eq!(judge(&mark, at, &of_key, None, true), Ok(false));
        let ancient = History { life: 9, seed: 1 }.value(0, 30, 100);
        assert_eq!(judge(&mark, at, &of_key, Some(&ancient), true), Ok(false));
        assert!(judge(&mark, at, &of_key, Some(b"garbage"), true).is_err());
    }
}
