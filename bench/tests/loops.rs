//! The generator's loops against a small server of text `get` and `set` in this process, which
//! can be told to pause and to spoil values.
#![forbid(unsafe_code)]

use farcache_bench::load::open_loop::Schedule;
use farcache_bench::load::run_limits::RunLimits;
use farcache_bench::load::runner::{Pace, Plan};
use farcache_bench::load::values::ValueSizes;
use farcache_bench::load::workload::Mix;
use farcache_bench::replay::replay;
use farcache_harness::target::Target;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Default)]
struct Behaviour {
    /// Before the answer to this request of a connection, the server sleeps.
    pause_at_request: Option<u64>,
    pause: Duration,
    /// The last byte of every value read is wrong.
    spoil: bool,
}

type Values = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

fn serve(behaviour: Behaviour) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    let values = Values::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let values = Arc::clone(&values);
            // A generator that hangs up ends the thread with an error, as it should.
            std::thread::spawn(move || converse(&stream, &values, behaviour));
        }
    });
    target
}

fn converse(stream: &TcpStream, values: &Values, behaviour: Behaviour) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    for request in 0.. {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<&[u8]> = line.trim_ascii().split(|byte| *byte == b' ').collect();
        let answer = match words[0] {
            b"get" => fetched(&words[1..], values, behaviour.spoil),
            _ => {
                let bytes: usize = std::str::from_utf8(words[4]).unwrap().parse().unwrap();
                let mut value = vec![0; bytes + 2];
                reader.read_exact(&mut value)?;
                value.truncate(bytes);
                values.lock().unwrap().insert(words[1].to_vec(), value);
                b"STORED\r\n".to_vec()
            }
        };
        if behaviour.pause_at_request == Some(request) {
            std::thread::sleep(behaviour.pause);
        }
        writer.write_all(&answer)?;
    }
    Ok(())
}

fn fetched(keys: &[&[u8]], values: &Values, spoil: bool) -> Vec<u8> {
    let values = values.lock().unwrap();
    let mut answer = Vec::new();
    for key in keys {
        let Some(value) = values.get(*key) else {
            continue;
        };
        answer.extend_from_slice(b"VALUE ");
        answer.extend_from_slice(key);
        answer.extend_from_slice(format!(" 0 {}\r\n", value.len()).as_bytes());
        answer.extend_from_slice(value);
        if spoil {
            *answer.last_mut().unwrap() ^= 1;
        }
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"END\r\n");
    answer
}

fn plan(behaviour: Behaviour, requests: u64) -> Plan {
    Plan {
        target: serve(behaviour),
        keys: 500,
        values: ValueSizes {
            bytes_min: 1,
            bytes_max: 3000,
        },
        spin: false,
        verify: true,
        limits: RunLimits::requests(requests),
        ..Plan::default()
    }
}

#[test]
fn a_preload_stores_every_key_and_every_loop_finds_it() {
    let base = plan(Behaviour::default(), 2000);
    assert_eq!(base.preload().unwrap().counts.stored, 500);
    let open = Pace::Open {
        rate_per_s: 50_000.0,
        poisson: true,
    };
    for pace in [Pace::Blocking, Pace::Closed, open] {
        let summary = Plan {
            pace,
            connections: 3,
            depth: 7,
            ..base.clone()
        }
        .run()
        .unwrap();
        assert_eq!(summary.counts.requests, 2000, "{pace:?}");
        assert_eq!(summary.hit_ratio, 1.0, "{pace:?}");
        assert_eq!(summary.counts.errors, 0, "{pace:?}");
    }
}

#[test]
fn the_mix_and_the_multi_get_are_as_asked_for() {
    let base = plan(Behaviour::default(), 4000);
    base.preload().unwrap();
    let mix = Mix {
        set_ratio: 0.25,
        multi_get_keys: 5,
    };
    let counts = Plan {
        mix,
        connections: 2,
        depth: 10,
        ..base
    }
    .run()
    .unwrap()
    .counts;
    assert!(
        counts.stored.abs_diff(1000) < 150,
        "{} stores of 4000",
        counts.stored
    );
    assert_eq!(counts.keys_wanted, (counts.requests - counts.stored) * 5);
    assert_eq!(counts.hits, counts.keys_wanted);
}

#[test]
fn threads_share_the_connections_and_sum_up() {
    let base = plan(Behaviour::default(), 1000);
    base.preload().unwrap();
    let summary = Plan {
        threads: 2,
        connections: 4,
        ..base
    }
    .run()
    .unwrap();
    assert_eq!(summary.counts.requests, 2000);
}

#[test]
fn a_wrong_value_ends_the_run() {
    let base = plan(
        Behaviour {
            spoil: true,
            ..Behaviour::default()
        },
        100,
    );
    base.preload().unwrap();
    assert!(base.run().is_err());
    assert!(
        Plan {
            verify: false,
            ..base
        }
        .run()
        .is_ok()
    );
}

#[test]
fn an_open_loop_charges_a_pause_to_every_request_that_was_due_in_it() {
    let pause = Duration::from_millis(300);
    let behaviour = Behaviour {
        pause_at_request: Some(100),
        pause,
        ..Behaviour::default()
    };
    let base = Plan {
        keys: 50,
        ..plan(behaviour, 2000)
    };
    base.preload().unwrap();
    let rate_per_s = 2000.0;
    let mut probing = base.probing(Schedule::even(rate_per_s)).unwrap();
    while probing.turn().unwrap() {}
    let (recorder, summary) = probing.finish().unwrap();
    assert_eq!(recorder.counts().requests, 2000);
    // 600 of the 2,000 requests were due during the pause, waiting 150 ms on average. A closed
    // loop would have charged it to one request, and shown a 90th percentile of microseconds.
    assert!(
        summary.latency_us.p90 > 50_000.0,
        "p90 {} us",
        summary.latency_us.p90
    );
    assert!(
        summary.latency_us.max > 250_000.0,
        "max {} us",
        summary.latency_us.max
    );
}

#[test]
fn a_replay_stores_what_it_misses() {
    let base = plan(Behaviour::default(), 0);
    let trace = (0..1000).map(|request| request % 200);
    let hits = replay(&base, trace, 1000, 200).unwrap();
    // The first 200 requests miss, within whole batches; after them everything is there.
    assert_eq!(hits.refused, 0);
    assert!(hits.ratio() > 0.9, "{hits:?}");
}
