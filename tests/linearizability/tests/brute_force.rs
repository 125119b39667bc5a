//! The search finds an order where trying all orders does, and none where that finds none.

use farcache_linearizability::{Answer, Deed, Operation, State, Value, Verdict, check, print};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const SEEDS: u64 = 20_000;
const STATES_MAX: usize = 1_000_000;

/// Tries all orders, one after the other.
fn has_order(operations: &[Operation], is_done: &mut [bool], state: &State) -> bool {
    let waiting = |at: &usize| !is_done[*at] && operations[*at].returned.is_some();
    let end = (0..operations.len())
        .filter(waiting)
        .filter_map(|at| operations[at].returned)
        .min();
    let Some(end) = end else {
        return true;
    };
    (0..operations.len()).any(|at| {
        let one = &operations[at];
        if is_done[at] || one.called > end {
            return false;
        }
        let Some(next) = one.deed.step(state, &one.answer) else {
            return false;
        };
        is_done[at] = true;
        let has = has_order(operations, is_done, &next);
        is_done[at] = false;
        has
    })
}

fn deed(random: &mut SmallRng, piece: u32) -> Deed {
    let value = Value::Pieces(vec![piece]);
    let met = Value::Pieces(vec![random.random_range(1..=piece)]);
    match random.random_range(0..12) {
        0..4 => Deed::Read,
        4..6 => Deed::Set(value),
        6 => Deed::Add(value),
        7 => Deed::Swap { met, new: value },
        8 => Deed::Append(piece),
        9 => Deed::Increment {
            delta: 1,
            initial: Some(0),
        },
        10 => Deed::Touch,
        _ => Deed::Delete,
    }
}

/// What a key would answer that is used by one after the other; now and then something else.
fn history(random: &mut SmallRng) -> Vec<Operation> {
    let count = random.random_range(2..8);
    let mut operations = Vec::new();
    let mut states: Vec<State> = vec![None];
    for at in 0..count {
        let deed = deed(random, at + 1);
        let state = states.last().cloned().flatten();
        let old = states[random.random_range(0..states.len())].clone();
        let met = if random.random_range(0..2) == 0 {
            old
        } else {
            state.clone()
        };
        let answer = answers(&met).find(|answer| deed.step(&met, answer).is_some());
        let answer = answer.unwrap_or(Answer::NotFound);
        states.push(deed.step(&met, &answer).unwrap_or(state));
        let middle = u64::from(at) * 4 + 20;
        let called = middle - random.random_range(0..8);
        let is_unknown = deed != Deed::Read && random.random_range(0..6) == 0;
        operations.push(Operation {
            client: at,
            deed,
            answer: if is_unknown { Answer::Unknown } else { answer },
            called,
            returned: (!is_unknown).then(|| middle + 1 + random.random_range(0..8)),
        });
    }
    operations
}

fn answers(state: &State) -> impl Iterator<Item = Answer> {
    let number = match state {
        Some(Value::Number(number)) => number + 1,
        _ => 0,
    };
    [
        Answer::Read(state.clone()),
        Answer::Done,
        Answer::Number(number),
        Answer::Exists,
        Answer::NotFound,
        Answer::NotStored,
        Answer::NotNumeric,
    ]
    .into_iter()
}

#[test]
fn the_search_finds_an_order_exactly_where_there_is_one() {
    let mut refused = 0;
    for seed in 0..SEEDS {
        let operations = history(&mut SmallRng::seed_from_u64(seed));
        let expected = match has_order(&operations, &mut vec![false; operations.len()], &None) {
            true => Verdict::Linearizable,
            false => Verdict::Refused,
        };
        refused += u64::from(expected == Verdict::Refused);
        let found = check(&operations, STATES_MAX);
        assert_eq!(found, expected, "seed {seed}:\n{}", print(&operations));
    }
    let part = refused * 100 / SEEDS;
    assert!((10..90).contains(&part), "{part} % of all were refused");
}
