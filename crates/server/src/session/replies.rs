//! Replies on their way out: small ones copied together, large values left where they lie and pinned.

use farcache_proto::binary::{Header, MAGIC_RESPONSE, Status, encode_head};
use farcache_store::{Item, PinnedValue};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

/// Values up to this many bytes are copied into the reply; larger ones are sent from their segment.
/// Measured: copying values of 8,000 bytes instead costs a tenth of the throughput
/// (`docs/journal/2026-11-21-worker-loop.md`).
pub const COPY_BYTES_MAX: usize = 4096;

/// The same for replies that travel in messages of the fabric. A larger value is a message of its
/// own, which the network takes from where the value lies. Measured: copying 4 KiB costs a reply over
/// shared memory a fifth more time (`docs/journal/2026-11-22-fabric-server.md`).
pub const MESSAGE_COPY_BYTES_MAX: usize = 2 << 10;

/// The same for replies to messages that ask for several values: they go together in large messages, which costs less than a
/// message of its own for each (`docs/journal/2026-11-22-libmemcached.md`).
pub const COMPANY_COPY_BYTES_MAX: usize = 4 << 10;

/// Bytes of replies after which a session yields. A client that does not read holds about as much
/// memory, and any number of clients may do that.
pub const HIGH_WATER_BYTES: usize = 256 << 10;

/// Most slices that one [`Replies::gather`] fills.
pub const SLICES_MAX: usize = 64;

/// Capacity that an emptied buffer keeps for the next replies, in bytes.
const KEPT_CAPACITY_BYTES: usize = 2 * HIGH_WATER_BYTES;

/// A pinned value and where it stands among the copied bytes.
struct Pinned {
    place: Place,
    value: PinnedValue,
}

/// Where a pinned value stands among the copied bytes.
#[derive(Clone, Copy)]
struct Place {
    /// The packet that it belongs to begins at this position.
    packet: usize,
    /// Copied bytes up to this position come before it.
    after: usize,
}

/// Replies without their pinned values, which are elsewhere.
pub(super) struct Hollow {
    replies: Replies,
    places: Vec<Place>,
}

impl Hollow {
    /// Bytes waiting, those of the values among them.
    pub fn len(&self) -> usize {
        self.replies.len()
    }

    /// The replies, with these values.
    ///
    /// # Panics
    /// With more or fewer values than were taken out.
    pub fn fill(mut self, values: Vec<PinnedValue>) -> Replies {
        assert_eq!(self.places.len(), values.len());
        let places = self.places.into_iter().zip(values);
        let pinned = places.map(|(place, value)| Pinned { place, value });
        self.replies.pinned.extend(pinned);
        self.replies
    }
}

/// A place between replies.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    bytes: usize,
    pinned: usize,
    changes: usize,
}

/// The reply to a change, which may be empty.
struct Change {
    bytes: Range<usize>,
    pinned: Range<usize>,
    /// What takes its place if the change does not become durable.
    error: ChangeError,
}

/// What a client is told of a change that does not become durable.
#[derive(Clone, Copy)]
pub(super) enum ChangeError {
    /// A line.
    Line,
    /// A response to the request with this header.
    Packet(Header),
}

/// The line that says that a change will not become durable.
const NOT_DURABLE: &str = "SERVER_ERROR not durable: no SSD is in service\r\n";

impl ChangeError {
    fn write(self, buffer: &mut Vec<u8>) {
        match self {
            ChangeError::Line => buffer.extend_from_slice(NOT_DURABLE.as_bytes()),
            ChangeError::Packet(request) => {
                let header = Header {
                    magic: MAGIC_RESPONSE,
                    opcode: request.opcode,
                    opaque: request.opaque,
                    status: Status::NotDurable as u16,
                    ..Header::default()
                };
                let text = Status::NotDurable.text().as_bytes();
                encode_head(header, &[], &[], text.len(), buffer);
                buffer.extend_from_slice(text);
            }
        }
    }
}

/// Replies not yet sent, in order.
pub struct Replies {
    /// Values up to so many bytes are copied.
    copy_bytes_max: usize,
    bytes: Vec<u8>,
    pinned: VecDeque<Pinned>,
    /// Bytes of `bytes` already sent.
    bytes_sent: usize,
    /// Bytes of the first pinned value already sent.
    value_sent: usize,
    /// Bytes of the pinned values, less what has been sent.
    pinned_bytes: usize,
    /// Whether replies to changes are noted, because they may have to be replaced.
    notes_changes: bool,
    /// Those that were noted, in order.
    changes: Vec<Change>,
}

impl Default for Replies {
    fn default() -> Self {
        Replies::copying(COPY_BYTES_MAX)
    }
}

impl Replies {
    /// No replies; values of up to so many bytes will be copied.
    pub fn copying(copy_bytes_max: usize) -> Self {
        Replies {
            copy_bytes_max,
            bytes: Vec::new(),
            pinned: VecDeque::new(),
            bytes_sent: 0,
            value_sent: 0,
            pinned_bytes: 0,
            notes_changes: false,
            changes: Vec::new(),
        }
    }

    /// From now on replies to changes are noted, or not.
    pub fn set_notes_changes(&mut self, notes_changes: bool) {
        self.notes_changes = notes_changes;
    }

    /// What was appended since the mark was made is the reply to a change, which may be none. Not to be called where no reply is
    /// wanted, whatever comes.
    #[inline]
    pub(super) fn note_change(&mut self, since: Mark, error: ChangeError) {
        if self.notes_changes {
            self.changes.push(Change {
                bytes: since.bytes..self.bytes.len(),
                pinned: since.pinned..self.pinned.len(),
                error,
            });
        }
    }

    /// Whether changes were noted, of which something is to be said if they fail.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The changes that were noted are durable.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// The changes that were noted will not become durable: puts errors where their replies are. Nothing may have been sent.
    pub fn fail_changes(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        let mut before = std::mem::replace(self, Replies::copying(self.copy_bytes_max));
        let (mut bytes, mut pinned) = (0, 0);
        for change in changes {
            self.take_over(
                &mut before,
                bytes..change.bytes.start,
                change.pinned.start - pinned,
            );
            before.pinned.drain(..change.pinned.len());
            change.error.write(&mut self.bytes);
            (bytes, pinned) = (change.bytes.end, change.pinned.end);
        }
        let (bytes_end, rest) = (before.bytes.len(), before.pinned.len());
        self.take_over(&mut before, bytes..bytes_end, rest);
    }

    /// Appends a part of other replies with the first so many of their pinned values, which belong to it.
    fn take_over(&mut self, from: &mut Replies, bytes: Range<usize>, pinned: usize) {
        let (to, start) = (self.bytes.len(), bytes.start);
        self.bytes.extend_from_slice(&from.bytes[bytes]);
        for Pinned { place, value } in from.pinned.drain(..pinned) {
            self.pinned_bytes += value.len();
            let place = Place {
                packet: place.packet - start + to,
                after: place.after - start + to,
            };
            self.pinned.push_back(Pinned { place, value });
        }
    }

    /// From now on values of up to so many bytes are copied.
    pub fn copy_up_to(&mut self, bytes: usize) {
        self.copy_bytes_max = bytes;
    }

    /// The buffer to which small replies are appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends an item's value: copied if small, else pinned where it lies.
    pub fn push_value(&mut self, item: &Item<'_>) {
        self.push_value_of(self.bytes.len(), item);
    }

    /// The same for the value that ends the packet whose head begins at `packet` in the buffer.
    pub fn push_value_of(&mut self, packet: usize, item: &Item<'_>) {
        let value = item.value();
        if value.len() <= self.copy_bytes_max {
            self.bytes.extend_from_slice(value);
            return;
        }
        self.pinned_bytes += value.len();
        let after = self.bytes.len();
        self.pinned.push_back(Pinned {
            place: Place { packet, after },
            value: item.pin(),
        });
    }

    /// The end of the replies so far.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            pinned: self.pinned.len(),
            changes: self.changes.len(),
        }
    }

    /// Takes back what was appended since the mark was made; nothing may have been sent since.
    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.changes.truncate(mark.changes);
        for pinned in self.pinned.drain(mark.pinned..) {
            self.pinned_bytes -= pinned.value.value().len();
        }
    }

    /// Bytes waiting.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.bytes_sent + self.pinned_bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes waiting, where no pinned value is among them.
    pub fn contiguous(&self) -> Option<&[u8]> {
        self.pinned
            .is_empty()
            .then(|| &self.bytes[self.bytes_sent..])
    }

    /// Fills `slices` with the bytes to send next; returns how many were filled.
    pub fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let mut gathered = Gathered { slices, count: 0 };
        let mut position = self.bytes_sent;
        let mut value_sent = self.value_sent;
        for pinned in &self.pinned {
            gathered.push(&self.bytes[position..pinned.place.after]);
            gathered.push(&pinned.value.value()[value_sent..]);
            (position, value_sent) = (pinned.place.after, 0);
            if gathered.count == SLICES_MAX {
                return SLICES_MAX;
            }
        }
        gathered.push(&self.bytes[position..]);
        gathered.count
    }

    /// The first `count` waiting bytes have been sent.
    pub fn advance(&mut self, mut count: usize) {
        while let Some(pinned) = self.pinned.front() {
            let copied = count.min(pinned.place.after - self.bytes_sent);
            self.bytes_sent += copied;
            count -= copied;
            if self.bytes_sent < pinned.place.after {
                return;
            }
            let rest = pinned.value.value().len() - self.value_sent;
            let sent = count.min(rest);
            self.pinned_bytes -= sent;
            self.value_sent += sent;
            count -= sent;
            if sent < rest {
                return;
            }
            self.pinned.pop_front();
            self.value_sent = 0;
        }
        self.bytes_sent += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Large values that wait.
    pub fn large_count(&self) -> usize {
        self.pinned.len()
    }

    /// Whether nothing waits but large values with their heads.
    pub fn is_all_large(&self) -> bool {
        let heads = self
            .pinned
            .iter()
            .map(|pinned| pinned.place.after - pinned.place.packet);
        heads.sum::<usize>() == self.bytes.len()
    }

    /// Takes the large values out, each with the head of its packet. What stays is whole packets.
    pub fn take_large(&mut self, mut take: impl FnMut(&[u8], PinnedValue)) {
        let (mut kept, mut position) = (0, 0);
        for Pinned { place, value } in self.pinned.drain(..) {
            take(&self.bytes[place.packet..place.after], value);
            self.bytes.copy_within(position..place.packet, kept);
            kept += place.packet - position;
            position = place.after;
        }
        self.bytes.copy_within(position.., kept);
        self.bytes.truncate(kept + self.bytes.len() - position);
        self.pinned_bytes = 0;
    }

    /// Takes the pinned values out, and gives back memory beyond what waits, before a long wait.
    pub(super) fn hollow_out(mut self) -> (Hollow, Vec<PinnedValue>) {
        self.bytes.shrink_to_fit();
        let pinned = std::mem::take(&mut self.pinned).into_iter();
        let (places, values) = pinned.map(|one| (one.place, one.value)).unzip();
        let replies = self;
        (Hollow { replies, places }, values)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_CAPACITY_BYTES {
            self.bytes.shrink_to(KEPT_CAPACITY_BYTES);
        }
        if !self.pinned.is_empty() {
            self.pinned.clear();
        }
        self.changes.clear();
        (self.bytes_sent, self.value_sent, self.pinned_bytes) = (0, 0, 0);
    }
}

/// Slices being filled.
struct Gathered<'s, 'a> {
    slices: &'s mut [IoSlice<'a>; SLICES_MAX],
    count: usize,
}

impl<'a> Gathered<'_, 'a> {
    fn push(&mut self, bytes: &'a [u8]) {
        if !bytes.is_empty() && self.count < SLICES_MAX {
            self.slices[self.count] = IoSlice::new(bytes);
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Unsent;
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
        replies.push_value(&handle.get(b"0", Access::Peek).expect("stored"));
        assert_eq!(replies.contiguous(), Some(&b"ssssssssss"[..]));
        replies.push_value(&handle.get(b"1", Access::Peek).expect("stored"));
        assert_eq!(replies.contiguous(), None);
        assert_eq!(replies.len(), 10 + COPY_BYTES_MAX + 1);
    }

    #[test]
    fn what_was_appended_can_be_taken_back() {
        let handle = store_with(&[vec![b'l'; COPY_BYTES_MAX + 1]]);
        let item = handle.get(b"0", Access::Peek).expect("stored");
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
        let item = handle.get(b"0", Access::Peek).expect("stored");
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
            replies.push_value(&item.expect("stored"));
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
            replies.push_value(&handle.get(b"0", Access::Peek).expect("stored"));
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
        let item = handle.get(b"0", Access::Peek).expect("stored");
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
                replies.push_value(&handle.get(number.to_string().as_bytes(), Access::Peek).expect("stored"));
                expected.extend_from_slice(b"VALUE ");
                expected.extend_from_slice(value);
            }
            prop_assert_eq!(drain(&mut replies, step), expected);
        }
    }
}
