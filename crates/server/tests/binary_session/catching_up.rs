//! What clients are shown of versions by a server that catches up.

use crate::client::keyed;
use crate::owner::Owner;
use crate::versions::{VERSION, World, get};
use farcache_proto::binary::{INCOMPLETE, Opcode, Status};

const OK: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;

/// A server that catches up, and has forgotten everything up to [`VERSION`] before.
fn catching_up(all_along: bool, has_item: bool) -> World {
    let mut world = World::new();
    assert_eq!(world.store(b"forgotten", VERSION), (OK, VERSION));
    world.server.shared.store.flush();
    if has_item {
        assert_eq!(world.store(b"value", VERSION + 1), (OK, VERSION + 1));
    }
    world.server.owners = Some(Box::new(Owner {
        all_along,
        ..Owner::default()
    }));
    world.server.shared.store.begin_catching_up();
    world
}

#[test]
fn clients_are_shown_what_the_server_had_as_an_owner_and_nothing_else() {
    let mut world = catching_up(true, true);
    let (status, version) = world.told(&get(u32::MAX));
    assert_eq!((status, version & !INCOMPLETE), (OK, VERSION + 1));
    let mut world = catching_up(false, true);
    assert_eq!(world.told(&get(u32::MAX)), (NOT_FOUND, 0));
    // By an ordinary get, which is no part of that, it is.
    assert_eq!(world.ask(&keyed(Opcode::Get, b"k")).value, b"value");
    world.server.shared.store.end_catching_up();
    assert_eq!(world.told(&get(u32::MAX)).0, OK);
}

#[test]
fn what_was_forgotten_is_told_of_keys_that_the_server_owned_all_along() {
    let mut world = catching_up(true, false);
    assert_eq!(world.told(&get(u32::MAX)), (NOT_FOUND, VERSION));
    let mut world = catching_up(false, false);
    assert_eq!(world.told(&get(u32::MAX)), (NOT_FOUND, 0));
}
