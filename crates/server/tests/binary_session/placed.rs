//! Requests that tell by which owners their client has placed the key.

use crate::owner::{OWNERS, Owner};
use crate::versions::{VERSION, World, get};
use farcache_proto::binary::{
    Header, MAGIC_REQUEST, Opcode, Placed, Status, Told, encode_head_telling, encode_u32,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const OK: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
const OTHER_OWNERS: u16 = Status::OtherOwners as u16;

/// A server, and the sum of the owners to which its map gives every key.
fn world() -> (World, Arc<AtomicU32>) {
    let (mut world, owner) = (World::new(), Owner::default());
    let owners_sum = Arc::clone(&owner.owners_sum);
    world.server.owners = Some(Box::new(owner));
    (world, owners_sum)
}

/// A request about a version of the key `k`, placed by the owners of this sum.
fn placed(opcode: Opcode, (extras, cas): (&[u8], u64), value: &[u8], sum: u32) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        cas,
        ..Header::default()
    };
    let told = Told {
        complete: 0,
        placed: Some(Placed {
            edition: 1,
            owners: OWNERS,
            sum,
        }),
    };
    let mut packet = Vec::new();
    encode_head_telling(header, (extras, told), b"k", value.len(), &mut packet);
    packet.extend_from_slice(value);
    packet
}

fn store(value: &[u8], sum: u32) -> Vec<u8> {
    placed(Opcode::SetVersioned, (&[0; 8], VERSION), value, sum)
}

#[test]
fn what_is_placed_by_other_owners_is_refused_and_does_nothing() {
    let (mut world, _) = world();
    let any = encode_u32(u32::MAX);
    let promise = placed(Opcode::GetVersioned, (&any, VERSION + 9), b"", 1);
    let delete = placed(Opcode::DeleteVersioned, (&encode_u32(0), VERSION), b"", 1);
    for request in [&store(b"value", 1), &promise, &delete] {
        let refused = world.ask(request);
        assert_eq!(refused.status(), OTHER_OWNERS);
        assert_eq!(refused.text(), Status::OtherOwners.text());
    }
    assert_eq!(world.told(&get(u32::MAX)), (NOT_FOUND, 0));
    // No promise is in the way, and no tombstone.
    assert_eq!(world.told(&store(b"value", 0)), (OK, VERSION));
    let read = placed(Opcode::GetVersioned, (&any, 0), b"", 0);
    assert_eq!(world.ask(&read).value, b"value");
    // Who does not tell is not refused.
    assert_eq!(world.ask(&get(u32::MAX)).value, b"value");
}

#[test]
fn a_long_value_that_is_refused_is_passed_over() {
    let (mut world, _) = world();
    let long = vec![7; 100_000];
    let requests = [store(&long, 1), store(b"value", 0)].concat();
    let mut responses = Vec::new();
    for piece in requests.chunks(30_000) {
        responses.extend(world.client.send(&mut world.server, piece));
    }
    let statuses: Vec<u16> = responses.iter().map(|it| it.status()).collect();
    assert_eq!(statuses, [OTHER_OWNERS, OK]);
    assert_eq!(world.ask(&get(u32::MAX)).value, b"value");
}

#[test]
fn a_value_whose_key_moves_while_it_arrives_is_not_stored() {
    let (mut world, owners_sum) = world();
    let request = store(&vec![7; 100_000], 0);
    let (first, rest) = request.split_at(50_000);
    assert!(world.client.send(&mut world.server, first).is_empty());
    owners_sum.store(1, Relaxed);
    assert_eq!(world.ask(rest).status(), OTHER_OWNERS);
    assert_eq!(world.told(&get(u32::MAX)), (NOT_FOUND, 0));
}
