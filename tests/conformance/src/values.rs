//! Values of every size, lent and received in place.

use super::caller::{Caller, item};
use super::expect::{equal, same_value};
use super::fixture::Fixture;
use super::sample::sample;
use super::{Check, Outcome};
use farcache_client::{Error, Operation, Store, StoreMode, Value};
use std::sync::Arc;

pub(super) const CHECKS: &[Check] = &[
    Check::of_any_server("values_of_every_size_come_back", every_size),
    Check::of_any_server("the_largest_values_come_back", largest),
    Check::of_any_server("a_large_value_replaces_and_is_replaced", replaced),
    Check::of_any_server("a_large_value_is_added_only_where_absent", large_add),
    Check::of_any_server("lent_values_are_given_back", lent),
    Check::of_any_server(
        "a_value_comes_into_the_memory_given_for_it",
        into_given_memory,
    ),
    Check::of_own_servers("a_value_too_large_is_refused_and_nothing_else", too_large),
];

/// Around every size at which something else may happen: copying, the fields of a packet, eager
/// and rendezvous, a segment.
const SIZES: &[usize] = &[
    0, 1, 7, 8, 63, 64, 65, 255, 256, 1000, 1023, 1024, 4000, 4095, 4096, 4097, 8000, 8191, 8192,
    8193, 12_000, 15_000, 16_000, 16_383, 16_384, 16_385, 30_000, 65_000, 65_535, 65_536, 65_537,
    100_000, 262_144, 524_288, 1_000_000, 1_048_575, 1_048_576, 1_048_577, 3_000_000,
];

fn there_and_back(client: &Caller, key: &[u8], value: &[u8]) -> Outcome {
    client.set(key, value)?;
    same_value("the value", &client.get(key)?, value)
}

fn every_size(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("size"));
    for (seed, bytes) in (0..).zip(SIZES) {
        there_and_back(&client, &key, &sample(seed, *bytes))
            .map_err(|fault| format!("{bytes} bytes: {fault}"))?;
    }
    Ok(())
}

fn largest(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("largest"));
    for seed in 0..2 {
        there_and_back(&client, &key, &sample(seed, fixture.large_bytes))?;
    }
    Ok(client.delete(&key)?)
}

fn replaced(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("replaced"));
    for (seed, bytes) in [
        (1, 100),
        (2, 2_000_000),
        (3, 100),
        (4, 5_000_000),
        (5, 300_000),
    ] {
        there_and_back(&client, &key, &sample(seed, bytes))?;
    }
    Ok(())
}

fn large_add(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("large add"));
    let (first, second) = (sample(1, 2_000_000), sample(2, 2_000_000));
    client.store_as(StoreMode::Add, &key, &first)?;
    let refused = client.store_as(StoreMode::Add, &key, &second);
    equal("second add", refused, Err(Error::Exists))?;
    same_value("the first value", &client.get(&key)?, &first)?;
    let guarded = Store {
        cas: 1,
        ..Store::set(&key, &second)
    };
    equal("an old token", client.store(guarded), Err(Error::Exists))?;
    same_value("the first value again", &client.get(&key)?, &first)
}

fn lent(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("lent"));
    for bytes in [100, 2_000_000] {
        let value = Arc::new(sample(7, bytes));
        let store = Store::set(&key, Value::from(value.clone()));
        let completion = client.complete(Operation::Store(store));
        completion.outcome?;
        let back = completion.lent.ok_or("a lent value is not given back")?;
        equal("its place", back.as_ptr(), value.as_ptr())?;
        same_value("the value", &client.get(&key)?, &value)?;
    }
    Ok(())
}

fn into_given_memory(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("place"));
    for bytes in [100, 2_000_000] {
        let value = sample(9, bytes);
        client.set(&key, &value)?;
        let memory = vec![0; bytes];
        let place = memory.as_ptr();
        let reply = client.run(Operation::Get {
            key: &key,
            into: memory.into(),
        })?;
        let farcache_client::Reply::Value { value: found, .. } = &reply else {
            return Err("another reply than a value".into());
        };
        equal("its place", found.as_ptr(), place)?;
        same_value("the value", &item(reply)?.value, &value)?;
    }
    Ok(())
}

fn too_large(fixture: &Fixture) -> Outcome {
    let (client, key, other) = (fixture.client()?, fixture.key("huge"), fixture.key("other"));
    client.set(&key, b"before")?;
    let huge = sample(1, fixture.large_bytes + (2 << 20));
    equal(
        "the huge one",
        client.set(&key, &huge),
        Err(Error::TooLarge),
    )?;
    there_and_back(&client, &other, b"still served")?;
    // memcached drops what was there, so that nobody reads an old value; or nothing has changed.
    match client.get(&key) {
        Err(Error::NotFound) => Ok(()),
        found => equal("what was there", found, Ok(b"before".to_vec())),
    }
}
