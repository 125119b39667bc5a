//! Sockets and fabric on the same keys at once.

use super::caller::{Caller, number};
use super::expect::{equal, same_value};
use super::fixture::Fixture;
use super::sample::{check_whole, sample};
use super::{Check, Outcome};
use farcache_client::{Direction, Operation, Store};
use std::thread;

pub(super) const CHECKS: &[Check] = &[
    Check::of_any_server("what_one_stores_the_other_reads", both_ways),
    Check::of_any_server("a_token_is_the_same_on_both_ways", tokens),
    Check::of_any_server("both_count_with_one_number", counting),
    Check::of_any_server("nobody_reads_half_of_the_others_value", whole_values),
];

/// Rounds of those that work at once.
const ROUNDS: u64 = 200;

fn both(fixture: &Fixture) -> Result<[Caller; 2], farcache_client::Error> {
    Ok([fixture.client()?, fixture.sockets_client()?])
}

fn both_ways(fixture: &Fixture) -> Outcome {
    let ([one, other], key) = (both(fixture)?, fixture.key("both"));
    for (seed, bytes) in (0..).zip([1, 100, 5000, 100_000, 3_000_000]) {
        for (writer, reader) in [(&one, &other), (&other, &one)] {
            let value = sample(seed, bytes);
            writer.set(&key, &value)?;
            same_value("the other's value", &reader.get(&key)?, &value)?;
            reader.delete(&key)?;
            equal("deleted by the other", writer.get(&key).is_err(), true)?;
        }
    }
    Ok(())
}

fn tokens(fixture: &Fixture) -> Outcome {
    let ([one, other], key) = (both(fixture)?, fixture.key("tokens"));
    let cas = one.set(&key, b"1")?;
    equal("token seen by the other", other.item(&key)?.cas, cas)?;
    let newer = other.store(Store {
        cas,
        ..Store::set(&key, b"2")
    })?;
    equal("token seen by the first", one.item(&key)?.cas, newer)
}

fn counting(fixture: &Fixture) -> Outcome {
    let (clients, key) = (both(fixture)?, fixture.key("number"));
    clients[0].set(&key, b"0")?;
    let count = |client: &Caller| -> Result<(), farcache_client::Error> {
        for _ in 0..ROUNDS {
            number(client.run(Operation::Arithmetic {
                direction: Direction::Increment,
                key: &key,
                delta: 1,
                initial: None,
            })?)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let counting = clients
            .each_ref()
            .map(|client| scope.spawn(|| count(client)));
        counting
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let wanted = (ROUNDS * 2).to_string().into_bytes();
    equal("sum", clients[1].get(&key)?, wanted)
}

fn whole_values(fixture: &Fixture) -> Outcome {
    for bytes in [600, 6000, 300_000] {
        let (clients, key) = (both(fixture)?, fixture.key("whole"));
        clients[0].set(&key, &sample(0, bytes))?;
        let work = |(start, client): (u64, &Caller)| -> Result<(), String> {
            for seed in (start..).step_by(2).take(ROUNDS as usize / 4) {
                let stored = client.set(&key, &sample(seed, bytes));
                stored.map_err(|error| error.to_string())?;
                let found = client.get(&key).map_err(|error| error.to_string())?;
                check_whole("value", &found, bytes).map_err(|fault| fault.to_string())?;
            }
            Ok(())
        };
        let [one, other] = &clients;
        thread::scope(|scope| {
            let first = scope.spawn(|| work((1, one)));
            let second = scope.spawn(|| work((2, other)));
            first
                .join()
                .expect("no panic")
                .and(second.join().expect("no panic"))
        })?;
    }
    Ok(())
}
