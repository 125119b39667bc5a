//! Replies whole, in two pieces, and wrong.

use super::*;
use crate::load::values::ValueSizes;

const GET: Operation = Operation::Get(1);
const SET: Operation = Operation::Set(1);
const TWO: Operation = Operation::MultiGet { keys: 2 };

/// Feeds the reply in every two pieces; all splits must agree, and use every byte.
fn outcome(protocol: Protocol, verify: bool, reply: &[u8], operation: Operation) -> Outcome {
    let values = Values::new(ValueSizes::fixed(8));
    let mut outcomes = Vec::new();
    for split in 0..=reply.len() {
        let mut scanner = Scanner::new(protocol, 8, verify.then(|| values.clone()));
        let (used, mut scan) = scanner.scan(&reply[..split], operation).unwrap();
        let mut total = used;
        if scan == Scan::Incomplete {
            let (used, then) = scanner.scan(&reply[used..], operation).unwrap();
            (total, scan) = (total + used, then);
        }
        assert_eq!(total, reply.len(), "split at {split}");
        let Scan::Finished(outcome) = scan else {
            panic!("split at {split}")
        };
        outcomes.push(outcome);
    }
    assert!(outcomes.iter().all(|other| *other == outcomes[0]));
    outcomes[0]
}

fn hits(hits: u32) -> Outcome {
    Outcome {
        hits,
        ..Outcome::default()
    }
}

const STORED: Outcome = Outcome {
    hits: 0,
    stored: true,
    error: false,
};
const ERROR: Outcome = Outcome {
    hits: 0,
    stored: false,
    error: true,
};

#[test]
fn text_replies() {
    let one = b"VALUE 00000001 0 8\r\n00000001\r\nEND\r\n";
    let two = b"VALUE 00000001 0 8\r\n00000001\r\nVALUE 00000002 0 8\r\n00000002\r\nEND\r\n";
    for verify in [false, true] {
        assert_eq!(outcome(Protocol::Text, verify, one, GET), hits(1));
        assert_eq!(outcome(Protocol::Text, verify, two, TWO), hits(2));
        assert_eq!(outcome(Protocol::Text, verify, b"END\r\n", TWO), hits(0));
        assert_eq!(outcome(Protocol::Text, verify, b"STORED\r\n", SET), STORED);
        let error = b"SERVER_ERROR out of memory storing object\r\n";
        assert_eq!(outcome(Protocol::Text, verify, error, SET), ERROR);
    }
}

#[test]
fn meta_replies() {
    let two = b"VA 8\r\n00000001\r\nVA 8\r\n00000002\r\nMN\r\n";
    for verify in [false, true] {
        assert_eq!(
            outcome(Protocol::Meta, verify, b"VA 8\r\n00000001\r\n", GET),
            hits(1)
        );
        assert_eq!(outcome(Protocol::Meta, verify, two, TWO), hits(2));
        assert_eq!(outcome(Protocol::Meta, verify, b"EN\r\n", GET), hits(0));
        assert_eq!(outcome(Protocol::Meta, verify, b"HD\r\n", SET), STORED);
        assert_eq!(outcome(Protocol::Meta, verify, b"NS\r\n", SET), ERROR);
    }
}

fn binary(opcode: u8, status: u8, extras: &[u8], body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; BINARY_HEADER_BYTES];
    (packet[0], packet[1], packet[7]) = (0x81, opcode, status);
    (packet[4], packet[11]) = (extras.len() as u8, (extras.len() + body.len()) as u8);
    packet.extend_from_slice(extras);
    packet.extend_from_slice(body);
    packet
}

#[test]
fn binary_replies() {
    let value = |opcode| binary(opcode, 0, &[0; 4], b"00000001");
    let two = [value(9), value(9), binary(10, 0, &[], b"")].concat();
    for verify in [false, true] {
        assert_eq!(outcome(Protocol::Binary, verify, &value(0), GET), hits(1));
        assert_eq!(outcome(Protocol::Binary, verify, &two, TWO), hits(2));
        let miss = binary(0, 1, &[], b"Not found");
        assert_eq!(outcome(Protocol::Binary, verify, &miss, GET), hits(0));
        assert_eq!(
            outcome(Protocol::Binary, verify, &binary(1, 0, &[], b""), SET),
            STORED
        );
        let full = binary(1, 0x82, &[], b"Out of memory");
        assert_eq!(outcome(Protocol::Binary, verify, &full, SET), ERROR);
    }
}

#[test]
fn an_empty_value_is_a_hit() {
    let empty = binary(0, 0, &[0; 4], b"");
    assert_eq!(outcome(Protocol::Binary, false, &empty, GET), hits(1));
    assert_eq!(
        outcome(Protocol::Meta, false, b"VA 0\r\n\r\n", GET),
        hits(1)
    );
}

fn refuses(protocol: Protocol, reply: &[u8], operation: Operation) -> bool {
    let values = Values::new(ValueSizes::fixed(8));
    Scanner::new(protocol, 8, Some(values))
        .scan(reply, operation)
        .is_err()
}

#[test]
fn foreign_replies_and_wrong_values_are_refused() {
    let foreign = b"VALUE 00000002 0 8\r\n00000002\r\nEND\r\n";
    assert!(refuses(Protocol::Text, foreign, GET));
    assert!(refuses(
        Protocol::Text,
        b"VALUE 00000001 0 8\r\n00000001xxEND\r\n",
        GET
    ));
    assert!(refuses(Protocol::Text, b"STORED\r\n", GET));
    assert!(refuses(Protocol::Meta, b"HD\r\n", GET));
    assert!(refuses(Protocol::Meta, b"VA 8 f1\r\n", GET));
    assert!(refuses(Protocol::Binary, &binary(1, 0, &[], b""), GET));
    assert!(refuses(Protocol::Text, &[b'x'; HEAD_BYTES_MAX], GET));
}

#[test]
fn the_first_error_is_kept() {
    let mut scanner = Scanner::new(Protocol::Text, 8, None);
    assert!(scanner.scan(b"ERROR one\r\n", GET).is_ok());
    assert!(scanner.scan(b"ERROR two\r\n", GET).is_ok());
    assert_eq!(scanner.first_error(), Some("ERROR one"));
}
