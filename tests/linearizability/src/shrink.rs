//! The part of a refused history that is refused already, for people to read. Only what cannot be
//! why it is refused is left out: of a history that has an order, every part that is made so has
//! one too.

use crate::{Answer, Deed, Operation, Verdict, check};
use std::collections::HashSet;

/// A part of a refused history that is still refused; of any other history, all of it.
#[must_use]
pub fn shrink(operations: &[Operation], states_max: usize) -> Vec<Operation> {
    let is_refused = |part: &[Operation]| check(part, states_max) == Verdict::Refused;
    let mut part = operations.to_vec();
    part.sort_by_key(|one| one.called);
    if !is_refused(&part) {
        return part;
    }
    part = shortest_beginning(&part, is_refused);
    part = without_all(part, is_refused);
    let less = part.iter().map(less).collect::<Vec<_>>();
    match is_refused(&less) {
        true => without_all(less, is_refused),
        false => part,
    }
}

fn without_all(
    mut part: Vec<Operation>,
    is_refused: impl Fn(&[Operation]) -> bool + Copy,
) -> Vec<Operation> {
    loop {
        let before = part.len();
        part = without_each(part, |part, at| is_observation(&part[at]), is_refused);
        part = without_each(part, is_unseen, is_refused);
        if part.len() == before {
            return part;
        }
    }
}

/// The operation without a word on what it has met, which whatever has an order has too.
fn less(one: &Operation) -> Operation {
    let deed = match (&one.deed, &one.answer) {
        (Deed::Delete, Answer::Done | Answer::NotFound) => Deed::Clear,
        (Deed::Add(new) | Deed::Replace(new) | Deed::Swap { new, .. }, Answer::Done) => {
            Deed::Set(new.clone())
        }
        _ => return one.clone(),
    };
    Operation {
        deed,
        answer: Answer::Done,
        ..one.clone()
    }
}

/// The history up to the first return with which it is refused.
fn shortest_beginning(
    operations: &[Operation],
    is_refused: impl Fn(&[Operation]) -> bool,
) -> Vec<Operation> {
    let mut ends: Vec<u64> = operations.iter().filter_map(|one| one.returned).collect();
    ends.sort_unstable();
    let is_short = ends.partition_point(|&end| !is_refused(&until(operations, end)));
    let end = ends.get(is_short).copied().unwrap_or(u64::MAX);
    until(operations, end)
}

/// What was known at this time.
fn until(operations: &[Operation], end: u64) -> Vec<Operation> {
    let called = operations.iter().filter(|one| one.called <= end);
    let known = called.map(|one| match one.returned {
        Some(returned) if returned > end => Operation {
            answer: Answer::Unknown,
            returned: None,
            ..one.clone()
        },
        _ => one.clone(),
    });
    // A read that has not ended says nothing.
    known
        .filter(|one| one.returned.is_some() || one.deed != Deed::Read)
        .collect()
}

/// Leaves out one after the other of those that may be, while the rest is refused.
fn without_each(
    mut part: Vec<Operation>,
    may: impl Fn(&[Operation], usize) -> bool,
    is_refused: impl Fn(&[Operation]) -> bool,
) -> Vec<Operation> {
    for at in (0..part.len()).rev() {
        if !may(&part, at) {
            continue;
        }
        let one = part.remove(at);
        if !is_refused(&part) {
            part.insert(at, one);
        }
    }
    part
}

fn is_observation(one: &Operation) -> bool {
    one.deed.only_looks(&one.answer)
}

/// Whether nobody has read what it leaves, where nobody else's answer tells of that either.
fn is_unseen(part: &[Operation], at: usize) -> bool {
    let mut seen = HashSet::new();
    for (_, other) in part.iter().enumerate().filter(|(other, _)| *other != at) {
        match (&other.deed, &other.answer) {
            (Deed::Read, Answer::Read(state)) => _ = seen.insert(state.clone()),
            (Deed::Read | Deed::Set(_) | Deed::Clear, _) => {}
            // It may have met what is left here.
            _ => return false,
        }
    }
    match &part[at].deed {
        Deed::Set(value) => !seen.contains(&Some(value.clone())),
        Deed::Clear => !seen.contains(&None),
        _ => false,
    }
}
