//! Is there an order of all operations, each between its call and its return, in which a register
//! behaves as was seen? Source: J. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993,
//! with visited states remembered (G. Lowe, "Testing for linearizability", 2017).

use std::collections::HashSet;

/// What was done to the key; a value is the number of its write, none is a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Write(Option<u32>),
    Read(Option<u32>),
    /// A write that depends on what is there.
    Change(Change, Answer),
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // The other simulation has no changes.
pub enum Change {
    /// To write where there is nothing.
    Add(u32),
    /// To write where there is this.
    Swap(u32, u32),
    /// To count up by one.
    Count,
    /// To delete what is there.
    Delete,
}

/// What the caller was told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)]
pub enum Answer {
    Done,
    Number(u32),
    /// The condition did not hold.
    Refused,
    /// Nobody knows: it was done, or it was not.
    Unknown,
}

impl Change {
    /// What it makes of this; none where its condition does not hold.
    pub fn of(self, value: Option<u32>) -> Option<Option<u32>> {
        match (self, value) {
            (Change::Add(new), None) => Some(Some(new)),
            (Change::Swap(old, new), Some(value)) if value == old => Some(Some(new)),
            (Change::Count, Some(value)) => Some(Some(value + 1)),
            (Change::Delete, Some(_)) => Some(None),
            _ => None,
        }
    }

    /// The value behind it, if this may have been the answer.
    fn answered(self, answer: Answer, value: Option<u32>) -> Option<Option<u32>> {
        match (answer, self.of(value)) {
            (Answer::Done, changed) => changed,
            (Answer::Number(number), Some(Some(changed))) if number == changed => {
                Some(Some(number))
            }
            (Answer::Number(_), _) => None,
            // A token may be another one although the value is what it was.
            (Answer::Refused, Some(_)) if !matches!(self, Change::Swap(..)) => None,
            (Answer::Refused, _) => Some(value),
            (Answer::Unknown, changed) => Some(changed.unwrap_or(value)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub deed: Deed,
    pub called: u64,
    /// None where nobody knows: a write may take effect at any time from its call on, or never.
    pub returned: Option<u64>,
}

/// Most operations that fit a set.
const OPERATIONS_MAX: usize = 64;

pub fn is_linearizable(operations: &[Operation]) -> bool {
    assert!(operations.len() <= OPERATIONS_MAX);
    let must: u64 = (0..operations.len())
        .filter(|&one| operations[one].returned.is_some())
        .fold(0, |set, one| set | 1 << one);
    let mut visited = HashSet::new();
    let mut open = vec![(0_u64, None)];
    while let Some((done, value)) = open.pop() {
        if done & must == must {
            return true;
        }
        if !visited.insert((done, value)) {
            continue;
        }
        let waiting = || (0..operations.len()).filter(|one| done >> one & 1 == 0);
        // Whatever was called after this must come later.
        let end = waiting().filter_map(|one| operations[one].returned).min();
        for one in waiting() {
            let operation = operations[one];
            if end.is_some_and(|end| operation.called > end) {
                continue;
            }
            match operation.deed {
                Deed::Write(written) => open.push((done | 1 << one, written)),
                Deed::Read(read) if read == value => open.push((done | 1 << one, value)),
                Deed::Read(_) => {}
                Deed::Change(change, answer) => {
                    if let Some(value) = change.answered(answer, value) {
                        open.push((done | 1 << one, value));
                    }
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(deed: Deed, called: u64, returned: u64) -> Operation {
        let returned = (returned > 0).then_some(returned);
        Operation {
            deed,
            called,
            returned,
        }
    }

    #[test]
    fn what_can_be_put_in_order_is_told_from_what_cannot() {
        use Deed::*;
        let one = operation(Write(Some(1)), 1, 2);
        let two = operation(Write(Some(2)), 3, 4);
        let read = |value, called| operation(Read(value), called, called + 1);
        assert!(is_linearizable(&[one, two, read(Some(2), 5)]));
        assert!(
            !is_linearizable(&[one, two, read(Some(1), 5)]),
            "something older"
        );
        assert!(!is_linearizable(&[one, read(None, 5)]), "lost");
        assert!(
            !is_linearizable(&[one, read(Some(7), 5)]),
            "nobody wrote it"
        );
        // Two that overlap may come in either order, but in one.
        let late = operation(Write(Some(2)), 1, 9);
        assert!(is_linearizable(&[
            one,
            late,
            read(Some(2), 3),
            read(Some(2), 5)
        ]));
        assert!(is_linearizable(&[
            one,
            late,
            read(Some(1), 3),
            read(Some(2), 5)
        ]));
        let back = [one, late, read(Some(2), 3), read(Some(1), 5)];
        assert!(!is_linearizable(&back), "back and forth");
        // Nobody knows whether it took effect, but it does so once.
        let unknown = operation(Write(None), 1, 0);
        assert!(is_linearizable(&[
            one,
            unknown,
            read(Some(1), 3),
            read(None, 5)
        ]));
        assert!(is_linearizable(&[one, unknown, read(Some(1), 3)]));
        let count =
            |answer, called| operation(Change(super::Change::Count, answer), called, called + 1);
        let number = |number| super::Answer::Number(number);
        assert!(is_linearizable(&[
            one,
            count(number(2), 3),
            count(number(3), 5)
        ]));
        assert!(
            !is_linearizable(&[one, count(number(2), 3), count(number(2), 5)]),
            "counted once for two"
        );
        let again = [
            one,
            unknown,
            read(None, 3),
            two,
            read(Some(2), 6),
            read(None, 8),
        ];
        assert!(!is_linearizable(&again), "twice");
    }
}
