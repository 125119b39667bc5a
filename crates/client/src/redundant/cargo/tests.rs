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
    assert_eq!(told, (StoreMode::IfPromised, 7, 9, version(1).bits()));
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
        let StoreMode::IfNewerBehind(header) = store.mode else {
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
    assert_eq!(store.mode, StoreMode::IfPromised);
    assert!(Header::split(store.value.as_slice()).is_ok(), "whole");
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
