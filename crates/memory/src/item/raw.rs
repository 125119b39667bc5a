//! Reading and writing an item at its address.

use super::fields::Fields;
use super::layout::*;
use super::stamp::Stamp;
use super::state::State;
use crate::schedule::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use farcache_base::time::{NEVER, Seconds, is_expired};
use std::marker::PhantomData;

/// An item's address.
///
/// Its accessors are safe because making one is not: whoever makes one vouches that an item lies
/// there, written before, and that its memory is not reused for `'a`. Key and value are borrowed
/// for as long and no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawItem<'a>(*const u8, PhantomData<&'a [u8]>);

impl<'a> RawItem<'a> {
    /// # Safety
    /// A whole item lies at the address, aligned to [`ITEM_ALIGNMENT`], written by
    /// [`RawItem::write_header`] and visible to this thread, and its memory will not be reused
    /// for `'a`, which the caller chooses.
    #[inline]
    pub unsafe fn at(address: *const u8) -> RawItem<'a> {
        debug_assert!((address as usize).is_multiple_of(ITEM_ALIGNMENT));
        RawItem(address, PhantomData)
    }

    /// This item for longer than its maker has promised.
    ///
    /// # Safety
    /// Its memory is not reused for `'b` either.
    #[inline]
    pub unsafe fn outliving<'b>(self) -> RawItem<'b> {
        RawItem(self.0, PhantomData)
    }

    /// Writes all of an item but its value.
    ///
    /// # Safety
    /// `layout.size()` bytes at the address belong to the caller alone; the address is aligned to
    /// [`ITEM_ALIGNMENT`]. `layout` is that of `fields` with this key. The memory is not reused for
    /// `'a`, and nobody reads the value before it has been written.
    #[inline]
    pub unsafe fn write_header(
        address: *mut u8,
        layout: Layout,
        fields: &Fields,
        key: &[u8],
        now: Seconds,
    ) -> RawItem<'a> {
        // SAFETY: every write lies below `layout.size()`, which the caller owns; the fields are
        // 4-aligned where written as u32, the token is written unaligned.
        unsafe {
            let word = |offset: usize| address.add(offset).cast::<u32>();
            let lengths = [
                key.len() as u8,
                fields.kind(layout),
                layout.value_len as u8,
                (layout.value_len >> 8) as u8,
            ];
            word(0).write(u32::from_le_bytes(lengths).to_le());
            word(4).write(State::new(now).word());
            if layout.kind & KIND_WIDE != 0 {
                word(HEADER_BYTES).write(layout.value_len as u32);
            }
            if layout.kind & KIND_EXPIRY != 0 {
                word(layout.expiry_offset()).write(fields.expiry);
            }
            if layout.kind & KIND_FLAGS != 0 {
                word(layout.flags_offset()).write(fields.flags);
            }
            if let Some(cas) = fields.token() {
                address
                    .add(layout.cas_offset())
                    .cast::<u64>()
                    .write_unaligned(cas);
            }
            address
                .add(layout.key_offset())
                .copy_from_nonoverlapping(key.as_ptr(), key.len());
        }
        RawItem(address, PhantomData)
    }

    #[inline]
    fn word(&self, offset: usize) -> u32 {
        // SAFETY: only used for fields that the kind says are there; 4-aligned, and never changed
        // after the item was written.
        unsafe { self.0.add(offset).cast::<u32>().read() }
    }

    #[inline]
    fn kind_byte(&self) -> &AtomicU8 {
        // SAFETY: byte 1 of a live item; once published it is only accessed atomically.
        unsafe { AtomicU8::from_ptr(self.0.cast_mut().add(1)) }
    }

    #[inline]
    fn state_word(&self) -> &AtomicU32 {
        // SAFETY: bytes 4 to 7 of a live item, 4-aligned; once published only accessed atomically.
        unsafe { AtomicU32::from_ptr(self.0.cast_mut().add(4).cast()) }
    }

    #[inline]
    fn expiry_word(&self, layout: Layout) -> &AtomicU32 {
        // SAFETY: called only where the kind says the field is there; as for the state word.
        unsafe { AtomicU32::from_ptr(self.0.cast_mut().add(layout.expiry_offset()).cast()) }
    }

    #[inline]
    fn kind(&self) -> u8 {
        self.kind_byte().load(Relaxed)
    }

    /// Its shape.
    #[inline]
    pub fn layout(&self) -> Layout {
        // SAFETY: bytes 0, 2 and 3 of a live item, never changed after it was written.
        let (key_len, low) = unsafe { (self.0.read(), self.0.add(2).cast::<u16>().read()) };
        let kind = self.kind();
        let value_len = if kind & KIND_WIDE == 0 {
            usize::from(u16::from_le(low))
        } else {
            self.word(HEADER_BYTES) as usize
        };
        Layout {
            key_len: usize::from(key_len),
            value_len,
            kind,
        }
    }

    /// Its key.
    #[inline]
    pub fn key(self) -> &'a [u8] {
        let layout = self.layout();
        // SAFETY: the key lies there, is not changed, and stays by the maker's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(layout.key_offset()), layout.key_len) }
    }

    /// Whether it has this key.
    #[inline]
    pub fn has_key(&self, key: &[u8]) -> bool {
        // SAFETY: byte 0 of a live item.
        let key_len = usize::from(unsafe { self.0.read() });
        key_len == key.len() && self.key() == key
    }

    /// Its value.
    #[inline]
    pub fn value(self) -> &'a [u8] {
        let layout = self.layout();
        // SAFETY: as for the key; the value was complete before the item was published.
        unsafe { std::slice::from_raw_parts(self.0.add(layout.value_offset()), layout.value_len) }
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        let layout = self.layout();
        if layout.kind & KIND_FLAGS == 0 {
            0
        } else {
            self.word(layout.flags_offset())
        }
    }

    /// When it expires; `NEVER` where it does not.
    #[inline]
    pub fn expiry(&self) -> Seconds {
        let layout = self.layout();
        if layout.kind & KIND_EXPIRY == 0 {
            return NEVER;
        }
        self.expiry_word(layout).load(Relaxed)
    }

    /// Whether its time is over.
    #[inline]
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.kind() & KIND_EXPIRY != 0 && is_expired(self.expiry(), now)
    }

    /// Whether no reader may see it: it has expired, or is a tombstone. Those have an expiry, so
    /// that items without one are not looked at further.
    #[inline]
    pub fn is_hidden(&self, now: Seconds) -> bool {
        self.kind() & KIND_EXPIRY != 0 && (is_expired(self.expiry(), now) || self.is_tombstone())
    }

    /// The version with which it was stored, if it was stored with one.
    #[inline]
    pub fn stamp(&self) -> Option<Stamp> {
        const MARKS: u8 = KIND_CAS | KIND_CAS_TOLD;
        if self.kind() & MARKS != MARKS {
            return None;
        }
        self.token_word().and_then(Stamp::of_word)
    }

    /// Whether it stands for a deletion.
    #[inline]
    pub fn is_tombstone(&self) -> bool {
        self.stamp().is_some_and(|stamp| stamp.is_tombstone)
    }

    /// The token stored with it, if it is not the derived one.
    #[inline]
    pub fn explicit_cas(&self) -> Option<u64> {
        match self.stamp() {
            Some(stamp) => Some(stamp.version.bits()),
            None => self.token_word(),
        }
    }

    #[inline]
    fn token_word(&self) -> Option<u64> {
        let layout = self.layout();
        if layout.kind & KIND_CAS == 0 {
            return None;
        }
        // SAFETY: the kind says that the token is there; it is never changed.
        Some(unsafe {
            self.0
                .add(layout.cas_offset())
                .cast::<u64>()
                .read_unaligned()
        })
    }

    /// Whether its key is returned base64-encoded.
    #[inline]
    pub fn key_is_binary(&self) -> bool {
        self.kind() & KIND_BINARY_KEY != 0
    }

    /// Whether an invalidation has marked it stale.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.kind() & KIND_STALE != 0
    }

    /// Whether a client has been told to recache it.
    #[inline]
    pub fn is_win_sent(&self) -> bool {
        self.kind() & KIND_WIN_SENT != 0
    }

    /// Whether a client may know its token, or it is written down.
    #[inline]
    pub fn is_cas_told(&self) -> bool {
        self.kind() & (KIND_CAS_TOLD | KIND_CAS) != 0
    }

    /// Marks it as handed out for recaching; only with its chain locked.
    pub fn set_win_sent(&self) {
        self.kind_byte().fetch_or(KIND_WIN_SENT, Relaxed);
    }

    /// Notes that its derived token is known outside, of an item that has no other; only with its
    /// chain locked.
    pub fn set_cas_told(&self) {
        // The mark makes a version of a token that is written down.
        debug_assert!(self.kind() & KIND_CAS == 0);
        self.kind_byte().fetch_or(KIND_CAS_TOLD, Relaxed);
    }

    /// Gives it another expiry in place, if it has room for one; only with its chain locked.
    #[inline]
    pub fn set_expiry(&self, expiry: Seconds) -> bool {
        let layout = self.layout();
        let has_field = layout.kind & KIND_EXPIRY != 0;
        if has_field {
            self.expiry_word(layout).store(expiry, Relaxed);
        }
        has_field || expiry == NEVER
    }

    /// Tells its times in another process's seconds: the expiry is given, the rest is shifted. Only
    /// before the item can be found.
    pub fn rebase(&self, expiry: Seconds, shift: i64) {
        _ = self.set_expiry(expiry);
        let state = self.state().shifted(shift);
        self.state_word().store(state.word(), Relaxed);
    }

    /// Everything in its header but the token, for a copy.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            flags: self.flags(),
            expiry: self.expiry(),
            cas: self.explicit_cas(),
            stamp: self.stamp(),
            key_is_binary: self.key_is_binary(),
            stale: self.is_stale(),
            win_sent: self.is_win_sent(),
            cas_told: false,
        }
    }

    /// Its state word as it stands.
    #[inline]
    pub fn state(&self) -> State {
        State::of_word(self.state_word().load(Relaxed))
    }

    /// Takes over another item's last use, with a frequency of its own.
    #[inline]
    pub fn inherit_state(&self, from: State, frequency: u32) {
        let state = from.inherited(frequency);
        self.state_word().store(state.word(), Relaxed);
    }

    /// Counts a use and returns the state before it. Writes only if that changes anything: once a
    /// second at most for an item in frequent use. Two uses at once may count as one.
    #[inline]
    pub fn note_use(&self, now: Seconds) -> State {
        let before = self.state();
        let after = before.used(now);
        if after != before {
            self.state_word().store(after.word(), Relaxed);
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::FREQUENCY_MAX;
    use super::*;
    use farcache_base::version::Version;

    fn written<'a>(fields: &Fields, key: &[u8], value: &[u8]) -> (Vec<u32>, RawItem<'a>) {
        let layout = fields.layout(key.len(), value.len());
        let mut memory = vec![0u32; layout.size() / 4];
        let address: *mut u8 = memory.as_mut_ptr().cast();
        // SAFETY: the vector has the room, is aligned to 4 and outlives the item.
        let item = unsafe { RawItem::write_header(address, layout, fields, key, 100) };
        // SAFETY: as above; the value's room ends with the layout.
        unsafe {
            let at = address.add(layout.value_offset());
            at.copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        (memory, item)
    }

    #[test]
    fn what_was_written_is_read() {
        let fields = Fields {
            flags: 9,
            expiry: 500,
            cas: Some(u64::MAX - 1),
            stamp: None,
            key_is_binary: true,
            stale: true,
            win_sent: false,
            cas_told: true,
        };
        let value = vec![3u8; 70_000];
        let (_memory, item) = written(&fields, b"the key", &value);
        assert!(item.has_key(b"the key") && !item.has_key(b"the kex") && !item.has_key(b"the"));
        assert_eq!(item.value(), value);
        assert_eq!((item.flags(), item.expiry()), (9, 500));
        assert_eq!(item.explicit_cas(), Some(u64::MAX - 1));
        assert!(item.key_is_binary() && item.is_stale() && item.is_cas_told());
        assert!(!item.is_win_sent());
        assert!(item.is_expired(500) && !item.is_expired(499));
    }

    #[test]
    fn a_version_is_told_apart_from_a_token() {
        let version = Version::from_bits(5 << 14 | 3).unwrap();
        let stamp = Stamp::of_value(version);
        let fields = Fields {
            stamp: Some(stamp),
            ..Fields::default()
        };
        let (memory, item) = written(&fields, b"k", b"v");
        let bytes: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // Key length 1, kind 0x88, value length 1, last use 100, then the version 0x14003, key,
        // value, padding.
        let front = [1, 0x88, 1, 0, 100, 0, 0, 0, 3, 0x40, 1, 0, 0, 0, 0, 0];
        assert_eq!(bytes[..16], front);
        assert_eq!(bytes[16..], [b'k', b'v', 0, 0]);
        assert_eq!(
            (item.stamp(), item.explicit_cas()),
            (Some(stamp), Some(version.bits()))
        );
        assert_eq!(item.fields().stamp, Some(stamp));
        assert!(!item.is_tombstone() && !item.is_hidden(u32::MAX));
        // A token that somebody has been told is no version.
        let told = Fields {
            cas: Some(version.bits()),
            cas_told: true,
            ..Fields::default()
        };
        let (_memory, item) = written(&told, b"k", b"v");
        assert_eq!(
            (item.stamp(), item.explicit_cas()),
            (None, Some(version.bits()))
        );
    }

    #[test]
    fn a_tombstone_is_hidden_before_it_expires() {
        let version = Version::from_bits(5 << 14 | 3).unwrap();
        let fields = Fields {
            stamp: Some(Stamp::of_tombstone(version)),
            expiry: 50,
            ..Fields::default()
        };
        let (_memory, item) = written(&fields, b"k", b"");
        assert!(item.is_tombstone() && item.is_hidden(49) && !item.is_expired(49));
        assert_eq!(item.explicit_cas(), Some(version.bits()));
    }

    #[test]
    fn the_header_of_a_plain_item_is_eight_bytes() {
        let (memory, item) = written(&Fields::default(), b"k", b"vw");
        let bytes: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // Key length 1, kind 0, value length 2, last use 100, then key, value, padding.
        assert_eq!(bytes, [1, 0, 2, 0, 100, 0, 0, 0, b'k', b'v', b'w', 0]);
        assert_eq!(
            (item.flags(), item.expiry(), item.explicit_cas()),
            (0, NEVER, None)
        );
    }

    #[test]
    fn uses_are_counted_up_to_the_largest_frequency() {
        let (_memory, item) = written(&Fields::default(), b"k", b"");
        assert!(!item.note_use(101).was_fetched());
        let second = item.note_use(102);
        assert_eq!(
            (
                second.was_fetched(),
                second.last_access(),
                second.frequency()
            ),
            (true, 101, 1)
        );
        (0..9).for_each(|_| _ = item.note_use(103));
        assert_eq!(item.state().frequency(), FREQUENCY_MAX);
        item.inherit_state(item.state(), 0);
        assert_eq!(
            (item.state().frequency(), item.state().last_access()),
            (0, 103)
        );
    }

    #[test]
    fn an_expiry_changes_in_place_only_where_there_is_room_for_it() {
        let (_memory, mortal) = written(
            &Fields {
                expiry: 50,
                ..Fields::default()
            },
            b"k",
            b"",
        );
        assert!(mortal.set_expiry(60));
        assert_eq!(mortal.expiry(), 60);
        assert!(mortal.set_expiry(NEVER) && !mortal.is_expired(u32::MAX));
        let (_memory, immortal) = written(&Fields::default(), b"k", b"");
        assert!(immortal.set_expiry(NEVER) && !immortal.set_expiry(60));
    }
}
