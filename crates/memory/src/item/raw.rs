//! An item in its segment: what it says, and what may change of it.

use super::bytes::ItemBytes;
use super::fields::Fields;
use super::layout::*;
use super::stamp::Stamp;
use super::state::State;
use crate::schedule::atomic::Ordering::Relaxed;
use farcache_base::time::{NEVER, Seconds, is_expired};

/// An item's address.
///
/// Its accessors are safe because making one is not: whoever makes one vouches that an item lies
/// there, written before, and that its memory is not reused for `'a`. Key and value are borrowed
/// for as long and no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawItem<'a>(ItemBytes<'a>);

impl<'a> RawItem<'a> {
    /// # Safety
    /// A whole item lies at the address, aligned to [`ITEM_ALIGNMENT`], written by
    /// [`RawItem::write_header`] and visible to this thread, and its memory will not be reused
    /// for `'a`, which the caller chooses.
    #[inline]
    pub unsafe fn at(address: *const u8) -> RawItem<'a> {
        // SAFETY: the caller's promise.
        RawItem(unsafe { ItemBytes::at(address) })
    }

    /// This item for longer than its maker has promised.
    ///
    /// # Safety
    /// Its memory is not reused for `'b` either.
    #[inline]
    pub unsafe fn outliving<'b>(self) -> RawItem<'b> {
        // SAFETY: the caller's promise.
        RawItem(unsafe { self.0.outliving() })
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
        // SAFETY: the caller's promise.
        RawItem(unsafe { ItemBytes::write(address, layout, fields, key, now) })
    }

    /// Its shape.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.0.layout()
    }

    /// Its key.
    #[inline]
    pub fn key(self) -> &'a [u8] {
        self.0.key()
    }

    /// Whether it has this key.
    #[inline]
    pub fn has_key(&self, key: &[u8]) -> bool {
        self.0.key_len() == key.len() && self.key() == key
    }

    /// Its value.
    #[inline]
    pub fn value(self) -> &'a [u8] {
        self.0.value()
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.0.flags().unwrap_or(0)
    }

    /// When it expires; `NEVER` where it does not.
    #[inline]
    pub fn expiry(&self) -> Seconds {
        let word = self.0.expiry_word();
        word.map_or(NEVER, |word| word.load(Relaxed))
    }

    /// Whether its time is over.
    #[inline]
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.0.kind() & KIND_EXPIRY != 0 && is_expired(self.expiry(), now)
    }

    /// Whether no reader may see it: it has expired, or is a tombstone. Those have an expiry, so
    /// that items without one are not looked at further.
    #[inline]
    pub fn is_hidden(&self, now: Seconds) -> bool {
        self.0.kind() & KIND_EXPIRY != 0 && (is_expired(self.expiry(), now) || self.is_tombstone())
    }

    /// The version with which it was stored, if it was stored with one.
    #[inline]
    pub fn stamp(&self) -> Option<Stamp> {
        const MARKS: u8 = KIND_CAS | KIND_CAS_TOLD;
        if self.0.kind() & MARKS != MARKS {
            return None;
        }
        self.0.token().and_then(Stamp::of_word)
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
            None => self.0.token(),
        }
    }

    /// Whether its key is returned base64-encoded.
    #[inline]
    pub fn key_is_binary(&self) -> bool {
        self.0.kind() & KIND_BINARY_KEY != 0
    }

    /// Whether an invalidation has marked it stale.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.0.kind() & KIND_STALE != 0
    }

    /// Whether a client has been told to recache it.
    #[inline]
    pub fn is_win_sent(&self) -> bool {
        self.0.kind() & KIND_WIN_SENT != 0
    }

    /// Whether a client may know its token, or it is written down.
    #[inline]
    pub fn is_cas_told(&self) -> bool {
        self.0.kind() & (KIND_CAS_TOLD | KIND_CAS) != 0
    }

    /// Marks it as handed out for recaching; only with its chain locked.
    pub fn set_win_sent(&self) {
        self.0.kind_byte().fetch_or(KIND_WIN_SENT, Relaxed);
    }

    /// Notes that its derived token is known outside, of an item that has no other; only with its
    /// chain locked.
    pub fn set_cas_told(&self) {
        // The mark makes a version of a token that is written down.
        debug_assert!(self.0.kind() & KIND_CAS == 0);
        self.0.kind_byte().fetch_or(KIND_CAS_TOLD, Relaxed);
    }

    /// Gives it another expiry in place, if it has room for one; only with its chain locked.
    #[inline]
    pub fn set_expiry(&self, expiry: Seconds) -> bool {
        let word = self.0.expiry_word();
        if let Some(word) = word {
            word.store(expiry, Relaxed);
        }
        word.is_some() || expiry == NEVER
    }

    /// Tells its times in another process's seconds: the expiry is given, the rest is shifted. Only
    /// before the item can be found.
    pub fn rebase(&self, expiry: Seconds, shift: i64) {
        _ = self.set_expiry(expiry);
        let state = self.state().shifted(shift);
        self.0.state_word().store(state.word(), Relaxed);
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
        State::of_word(self.0.state_word().load(Relaxed))
    }

    /// Takes over another item's last use, with a frequency of its own.
    #[inline]
    pub fn inherit_state(&self, from: State, frequency: u32) {
        let state = from.inherited(frequency);
        self.0.state_word().store(state.word(), Relaxed);
    }

    /// Counts a use and returns the state before it. Writes only if that changes anything: once a
    /// second at most for an item in frequent use. Two uses at once may count as one.
    #[inline]
    pub fn note_use(&self, now: Seconds) -> State {
        let before = self.state();
        let after = before.used(now);
        if after != before {
            self.0.state_word().store(after.word(), Relaxed);
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
