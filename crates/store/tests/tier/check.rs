//! What the checker says of devices: nothing of those that are in order, and of each kind of damage
//! that it is there.

use crate::common::*;
use farcache_store::*;
use std::sync::Arc;

const KEYS: u32 = 300;
const BYTES: usize = 2000;
const DEVICE_BYTES: u64 = 2 << 20;

fn check(contents: &[Vec<u8>]) -> std::io::Result<CheckReport> {
    let devices = contents.iter().map(|bytes| {
        let device = FaultyDevice::with_contents(bytes.clone());
        Arc::new(device) as Arc<dyn Device>
    });
    check_devices(&devices.collect::<Vec<_>>(), 0)
}

fn kinds(report: &CheckReport) -> Vec<CheckKind> {
    let mut kinds: Vec<CheckKind> = report.findings.iter().map(|one| one.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What is on a device after items have been stored, some of them overwritten and some deleted, and
/// an orderly stop.
fn stopped() -> Vec<u8> {
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    let mut handle = store.handle();
    (0..KEYS).for_each(|number| set(&mut handle, number, 0, BYTES));
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let store = open(&device);
    let mut handle = store.handle();
    (0..KEYS / 3).for_each(|number| set(&mut handle, number, 1, BYTES));
    for number in KEYS / 3..KEYS / 2 {
        handle
            .delete(&key(number), &DeleteOptions::default())
            .unwrap();
        handle.quiescent();
    }
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    device.contents()
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let number = &bytes[at..at + width];
    number
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | usize::from(byte))
}

/// Where the segments begin.
fn segments(bytes: &[u8]) -> Vec<usize> {
    let starts =
        (1..bytes.len() / SEGMENT_BYTES as usize).map(|slot| slot * SEGMENT_BYTES as usize);
    starts
        .filter(|&start| bytes[start..].starts_with(b"FARCSEG"))
        .collect()
}

/// Where the item table of a segment is, how many items it has, and how many tombstones it tells
/// of.
fn tail(bytes: &[u8], start: usize) -> (usize, usize, usize) {
    let header = &bytes[start..];
    let table = start + number(header, 80, 8);
    (table, number(header, 72, 4), number(header, 76, 4))
}

#[test]
fn after_an_orderly_stop_nothing_is_found() {
    let report = check(&[stopped()]).unwrap();
    assert!(
        !report.is_damaged() && report.findings.is_empty(),
        "{report}"
    );
    assert!(report.was_stopped && report.segments > 5, "{report}");
    let items = u64::from(KEYS - KEYS / 6);
    assert_eq!(report.items, items, "{report}");
}

#[test]
fn what_a_kill_leaves_is_not_damaged() {
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    let mut handle = store.handle();
    (0..2 * KEYS).for_each(|number| set(&mut handle, number % KEYS, number, BYTES));
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    (0..KEYS).for_each(|number| set(&mut handle, number, 0, BYTES));
    let contents = device.contents();
    let report = check(std::slice::from_ref(&contents)).unwrap();
    assert!(!report.is_damaged(), "{report}");
    drop(handle);
    drop(store);
    let store = open(&Arc::new(FaultyDevice::with_contents(contents)));
    assert_eq!(stats(&store).items_recovered, report.items);
}

#[test]
fn a_torn_end_of_the_log_is_told_and_is_no_damage() {
    let device = device(DEVICE_BYTES);
    let tier = TierConfig {
        durability: Durability::Sync,
        ..tier(&device)
    };
    let store = Store::open(config(1 << 20), tier).unwrap();
    let mut handle = store.handle();
    for number in 0..5 {
        set(&mut handle, number, 0, BYTES);
        let mark = handle.durable_mark();
        handle.park();
        eventually("it becomes durable", || handle.is_durable(mark));
    }
    let mut contents = device.contents();
    let number_of = |start: &usize| number(&contents[*start..], 32, 8);
    // Nobody vouches for the newest segment yet.
    let newest = segments(&contents)
        .into_iter()
        .max_by_key(number_of)
        .unwrap();
    contents[newest + 1000] ^= 1;
    let report = check(&[contents]).unwrap();
    assert_eq!(kinds(&report), [CheckKind::Torn], "{report}");
    assert!(
        !report.is_damaged() && report.segments_torn == 1 && report.items == 4,
        "{report}"
    );
}

#[test]
fn each_kind_of_damage_is_found() {
    let whole = stopped();
    let damage = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        check(&[bytes]).unwrap()
    };
    let starts = segments(&whole);
    let with_items = |start: &&usize| tail(&whole, **start).1 > 0;
    let with_tombstones = |start: &&usize| tail(&whole, **start).2 > 0;
    // The last ones have not died.
    let &full = starts.iter().rfind(with_items).unwrap();
    let &telling = starts.iter().rfind(with_tombstones).unwrap();
    let (table, _, _) = tail(&whole, full);
    let (tombstones, items, _) = tail(&whole, telling);
    let tombstones = tombstones + items * 24;
    for (at, kind) in [
        (40, CheckKind::Superblock),
        (4096 + 40, CheckKind::Superblock),
        (full + 40, CheckKind::Header),
        (full + 512 + 40, CheckKind::Header),
        (full + 700, CheckKind::Record),
        (table + 3, CheckKind::Table),
        (tombstones + 3, CheckKind::Tombstones),
    ] {
        let report = damage(at);
        assert_eq!(kinds(&report), [kind], "byte {at}: {report}");
        assert!(report.is_damaged() && report.to_string().contains("damaged"));
    }
}

#[test]
fn tombstones_of_a_lost_segment_are_missed() {
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    let mut handle = store.handle();
    (0..40).for_each(|number| set(&mut handle, number, 0, BYTES));
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let before = segments(&device.contents());
    let store = open(&device);
    let mut handle = store.handle();
    (0..20).for_each(|number| set(&mut handle, number, 1, BYTES));
    // The tombstones go first, and what took the place of the dead goes later.
    handle.park();
    assert!(store.sync_tier(PATIENCE));
    drop(handle);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let mut contents = device.contents();
    let report = check(std::slice::from_ref(&contents)).unwrap();
    assert!(report.was_stopped && !report.is_damaged(), "{report}");
    let telling = segments(&contents).into_iter();
    let telling = telling.filter(|start| !before.contains(start) && tail(&contents, *start).2 > 0);
    for start in telling.collect::<Vec<_>>() {
        contents[start..start + 4096].fill(0);
    }
    let report = check(&[contents]).unwrap();
    assert!(kinds(&report).contains(&CheckKind::Echoed), "{report}");
}

#[test]
fn a_record_larger_than_a_segment_is_looked_at_whole() {
    let device = device(DEVICE_BYTES);
    let store = open(&device);
    set(&mut store.handle(), 1, 0, 3 * SEGMENT_BYTES as usize);
    assert!(store.shutdown(PATIENCE));
    drop(store);
    let whole = device.contents();
    let report = check(std::slice::from_ref(&whole)).unwrap();
    assert!(!report.is_damaged() && report.items == 1, "{report}");
    let is_run = |start: &usize| number(&whole[*start..], 12, 4) > 1;
    let start = segments(&whole).into_iter().find(is_run).unwrap();
    let table = number(&whole[start..], 80, 8);
    for at in [640, 644, 650, 100_000, table - 8] {
        let mut bytes = whole.clone();
        bytes[start + at] ^= 1;
        let report = check(&[bytes]).unwrap();
        assert_eq!(kinds(&report), [CheckKind::Record], "byte {at}: {report}");
    }
}

#[test]
fn what_holds_no_store_or_different_ones_cannot_be_checked() {
    let kind = |contents: &[Vec<u8>]| check(contents).map_err(|error| error.kind());
    let refused = Err(std::io::ErrorKind::InvalidInput);
    assert_eq!(kind(&[]), refused);
    assert_eq!(kind(&[vec![0; 1 << 20]]), refused);
    assert_eq!(kind(&[vec![0xa5; 1 << 20]]), refused);
    assert_eq!(kind(&[stopped(), stopped()]), refused);
    let unreadable = FaultyDevice::with_contents(stopped());
    unreadable.fail_reads(true);
    assert!(check_devices(&[Arc::new(unreadable)], 0).is_err());
}

#[test]
fn a_part_that_cannot_be_read_is_told() {
    let device = FaultyDevice::with_contents(stopped());
    // A copy of the superblock.
    device.fail_next_reads(1);
    let report = check_devices(&[Arc::new(device)], 0).unwrap();
    assert_eq!(kinds(&report), [CheckKind::Unreadable], "{report}");
}

/// Makes the checksum at the end of a block of 128 bytes right, so that what it guards is reached.
fn seal(block: &mut [u8]) {
    let checksum = crc32c::crc32c(&block[..124]);
    block[124..128].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn whatever_stands_there_something_is_said() {
    let whole = stopped();
    let starts = segments(&whole);
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random(6) {
            let start = match random(4) {
                0 => random(2) * 4096,
                1 => starts[random(starts.len())] + 512,
                _ => starts[random(starts.len())],
            };
            let field = start + 8 + random(116);
            let width = (1 + random(8)).min(start + 124 - field);
            let filler = [0, 0xff, random(256) as u8][random(3)];
            bytes[field..field + width].fill(filler);
            seal(&mut bytes[start..start + 128]);
        }
        if let Ok(report) = check(&[bytes]) {
            assert!(!report.to_string().is_empty());
        }
    }
}
