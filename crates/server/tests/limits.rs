//! Many, silent, greedy and dying clients.

mod support;

use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Barrier;
use std::thread;
use support::{Client, Server, tcp, wait_for};

#[test]
fn connections_above_the_limit_are_told_so() {
    let server = Server::start(&["-c", "2"]);
    let mut first = server.connect();
    let mut second = server.connect();
    assert!(first.ask("version").is_some() && second.ask("version").is_some());
    let mut third = server.connect();
    assert_eq!(
        third.line().as_deref(),
        Some("ERROR Too many open connections")
    );
    assert_eq!(third.line(), None);
    assert_eq!(first.stat("rejected_connections"), 1);
    drop(second);
    wait_for("room for another", || {
        let mut client = server.connect();
        client.send(b"version\r\n");
        client.line().filter(|line| line.starts_with("VERSION"))
    });
}

#[test]
fn connections_above_the_limit_wait_if_asked_to() {
    let server = Server::start(&["-c", "1", "-o", "no_maxconns_fast"]);
    let mut first = server.connect();
    assert!(first.ask("version").is_some());
    let mut second = server.connect();
    second.send(b"version\r\n");
    wait_for("a pause", || {
        (first.stat("listen_disabled_num") == 1).then_some(())
    });
    assert!(first.ask("version").is_some(), "the first goes on");
    drop(first);
    assert!(second.line().expect("an answer").starts_with("VERSION"));
}

#[test]
fn a_silent_connection_is_closed_after_the_timeout() {
    let server = Server::start(&["-o", "idle_timeout=1"]);
    let mut silent = server.connect();
    assert_eq!(silent.line(), None, "closed");
    // On a busy machine, whoever asks may seem silent as well.
    wait_for("the count", || {
        let kicks = server.connect().stat_if_open("idle_kicks");
        kicks.filter(|&kicks| kicks >= 1)
    });
}

#[test]
fn a_client_that_never_reads_blocks_nobody_and_takes_no_memory() {
    let server = Server::start(&["-t", "1", "-m", "64"]);
    let mut other = server.connect();
    other.set("large", &vec![b'x'; 900_000]);
    let resident_before = server.resident_kb();
    let greedy = tcp(server.address());
    greedy.set_nonblocking(true).expect("settable");
    let requests = b"get large\r\n".repeat(1000);
    // Until the server reads no more: its side of the socket is full.
    let mut writer = &greedy;
    let (mut written, mut refused) = (0, 0);
    while refused < 50 {
        match writer.write(&requests[written % requests.len()..]) {
            Ok(count) => (written, refused) = (written + count, 0),
            Err(_) => {
                refused += 1;
                assert_eq!(other.get("large").map(|value| value.len()), Some(900_000));
            }
        }
    }
    let grown_kb = server.resident_kb().saturating_sub(resident_before);
    assert!(grown_kb < 16 << 10, "grew by {grown_kb} KB");
    drop(greedy);
    wait_for("its end", || {
        (other.stat("curr_connections") == 1).then_some(())
    });
}

#[test]
fn clients_killed_in_the_middle_of_a_set_leave_nothing_behind() {
    let server = Server::start(&["-m", "16", "-I", "4m"]);
    let mut watcher = server.connect();
    watcher.set("key", b"value");
    // More than the memory holds, if their room were not given back.
    for number in 0..64 {
        let mut client = server.connect();
        client.send(format!("set key{number} 0 0 2000000\r\n").as_bytes());
        client.send(&vec![b'x'; 1_500_000]);
        if number % 2 == 0 {
            client
                .stream
                .get_ref()
                .shutdown(Shutdown::Write)
                .expect("open");
            assert_eq!(client.line(), None);
        }
    }
    wait_for("their end", || {
        (watcher.stat("curr_connections") == 1).then_some(())
    });
    assert_eq!(watcher.get("key0"), None);
    let large = vec![b'y'; 2_000_000];
    watcher.set("large", &large);
    assert_eq!(watcher.get("large"), Some(large));
}

#[test]
fn clients_that_announce_values_and_send_none_leave_room_for_others() {
    let server = Server::start(&["-m", "64", "-c", "2000"]);
    let mut other = server.connect();
    let mut silent: Vec<Client<TcpStream>> = (0..1000).map(|_| server.connect()).collect();
    for (number, client) in silent.iter_mut().enumerate() {
        client.send(format!("set key{number} 0 0 1000000\r\n").as_bytes());
    }
    // Half of the memory is theirs: 33 are waited for, the others are refused.
    wait_for("refusals", || {
        (other.stat("store_no_memory") == 967).then_some(())
    });
    // More than the other half holds.
    for number in 0..4000 {
        other.set(&format!("key{number}"), &[b'x'; 10_000]);
    }
    assert_eq!(other.get("key3999"), Some(vec![b'x'; 10_000]));
    drop(silent);
    wait_for("their end", || {
        (other.stat("curr_connections") == 1).then_some(())
    });
    other.exercise();
}

/// Half of the memory holds two of these while they arrive: the other writers wait for their turn.
#[test]
fn many_writers_of_large_values_wait_for_one_another() {
    const WRITERS: usize = 16;
    let server = Server::start(&["-m", "16", "-I", "4m", "-t", "2"]);
    let value = vec![b'v'; 3 << 20];
    let all_ready = Barrier::new(WRITERS);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, value, all_ready) = (&server, &value, &all_ready);
            scope.spawn(move || {
                let mut client = server.connect();
                all_ready.wait();
                for number in 0..8 {
                    client.set(&format!("large{writer}-{number}"), value);
                }
            });
        }
    });
    let mut client = server.connect();
    assert_eq!(client.stat("store_no_memory"), 0);
    assert_eq!(client.stat("cmd_set"), WRITERS as u64 * 8);
}

/// What comes behind a value that waits is answered behind it, and whoever leaves waits no longer.
#[test]
fn a_value_that_waits_keeps_its_place_among_its_clients_requests() {
    let server = Server::start(&["-m", "16", "-I", "4m", "-t", "1"]);
    let mut other = server.connect();
    let value = vec![b'v'; 3 << 20];
    let mut halves: Vec<Client<TcpStream>> = (0..2).map(|_| server.connect()).collect();
    for (number, client) in halves.iter_mut().enumerate() {
        client.send(format!("set half{number} 0 0 {}\r\n", value.len()).as_bytes());
        client.send(&value[1..]);
    }
    wait_for("both arrive", || {
        (other.stat("bytes_read") > 6 << 20).then_some(())
    });
    let mut leaver = server.connect();
    leaver.send(format!("set gone 0 0 {}\r\n", value.len()).as_bytes());
    let mut writer = server.connect();
    writer.send(b"set small 0 0 5\r\nfirst\r\n");
    assert_eq!(writer.line().as_deref(), Some("STORED"));
    let mut requests = format!("set large 0 0 {}\r\n", value.len()).into_bytes();
    requests.extend_from_slice(&value);
    requests.extend_from_slice(b"\r\nget small\r\n");
    thread::scope(|scope| {
        let mut stream = writer.stream.get_ref().try_clone().expect("descriptors");
        scope.spawn(move || stream.write_all(&requests).expect("the server reads"));
        drop(leaver);
        halves[0].send(&value[..1]);
        halves[0].send(b"\r\n");
        assert_eq!(halves[0].line().as_deref(), Some("STORED"));
    });
    assert_eq!(writer.line().as_deref(), Some("STORED"));
    assert_eq!(writer.line().as_deref(), Some("VALUE small 0 5"));
    assert_eq!(other.get("large"), Some(value));
    assert_eq!(other.stat("store_no_memory"), 0);
}

/// A value that arrives keeps its segment from being emptied, however short it is.
#[test]
fn half_sent_values_leave_room_for_others() {
    let server = Server::start(&["-m", "64", "-t", "1", "-c", "2000"]);
    let mut other = server.connect();
    let value = [b'x'; 16_000];
    let mut waiting = Vec::new();
    for number in 0..400 {
        let mut client = server.connect();
        client.send(format!("set half{number} 0 0 17000\r\n").as_bytes());
        client.send(&[b'y'; 8000]);
        waiting.push(client);
        // More than a segment holds, so that each would arrive in one of its own.
        for filler in 0..20 {
            other.set(&format!("key{number}-{filler}"), &value);
        }
    }
    assert_eq!(other.get("key399-19").as_deref(), Some(&value[..]));
    assert_eq!(other.stat("store_no_memory"), 0);
    for (number, client) in waiting.iter_mut().enumerate() {
        client.send(&[b'y'; 9000]);
        client.send(b"\r\n");
        assert_eq!(client.line().as_deref(), Some("STORED"));
        let key = format!("half{number}");
        assert_eq!(other.get(&key).as_deref(), Some(&[b'y'; 17_000][..]));
    }
}

#[test]
fn a_thousand_connections_leave_no_descriptor_behind() {
    let server = Server::start(&["-c", "2000"]);
    let mut client = server.connect();
    assert!(client.ask("version").is_some());
    let before = server.descriptors();
    for round in 0..10 {
        let mut clients: Vec<Client<TcpStream>> = (0..100).map(|_| server.connect()).collect();
        clients
            .iter_mut()
            .for_each(|client| client.send(b"get a\r\nver"));
        if round % 2 == 0 {
            clients
                .iter_mut()
                .for_each(|client| assert_eq!(client.line().as_deref(), Some("END")));
        }
    }
    wait_for("all accepted", || {
        (client.stat("total_connections") == 1001).then_some(())
    });
    wait_for("all closed", || {
        (client.stat("curr_connections") == 1).then_some(())
    });
    wait_for("descriptors closed", || {
        (server.descriptors() == before).then_some(())
    });
}

#[test]
fn an_endless_line_is_refused_and_takes_no_memory() {
    let server = Server::start(&[]);
    let mut stream = tcp(server.address());
    let chunk = vec![b'k'; 64 << 10];
    let mut written = 0;
    while stream.write_all(&chunk).is_ok() {
        written += chunk.len();
        assert!(written < 64 << 20, "the server reads on for ever");
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(server.connect().ask("version").is_some());
}

#[test]
fn an_idle_server_sleeps() {
    let server = Server::start(&[]);
    let mut clients: Vec<Client<TcpStream>> = (0..100).map(|_| server.connect()).collect();
    clients
        .iter_mut()
        .for_each(|client| assert!(client.ask("version").is_some()));
    let stat = format!("/proc/{}/stat", server.child.id());
    let ticks = || -> u64 {
        let text = std::fs::read_to_string(&stat).expect("the server runs");
        let fields = text.rsplit(')').next().expect("fields").split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().expect("ticks"))
            .sum()
    };
    // On a busy machine, what came before may come to its end late; a server that spins never
    // rests.
    wait_for("a second with no more than 2 % of a core", || {
        let before = ticks();
        // There is nothing to wait for: the passing of time itself is what is tested.
        std::thread::sleep(std::time::Duration::from_secs(1));
        (ticks() - before <= 2).then_some(())
    });
    server.signal(Signal::TERM);
}
