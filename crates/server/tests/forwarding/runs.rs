//! Pipelines whose keys are looked at together: a foreign one among this server's own is found
//! wherever it stands.

use crate::Fleet;
use crate::support::Client;
use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_REQUEST, Opcode, encode_head};
use std::io::Read;
use std::os::unix::net::UnixStream;

/// Commands in a row: more than are looked at together, and no multiple of that.
const RUN: usize = 75;

/// So many keys of a server.
fn keys_of(fleet: &Fleet, id: u32) -> Vec<String> {
    (0..RUN).map(|number| fleet.key_of(id, number)).collect()
}

/// The next bytes of an answer.
fn exactly(client: &mut Client<UnixStream>, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    client.stream.read_exact(&mut buffer).expect("an answer");
    buffer
}

fn expect(client: &mut Client<UnixStream>, request: &str, lines: &[String]) {
    client.send(request.as_bytes());
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(
            client.line().as_ref(),
            Some(line),
            "line {number} of {request}"
        );
    }
}

/// Stores and reads all keys through one server, by the text and meta protocols.
fn check_text(client: &mut Client<UnixStream>, keys: &[String], round: usize) {
    let values: Vec<String> = (0..keys.len())
        .map(|place| format!("{round}:{place}"))
        .collect();
    let pairs = || keys.iter().zip(&values);
    // Half of them by each protocol, one after the other.
    let stores = pairs()
        .enumerate()
        .map(|(place, (key, value))| match place % 2 {
            0 => format!("set {key} 0 0 {}\r\n{value}\r\n", value.len()),
            _ => format!("ms {key} {}\r\n{value}\r\n", value.len()),
        });
    let stored = (0..keys.len()).map(|place| ["STORED", "HD"][place % 2].to_owned());
    expect(
        client,
        &stores.collect::<String>(),
        &stored.collect::<Vec<_>>(),
    );
    let gets = keys.iter().map(|key| format!("get {key}\r\n"));
    let got = pairs().flat_map(|(key, value)| {
        let head = format!("VALUE {key} 0 {}", value.len());
        [head, value.clone(), "END".to_owned()]
    });
    expect(client, &gets.collect::<String>(), &got.collect::<Vec<_>>());
    let reads = keys.iter().map(|key| format!("mg {key} v\r\n"));
    let read = pairs().flat_map(|(_, value)| [format!("VA {}", value.len()), value.clone()]);
    expect(
        client,
        &reads.collect::<String>(),
        &read.collect::<Vec<_>>(),
    );
    let many =
        pairs().flat_map(|(key, value)| [format!("VALUE {key} 0 {}", value.len()), value.clone()]);
    let many = many.chain(["END".to_owned()]).collect::<Vec<_>>();
    expect(client, &format!("get {}\r\n", keys.join(" ")), &many);
}

/// Reads all keys through one server, by the binary protocol; the values are those of the round.
fn check_packets(client: &mut Client<UnixStream>, keys: &[String], round: usize) {
    let mut request = Vec::new();
    for key in keys {
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: Opcode::Get as u8,
            ..Header::default()
        };
        encode_head(header, &[], key.as_bytes(), 0, &mut request);
    }
    client.send(&request);
    for place in 0..keys.len() {
        let head = exactly(client, HEADER_BYTES + 4);
        let value_bytes = u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize - 4;
        let value = format!("{round}:{place}");
        assert_eq!(
            exactly(client, value_bytes),
            value.as_bytes(),
            "packet {place}"
        );
    }
}

#[test]
fn a_foreign_key_is_found_anywhere_in_a_run_of_own_ones() {
    let fleet = Fleet::start(2, &[]);
    let (own, foreign) = (keys_of(&fleet, 1), keys_of(&fleet, 2));
    let mut round = 0;
    let mut check = |is_foreign: &dyn Fn(usize) -> bool| {
        round += 1;
        let keys = own.iter().zip(&foreign).enumerate();
        let keys = keys.map(|(place, (own, foreign))| match is_foreign(place) {
            true => foreign.clone(),
            false => own.clone(),
        });
        let keys: Vec<String> = keys.collect();
        let (mut text, mut binary) = (fleet.connect(1), fleet.connect(1));
        check_text(&mut text, &keys, round);
        check_packets(&mut binary, &keys, round);
        // What is foreign lies with its owner.
        for id in 1..=2 {
            let mut owner = fleet.connect(id);
            let before = owner.stat("forwarded");
            for (place, key) in keys.iter().enumerate() {
                if is_foreign(place) == (id == 2) {
                    let value = format!("{round}:{place}");
                    assert_eq!(owner.get(key), Some(value.into_bytes()));
                }
            }
            assert_eq!(owner.stat("forwarded"), before, "owners ask nobody");
        }
    };
    for place in [0, 1, 7, 8, 15, 16, 31, 32, 33, RUN - 1] {
        check(&|at| at == place);
    }
    check(&|at| at % 2 == 1);
    check(&|at| at % 9 == 4);
    check(&|at| at >= 40);
    check(&|_| true);
    check(&|_| false);
}

#[test]
fn own_keys_are_never_forwarded() {
    let fleet = Fleet::start(2, &[]);
    let mut client = fleet.connect(1);
    let keys = keys_of(&fleet, 1);
    check_text(&mut client, &keys, 0);
    assert_eq!(client.stat("forwarded"), 0);
    assert_eq!(client.stat("curr_items"), RUN as u64);
}
