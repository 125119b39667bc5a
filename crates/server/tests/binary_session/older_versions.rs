//! What a server keeps of a key besides its newest version, for those who ask for it.

use crate::client::{Response, packet};
use crate::versions::World;
use farcache_proto::binary::{
    ABOUT_OLDER, Header, INCOMPLETE, IS_ACCEPTED, MAGIC_REQUEST, Opcode, Status, Told,
    VersionedGetExtras, encode_head_telling, encode_u32,
};

const OK: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
const DELETED: u16 = Status::Deleted as u16;

/// Some version; it and those above it are newer than nothing.
const VERSION: u64 = 0x2_8000_0003;

impl World {
    fn ask_named(&mut self, opcode: Opcode, extras: &[u8], value: &[u8], named: Named) -> Response {
        let mut request = packet(opcode, extras, b"k", value, named.version);
        request[5] = named.data_type;
        let mut responses = self.client.send(&mut self.server, &request);
        assert_eq!(responses.len(), 1);
        responses.remove(0)
    }

    fn store_named(&mut self, value: &[u8], named: Named) {
        let answer = self.ask_named(Opcode::SetVersioned, &[0; 8], value, named);
        assert_eq!((answer.status(), answer.header.cas), (OK, named.version));
    }

    /// What there is beneath a version: its status, how far above the first version it is, and its
    /// value.
    fn beneath(&mut self, version: u64) -> (u16, u64, Vec<u8>) {
        let get = keeping(version);
        let answer = self.ask_named(Opcode::GetVersioned, &encode_u32(u32::MAX), &[], get);
        let above = (answer.header.cas & !INCOMPLETE).saturating_sub(VERSION);
        match answer.status() {
            OK => (OK, above, answer.value),
            status => (status, above, Vec::new()),
        }
    }

    fn tell_complete(&mut self, version: u64) {
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: Opcode::TellComplete as u8,
            ..Header::default()
        };
        let mut packet = Vec::new();
        encode_head_telling(header, (&[], Told::complete(version)), &[], 0, &mut packet);
        assert!(self.client.send(&mut self.server, &packet).is_empty());
    }
}

/// What a request says of its version.
#[derive(Clone, Copy)]
struct Named {
    version: u64,
    data_type: u8,
}

fn keeping(version: u64) -> Named {
    Named {
        version,
        data_type: ABOUT_OLDER,
    }
}

fn none() -> (u16, u64, Vec<u8>) {
    (NOT_FOUND, 0, Vec::new())
}

#[test]
fn what_a_version_takes_the_place_of_is_told_until_that_is_complete() {
    let mut world = World::new();
    world.store_named(b"one", keeping(VERSION));
    assert_eq!(world.beneath(VERSION), none());
    world.store_named(b"two", keeping(VERSION + 1));
    assert_eq!(world.beneath(VERSION + 1), (OK, 0, b"one".to_vec()));
    let delete = keeping(VERSION + 2);
    let deleted = world.ask_named(Opcode::DeleteVersioned, &[0; 4], &[], delete);
    assert_eq!(deleted.status(), OK);
    assert_eq!(world.beneath(VERSION + 2), (OK, 1, b"two".to_vec()));
    world.store_named(b"three", keeping(VERSION + 5));
    assert_eq!(world.beneath(VERSION + 5), (DELETED, 2, vec![]));
    world.tell_complete(VERSION + 5);
    for version in [VERSION + 1, VERSION + 2, VERSION + 5] {
        assert_eq!(world.beneath(version), none());
    }
    let unkept = Named {
        version: VERSION + 6,
        data_type: 0,
    };
    world.store_named(b"four", unkept);
    assert_eq!(world.beneath(VERSION + 6), none());
}

#[test]
fn what_others_have_accepted_is_kept_beneath_something_newer() {
    let mut world = World::new();
    world.store_named(b"one", keeping(VERSION));
    world.store_named(b"nine", keeping(VERSION + 8));
    let refused = world.ask_named(Opcode::SetVersioned, &[0; 8], b"five", keeping(VERSION + 4));
    assert_eq!(
        refused.status(),
        Status::Exists as u16,
        "nobody has accepted it"
    );
    let accepted = Named {
        data_type: ABOUT_OLDER | IS_ACCEPTED,
        ..keeping(VERSION + 4)
    };
    world.store_named(b"five", accepted);
    assert_eq!(world.beneath(VERSION + 8), (OK, 4, b"five".to_vec()));
    assert_eq!(world.beneath(VERSION + 4), (OK, 0, b"one".to_vec()));
}

#[test]
fn the_beginning_of_an_older_value_comes_alone_and_apart() {
    let mut world = World::new();
    world.store_named(b"header and rest", keeping(VERSION));
    world.store_named(b"newer", keeping(VERSION + 1));
    let extras = VersionedGetExtras {
        bytes_max: 10,
        front_bytes: 6,
    };
    let get = keeping(VERSION + 1);
    let answer = world.ask_named(Opcode::GetVersioned, &extras.encode(), &[], get);
    assert_eq!(answer.header.cas, INCOMPLETE | VERSION);
    let parts = (&answer.extras[4..], &answer.value[..]);
    assert_eq!(parts, (&b"header"[..], &b" and"[..]));
}

#[test]
fn a_request_for_what_is_beneath_names_a_version() {
    let mut world = World::new();
    let answer = world.ask_named(Opcode::GetVersioned, &[0; 4], &[], keeping(0));
    assert_eq!(answer.status(), Status::InvalidArguments as u16);
    assert!(!world.client.is_open);
}
