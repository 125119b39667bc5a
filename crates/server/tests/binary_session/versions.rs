//! Requests that carry versions.

use crate::client::{Client, Response, Server, bare, keyed, packet, set};
use farcache_proto::binary::{
    FRONT_BYTES_MAX, HEADER_BYTES, Header, INCOMPLETE, MAGIC_REQUEST, ONLY_PROMISED, Opcode,
    Status, Told, VersionedGetExtras, encode_head_telling, encode_u32,
};
use farcache_server::settings::Settings;

const OK: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
const EXISTS: u16 = Status::Exists as u16;
const DELETED: u16 = Status::Deleted as u16;
const PROMISED: u16 = Status::Promised as u16;
const INVALID: u16 = Status::InvalidArguments as u16;

/// Some version; it and those above it are newer than nothing.
pub const VERSION: u64 = 0x2_8000_0003;
const ALL: u32 = u32::MAX;

pub struct World {
    pub server: Server,
    pub client: Client,
}

impl World {
    pub fn new() -> World {
        World {
            server: Server::new(Settings::default()),
            client: Client::new(),
        }
    }

    pub fn ask(&mut self, request: &[u8]) -> Response {
        let mut responses = self.client.send(&mut self.server, request);
        assert_eq!(responses.len(), 1);
        responses.remove(0)
    }

    /// Status and CAS token of the answer.
    pub fn told(&mut self, request: &[u8]) -> (u16, u64) {
        let response = self.ask(request);
        (response.status(), response.header.cas)
    }

    pub fn store(&mut self, value: &[u8], version: u64) -> (u16, u64) {
        self.told(&set(Opcode::SetVersioned, b"k", value, version))
    }

    fn delete(&mut self, version: u64) -> (u16, u64) {
        self.told(&delete(version))
    }

    /// Whether the answer says that nothing but a promise is in the way.
    fn is_only_promised(&mut self, request: &[u8]) -> bool {
        let response = self.ask(request);
        assert_eq!(response.status(), PROMISED);
        response.header.data_type == ONLY_PROMISED
    }

    /// What the server has, without the mark of what is not known to be complete.
    fn get(&mut self, bytes_max: u32) -> Response {
        let mut response = self.ask(&get(bytes_max));
        response.header.cas &= !INCOMPLETE;
        response
    }

    /// Whether the server says of what it has that it was not told to be complete.
    fn is_incomplete(&mut self) -> bool {
        self.ask(&get(ALL)).header.cas & INCOMPLETE != 0
    }
}

fn delete(version: u64) -> Vec<u8> {
    packet(Opcode::DeleteVersioned, &encode_u32(0), b"k", b"", version)
}

pub fn get(bytes_max: u32) -> Vec<u8> {
    packet(Opcode::GetVersioned, &encode_u32(bytes_max), b"k", b"", 0)
}

#[test]
fn a_newer_version_is_stored_and_an_older_one_is_told_the_current() {
    let mut world = World::new();
    assert_eq!(world.store(b"second", VERSION + 1), (OK, VERSION + 1));
    assert_eq!(world.store(b"first", VERSION), (EXISTS, VERSION + 1));
    // A write that is repeated is no other write; another value of its version is.
    assert_eq!(world.store(b"second", VERSION + 1), (OK, VERSION + 1));
    assert_eq!(world.store(b"other", VERSION + 1), (EXISTS, VERSION + 1));
    let found = world.get(ALL);
    assert_eq!((found.status(), found.header.cas), (OK, VERSION + 1));
    assert_eq!(
        (&found.extras[..], &found.value[..]),
        (&[0, 0, 0, 7][..], &b"second"[..])
    );
    // For an ordinary get the version is the CAS token.
    let plain = world.ask(&keyed(Opcode::Get, b"k"));
    assert_eq!(
        (&plain.value[..], plain.header.cas),
        (&b"second"[..], VERSION + 1)
    );
}

#[test]
fn a_deletion_stays_and_tells_its_version() {
    let mut world = World::new();
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    assert_eq!(world.delete(VERSION - 1), (EXISTS, VERSION));
    assert_eq!(world.delete(VERSION + 1), (OK, VERSION + 1));
    assert_eq!(world.store(b"late", VERSION), (EXISTS, VERSION + 1));
    // What was here before the deletion may arrive once more.
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    let gone = world.get(ALL);
    assert_eq!((gone.status(), gone.header.cas), (DELETED, VERSION + 1));
    assert_eq!(gone.text(), "Deleted");
    assert_eq!(world.told(&keyed(Opcode::Get, b"k")).0, NOT_FOUND);
    // There is nothing to delete, but its version counts.
    assert_eq!(world.delete(VERSION + 2), (NOT_FOUND, VERSION + 2));
    assert_eq!(world.store(b"late", VERSION + 1), (EXISTS, VERSION + 2));
    assert_eq!(world.store(b"new", VERSION + 3), (OK, VERSION + 3));
}

#[test]
fn what_is_absent_tells_what_the_server_has_forgotten() {
    let mut world = World::new();
    let absent = world.get(ALL);
    assert_eq!((absent.status(), absent.header.cas), (NOT_FOUND, 0));
    world.store(b"value", VERSION);
    // An ordinary deletion leaves no tombstone: the horizon speaks for it.
    assert_eq!(world.told(&keyed(Opcode::Delete, b"k")).0, OK);
    let forgotten = world.get(ALL);
    assert_eq!(
        (forgotten.status(), forgotten.header.cas),
        (NOT_FOUND, VERSION)
    );
    // What was stored without a version has no part in this.
    world.ask(&set(Opcode::Set, b"k", b"plain", 0));
    let plain = world.get(ALL);
    assert_eq!((plain.status(), plain.header.cas), (NOT_FOUND, VERSION));
}

/// The bit of a token by which a write stands on a promise.
const ON_PROMISE: u64 = 1 << 63;

fn promise(version: u64) -> Vec<u8> {
    let extras = encode_u32(ALL);
    packet(Opcode::GetVersioned, &extras, b"k", b"", version)
}

#[test]
fn a_promise_keeps_what_is_older_away_until_it_is_fulfilled() {
    let mut world = World::new();
    assert_eq!(world.store(b"first", VERSION), (OK, VERSION));
    // It tells what is there, and stands.
    let found = world.ask(&promise(VERSION + 5));
    assert_eq!((found.status(), &found.value[..]), (OK, &b"first"[..]));
    assert_eq!(world.store(b"older", VERSION + 4), (PROMISED, VERSION + 5));
    assert_eq!(world.delete(VERSION + 4), (PROMISED, VERSION + 5));
    assert_eq!(world.get(ALL).header.cas, VERSION);
    assert_eq!(world.told(&promise(VERSION + 3)), (PROMISED, VERSION + 5));
    // The request for the promise is repeated, as if its answer had been lost.
    assert_eq!(
        world.told(&promise(VERSION + 5)),
        (OK, VERSION | INCOMPLETE)
    );
    let stored = world.store(b"changed", ON_PROMISE | (VERSION + 5));
    assert_eq!(stored, (OK, VERSION + 5));
    assert_eq!(world.store(b"changed", ON_PROMISE | (VERSION + 5)), stored);
    // Who was told of the promise, and comes too late, is not told that it was never needed.
    assert_eq!(world.store(b"older", VERSION + 4), (PROMISED, VERSION + 5));
    assert_eq!(world.store(b"newer", VERSION + 6), (OK, VERSION + 6));
    assert_eq!(
        world.store(b"old", ON_PROMISE | (VERSION + 5)),
        (EXISTS, VERSION + 6)
    );
}

#[test]
fn a_promise_says_whether_something_newer_is_there_too() {
    let mut world = World::new();
    assert_eq!(world.store(b"first", VERSION), (OK, VERSION));
    assert_eq!(world.told(&promise(VERSION + 5)).0, OK);
    let late = set(Opcode::SetVersioned, b"k", b"late", VERSION + 4);
    assert!(world.is_only_promised(&late) && world.is_only_promised(&delete(VERSION + 4)));
    let older = set(Opcode::SetVersioned, b"k", b"older", VERSION - 1);
    assert!(!world.is_only_promised(&older) && !world.is_only_promised(&delete(VERSION - 1)));
    let fulfilled = world.store(b"changed", ON_PROMISE | (VERSION + 5));
    assert_eq!(fulfilled.0, OK);
    assert!(!world.is_only_promised(&late) && !world.is_only_promised(&delete(VERSION + 4)));
}

#[test]
fn a_write_on_a_promise_needs_just_that_one() {
    let mut world = World::new();
    assert_eq!(world.told(&promise(VERSION + 5)).0, NOT_FOUND);
    let other = world.store(b"none", ON_PROMISE | (VERSION + 6));
    assert_eq!(other, (PROMISED, VERSION + 5));
    assert_eq!(world.told(&promise(VERSION + 6)).0, NOT_FOUND);
    let outdated = world.store(b"older", ON_PROMISE | (VERSION + 5));
    assert_eq!(outdated, (PROMISED, VERSION + 6));
    assert_eq!(world.told(&delete(ON_PROMISE | (VERSION + 6))).0, NOT_FOUND);
    assert_eq!(world.get(ALL).header.cas, VERSION + 6);
    // A process that began anew has promised nothing.
    let mut other = World::new();
    let lost = other.store(b"lost", ON_PROMISE | (VERSION + 6));
    assert_eq!(lost, (PROMISED, VERSION + 6));
}

#[test]
fn what_has_expired_is_absent_up_to_its_version() {
    let mut world = World::new();
    let extras = [encode_u32(7), encode_u32(10)].concat();
    let request = packet(Opcode::SetVersioned, &extras, b"k", b"value", VERSION);
    assert_eq!(world.told(&request), (OK, VERSION));
    world.server.sleep(11);
    let expired = world.get(ALL);
    assert_eq!((expired.status(), expired.header.cas), (NOT_FOUND, VERSION));
}

#[test]
fn of_a_value_as_much_comes_as_was_asked_for() {
    let mut world = World::new();
    let value: Vec<u8> = (0..100_000_u32).map(|byte| byte as u8).collect();
    assert_eq!(world.store(&value, VERSION), (OK, VERSION));
    for bytes in [0, 1, 32, 99_999, 100_000, 100_001] {
        let found = world.get(bytes);
        let expected = value.len().min(bytes as usize);
        assert_eq!((found.status(), found.header.cas), (OK, VERSION));
        assert!(found.value == value[..expected], "{bytes}");
    }
}

/// A read of which so many bytes come behind the flags.
fn get_with_front(bytes_max: u32, front_bytes: u8) -> Vec<u8> {
    let extras = VersionedGetExtras {
        bytes_max,
        front_bytes,
    };
    packet(Opcode::GetVersioned, &extras.encode(), b"k", b"", 0)
}

#[test]
fn as_much_of_a_value_comes_with_its_head_as_was_asked_for() {
    for value_bytes in [0, 1, 40, 3_000, 100_000] {
        let mut world = World::new();
        let value: Vec<u8> = (0..value_bytes).map(|at| (at * 7) as u8).collect();
        assert_eq!(world.store(&value, VERSION), (OK, VERSION));
        for (bytes_max, front) in [(ALL, 0), (ALL, 32), (ALL, 64), (20, 32), (2_000, 32)] {
            let found = world.ask(&get_with_front(bytes_max, front));
            let (flags, told_front) = found.extras.split_at(4);
            let wanted = &value[..value.len().min(bytes_max as usize)];
            let parts = wanted.split_at(wanted.len().min(front.into()));
            assert_eq!((found.status(), flags), (OK, &encode_u32(7)[..]));
            assert_eq!(told_front, parts.0, "{bytes_max} and {front}");
            assert!(found.value == parts.1, "{bytes_max} and {front}");
        }
    }
}

/// A store of a value whose beginning goes with the head.
fn behind(front: &[u8], rest: &[u8]) -> Vec<u8> {
    let extras = [&encode_u32(7)[..], &encode_u32(0), front].concat();
    packet(Opcode::SetVersioned, &extras, b"k", rest, VERSION)
}

#[test]
fn a_value_may_begin_in_the_head_of_its_packet() {
    let front: Vec<u8> = (0..FRONT_BYTES_MAX as u8).map(|byte| 200 - byte).collect();
    for front in [&front[..1], &front[..32], &front] {
        for rest in [&b""[..], b"rest", &[0x5a; 40_000]] {
            let request = behind(front, rest);
            for piece_bytes in [request.len(), 1_000, 24 + 8 + front.len() + 1] {
                let mut world = World::new();
                let pieces = request.chunks(piece_bytes);
                let told = pieces.flat_map(|piece| world.client.send(&mut world.server, piece));
                let told: Vec<_> = told.map(|one| (one.status(), one.header.cas)).collect();
                assert_eq!(told, [(OK, VERSION)]);
                let found = world.get(ALL);
                assert_eq!(found.extras, encode_u32(7));
                let whole = [front, rest].concat();
                let (front, rest) = (front.len(), rest.len());
                assert!(found.value == whole, "{front} and {rest}, by {piece_bytes}");
            }
        }
    }
    let mut world = World::new();
    let too_large = behind(&front, &vec![0; (1 << 20) - FRONT_BYTES_MAX]);
    assert_eq!(world.told(&too_large).0, Status::TooLarge as u16);
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION), "and goes on");
}

#[test]
fn versions_are_told_where_cas_is_off() {
    let mut world = World::new();
    world.server = Server::new(Settings {
        cas: false,
        ..Settings::default()
    });
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    assert_eq!(world.store(b"older", VERSION - 1), (EXISTS, VERSION));
    assert_eq!(world.get(ALL).header.cas, VERSION);
}

/// A read that claims to tell of a version, and has no room for one.
fn short_of_what_it_tells() -> Vec<u8> {
    let mut request = telling(Opcode::GetVersioned, &[], b"k", (0, VERSION));
    let extras_end = HEADER_BYTES + 8;
    request.drain(extras_end - 4..extras_end);
    (request[4], request[11]) = (4, 5);
    request
}

/// A request that tells of a version that it is complete.
fn telling(opcode: Opcode, extras: &[u8], key: &[u8], (version, complete): (u64, u64)) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        cas: version,
        ..Header::default()
    };
    let mut packet = Vec::new();
    encode_head_telling(
        header,
        (extras, Told::complete(complete)),
        key,
        0,
        &mut packet,
    );
    packet
}

#[test]
fn a_version_is_incomplete_until_any_request_about_versions_tells() {
    let other = VERSION + 8;
    for (opcode, extras, version) in [
        (Opcode::SetVersioned, &[0; 8][..], other),
        (Opcode::SetVersioned, &[[0; 8], [7; 8]].concat(), other),
        (Opcode::DeleteVersioned, &[0; 4], other),
        (Opcode::GetVersioned, &[0; 4], 0),
        (Opcode::GetVersioned, &[0, 0, 0, 9, 4], 0),
    ] {
        let mut world = World::new();
        assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
        assert!(world.is_incomplete());
        world.ask(&telling(opcode, extras, b"other", (version, VERSION + 1)));
        assert!(world.is_incomplete(), "another version");
        world.ask(&telling(opcode, extras, b"other", (version, VERSION)));
        assert!(!world.is_incomplete(), "{opcode:?} {extras:?}");
        assert_eq!(world.get(ALL).value, b"value");
        assert_eq!(world.store(b"value", VERSION), (OK, VERSION), "once more");
        assert!(!world.is_incomplete());
    }
}

#[test]
fn a_version_is_told_without_a_question() {
    let mut world = World::new();
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    let told = telling(Opcode::TellComplete, &[], b"", (0, VERSION));
    assert!(world.client.send(&mut world.server, &told).is_empty());
    assert!(world.client.is_open && !world.is_incomplete());
}

#[test]
fn a_use_is_told_without_a_question() {
    let mut world = World::new();
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    for key in [b"k", b"other"] as [&[u8]; 2] {
        let used = telling(Opcode::TellUsed, &[], key, (0, 0));
        assert!(world.client.send(&mut world.server, &used).is_empty());
    }
    assert!(world.client.is_open);
    assert_eq!(world.get(ALL).value, b"value");
}

#[test]
fn whoever_tells_in_the_question_is_told_so_in_the_answer() {
    let mut world = World::new();
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    assert_eq!(world.delete(VERSION + 1), (OK, VERSION + 1));
    assert!(world.is_incomplete(), "a tombstone");
    let told = (0, VERSION + 1);
    let asked = telling(Opcode::GetVersioned, &encode_u32(ALL), b"k", told);
    assert_eq!(world.told(&asked), (DELETED, VERSION + 1));
}

#[test]
fn a_value_that_comes_in_pieces_tells_too() {
    let mut world = World::new();
    assert_eq!(world.store(b"value", VERSION), (OK, VERSION));
    let mut head = Vec::new();
    let (opcode, value) = (Opcode::SetVersioned as u8, vec![7; 100_000]);
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode,
        cas: VERSION + 1,
        ..Header::default()
    };
    encode_head_telling(
        header,
        (&[0; 8], Told::complete(VERSION)),
        b"big",
        value.len(),
        &mut head,
    );
    assert_eq!(world.told(&[head, value].concat()), (OK, VERSION + 1));
    assert!(!world.is_incomplete());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let store =
        |extras: &[u8], key: &[u8], cas| packet(Opcode::SetVersioned, extras, key, b"value", cas);
    let of = |opcode, extras: &[u8], value: &[u8], cas| packet(opcode, extras, b"k", value, cas);
    let wrong = [
        store(&[0; 8], b"k", 0),
        // A time of 0, and the sign bit.
        store(&[0; 8], b"k", 3),
        store(&[0; 8], b"k", 1 << 63 | 3),
        store(&[0; 4], b"k", VERSION),
        store(&[0; 9 + FRONT_BYTES_MAX], b"k", VERSION),
        store(&[0; 8], b"", VERSION),
        of(Opcode::DeleteVersioned, &[0; 4], b"", 0),
        of(Opcode::DeleteVersioned, &[], b"", VERSION),
        of(Opcode::DeleteVersioned, &[0; 4], b"value", VERSION),
        of(Opcode::GetVersioned, &[], b"", 0),
        of(Opcode::GetVersioned, &[0; 4], b"value", 0),
        of(Opcode::GetVersioned, &[0, 0, 0, 0, 65], b"", 0),
        of(Opcode::GetVersioned, &[0; 6], b"", 0),
        of(Opcode::GetVersioned, &[0; 4], b"", 3),
        of(Opcode::GetVersioned, &[0; 4], b"", ON_PROMISE | VERSION),
        // What is told is no version, or takes the place of what the command needs.
        telling(Opcode::GetVersioned, &[0; 4], b"k", (0, 3)),
        telling(Opcode::GetVersioned, &[0; 3], b"k", (0, VERSION)),
        telling(Opcode::SetVersioned, &[0; 4], b"k", (VERSION, VERSION)),
        telling(Opcode::DeleteVersioned, &[0; 5], b"k", (VERSION, VERSION)),
        short_of_what_it_tells(),
        telling(Opcode::TellComplete, &[], b"k", (0, VERSION)),
        telling(Opcode::TellComplete, &[0; 4], b"", (0, VERSION)),
        telling(Opcode::TellComplete, &[], b"", (0, 0)),
        telling(Opcode::TellUsed, &[], b"", (0, 0)),
        telling(Opcode::TellUsed, &[0; 4], b"k", (0, 0)),
        of(Opcode::TellUsed, &[], b"value", 0),
    ];
    for request in wrong {
        let mut world = World::new();
        let requests = [request.clone(), bare(Opcode::Noop)].concat();
        let responses = world.client.send(&mut world.server, &requests);
        let statuses: Vec<_> = responses.iter().map(Response::status).collect();
        assert_eq!(
            (statuses, world.client.is_open),
            (vec![INVALID], false),
            "{request:?}"
        );
    }
}
