//! Calls on many sockets together against what each socket holds.

use farcache_sockets::{Batch, Receiving, Sending};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Calls that a batch of these tests takes at once; there are more sockets.
const CALLS_MAX: u32 = 4;
const SOCKETS: usize = 10;

fn pairs() -> Vec<(UnixStream, UnixStream)> {
    (0..SOCKETS)
        .map(|_| UnixStream::pair().expect("sockets"))
        .collect()
}

/// A batch; none where the system does not permit io_uring, which is no fault of ours.
fn batch() -> Option<Batch> {
    Batch::new(CALLS_MAX)
        .inspect_err(|error| eprintln!("no io_uring here: {error}"))
        .ok()
}

fn receive_all(
    batch: &mut Batch,
    pairs: &[(UnixStream, UnixStream)],
    rooms: &mut [[u8; 16]],
) -> Vec<Result<usize, ErrorKind>> {
    let calls = pairs.iter().zip(rooms).map(|((ours, _), room)| Receiving {
        socket: ours.as_fd(),
        room,
    });
    let mut results = Vec::new();
    batch.receive(calls, &mut results);
    results
        .into_iter()
        .map(|result| result.map_err(|error| error.kind()))
        .collect()
}

#[test]
fn each_socket_gets_what_was_sent_to_it_and_results_keep_their_order() {
    let Some(mut batch) = batch() else { return };
    let mut pairs = pairs();
    let texts: Vec<String> = (0..SOCKETS).map(|index| "x".repeat(index + 1)).collect();
    let calls = pairs.iter().zip(&texts).map(|((ours, _), text)| Sending {
        socket: ours.as_fd(),
        bytes: text.as_bytes(),
    });
    let mut results = Vec::new();
    batch.send(calls, &mut results);
    let sent: Vec<usize> = results
        .into_iter()
        .map(|result| result.expect("the sockets have room"))
        .collect();
    assert_eq!(sent, (1..=SOCKETS).collect::<Vec<_>>());
    for ((_, theirs), text) in pairs.iter_mut().zip(&texts) {
        let mut got = vec![0; text.len()];
        theirs.read_exact(&mut got).expect("the bytes are there");
        assert_eq!(got, text.as_bytes());
    }
}

#[test]
fn a_silent_socket_and_a_closed_one_do_not_hold_up_the_others() {
    let Some(mut batch) = batch() else { return };
    let mut pairs = pairs();
    for (index, (_, theirs)) in pairs.iter_mut().enumerate().skip(2) {
        write!(theirs, "{index}").expect("the socket has room");
    }
    let (first, theirs) = pairs.remove(0);
    drop(theirs);
    let (_, nobody) = UnixStream::pair().expect("sockets");
    pairs.insert(0, (first, nobody));
    let mut rooms = [[0; 16]; SOCKETS];
    let results = receive_all(&mut batch, &pairs, &mut rooms);
    assert_eq!(results[0], Ok(0), "the end of the stream");
    assert_eq!(results[1], Err(ErrorKind::WouldBlock));
    for index in 2..SOCKETS {
        assert_eq!(results[index], Ok(1));
        assert_eq!(rooms[index][0], b'0' + index as u8);
    }
    assert!(batch.is_usable());
}

#[test]
fn a_socket_whose_other_end_has_closed_brings_an_error_and_no_signal() {
    let Some(mut batch) = batch() else { return };
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    drop(theirs);
    let call = Sending {
        socket: ours.as_fd(),
        bytes: b"gone",
    };
    let mut results = Vec::new();
    batch.send([call], &mut results);
    assert_eq!(
        results[0].as_ref().map_err(|error| error.kind()),
        Err(ErrorKind::BrokenPipe)
    );
}

#[test]
fn a_full_socket_takes_a_part_and_then_nothing() {
    let Some(mut batch) = batch() else { return };
    let (ours, _theirs) = UnixStream::pair().expect("sockets");
    let bytes = vec![0; 16 << 20];
    let mut send = || {
        let call = Sending {
            socket: ours.as_fd(),
            bytes: &bytes,
        };
        let mut results = Vec::new();
        batch.send([call], &mut results);
        results.remove(0).map_err(|error| error.kind())
    };
    let mut taken = send().expect("room at first");
    assert!(taken < bytes.len(), "taken whole: {taken}");
    while let Ok(more) = send() {
        taken += more;
        assert!(taken < bytes.len(), "a socket without end");
    }
    assert_eq!(send(), Err(ErrorKind::WouldBlock));
}
