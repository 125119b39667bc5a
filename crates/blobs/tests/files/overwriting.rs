//! Writers and readers of the same blob.

use crate::{CHUNK_BYTES, content, items, read, server, settings, write};
use farcache_blobs::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The blob of a writer's turn, which says whose it is by its length and its bytes.
fn turn(writer: u64, turn: u64) -> Vec<u8> {
    let seed = writer * 100 + turn;
    content(seed, 20_000 + 137 * seed as usize)
}

#[test]
fn readers_see_one_write_whole_or_an_error() {
    const WRITERS: u64 = 3;
    const TURNS: u64 = 20;
    let server = server(&[]);
    let blobs = &crate::blobs(&server, settings(CHUNK_BYTES));
    write(blobs, "b", &turn(0, 0));
    let writing = &AtomicUsize::new(WRITERS as usize);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 0..TURNS {
                    write(blobs, "b", &turn(writer, number));
                }
                writing.fetch_sub(1, Ordering::Relaxed);
            });
        }
        scope.spawn(move || {
            let all = (0..WRITERS).flat_map(|writer| (0..TURNS).map(move |it| turn(writer, it)));
            let all: Vec<Vec<u8>> = all.collect();
            while writing.load(Ordering::Relaxed) > 0 {
                match read(blobs, "b") {
                    Ok(bytes) => assert!(all.contains(&bytes), "mixed"),
                    Err(Error::Replaced(_)) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        });
    });
    let last = read(blobs, "b").expect("read");
    assert!((0..WRITERS).any(|writer| last == turn(writer, TURNS - 1)));
    // Nothing is left of those that were replaced.
    let client = crate::client(&server, farcache_client::Transport::Tcp);
    assert_eq!(items(&client), 1 + (last.len() as u64).div_ceil(1000));
}

#[test]
fn who_has_a_blob_open_that_is_replaced_or_removed_is_told() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let mut buffer = [0; 10];
    write(&blobs, "b", &content(1, 5000));
    let mut former = blobs.open("b").expect("opened");
    write(&blobs, "b", &content(2, 5000));
    let replaced = Err(Error::Replaced("b".into()));
    assert_eq!(former.read_at(0, &mut buffer), replaced);
    let mut latter = blobs.open("b").expect("opened");
    latter.read_at(4000, &mut buffer).expect("read");
    blobs.remove("b").expect("removed");
    assert_eq!(latter.read_at(0, &mut buffer), replaced);
    // What it holds is still right.
    assert_eq!(latter.read_at(4500, &mut buffer), Ok(10));
    assert!(buffer == content(2, 5000)[4500..4510]);
}

#[test]
fn a_writer_that_is_given_up_leaves_nothing_and_the_former_blob_stays() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let client = crate::client(&server, farcache_client::Transport::Tcp);
    let former = content(1, 4500);
    write(&blobs, "b", &former);
    assert_eq!(items(&client), 6);
    for is_dropped in [true, false] {
        let mut writer = blobs.create("b").expect("a writer");
        writer.write(&content(2, 700_000)).expect("written");
        match is_dropped {
            true => drop(writer),
            false => writer.abort(),
        }
        assert_eq!(items(&client), 6);
        assert!(read(&blobs, "b").expect("read") == former);
    }
    blobs.remove("b").expect("removed");
    assert_eq!(items(&client), 0);
}
