//! Every operation, with its errors.

use super::caller::{Caller, Item, done, item, number};
use super::expect::{equal, eventually, holds};
use super::fixture::Fixture;
use super::{Check, Outcome};
use farcache_client::{Direction, Error, Initial, Operation, Reply, Store, StoreMode};
use std::time::Duration;

pub(super) const CHECKS: &[Check] = &[
    Check::of_any_server("a_value_comes_back_with_flags_and_token", value_comes_back),
    Check::of_any_server("what_is_absent_is_said_to_be", absent),
    Check::of_any_server("add_and_replace_look_at_what_is_there", add_and_replace),
    Check::of_any_server("append_and_prepend_extend", append_and_prepend),
    Check::of_any_server("a_token_guards_against_other_writers", tokens),
    Check::of_any_server("a_deleted_item_is_gone", delete),
    Check::of_any_server("numbers_are_counted", counting),
    Check::of_any_server("items_expire_and_are_touched", expiry),
    Check::of_any_server("a_get_may_touch", get_and_touch),
    Check::of_any_server("keys_are_checked", keys),
    Check::of_any_server("a_server_answers_for_itself", server_itself),
    Check::of_own_servers("a_flush_drops_every_item", flush),
];

/// How long an item with a second to live may be seen.
const EXPIRED_WITHIN: Duration = Duration::from_secs(20);

fn value_comes_back(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("value"));
    let store = Store {
        flags: 0xdead_beef,
        ..Store::set(&key, b"a value")
    };
    let cas = client.store(store)?;
    let wanted = Item {
        value: b"a value".to_vec(),
        flags: 0xdead_beef,
        cas,
    };
    equal("item", client.item(&key)?, wanted)?;
    client.set(&key, b"another")?;
    let item = client.item(&key)?;
    equal(
        "value and flags",
        (&*item.value, item.flags),
        (&b"another"[..], 0),
    )?;
    holds("a new value has a new token", item.cas != cas)
}

fn absent(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("absent"));
    let touch = Operation::Touch {
        key: &key,
        expiry_s: 100,
    };
    equal("get", client.get(&key), Err(Error::NotFound))?;
    equal("delete", client.delete(&key), Err(Error::NotFound))?;
    equal("touch", client.run(touch).err(), Some(Error::NotFound))?;
    let count = count(&client, Direction::Increment, &key, 1, None);
    equal("increment", count, Err(Error::NotFound))?;
    let store = |mode| client.store_as(mode, &key, b"x");
    equal("append", store(StoreMode::Append), Err(Error::NotStored))?;
    equal("prepend", store(StoreMode::Prepend), Err(Error::NotStored))?;
    equal("get after all", client.get(&key), Err(Error::NotFound))
}

fn add_and_replace(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("add"));
    let refused = client.store_as(StoreMode::Replace, &key, b"0");
    equal("replace where absent", refused, Err(Error::NotFound))?;
    client.store_as(StoreMode::Add, &key, b"1")?;
    let refused = client.store_as(StoreMode::Add, &key, b"2");
    equal("add where present", refused, Err(Error::Exists))?;
    equal("value", client.get(&key)?, b"1")?;
    client.store_as(StoreMode::Replace, &key, b"3")?;
    equal("value after replace", client.get(&key)?, b"3")
}

fn append_and_prepend(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("append"));
    client.set(&key, b"middle")?;
    client.store_as(StoreMode::Append, &key, b" end")?;
    client.store_as(StoreMode::Prepend, &key, b"start ")?;
    equal("value", client.get(&key)?, b"start middle end")
}

fn tokens(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("token"));
    let guarded = |value: &'static [u8], cas| {
        client.store(Store {
            cas,
            ..Store::set(&key, value)
        })
    };
    equal("absent", guarded(b"0", 1), Err(Error::NotFound))?;
    let first = client.set(&key, b"1")?;
    let second = guarded(b"2", first)?;
    equal("an old token", guarded(b"3", first), Err(Error::Exists))?;
    let delete = |cas| client.run(Operation::Delete { key: &key, cas });
    equal(
        "delete with an old token",
        delete(first).err(),
        Some(Error::Exists),
    )?;
    equal("value", client.get(&key)?, b"2")?;
    delete(second)?;
    equal("after delete", client.get(&key), Err(Error::NotFound))
}

fn delete(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("delete"));
    client.set(&key, b"x")?;
    client.delete(&key)?;
    equal("get", client.get(&key), Err(Error::NotFound))?;
    equal("second delete", client.delete(&key), Err(Error::NotFound))
}

/// Counts; the number.
fn count(
    client: &Caller,
    direction: Direction,
    key: &[u8],
    delta: u64,
    initial: Option<Initial>,
) -> Result<u64, Error> {
    number(client.run(Operation::Arithmetic {
        direction,
        key,
        delta,
        initial,
    })?)
}

fn counting(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("count"));
    let count = |direction, delta, initial| count(&client, direction, &key, delta, initial);
    let initial = Initial {
        number: 10,
        expiry_s: 0,
    };
    equal(
        "first",
        count(Direction::Increment, 5, Some(initial)),
        Ok(10),
    )?;
    equal("up", count(Direction::Increment, 5, Some(initial)), Ok(15))?;
    equal("down", count(Direction::Decrement, 1, None), Ok(14))?;
    equal("not below 0", count(Direction::Decrement, 100, None), Ok(0))?;
    client.set(&key, u64::MAX.to_string().as_bytes())?;
    equal("around", count(Direction::Increment, 2, None), Ok(1))?;
    client.set(&key, b"no number")?;
    equal(
        "no number",
        count(Direction::Increment, 1, None),
        Err(Error::NotNumeric),
    )
}

/// Waits until the item is gone.
fn expires(client: &Caller, key: &[u8]) -> Outcome {
    eventually(EXPIRED_WITHIN, || {
        equal("expired", client.get(key), Err(Error::NotFound))
    })
}

fn expiry(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("expiry"));
    let short = |key| Store {
        expiry_s: 1,
        ..Store::set(key, b"short")
    };
    client.store(short(&key))?;
    expires(&client, &key)?;
    let touch = |expiry_s| {
        client.run(Operation::Touch {
            key: &key,
            expiry_s,
        })
    };
    client.set(&key, b"long")?;
    touch(1000)?;
    equal("touched", client.get(&key)?, b"long")?;
    touch(1)?;
    expires(&client, &key)
}

fn get_and_touch(fixture: &Fixture) -> Outcome {
    let (client, key) = (fixture.client()?, fixture.key("gat"));
    let gat = |expiry_s| {
        let into = Default::default();
        let reply = client.run(Operation::GetAndTouch {
            key: &key,
            expiry_s,
            into,
        });
        reply.and_then(item).map(|item| item.value)
    };
    equal("absent", gat(10), Err(Error::NotFound))?;
    client.set(&key, b"x")?;
    equal("present", gat(1000), Ok(b"x".to_vec()))?;
    equal("soon gone", gat(1), Ok(b"x".to_vec()))?;
    expires(&client, &key)
}

fn keys(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?;
    let mut longest = fixture.key("longest");
    longest.resize(250, b'k');
    client.set(&longest, b"x")?;
    equal("250 bytes", client.get(&longest)?, b"x")?;
    equal(
        "251 bytes",
        client.get(&[b'k'; 251]),
        Err(Error::InvalidKey),
    )?;
    equal("no bytes", client.get(b""), Err(Error::InvalidKey))
}

fn server_itself(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?;
    done(client.run_there(Operation::Noop)?)?;
    match client.run_there(Operation::Version)? {
        Reply::Text(version) => holds("the version is a text", !version.is_empty())?,
        other => return Err(format!("version: {other:?}").into()),
    }
    done(client.run_there(Operation::Verbosity { level: 0 })?)?;
    match client.run_there(Operation::Statistics { group: b"" })? {
        Reply::Statistics(figures) => holds(
            "the statistics have a process id",
            figures.iter().any(|(name, _)| name == "pid"),
        ),
        other => Err(format!("statistics: {other:?}").into()),
    }
}

fn flush(fixture: &Fixture) -> Outcome {
    let client = fixture.client()?;
    let keys = [fixture.key("flush"), fixture.key("flush")];
    for key in &keys {
        client.set(key, b"x")?;
    }
    done(client.run_there(Operation::Flush { delay_s: 0 })?)?;
    for key in &keys {
        equal("after the flush", client.get(key), Err(Error::NotFound))?;
    }
    client.set(&keys[0], b"y")?;
    equal("stored after the flush", client.get(&keys[0])?, b"y")
}
