//! What is in flight is bounded, and nobody waits for ever because of it.

use crate::support::{Server, wait_for};
use crate::{CHUNK_BYTES, content, read, server, settings, write};
use farcache_blobs::{Blobs, Settings};
use rustix::process::{Pid, Signal, kill_process};
use std::thread;

fn signal(server: &Server, signal: Signal) {
    kill_process(Pid::from_child(&server.child), signal).expect("the server runs");
}

/// Stops a server: when this returns, each of its threads stands still.
fn freeze(server: &Server) {
    signal(server, Signal::STOP);
    let tasks = format!("/proc/{}/task", server.child.id());
    wait_for("the server to stand still", || {
        let mut tasks = std::fs::read_dir(&tasks).ok()?;
        let stands = |task: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
            let (_, state) = status.rsplit_once(") ")?;
            Some(state.starts_with('T'))
        };
        tasks.all(|task| stands(task) == Some(true)).then_some(())
    });
}

#[test]
fn a_writer_has_no_more_under_way_than_its_window() {
    let server = server(&[]);
    // With a window of one byte there is one chunk at a time.
    for (window_bytes, bound) in [(5500, 5500), (1, 1000)] {
        let settings = Settings {
            window_bytes,
            ..settings(CHUNK_BYTES)
        };
        let blobs = crate::blobs(&server, settings);
        let bytes = content(1, 200_000);
        let mut writer = blobs.create("b").expect("a writer");
        let mut most = 0;
        for part in bytes.chunks(100) {
            writer.write(part).expect("written");
            most = most.max(writer.bytes_under_way());
            assert!(most <= bound);
        }
        writer.flush().expect("stored");
        assert_eq!(writer.bytes_under_way(), 0);
        writer.close().expect("closed");
        assert!(read(&blobs, "b").expect("read") == bytes);
    }
}

#[test]
fn a_writer_goes_on_while_its_chunks_are_under_way() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(100_000));
    write(&blobs, "connected", b"");
    // A server that does nothing answers nothing: what is written meanwhile is under way.
    freeze(&server);
    let mut writer = blobs.create("b").expect("a writer");
    writer.write(&content(1, 700_000)).expect("written");
    assert_eq!(writer.bytes_under_way(), 700_000);
    signal(&server, Signal::CONT);
    writer.close().expect("closed");
    assert!(read(&blobs, "b").expect("read") == content(1, 700_000));
}

fn write_and_read(blobs: &Blobs, name: &str, seed: u64) {
    let bytes = content(seed, 50_500);
    write(blobs, name, &bytes);
    assert!(read(blobs, name).expect("read") == bytes, "{name}");
}

#[test]
fn streams_that_share_less_than_a_chunk_all_end() {
    let server = server(&[]);
    for in_flight_bytes_max in [0, 1500, 4000] {
        let settings = Settings {
            in_flight_bytes_max,
            ..settings(CHUNK_BYTES)
        };
        let blobs = &crate::blobs(&server, settings);
        thread::scope(|scope| {
            for seed in 0..6 {
                scope.spawn(move || write_and_read(blobs, &format!("b-{seed}"), seed));
            }
        });
    }
}
