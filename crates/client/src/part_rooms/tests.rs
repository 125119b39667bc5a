//! Which parts come where, whatever servers say of them.

use super::*;
use farcache_redundancy::{Holders, stored};

const VALUE_BYTES: usize = 100_000;
const SHARD_BYTES: usize = VALUE_BYTES.div_ceil(3);

fn rooms(memory: Vec<u8>) -> PartRooms {
    let redundancy = "ec:3,2".parse().expect("one");
    PartRooms::new(redundancy, &Arc::default(), memory)
}

fn header(shard: u8) -> Header {
    let scheme = Scheme::new(3, 2).expect("one");
    Header {
        piece: Piece::Shard { scheme, shard },
        owners: 0,
        value_bytes: VALUE_BYTES as u32,
        expiry_unix: 0,
        version: Version::from_bits(1 << 20).expect("not 0"),
        checksum: stored::checksum(&[]),
    }
}

fn room(rooms: &PartRooms, header: &Header) -> ReceiveBytes {
    let mut room = rooms.room(&header.encode(), header.part_bytes());
    assert!(room.make_room(header.part_bytes()), "{header:?}");
    room
}

/// A buffer of a part's own is a vector.
fn is_apart(room: &mut ReceiveBytes) -> bool {
    room.owned().is_some()
}

#[test]
fn data_shards_come_where_they_lie_in_the_value_in_any_order() {
    let mut memory = vec![0; VALUE_BYTES];
    // All shards are as long as the longest.
    memory.reserve_exact(2);
    let place = memory.as_ptr().addr();
    let rooms = rooms(memory);
    let value: Vec<u8> = (0..VALUE_BYTES).map(|at| at as u8).collect();
    let shards = [2, 0, 1].map(|shard| {
        let (header, range) = (header(shard), header(shard).piece.range(VALUE_BYTES));
        let mut room = room(&rooms, &header);
        assert_eq!(room.as_ptr().addr(), place + range.start, "without a copy");
        room.copy_from_slice(&value[range]);
        room
    });
    let memory = rooms.close(3).expect("nobody else has any");
    assert!(memory.take().is_none(), "they have not been let go of");
    drop(shards);
    let memory = memory.take().expect("now they have");
    assert_eq!(memory.as_ptr().addr(), place);
    assert_eq!(
        (&memory[..VALUE_BYTES], memory.len()),
        (&value[..], VALUE_BYTES + 2)
    );
    assert!(is_apart(&mut room(&rooms, &header(0))), "it is closed");
}

#[test]
fn a_copy_comes_to_where_the_value_is_wanted() {
    let mut copy = header(0);
    copy.piece = Piece::Copy(Holders::ALL);
    let memory = vec![0; VALUE_BYTES];
    let place = memory.as_ptr();
    let rooms = rooms(memory);
    let mut first = room(&rooms, &copy);
    assert_eq!((first.as_ptr(), is_apart(&mut first)), (place, false));
    assert!(is_apart(&mut room(&rooms, &copy)), "there is one place");
}

#[test]
fn nothing_comes_where_something_else_has_come() {
    let rooms = rooms(Vec::new());
    let mut first = room(&rooms, &header(1));
    assert!(!is_apart(&mut first) && first.fill(&[7; SHARD_BYTES]));
    let other = |change: &dyn Fn(&mut Header)| {
        let mut other = header(0);
        change(&mut other);
        other
    };
    let (two, parity) = (Scheme::new(2, 2).expect("one"), header(3).piece);
    let others = [
        ("once more", header(1)),
        ("parity", other(&|it| it.piece = parity)),
        (
            "an older version",
            other(&|it| it.version = Version::from_bits(1 << 19).unwrap()),
        ),
        (
            "a newer version",
            other(&|it| it.version = Version::from_bits(1 << 21).unwrap()),
        ),
        ("a longer value", other(&|it| it.value_bytes += 3)),
        ("a shorter value", other(&|it| it.value_bytes -= 3)),
        ("a copy", other(&|it| it.piece = Piece::Copy(Holders::ALL))),
        (
            "another scheme",
            other(&|it| {
                it.piece = Piece::Shard {
                    scheme: two,
                    shard: 0,
                }
            }),
        ),
    ];
    for (what, other) in others {
        let mut room = room(&rooms, &other);
        assert!(
            is_apart(&mut room) && room.fill(&vec![9; other.part_bytes()]),
            "{what}"
        );
    }
    assert_eq!(&first[..], [7; SHARD_BYTES]);
    assert!(
        !is_apart(&mut room(&rooms, &header(0))),
        "the others still do"
    );
}

#[test]
fn headers_that_lie_make_no_room_in_the_value() {
    let rooms = rooms(vec![0; 10]);
    let (right, bytes) = (header(0).encode(), header(0).part_bytes());
    let mut huge = header(2);
    huge.value_bytes = 1 << 30;
    let mut damaged = right;
    damaged[8] ^= 1;
    let lies = [
        (&right[..], bytes + 1),
        (&right, bytes - 1),
        (&right[..31], bytes),
        (&[], bytes),
        (&damaged, bytes),
        (&huge.encode(), bytes),
    ];
    for (front, bytes) in lies {
        assert!(
            is_apart(&mut rooms.room(front, bytes)),
            "{front:?}, {bytes} bytes"
        );
    }
    let mut witness = header(0);
    witness.piece = Piece::Witness(Holders::first(3, 5));
    assert!(
        is_apart(&mut room(&rooms, &witness)),
        "a witness has no bytes"
    );
    // They have decided nothing.
    assert!(!is_apart(&mut rooms.room(&right, bytes)));
}

#[test]
fn short_parts_are_copied_to_their_places() {
    let rooms = rooms(Vec::new());
    let mut short = header(0);
    for (part_bytes, apart) in [(PLACED_BYTES_MIN - 1, true), (PLACED_BYTES_MIN, false)] {
        short.value_bytes = 3 * part_bytes as u32;
        assert_eq!(is_apart(&mut room(&rooms, &short)), apart);
    }
}

#[test]
fn the_memory_is_not_taken_while_more_is_on_its_way_there() {
    let rooms = rooms(Vec::new());
    let (first, late) = (room(&rooms, &header(0)), room(&rooms, &header(1)));
    assert!(rooms.close(1).is_none());
    drop((first, late));
    assert!(
        is_apart(&mut room(&rooms, &header(2))),
        "closed all the same"
    );
}
