//! Questions and operations, replies and answers.

use super::*;
use farcache_redundancy::Holders;
use farcache_redundancy::plan::{Form, RequestId};
use farcache_redundancy::stored::Header;

const SERVER: ServerId = ServerId(1);

fn version(number: u64) -> Version {
    Version::from_bits(number << 20).expect("not 0")
}

fn cargo(redundancy: &str) -> (Cargo, Workshop) {
    let (redundancy, workshop) = (redundancy.parse(), Workshop::default());
    (Cargo::new(redundancy.expect("one"), &workshop), workshop)
}

fn asked(question: Question) -> plan::Request {
    plan::Request {
        id: RequestId(0),
        to: SERVER,
        epoch: 0,
        question,
    }
}

fn never() -> bool {
    false
}

/// Bytes that a read lets a server bring.
fn bytes_max(cargo: &mut Cargo, workshop: &Workshop, question: Question) -> u32 {
    match cargo.operation(workshop, b"key", question) {
        Some(Operation::GetVersioned { bytes_max, .. }) => bytes_max,
        Some(Operation::GetPart { .. }) => u32::MAX,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_copy_is_brought_and_all_shards_are() {
    let (any, this) = (Question::Read(None), Question::Read(Some(version(1))));
    let head = HEADER_BYTES as u32;
    let (mut copies, workshop) = cargo("replicate:3");
    for (question, wanted) in [(any, u32::MAX), (any, head), (this, u32::MAX), (any, head)] {
        assert_eq!(bytes_max(&mut copies, &workshop, question), wanted);
    }
    let (mut shards, workshop) = cargo("ec:3,2");
    for question in [any, any, this] {
        assert_eq!(bytes_max(&mut shards, &workshop, question), u32::MAX);
    }
}

#[test]
fn parts_are_stored_when_they_are_at_hand_and_tombstones_always() {
    let (mut cargo, workshop) = cargo("replicate:2");
    let question = Question::AcceptPromised(version(1), Part::Copy);
    assert!(cargo.operation(&workshop, b"key", question).is_none());
    let parts = Parts::new(&workshop, (Form::Copies(Holders::ALL), 2), b"value", 7, 9);
    cargo.give(Some(parts));
    let Some(Operation::Store(store)) = cargo.operation(&workshop, b"key", question) else {
        panic!("no store");
    };
    let told = (store.mode, store.flags, store.expiry_s, store.cas);
    assert_eq!(
        told,
        (
            StoreMode::IfPromised(Keeping::Nothing),
            7,
            9,
            version(1).bits()
        )
    );
    assert!(store.value.as_slice().ends_with(b"value"));
    cargo.give(None);
    let question = Question::Accept(version(2), Part::Tombstone);
    let deletion = cargo.operation(&workshop, b"key", question);
    let Some(Operation::DeleteIfNewer { is_promised, .. }) = deletion else {
        panic!("no deletion");
    };
    assert!(!is_promised);
}

#[test]
fn a_part_that_is_lent_is_sent_from_where_it_lies() {
    let (mut cargo, workshop) = cargo("replicate:2");
    let value = std::sync::Arc::new(vec![7; LONG_VALUE_BYTES]);
    let mut parts = Parts::begin(
        &workshop,
        (Form::Copies(Holders::ALL), 2),
        value.len(),
        0,
        0,
    );
    parts.lend(std::sync::Arc::clone(&value));
    cargo.give(Some(parts));
    let first = Question::Accept(version(1), Part::Copy);
    assert!(cargo.copy(first, &value), "it is long");
    for question in [first, Question::Store(version(1), Part::Copy)] {
        let Some(Operation::Store(store)) = cargo.operation(&workshop, b"key", question) else {
            panic!("no store");
        };
        let StoreMode::IfNewerBehind(Keeping::Nothing, header) = store.mode else {
            panic!("{:?}", store.mode);
        };
        assert_eq!(store.value.as_slice().as_ptr(), value.as_ptr());
        let stored = [&header[..], store.value.as_slice()].concat();
        let (header, part) = Header::split(&stored).expect("a part");
        assert_eq!((header.version, part), (version(1), &value[..]));
    }
    let question = Question::AcceptPromised(version(1), Part::Copy);
    let Some(Operation::Store(store)) = cargo.operation(&workshop, b"key", question) else {
        panic!("no store");
    };
    assert_eq!(store.mode, StoreMode::IfPromised(Keeping::Nothing));
    assert!(Header::split(store.value.as_slice()).is_ok(), "whole");
}

#[test]
fn servers_keep_what_a_write_of_shards_takes_the_place_of() {
    for (policy, kept) in [
        ("replicate:2", [Keeping::Nothing; 3]),
        (
            "ec:3,2",
            [Keeping::Older, Keeping::Older, Keeping::OlderAndThis],
        ),
    ] {
        let (mut cargo, workshop) = cargo(policy);
        let told = [
            Question::Accept(version(1), Part::Tombstone),
            Question::AcceptPromised(version(1), Part::Tombstone),
            Question::Store(version(1), Part::Tombstone),
        ]
        .map(
            |question| match cargo.operation(&workshop, b"key", question) {
                Some(Operation::DeleteIfNewer { keeping, .. }) => keeping,
                _ => panic!("no deletion"),
            },
        );
        assert_eq!(told, kept, "{policy}");
    }
}

#[test]
fn what_lies_beneath_a_version_is_asked_for_with_its_bytes() {
    let (mut cargo, workshop) = cargo("ec:3,2");
    let question = Question::Beneath(version(4));
    let Some(Operation::GetPart { terms, .. }) = cargo.operation(&workshop, b"key", question)
    else {
        panic!("no read of a part");
    };
    assert_eq!(terms, VersionTerms::Beneath(version(4).bits()));
}

#[test]
fn a_write_that_comes_too_late_does_not_go_above_what_it_meets() {
    let (mut cargo, _) = cargo("replicate:2");
    let current = version(5);
    let older = || Reply::Older {
        current: current.bits(),
    };
    let accept = asked(Question::Accept(version(1), Part::Copy));
    let in_time = cargo.take(&accept, older(), never);
    assert_eq!(in_time, Ok(plan::Reply::Refused { current }));
    let late = cargo.take(&accept, older(), || true);
    assert_eq!(late, Err(Error::Timeout));
    // What it has been promised is its own.
    let promised = asked(Question::AcceptPromised(version(1), Part::Copy));
    let late = cargo.take(&promised, older(), || true);
    assert_eq!(late, Ok(plan::Reply::Refused { current }));
}

#[test]
fn a_deletion_tells_whether_anything_was_there() {
    let (mut cargo, _) = cargo("replicate:2");
    let delete = asked(Question::Accept(version(1), Part::Tombstone));
    let absent = Reply::Absent { version: 0 };
    let was_present = false;
    let stored = cargo.take(&delete, absent, never);
    assert_eq!(stored, Ok(plan::Reply::Stored { was_present }));
    assert!(!cargo.was_present());
    let was_present = true;
    let stored = cargo.take(&delete, Reply::Done { cas: 0 }, never);
    assert_eq!(stored, Ok(plan::Reply::Stored { was_present }));
    assert!(cargo.was_present());
}

#[test]
fn the_newest_version_is_known_by_what_servers_hold() {
    let (mut cargo, _) = cargo("replicate:2");
    assert_eq!(cargo.newest(), None);
    let read = asked(Question::Read(None));
    for number in [3, 8, 5] {
        let version = version(number).bits();
        let answer = cargo.take(&read, Reply::Deleted { version }, never);
        let Ok(plan::Reply::Answer(answer)) = answer else {
            panic!("no answer");
        };
        assert_eq!(answer.held[0].part, Part::Tombstone);
    }
    assert_eq!(cargo.newest(), Some(version(8)));
    let other = cargo.take(&read, Reply::Done { cas: 1 }, never);
    assert_eq!(other, Err(OTHER_REPLY));
}

/// What a request for a part ends in when this has been stored for it.
fn bring(cargo: &mut Cargo, workshop: &Workshop, stored: &[u8]) -> Reply {
    let read = Question::Read(None);
    let Some(Operation::GetPart { into, .. }) = cargo.operation(workshop, b"key", read) else {
        panic!("no request for a part");
    };
    let (front, part) = stored.split_at(HEADER_BYTES);
    let mut value = into.room(front, part.len());
    assert!(value.fill(part));
    Reply::Part {
        front: front.iter().copied().collect(),
        value,
        flags: 7,
        cas: Header::decode(stored).expect("a part").version.bits(),
    }
}

/// What the servers of a value store of a version.
fn shards(workshop: &Workshop, value: &[u8], number: u64) -> Vec<Vec<u8>> {
    let scheme = farcache_redundancy::Scheme::new(3, 2).expect("one");
    let stored_as = (Form::Shards(scheme), scheme.shards());
    let mut parts = Parts::new(workshop, stored_as, value, 7, 0);
    parts.encode(workshop);
    let all = (0..5).map(|shard| parts.of(Part::Shard(shard), version(number)).to_vec());
    all.collect()
}

/// Takes these parts and decodes; the value, and whether it lies in the memory that was given.
fn read(value: &[u8], brought: &[(u64, u8)], is_held: bool) -> (Vec<u8>, bool) {
    let (mut cargo, workshop) = cargo("ec:3,2");
    let memory = Vec::with_capacity(value.len() + 3);
    let place = memory.as_ptr();
    cargo.receive_into(&workshop, memory);
    let (mut from, mut held) = (Vec::new(), Vec::new());
    for (at, (number, shard)) in brought.iter().enumerate() {
        let stored = &shards(&workshop, value, *number)[usize::from(*shard)];
        let reply = bring(&mut cargo, &workshop, stored);
        if is_held && at == 0 {
            held.push(reply);
            continue;
        }
        let mut asked = asked(Question::Read(None));
        asked.to = ServerId(at as u32);
        from.push(asked.to);
        let told = cargo.take(&asked, reply, never).expect("an answer");
        let plan::Reply::Answer(answer) = told else {
            panic!("{told:?}");
        };
        assert_eq!(answer.brought, Some(version(*number)), "undamaged");
    }
    let newest = cargo.newest().expect("a version");
    cargo.decode(&workshop, newest, &from);
    let (got, flags) = cargo
        .take_pieces(&workshop)
        .take_value(newest)
        .expect("a value");
    assert_eq!(flags, 7);
    let is_in_place = got.as_ptr() == place;
    (got, is_in_place)
}

#[test]
fn shards_that_are_brought_lie_in_the_memory_that_was_given() {
    // On both sides of the length from which parts come where they belong.
    for bytes in [0, 1, 2, 99, 100, 12_286, 12_287, 70_000] {
        let value: Vec<u8> = (0..bytes).map(|at| ((at * 31) >> 2) as u8).collect();
        let all_ways: [&[u8]; 6] = [
            &[0, 1, 2],
            &[2, 0, 1],
            &[0, 3, 4],
            &[4, 1, 3],
            &[3, 2, 0],
            &[0, 1, 2, 3],
        ];
        for shards in all_ways {
            let brought: Vec<_> = shards.iter().map(|shard| (1, *shard)).collect();
            let (got, is_in_place) = read(&value, &brought, false);
            assert!(got == value, "{bytes} bytes of {shards:?}");
            assert!(is_in_place, "{bytes} bytes of {shards:?}");
        }
    }
}

#[test]
fn a_newer_version_is_read_where_an_older_one_has_come_into_the_memory() {
    let value = vec![5; 100_000];
    let brought = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)];
    assert_eq!(read(&value, &brought, false).0, value);
    // The older one is in the minority, and came last.
    let brought = [(2, 4), (2, 0), (1, 1), (2, 2)];
    assert_eq!(read(&value, &brought, false).0, value);
}

#[test]
fn a_value_is_made_elsewhere_while_the_network_has_some_of_its_memory() {
    let value: Vec<u8> = (0..100_000).map(|at| at as u8).collect();
    let brought = [(1, 2), (1, 0), (1, 1), (1, 4)];
    let (got, is_in_place) = read(&value, &brought, true);
    assert!(got == value && !is_in_place);
}

#[test]
fn a_part_that_is_damaged_is_as_good_as_lost() {
    let (mut cargo, workshop) = cargo("ec:3,2");
    cargo.receive_into(&workshop, Vec::new());
    let stored = shards(&workshop, &[3; 100_000], 1);
    let mut damaged = stored[0].clone();
    damaged[HEADER_BYTES] ^= 1;
    for (stored, is_good) in [(&damaged, false), (&stored[0], true)] {
        let reply = bring(&mut cargo, &workshop, stored);
        let told = cargo.take(&asked(Question::Read(None)), reply, never);
        let Ok(plan::Reply::Answer(answer)) = told else {
            panic!("{told:?}");
        };
        assert_eq!(answer.brought.is_some(), is_good);
    }
    // What is shorter than a header is no part of any version.
    let reply = Reply::Part {
        front: [1, 2, 3].into_iter().collect(),
        value: ReceiveBytes::default(),
        flags: 0,
        cas: version(1).bits(),
    };
    let told = cargo.take(&asked(Question::Read(None)), reply, never);
    assert!(matches!(told, Ok(plan::Reply::Answer(answer)) if answer.held.is_empty()));
    assert!(cargo.has_foreign());
}

/// A reader that finishes one version, and meets a newer one while it does.
#[test]
fn what_is_finished_has_the_bytes_of_its_own_version() {
    let (mut cargo, workshop) = cargo("replicate:3");
    cargo.receive_into(&workshop, Vec::new());
    let values: [&[u8]; 2] = [b"older", b"newer"];
    for (value, number) in values.into_iter().zip(1..) {
        let form = (Form::Copies(Holders::ALL), 3);
        let mut parts = Parts::new(&workshop, form, value, 7, 0);
        let value = parts.of(Part::Copy, version(number)).to_vec().into();
        let cas = version(number).bits();
        let reply = Reply::Value {
            value,
            flags: 7,
            cas,
        };
        let mut asked = asked(Question::Read(None));
        asked.to = ServerId(number as u32);
        let answer = cargo.take(&asked, reply, never);
        assert!(matches!(answer, Ok(plan::Reply::Answer(_))));
    }
    for (value, number) in values.into_iter().zip(1..) {
        let question = Question::Store(version(number), Part::Copy);
        let stored = cargo.operation(&workshop, b"key", question);
        let Some(Operation::Store(store)) = stored else {
            panic!("nothing to store");
        };
        assert_eq!(&store.value.as_slice()[HEADER_BYTES..], value, "{number}");
    }
}
