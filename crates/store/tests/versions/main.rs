//! *Store if newer* and *delete if newer*: whatever the order in which writes arrive, and whatever
//! the store forgets meanwhile, nothing older takes the place of what was stored.

mod forgotten;
mod newest;
mod random;
mod restored;
mod scans;

use farcache_base::version::{Ticks, Version, Writer};
use farcache_store::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEEP: u32 = 1_000_000;

fn store(memory_bytes: u64) -> Arc<Store> {
    Store::new(StoreConfig {
        memory_bytes,
        segment_bytes: 64 << 10,
        huge_pages: false,
        ..StoreConfig::default()
    })
    .unwrap()
}

/// The version with this number, of writer 1.
fn version(number: u64) -> Version {
    let writer = Writer::new(1).unwrap();
    let unix_2027 = Duration::from_secs(1_798_761_600);
    Version::new(
        Ticks::at_unix(unix_2027 + Duration::from_millis(number)),
        writer,
    )
}

fn options(number: u64) -> SetOptions {
    SetOptions {
        version: Some(version(number)),
        ..SetOptions::default()
    }
}

fn put(handle: &StoreHandle, key: &str, value: &str, number: u64) -> SetOutcome {
    let outcome = handle.set(key.as_bytes(), value.as_bytes(), &options(number));
    outcome.unwrap()
}

fn delete(handle: &StoreHandle, key: &str, number: u64) -> VersionedDelete {
    let outcome = handle.delete_if_newer(key.as_bytes(), version(number), &keep_until(KEEP));
    outcome.unwrap()
}

fn keep_until(keep_until: u32) -> TombstoneOptions {
    TombstoneOptions {
        keep_until,
        ..TombstoneOptions::default()
    }
}

fn get(handle: &StoreHandle, key: &str) -> Option<(String, Option<Version>)> {
    let item = handle.get(key.as_bytes(), Access::Use).unwrap()?;
    let value = String::from_utf8(item.value().to_vec()).unwrap();
    Some((value, item.version()))
}

fn stored(number: u64) -> SetOutcome {
    SetOutcome::Stored {
        cas: version(number).bits(),
    }
}

fn older(number: u64) -> SetOutcome {
    SetOutcome::Older {
        current: version(number),
    }
}

/// Stores other items until this holds, for the store's own thread may be behind.
fn fill_until(handle: &mut StoreHandle, what: &str, holds: impl Fn(&StoreHandle) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut number = 0;
    while !holds(handle) {
        assert!(Instant::now() < deadline, "{what}");
        for _ in 0..100 {
            number += 1;
            let key = format!("other {number}");
            let outcome = handle.set(key.as_bytes(), &[7; 1000], &SetOptions::default());
            assert!(outcome.is_ok());
            handle.quiescent();
        }
        handle.park();
        std::thread::yield_now();
    }
}
