//! SETs that servers carry out, beside changes of the same key, while nothing fails.
//!
//! Where fewer than a quorum have accepted one, and another server has something newer, written by
//! a change in between or before the SET began, nobody knows which: a few in ten thousand of these.

use crate::fleet::{Fleet, Keeps};
use crate::value;
use farcache_client::{Client, Error, Transport};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How long an operation may take. A server that codes relies on a peer only once it has been
/// connected to it for as long.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long SETs are made beside changes, once that time has passed.
const TIME: Duration = Duration::from_secs(1);
const KEY: &str = "k";

#[derive(Debug, Default)]
struct Ends {
    written: usize,
    failed: Vec<Error>,
}

fn set(client: &Client, bytes: usize, time: Duration) -> Ends {
    let (begun, mut ends) = (Instant::now(), Ends::default());
    while begun.elapsed() < time {
        match client.set(KEY, value(1, bytes), 0) {
            Ok(_) => ends.written += 1,
            Err(error) => ends.failed.push(error),
        }
    }
    ends
}

/// Changes the key until it is told to stop.
fn change(client: &Client, stop: &AtomicBool) {
    while !stop.load(SeqCst) {
        _ = client.append(KEY, "more");
        _ = client.touch(KEY, 1000);
    }
}

#[test]
fn a_set_that_a_server_carries_out_beside_changes_is_seldom_in_doubt() {
    for (policy, transport) in [
        ("replicate:3", Transport::Fabric),
        ("ec:3,2;threshold=1000", Transport::Tcp),
    ] {
        let fleet = Fleet::start(5, Keeps::Nothing, &["--fabric", "auto"]);
        let client = |policy: &str| fleet.client_for(TIMEOUT, transport, policy);
        let setter = client(&format!("{policy};encode=server"));
        let changers = [(); 2].map(|()| client(policy));
        let stop = AtomicBool::new(false);
        set(&setter, 100, TIMEOUT + TIMEOUT / 10);
        let ends = std::thread::scope(|scope| {
            for changer in &changers {
                scope.spawn(|| change(changer, &stop));
            }
            let ends = [100, 50_000].map(|bytes| set(&setter, bytes, TIME));
            stop.store(true, SeqCst);
            ends
        });
        for Ends { written, failed } in ends {
            let few = written / 50;
            assert!(
                failed.len() <= few,
                "{policy}: {written} written, {failed:?}"
            );
        }
    }
}
