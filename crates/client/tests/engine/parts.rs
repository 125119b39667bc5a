//! Parts of a value that lies on several servers: received where they belong, whatever servers say.

use crate::world::{Door, World};
use farcache_client::engine::Ticket;
use farcache_client::{Delivery, Error, Operation, PartRooms, Reply, VersionTerms};
use farcache_proto::binary::{Header, MAGIC_RESPONSE, Opcode, Status, encode_head};
use farcache_redundancy::stored::{self, HEADER_BYTES, Piece};
use farcache_redundancy::{Scheme, Version};
use std::sync::Arc;
use std::time::Duration;

const VALUE_BYTES: usize = 30_000;
const PART_BYTES: usize = VALUE_BYTES / 3;

/// Requests for parts of one value, and where that lies.
struct Reading {
    world: World,
    tickets: Vec<Ticket>,
    place: usize,
}

impl Reading {
    fn begin(count: usize) -> Reading {
        let mut world = World::new(&[Door::Fabric], |_| {});
        world.servers[0].is_mute = true;
        let memory = vec![0; VALUE_BYTES];
        let place = memory.as_ptr().addr();
        let redundancy = "ec:3,2".parse().expect("one");
        let rooms = PartRooms::new(redundancy, &Arc::default(), memory);
        let mut get = |_| {
            let (key, into) = (b"key", rooms.clone());
            world.submit(Operation::GetPart {
                key,
                terms: VersionTerms::Newest,
                into,
            })
        };
        let tickets = (0..count).map(&mut get).collect();
        world.run();
        Reading {
            world,
            tickets,
            place,
        }
    }

    fn end(mut self) {
        self.world.lose(0);
        self.world.run();
        let engine = &self.world.engine;
        assert_eq!((engine.in_use(), engine.outstanding()), (0, 0));
    }
}

/// The header of a data shard of this number.
fn front(shard: u8) -> [u8; HEADER_BYTES] {
    let scheme = Scheme::new(3, 2).expect("one");
    stored::Header {
        piece: Piece::Shard { scheme, shard },
        owners: 0,
        value_bytes: VALUE_BYTES as u32,
        expiry_unix: 0,
        version: Version::from_bits(1 << 20).expect("not 0"),
        checksum: stored::checksum(&[shard; PART_BYTES]),
    }
    .encode()
}

/// The head of the answer to the request of this number.
fn head(number: usize, front: &[u8], part_bytes: usize) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_RESPONSE,
        opcode: Opcode::GetVersioned as u8,
        opaque: number as u32,
        status: Status::Success as u16,
        cas: 1 << 20,
        ..Header::default()
    };
    let mut head = Vec::new();
    let extras = [&[0, 0, 0, 7], front].concat();
    encode_head(header, &extras, &[], part_bytes, &mut head);
    head
}

#[test]
fn each_shard_is_received_where_it_lies_in_the_value() {
    let mut reading = Reading::begin(3);
    let Reading {
        world,
        tickets,
        place,
    } = &mut reading;
    for (number, shard) in [(0, 2), (1, 0), (2, 1)] {
        let (head, part) = (head(number, &front(shard), PART_BYTES), [shard; PART_BYTES]);
        match number {
            // In one message with its value, as shorter ones come.
            1 => world.deliver_apart(0, &head, &part),
            _ => world.offer(0, &head, part.to_vec()),
        }
    }
    world.run();
    for (ticket, shard) in tickets.iter().zip([2_u8, 0, 1]) {
        let outcome = world.outcome(*ticket).expect("it has ended");
        let Ok(Reply::Part {
            front: told,
            value,
            flags,
            cas,
        }) = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!((flags, cas, &told[..]), (7, 1 << 20, &front(shard)[..]));
        assert_eq!(
            value.as_ptr().addr(),
            *place + usize::from(shard) * PART_BYTES
        );
        assert_eq!(&value[..], [shard; PART_BYTES]);
    }
    reading.end();
}

#[test]
fn a_shard_that_comes_twice_does_not_overwrite_the_first() {
    let mut reading = Reading::begin(2);
    let world = &mut reading.world;
    world.offer(0, &head(0, &front(0), PART_BYTES), vec![0; PART_BYTES]);
    world.run();
    world.offer(0, &head(1, &front(0), PART_BYTES), vec![9; PART_BYTES]);
    world.run();
    for (ticket, bytes, is_in_place) in [(0, 0, true), (1, 9, false)] {
        let Some(Ok(Reply::Part { mut value, .. })) = world.outcome(reading.tickets[ticket]) else {
            panic!("no part");
        };
        assert_eq!(&value[..], [bytes; PART_BYTES]);
        assert_eq!(value.owned().is_none(), is_in_place);
    }
    reading.end();
}

#[test]
fn a_front_of_another_length_ends_the_session() {
    let long = [&front(0)[..], &[1]].concat();
    for (front, bytes) in [
        (&front(0)[..31], PART_BYTES),
        (&[], PART_BYTES),
        (&long, PART_BYTES),
        (&long, 0),
    ] {
        for is_offered in [true, false] {
            let mut reading = Reading::begin(1);
            let (world, head) = (&mut reading.world, head(0, front, bytes));
            match is_offered {
                true => world.offer(0, &head, vec![0; bytes]),
                false => world.deliver_apart(0, &head, &vec![0; bytes]),
            }
            let error = world.error(reading.tickets[0]);
            assert!(
                matches!(error, Error::Protocol(_)),
                "{}: {error}",
                front.len()
            );
            reading.end();
        }
    }
}

#[test]
fn a_value_that_is_shorter_than_a_header_comes_as_it_is() {
    let mut reading = Reading::begin(1);
    reading.world.deliver_apart(0, &head(0, b"short", 0), &[]);
    let Some(Ok(Reply::Part { front, value, .. })) = reading.world.outcome(reading.tickets[0])
    else {
        panic!("no part");
    };
    assert_eq!((&front[..], value.len()), (&b"short"[..], 0));
    reading.end();
}

#[test]
fn what_is_given_up_gets_no_place() {
    let mut reading = Reading::begin(2);
    let world = &mut reading.world;
    world.engine.abandon(reading.tickets[0]);
    world.offer(0, &head(0, &front(0), PART_BYTES), vec![9; PART_BYTES]);
    world.offer(0, &head(1, &front(0), PART_BYTES), vec![1; PART_BYTES]);
    world.run();
    let Some(Ok(Reply::Part { value, .. })) = world.outcome(reading.tickets[1]) else {
        panic!("no part");
    };
    assert_eq!(
        (value.as_ptr().addr(), &value[..]),
        (reading.place, &[1; PART_BYTES][..])
    );
    reading.end();
}

/// Whoever has waited long enough has taken the end of the operation, and the memory with it.
#[test]
fn a_part_that_comes_after_the_time_is_up_disturbs_nothing() {
    for is_offered in [true, false] {
        let mut world = World::new(&[Door::Fabric], |_| {});
        world.servers[0].is_mute = true;
        let redundancy = "ec:3,2".parse().expect("one");
        let into = PartRooms::new(redundancy, &Arc::default(), vec![0; VALUE_BYTES]);
        let (key, terms) = (b"key", VersionTerms::Newest);
        let operation = Operation::GetPart { key, terms, into };
        let delivery = Delivery {
            timeout: Some(Duration::from_millis(10)),
            ..Delivery::default()
        };
        let hasty = world.engine.submit(operation, delivery, world.now_us);
        let patient = world.get(b"other");
        world.run();
        world.wait_ms(10);
        assert_eq!(world.error(hasty), Error::Timeout);
        let head = head(0, &front(0), PART_BYTES);
        match is_offered {
            true => world.offer(0, &head, vec![0; PART_BYTES]),
            false => world.deliver_apart(0, &head, &[0; PART_BYTES]),
        }
        world.run();
        assert!(world.closed.is_empty() && world.outcome(patient).is_none());
    }
}
