//! What is counted, as memcached counts it.

use crate::client::{Client, Server, bare, keyed, packet, set};
use farcache_proto::binary::{ArithmeticExtras, NO_CREATE, Opcode};
use farcache_server::settings::Settings;
use farcache_session::counters::Totals;

#[test]
fn every_command_is_counted() {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let number = ArithmeticExtras {
        delta: 1,
        initial: 0,
        expiration: NO_CREATE,
    }
    .encode();
    for request in [
        set(Opcode::Set, b"k", b"1", 0),
        set(Opcode::Add, b"k", b"2", 0),
        keyed(Opcode::Get, b"k"),
        keyed(Opcode::GetQ, b"absent"),
        packet(Opcode::Touch, &[0; 4], b"k", &[], 0),
        packet(Opcode::Gat, &[0; 4], b"absent", &[], 0),
        packet(Opcode::Increment, &number, b"k", &[], 0),
        packet(Opcode::Increment, &number, b"absent", &[], 0),
        packet(Opcode::DecrementQ, &number, b"k", &[], 0),
        packet(Opcode::Decrement, &number, b"absent", &[], 0),
        keyed(Opcode::Delete, b"k"),
        keyed(Opcode::Delete, b"k"),
        bare(Opcode::Flush),
    ] {
        client.send(&mut server, &request);
    }
    let expected = Totals {
        cmd_set: 2,
        cmd_get: 2,
        get_hits: 1,
        get_misses: 1,
        cmd_touch: 2,
        touch_hits: 1,
        touch_misses: 1,
        incr_hits: 1,
        incr_misses: 1,
        decr_hits: 1,
        decr_misses: 1,
        delete_hits: 1,
        delete_misses: 1,
        cmd_flush: 1,
        ..Totals::default()
    };
    assert_eq!(server.totals(), expected);
}
