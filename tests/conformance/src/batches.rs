//! Operations that are under way together.

use super::caller::{done, item};
use super::expect::{equal, holds, same_value};
use super::fixture::Fixture;
use super::sample::sample;
use super::{Check, Outcome};
use farcache_client::{Delivery, Error, Operation, Request, Store, Values};

pub(super) const CHECKS: &[Check] = &[
    Check::of_any_server("many_operations_are_answered_each", many_operations),
    Check::of_any_server("a_multi_get_finds_what_is_there", multi_get),
    Check::of_any_server("more_messages_than_credits_are_answered", beyond_credits),
    Check::of_any_server("large_values_travel_beside_each_other", large_together),
    Check::of_any_server("operations_end_in_any_order", any_order),
];

/// Operations of a batch.
const MANY: u64 = 1000;

/// Sizes of the values of a batch: most fit into a message, some travel beside it.
fn bytes_of(number: u64) -> usize {
    [10, 100, 1000, 5000, 40_000][(number % 5) as usize]
}

fn keys(fixture: &Fixture, name: &str, amount: u64) -> Vec<Vec<u8>> {
    (0..amount).map(|_| fixture.key(name)).collect()
}

fn many_operations(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?.client;
    let keys = keys(fixture, "many", MANY);
    let submit_set = |(seed, key): (u64, &Vec<u8>)| {
        let value = sample(seed, bytes_of(seed));
        client.submit(Operation::Store(Store::set(key, &value)))
    };
    let sets: Vec<Request> = (0..).zip(&keys).map(submit_set).collect();
    for request in sets {
        done(client.wait(request)?)?;
    }
    let submit_get = |key: &Vec<u8>| {
        let into = Default::default();
        client.submit(Operation::Get { key, into })
    };
    let gets: Vec<Request> = keys.iter().map(submit_get).collect();
    for (seed, request) in (0..).zip(gets) {
        let found = item(client.wait(request)?)?.value;
        same_value("a value", &found, &sample(seed, bytes_of(seed)))?;
    }
    Ok(())
}

fn multi_get(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?;
    let keys = keys(fixture, "multi", 200);
    // Every third key stays absent.
    let is_there = |seed: u64| !seed.is_multiple_of(3);
    for (seed, key) in (0..).zip(&keys).filter(|(seed, _)| is_there(*seed)) {
        client.set(key, &sample(seed, bytes_of(seed)))?;
    }
    let client = &client.client;
    let request = client.submit_get_many(&keys, Values::new(), Delivery::default());
    let values = client.wait_get_many(request);
    equal("keys", values.len(), keys.len())?;
    for (seed, index) in (0..).zip(0..keys.len()) {
        match values.get(index).map_err(Error::clone)? {
            None => holds("a key is missing that is there", !is_there(seed))?,
            Some(item) => {
                holds("a key is there that is absent", is_there(seed))?;
                same_value("a value", item.value, &sample(seed, bytes_of(seed)))?;
            }
        }
    }
    Ok(())
}

fn beyond_credits(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?.client, fixture.key("credits"));
    done(client.wait(client.submit(Operation::Store(Store::set(&key, b"x"))))?)?;
    let submit = |_| {
        let into = Default::default();
        let request = client.submit(Operation::Get { key: &key, into });
        // Each in a message of its own.
        client.flush();
        request
    };
    let requests: Vec<Request> = (0..MANY).map(submit).collect();
    for request in requests {
        equal("value", item(client.wait(request)?)?.value, b"x")?;
    }
    Ok(())
}

fn large_together(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?.client;
    let keys = keys(fixture, "large", 16);
    let values: Vec<_> = (0..16)
        .map(|seed| sample(seed, 2_000_000 + seed as usize))
        .collect();
    let submit = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        client.submit(Operation::Store(Store::set(key, value.clone())))
    };
    let sets: Vec<Request> = keys.iter().zip(&values).map(submit).collect();
    for request in sets {
        done(client.wait(request)?)?;
    }
    let submit = |key: &Vec<u8>| {
        let into = Default::default();
        client.submit(Operation::Get { key, into })
    };
    let gets: Vec<Request> = keys.iter().map(submit).collect();
    for (request, value) in gets.into_iter().zip(&values) {
        same_value("a value", &item(client.wait(request)?)?.value, value)?;
    }
    Ok(())
}

fn any_order(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?.client;
    let keys = keys(fixture, "order", 50);
    let submit = |(seed, key): (u64, &Vec<u8>)| {
        client.submit(Operation::Store(Store::set(
            key,
            sample(seed, bytes_of(seed)),
        )))
    };
    let mut requests: Vec<Request> = (0..).zip(&keys).map(submit).collect();
    while !requests.is_empty() {
        let ended = client.wait_any(&requests);
        let request = requests.swap_remove(ended);
        holds("what has ended is tested to have", client.test(&request))?;
        done(client.wait(request)?)?;
    }
    Ok(())
}
