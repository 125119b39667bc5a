//! Connections that are ready at once: served together through io_uring, and one by one without it.
//!
//! The server is stopped while the requests are sent, so that it finds all of them with one look.

mod support;

use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpStream;
use support::{Client, Server};

/// More than are served together, so that there are several groups, the last one smaller.
const CONNECTIONS: usize = 70;

/// A server with one worker, and whether it serves connections together.
fn servers() -> Vec<(Server, bool)> {
    let start = |mode| {
        let place = ["-l", "127.0.0.1", "-p", "-1", "-t", "1"];
        Server::start_at(&place, &["-m", "64", "-I", "4m", "--io-uring", mode])
    };
    let with_ring = start("auto");
    assert!(with_ring.connect().ask("version").is_some());
    let is_permitted = !with_ring.log().contains("no io_uring");
    vec![(with_ring, is_permitted), (start("off"), false)]
}

/// Connections that the server has taken over.
fn connect_all(server: &Server) -> Vec<Client<TcpStream>> {
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert!(client.ask("version").is_some());
    }
    clients
}

/// Has every client say something while the server is stopped.
fn say_at_once(
    server: &Server,
    clients: &mut [Client<TcpStream>],
    words: impl Fn(usize) -> Vec<u8>,
) {
    server.stop();
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(&words(index));
    }
    server.signal(Signal::CONT);
}

fn value(index: usize, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|place| b'a' + ((place + index) % 26) as u8)
        .collect()
}

fn set(index: usize, bytes: usize) -> Vec<u8> {
    let mut request = format!("set key{index} 0 0 {bytes}\r\n").into_bytes();
    request.extend(value(index, bytes));
    request.extend(b"\r\n");
    request
}

/// Stores and reads values of this size on all connections at once.
fn exercise(server: &Server, clients: &mut [Client<TcpStream>], bytes: usize) {
    say_at_once(server, clients, |index| set(index, bytes));
    for client in clients.iter_mut() {
        assert_eq!(client.line().as_deref(), Some("STORED"), "{bytes} bytes");
    }
    say_at_once(server, clients, |index| {
        format!("get key{index}\r\nmn\r\n").into_bytes()
    });
    for (index, client) in clients.iter_mut().enumerate() {
        let head = client.line().expect("an answer");
        assert_eq!(head, format!("VALUE key{index} 0 {bytes}"));
        let mut got = vec![0; bytes];
        client.stream.read_exact(&mut got).expect("a value");
        assert!(got == value(index, bytes), "{bytes} bytes of key{index}");
        for line in ["", "END", "MN"] {
            assert_eq!(client.line().as_deref(), Some(line));
        }
    }
}

#[test]
fn values_of_all_sizes_come_back_to_those_who_stored_them() {
    for (server, is_batched) in servers() {
        let mut clients = connect_all(&server);
        let before = clients[0].stat("reads_batched");
        // Copied replies, replies sent by themselves, values read to their place. All of it fits in
        // the sockets while the server is stopped.
        for bytes in [0, 64, 4_000, 5_000, 17_000, 40_000] {
            exercise(&server, &mut clients, bytes);
        }
        let together = clients[0].stat("reads_batched") - before;
        match is_batched {
            true => assert!(together > CONNECTIONS as u64, "{together} reads together"),
            false => assert_eq!(together, 0),
        }
    }
}

#[test]
fn requests_in_pieces_are_put_together() {
    for (server, _) in servers() {
        let mut clients = connect_all(&server);
        let request = |index: usize| [set(index, 300), set(index, 20_000)].concat();
        let pieces = 4;
        for piece in 0..pieces {
            say_at_once(&server, &mut clients, |index| {
                let request = request(index);
                let (from, to) = (piece * request.len(), (piece + 1) * request.len());
                request[from / pieces..to / pieces].to_vec()
            });
        }
        for client in &mut clients {
            assert_eq!(client.line().as_deref(), Some("STORED"));
            assert_eq!(client.line().as_deref(), Some("STORED"));
        }
    }
}

#[test]
fn long_pipelines_are_answered_in_order() {
    for (server, _) in servers() {
        let mut clients = connect_all(&server);
        let numbers = 0..1_000;
        say_at_once(&server, &mut clients, |index| {
            let requests = numbers
                .clone()
                .map(|number| format!("mn\r\nmg k O{index}-{number}\r\n"));
            requests.collect::<String>().into_bytes()
        });
        for (index, client) in clients.iter_mut().enumerate() {
            for number in numbers.clone() {
                assert_eq!(client.line().as_deref(), Some("MN"));
                assert_eq!(client.line(), Some(format!("EN O{index}-{number}")));
            }
        }
    }
}

#[test]
fn those_who_leave_and_those_who_do_not_read_do_not_disturb_the_others() {
    for (server, _) in servers() {
        let mut clients = connect_all(&server);
        clients[0].set("large", &value(0, 200_000));
        let mut leaving = clients.split_off(CONNECTIONS - 10);
        let mut silent = clients.split_off(CONNECTIONS - 20);
        server.stop();
        for client in &mut silent {
            // 20 MB each that nobody reads.
            client.send("get large\r\n".repeat(100).as_bytes());
        }
        for client in &mut leaving {
            client.send(b"get large\r\nquit\r\n");
        }
        drop(leaving);
        for client in &mut clients {
            client.send(b"mn\r\nquit\r\n");
        }
        server.signal(Signal::CONT);
        for client in &mut clients {
            assert_eq!(client.line().as_deref(), Some("MN"));
            assert_eq!(client.line(), None, "closed");
        }
        // Whoever reads at last gets everything.
        for client in &mut silent {
            let mut bytes = 0;
            client.stream.get_mut().flush().expect("connected");
            let one = "VALUE large 0 200000\r\n".len() + 200_000 + "\r\nEND\r\n".len();
            let mut buffer = vec![0; 1 << 16];
            while bytes < 100 * one {
                bytes += client.stream.read(&mut buffer).expect("connected");
            }
            assert_eq!(bytes, 100 * one);
        }
    }
}
