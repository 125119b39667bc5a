//! What is appended comes out, in any steps, and errors where changes failed.

use super::changes::NOT_DURABLE;
use super::*;
use crate::Unsent;
use farcache_proto::binary::{Header, MAGIC_RESPONSE, Status};
use farcache_store::{Access, SetOptions, Store, StoreConfig, StoreHandle};
use proptest::prelude::*;

fn store_with(values: &[Vec<u8>]) -> StoreHandle {
    let handle = Store::new(StoreConfig::default())
        .expect("a small store")
        .handle();
    for (number, value) in values.iter().enumerate() {
        let key = number.to_string();
        handle
            .set(key.as_bytes(), value, &SetOptions::default())
            .expect("room");
    }
    handle
}

/// Sends `replies` in steps of at most `step` bytes and returns what was sent.
fn drain(replies: &mut Replies, step: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    while !replies.is_empty() {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = replies.gather(&mut slices);
        let gathered: Vec<u8> = slices[..count].iter().flat_map(|s| s.to_vec()).collect();
        let taken = gathered.len().min(step);
        sent.extend_from_slice(&gathered[..taken]);
        replies.advance(taken);
    }
    sent
}

#[test]
fn small_values_stay_contiguous_and_large_ones_do_not() {
    let handle = store_with(&[vec![b's'; 10], vec![b'l'; COPY_BYTES_MAX + 1]]);
    let mut replies = Replies::default();
    replies.push_value(
        &handle
            .get(b"0", Access::Peek)
            .expect("in memory")
            .expect("stored"),
    );
    assert_eq!(replies.contiguous(), Some(&b"ssssssssss"[..]));
    replies.push_value(
        &handle
            .get(b"1", Access::Peek)
            .expect("in memory")
            .expect("stored"),
    );
    assert_eq!(replies.contiguous(), None);
    assert_eq!(replies.len(), 10 + COPY_BYTES_MAX + 1);
}

#[test]
fn what_was_appended_can_be_taken_back() {
    let handle = store_with(&[vec![b'l'; COPY_BYTES_MAX + 1]]);
    let item = handle
        .get(b"0", Access::Peek)
        .expect("in memory")
        .expect("stored");
    let mut replies = Replies::default();
    replies.push_value(&item);
    replies.buffer().extend_from_slice(b"kept");
    let (mark, kept) = (replies.mark(), replies.len());
    replies.buffer().extend_from_slice(b"lost");
    replies.push_value(&item);
    replies.roll_back(mark);
    assert_eq!(replies.len(), kept);
    assert!(drain(&mut replies, usize::MAX).ends_with(b"kept"));
}

#[test]
fn errors_take_the_place_of_replies_to_changes_and_of_nothing_else() {
    let value = vec![b'l'; COPY_BYTES_MAX + 1];
    let handle = store_with(std::slice::from_ref(&value));
    let item = handle
        .get(b"0", Access::Peek)
        .expect("in memory")
        .expect("stored");
    let mut replies = Replies::default();
    replies.set_notes_changes(true);
    replies.buffer().extend_from_slice(b"before");
    replies.push_value(&item);
    let stored = replies.mark();
    replies.buffer().extend_from_slice(b"STORED");
    replies.note_change(stored, ChangeError::Line);
    let touched = replies.mark();
    replies.buffer().extend_from_slice(b"touched");
    replies.push_value(&item);
    replies.note_change(touched, ChangeError::Line);
    let request = Header {
        opcode: 0x11,
        opaque: 7,
        ..Header::default()
    };
    replies.note_change(replies.mark(), ChangeError::Packet(request));
    replies.buffer().extend_from_slice(b"after");
    replies.push_value(&item);
    assert!(replies.has_changes());
    replies.fail_changes();
    assert!(!replies.has_changes());
    let length = replies.len();
    let sent = drain(&mut replies, 1000);
    assert_eq!(sent.len(), length);
    let expected = [
        b"before",
        &value[..],
        NOT_DURABLE.as_bytes(),
        NOT_DURABLE.as_bytes(),
    ]
    .concat();
    let rest = sent.strip_prefix(&expected[..]).expect("the first errors");
    let (packet, rest) = rest.split_at(24 + Status::NotDurable.text().len());
    assert_eq!(packet[..2], [MAGIC_RESPONSE, 0x11]);
    assert_eq!(packet[12..16], [0, 0, 0, 7]);
    assert!(packet.ends_with(Status::NotDurable.text().as_bytes()));
    assert_eq!(rest, [b"after", &value[..]].concat());
}

#[test]
fn nothing_is_noted_where_changes_are_durable_at_once() {
    let mut replies = Replies::default();
    replies.buffer().extend_from_slice(b"STORED");
    replies.note_change(replies.mark(), ChangeError::Line);
    assert!(!replies.has_changes());
}

#[test]
fn what_waits_for_its_client_is_put_together_again() {
    let values = [
        vec![b'a'; COPY_BYTES_MAX + 1],
        vec![b'b'; COPY_BYTES_MAX + 2],
    ];
    let handle = store_with(&values);
    let mut replies = Replies::default();
    let mut expected = Vec::new();
    for (number, value) in values.iter().enumerate() {
        replies.buffer().extend_from_slice(b"VALUE ");
        let item = handle.get(number.to_string().as_bytes(), Access::Peek);
        let item = item.expect("in memory").expect("stored");
        replies.push_value(&item);
        expected.extend([b"VALUE ", &value[..]].concat());
    }
    // A part of the first value has been taken.
    replies.advance(100);
    let unsent = Unsent::new(replies, &handle);
    assert_eq!(unsent.bytes(), expected.len() - 100);
    assert!(!unsent.is_given_up() && !unsent.holds_read_memory());
    let mut replies = unsent.resume().expect("nobody needed the memory");
    assert_eq!(drain(&mut replies, 3000), expected[100..]);
}

#[test]
fn more_values_than_slices_are_all_sent() {
    let value = vec![b'x'; COPY_BYTES_MAX + 1];
    let handle = store_with(std::slice::from_ref(&value));
    let mut replies = Replies::default();
    for _ in 0..2 * SLICES_MAX {
        replies.push_value(
            &handle
                .get(b"0", Access::Peek)
                .expect("in memory")
                .expect("stored"),
        );
    }
    assert_eq!(
        drain(&mut replies, usize::MAX).len(),
        2 * SLICES_MAX * value.len()
    );
}

#[test]
fn large_values_are_taken_out_with_their_heads() {
    let value = vec![b'l'; 100];
    let handle = store_with(std::slice::from_ref(&value));
    let item = handle
        .get(b"0", Access::Peek)
        .expect("in memory")
        .expect("stored");
    let mut replies = Replies::copying(99);
    replies.buffer().extend_from_slice(b"first");
    for head in [b"head", b"HEAD"] {
        let packet = replies.buffer().len();
        replies.buffer().extend_from_slice(head);
        replies.push_value_of(packet, &item);
    }
    replies.buffer().extend_from_slice(b"last");
    assert_eq!(replies.large_count(), 2);
    let mut heads = Vec::new();
    replies.take_large(|head, body| {
        assert_eq!(&body[..], value);
        heads.push(head.to_vec());
    });
    assert_eq!(heads, [b"head", b"HEAD"]);
    assert_eq!(replies.contiguous(), Some(&b"firstlast"[..]));
    assert_eq!(replies.len(), 9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_steps_send_the_same_bytes(
        parts in prop::collection::vec((any::<bool>(), 0..3000_usize), 0..12),
        step in 1..9000_usize,
    ) {
        let values: Vec<Vec<u8>> = (0..parts.len())
            .map(|n| vec![n as u8; parts[n].1 + if parts[n].0 { COPY_BYTES_MAX } else { 0 }])
            .collect();
        let handle = store_with(&values);
        let (mut replies, mut expected) = (Replies::default(), Vec::new());
        for (number, value) in values.iter().enumerate() {
            replies.buffer().extend_from_slice(b"VALUE ");
            let item = handle.get(number.to_string().as_bytes(), Access::Peek);
            replies.push_value(&item.expect("in memory").expect("stored"));
            expected.extend_from_slice(b"VALUE ");
            expected.extend_from_slice(value);
        }
        prop_assert_eq!(drain(&mut replies, step), expected);
    }
}
