//! Replies on their way out: small ones copied together, large values left where they lie and
//! pinned.

mod changes;
#[cfg(test)]
mod tests;

pub(crate) use changes::ChangeError;

use changes::{Change, Changes};
use farcache_store::{Item, PinnedValue};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

/// Values up to this many bytes are copied into the reply; larger ones are sent from their segment.
/// Measured: copying values of 8,000 bytes instead costs a tenth of the throughput
/// (`docs/journal/2026-11-21-worker-loop.md`).
pub const COPY_BYTES_MAX: usize = 4096;

/// Values up to this many bytes are copied into a reply that travels in a message of the fabric. A
/// larger one is a message of its own, which the network takes from where the value lies. Measured:
/// copying 4 KiB costs a reply over shared memory a fifth more time
/// (`docs/journal/2026-11-22-fabric-server.md`).
pub const MESSAGE_COPY_BYTES_MAX: usize = 2 << 10;

/// Values up to this many bytes are copied into replies to a message of the fabric that asks for
/// several: they go together in large messages, which costs less than a message for each
/// (`docs/journal/2026-11-22-libmemcached.md`).
pub const BATCHED_COPY_BYTES_MAX: usize = 4 << 10;

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
    /// Bytes waiting, the values' included.
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
pub(crate) struct Mark {
    bytes: usize,
    pinned: usize,
    changes: usize,
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
    /// Which of them are to changes.
    changes: Changes,
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
            changes: Changes::default(),
        }
    }

    /// From now on replies to changes are noted, or not.
    pub fn set_notes_changes(&mut self, notes_changes: bool) {
        self.changes.set_noted(notes_changes);
    }

    /// What was appended since the mark was made is the reply to a change, which may be none. Not
    /// to be called where no reply is wanted, whatever comes.
    #[inline]
    pub(super) fn note_change(&mut self, since: Mark, error: ChangeError) {
        self.changes.note(Change {
            bytes: since.bytes..self.bytes.len(),
            pinned: since.pinned..self.pinned.len(),
            error,
        });
    }

    /// Whether changes were noted, of which something is to be said if they fail.
    pub fn has_changes(&self) -> bool {
        self.changes.len() > 0
    }

    /// The changes that were noted are durable.
    pub fn forget_changes(&mut self) {
        self.changes.truncate(0);
    }

    /// The changes that were noted will not become durable: puts errors where their replies are.
    /// Nothing may have been sent.
    pub fn fail_changes(&mut self) {
        let changes = self.changes.take();
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

    /// Appends a part of other replies with the first so many of their pinned values, which belong
    /// to it.
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

    /// Appends an item's value to the packet whose head begins at `packet` in the buffer, and which
    /// it ends: copied if small, else pinned where it lies.
    pub fn push_value_of(&mut self, packet: usize, item: &Item<'_>) {
        self.push_rest_of(packet, item, 0);
    }

    /// As [`Replies::push_value_of`], without so many bytes at the value's beginning.
    ///
    /// # Panics
    /// It has fewer.
    pub fn push_rest_of(&mut self, packet: usize, item: &Item<'_>, front_bytes: usize) {
        let value = &item.value()[front_bytes..];
        if value.len() <= self.copy_bytes_max {
            self.bytes.extend_from_slice(value);
            return;
        }
        self.pinned_bytes += value.len();
        let after = self.bytes.len();
        self.pinned.push_back(Pinned {
            place: Place { packet, after },
            value: item.pin().behind(front_bytes),
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

    /// Bytes appended since the mark was made, the values' included.
    pub(super) fn bytes_since(&self, mark: Mark) -> usize {
        let pinned = self.pinned.iter().skip(mark.pinned);
        let pinned_bytes: usize = pinned.map(|pinned| pinned.value.len()).sum();
        self.bytes.len() - mark.bytes + pinned_bytes
    }

    /// Puts `head` in the place of what was appended first after the mark.
    pub(super) fn write_at(&mut self, mark: Mark, head: &[u8]) {
        self.bytes[mark.bytes..][..head.len()].copy_from_slice(head);
    }

    /// If changes were noted since the mark was made, they are one change from now on, with this
    /// error.
    pub(super) fn join_changes(&mut self, since: Mark, error: ChangeError) {
        if self.changes.len() > since.changes {
            self.changes.truncate(since.changes);
            self.note_change(since, error);
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
        self.changes.truncate(0);
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
