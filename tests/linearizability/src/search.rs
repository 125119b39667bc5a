//! The search for an order. Source: J. Wing, C. Gong, "Testing and Verifying Concurrent Objects",
//! 1993, with visited states remembered (G. Lowe, "Testing for linearizability", 2017).

use crate::{Answer, Deed, Operation, State, Value};
use std::collections::HashSet;

/// What became of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is such an order.
    Linearizable,
    /// There is none.
    Refused,
    /// There were more states than were allowed.
    Undecided,
}

/// Looks for an order of a key's operations, of which the key is absent at first, among so many
/// states at most.
#[must_use]
pub fn check(operations: &[Operation], states_max: usize) -> Verdict {
    // Most writes of which nobody knows how they ended were never seen, and are in no way then.
    let seen: Vec<&Operation> = without_unseen(operations).collect();
    let verdict = Search::new(&seen).run_wider(states_max);
    if verdict == Verdict::Linearizable || seen.len() == operations.len() {
        return verdict;
    }
    Search::new(&operations.iter().collect::<Vec<_>>()).run_wider(states_max)
}

/// So many writes of which nobody knows how they ended are put between two others at first: where
/// there is an order, there is nearly always one with few of them in one place, and all sets of
/// many are too many.
const BETWEEN: [u32; 3] = [1, 2, u32::MAX];

/// Leaves out what stores a piece that nobody has read, where nobody knows how it ended.
fn without_unseen(operations: &[Operation]) -> impl Iterator<Item = &Operation> {
    let mut read = HashSet::new();
    for operation in operations {
        let met = match &operation.deed {
            Deed::Swap { met, .. } => Some(met),
            _ => None,
        };
        let told = match &operation.answer {
            Answer::Read(state) => state.as_ref(),
            _ => None,
        };
        for value in [met, told].into_iter().flatten() {
            if let Value::Pieces(pieces) = value {
                read.extend(pieces.iter().copied());
            }
        }
    }
    operations.iter().filter(move |one| {
        let written = match &one.deed {
            Deed::Set(Value::Pieces(pieces))
            | Deed::Add(Value::Pieces(pieces))
            | Deed::Replace(Value::Pieces(pieces))
            | Deed::Swap {
                new: Value::Pieces(pieces),
                ..
            } => pieces.first(),
            Deed::Append(piece) | Deed::Prepend(piece) => Some(piece),
            _ => None,
        };
        let is_unseen = written.is_some_and(|piece| !read.contains(piece));
        one.returned.is_some() || !is_unseen
    })
}

/// How far an order has come, and what the key holds by then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    /// All that have ended, up to this one, are in the order; counted by their calls.
    first: u32,
    /// Those after it that are, rising.
    beyond: Vec<u32>,
    /// Those of which nobody knows how they ended that are, rising.
    unknown: Vec<u32>,
    /// How many of them have come since the last other one.
    between: u32,
    state: State,
    /// What was there before all writes of which nobody knows how they ended, up to the last
    /// acknowledged one; where one may be undone.
    before: Option<State>,
}

struct Search<'a> {
    /// What has ended, by its call.
    known: Vec<&'a Operation>,
    /// What nobody knows of, by its call.
    unknown: Vec<&'a Operation>,
    /// For each of these the one before it that asks for just that: it can come wherever this one
    /// can, so it comes first.
    before: Vec<Option<u32>>,
    /// Whether unfinished writes may be undone.
    undoes: bool,
}

impl<'a> Search<'a> {
    fn new(operations: &[&'a Operation]) -> Search<'a> {
        let mut operations = operations.to_vec();
        operations.sort_by_key(|one| one.called);
        let is_known = |one: &&Operation| one.returned.is_some();
        let (known, unknown): (Vec<_>, Vec<_>) = operations.into_iter().partition(is_known);
        let undoes = unknown.iter().any(|one| one.deed == Deed::Undo);
        let before_one = |at: usize| {
            let deed = &unknown[at].deed;
            let before = unknown[..at].iter().rposition(|one| one.deed == *deed);
            before.map(|at| at as u32)
        };
        Search {
            before: (0..unknown.len()).map(before_one).collect(),
            known,
            unknown,
            undoes,
        }
    }

    fn run_wider(&self, states_max: usize) -> Verdict {
        let mut verdict = Verdict::Undecided;
        for between_max in BETWEEN {
            verdict = self.run(states_max, between_max);
            if verdict == Verdict::Linearizable {
                break;
            }
        }
        verdict
    }

    fn run(&self, states_max: usize, between_max: u32) -> Verdict {
        let mut visited = HashSet::new();
        let mut open = vec![Place {
            first: 0,
            beyond: Vec::new(),
            unknown: Vec::new(),
            between: 0,
            state: None,
            before: None,
        }];
        while let Some(place) = open.pop() {
            if place.first as usize == self.known.len() {
                return Verdict::Linearizable;
            }
            if !visited.insert(place.clone()) {
                continue;
            }
            if visited.len() > states_max {
                return Verdict::Undecided;
            }
            self.go_on(&place, between_max, &mut open);
        }
        Verdict::Refused
    }

    /// What may come next.
    fn go_on(&self, place: &Place, between_max: u32, open: &mut Vec<Place>) {
        let candidates = self.candidates(place);
        // Whoever only looks, and sees what is there, may as well come first.
        let looks = candidates.iter().find_map(|&at| {
            let one = self.known[at as usize];
            let state = one.deed.step(&place.state, &one.answer)?;
            (state == place.state && one.deed.only_looks(&one.answer)).then_some(at)
        });
        if let Some(at) = looks {
            return open.push(place.with(at, place.state.clone(), place.before.clone()));
        }
        // What has never returned is tried last.
        let end = self.end(&candidates);
        let unknown = match place.between < between_max {
            true => &self.unknown[..],
            false => &[],
        };
        for (at, one) in unknown.iter().enumerate() {
            let at = at as u32;
            let is_in = |at: u32| place.unknown.binary_search(&at).is_ok();
            let is_first = self.before[at as usize].is_none_or(is_in);
            if one.called > end || is_in(at) || !is_first {
                continue;
            }
            if let Some((state, before)) = self.unknown_step(place, one)
                && state != place.state
            {
                open.push(place.with_unknown(at, state, before));
            }
        }
        // What has returned first is tried first.
        let mut candidates = candidates;
        candidates.sort_by_key(|&at| std::cmp::Reverse(self.known[at as usize].returned));
        for at in candidates {
            let one = self.known[at as usize];
            if let Some(state) = one.deed.step(&place.state, &one.answer) {
                // What is acknowledged stays.
                open.push(place.with(at, state, None));
            }
        }
    }

    /// What is there after a write of which nobody knows how it ended, and what was there before.
    fn unknown_step(&self, place: &Place, one: &Operation) -> Option<(State, Option<State>)> {
        if one.deed == Deed::Undo {
            return place.before.clone().map(|before| (before, None));
        }
        let state = one.deed.step(&place.state, &Answer::Unknown)?;
        let before = place.before.clone().unwrap_or_else(|| place.state.clone());
        Some((state, self.undoes.then_some(before)))
    }

    /// Those that may come next: called before any other that waits has returned.
    fn candidates(&self, place: &Place) -> Vec<u32> {
        let (mut waiting, mut end) = (Vec::new(), u64::MAX);
        for at in place.first..self.known.len() as u32 {
            let one = self.known[at as usize];
            if one.called > end {
                break;
            }
            if place.beyond.binary_search(&at).is_err() {
                waiting.push(at);
                end = end.min(one.returned.unwrap_or(u64::MAX));
            }
        }
        waiting.retain(|&at| self.known[at as usize].called <= end);
        waiting
    }

    /// When the first of them has returned.
    fn end(&self, candidates: &[u32]) -> u64 {
        let returned = |&at: &u32| self.known[at as usize].returned;
        candidates.iter().filter_map(returned).min().unwrap_or(0)
    }
}

impl Place {
    fn with(&self, at: u32, state: State, before: Option<State>) -> Place {
        let mut next = Place {
            state,
            before,
            between: 0,
            ..self.clone()
        };
        if let Err(before) = next.beyond.binary_search(&at) {
            next.beyond.insert(before, at);
        }
        let run = (next.first..).zip(&next.beyond);
        let together = run.take_while(|(expected, at)| expected == *at).count();
        next.beyond.drain(..together);
        next.first += together as u32;
        next
    }

    fn with_unknown(&self, at: u32, state: State, before: Option<State>) -> Place {
        let mut next = Place {
            state,
            before,
            between: self.between.saturating_add(1),
            ..self.clone()
        };
        if let Err(before) = next.unknown.binary_search(&at) {
            next.unknown.insert(before, at);
        }
        next
    }
}
