//! Servers that are full and evict nothing: a writer waits until there is room, and not for ever.

use crate::support::PATIENCE;
use crate::{client, content, read, server, settings, statistic, write};
use farcache_blobs::{Blobs, Error, Settings};
use farcache_client::{Client, Transport};
use std::time::Duration;

const CHUNK_BYTES: u32 = 100_000;
/// Two of them are more than a server of 64 MiB has room for.
const BYTES: usize = 40 << 20;

#[test]
fn a_writer_waits_for_room_as_long_as_it_has_patience() {
    let server = server(&["-m", "64", "-M"]);
    let blobs = |patience| {
        let settings = Settings {
            patience,
            ..settings(CHUNK_BYTES)
        };
        Blobs::new(client(&server, Transport::Tcp), settings).expect("settings")
    };
    let hasty = blobs(Duration::from_millis(50));
    write(&hasty, "first", &content(1, BYTES));
    let mut writer = hasty.create("second").expect("a writer");
    let refused = writer
        .write(&content(2, BYTES))
        .and_then(|()| writer.flush());
    let error = refused.expect_err("there is no room for it");
    assert!(is_full(&error), "{error}");
    drop(writer);
    let patient = &blobs(PATIENCE);
    let statistics = client(&server, Transport::Tcp);
    let before = refusals(&statistics);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(patient, "second", &content(2, BYTES)));
        crate::support::wait_for("the server to refuse", || {
            (refusals(&statistics) > before).then_some(())
        });
        hasty.remove("first").expect("removed");
        writing.join().expect("written");
    });
    assert!(read(patient, "second").expect("read") == content(2, BYTES));
}

fn is_full(error: &Error) -> bool {
    let full = farcache_client::Error::OutOfMemory;
    matches!(error, Error::Request { chunk: Some(_), error, .. } if *error == full)
}

/// Stores that the server had no room for.
fn refusals(client: &Client) -> u64 {
    statistic(client, "store_no_memory")
}
