//! Where the parts of an item lie.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 1 | length of the key |
//! | 1 | 1 | kind: which fields follow, and marks that change under the chain's lock |
//! | 2 | 2 | low 16 bits of the value's length, little-endian |
//! | 4 | 4 | state: last use and frequency of use |
//! | 8 | 0 or 4 | value's length in 32 bits, if 64 KiB or more |
//! | | 0 or 4 | expiry, if it has one |
//! | | 0 or 4 | client flags, if not 0 |
//! | | 0 or 8 | CAS token, if not the one derived from the place; a version, of an item stored with one |
//! | | 1 to 250 | key |
//! | | any | value |
//! | | 0 to 3 | padding to a multiple of 4 |

use farcache_base::time::{NEVER, Seconds};

/// Items begin at multiples of this, in bytes.
pub const ITEM_ALIGNMENT: usize = 4;

pub(super) const HEADER_BYTES: usize = 8;
pub(super) const KIND_WIDE: u8 = 1 << 0;
pub(super) const KIND_EXPIRY: u8 = 1 << 1;
pub(super) const KIND_FLAGS: u8 = 1 << 2;
pub(super) const KIND_CAS: u8 = 1 << 3;
/// The key is returned base64-encoded.
pub(super) const KIND_BINARY_KEY: u8 = 1 << 4;
/// Marked stale by an invalidation.
pub(super) const KIND_STALE: u8 = 1 << 5;
/// Some client has been told to recache it.
pub(super) const KIND_WIN_SENT: u8 = 1 << 6;
/// Some client has been told the derived CAS token, so a move must preserve it. Together with
/// [`KIND_CAS`]: the token is a version, and bit 63 of its field marks a tombstone.
pub(super) const KIND_CAS_TOLD: u8 = 1 << 7;

/// Shape of an item: everything that decides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Length of the key, in bytes.
    pub key_len: usize,
    /// Length of the value, in bytes.
    pub value_len: usize,
    /// Which fields the item has, and its marks.
    pub kind: u8,
}

impl Layout {
    /// Shape of an item with these fields.
    #[inline]
    pub fn new(
        key_len: usize,
        value_len: usize,
        expiry: Seconds,
        flags: u32,
        explicit_cas: bool,
    ) -> Layout {
        let mut kind = 0;
        let mut mark = |bit, wanted| kind |= if wanted { bit } else { 0 };
        mark(KIND_WIDE, value_len > usize::from(u16::MAX));
        mark(KIND_EXPIRY, expiry != NEVER);
        mark(KIND_FLAGS, flags != 0);
        mark(KIND_CAS, explicit_cas);
        Layout {
            key_len,
            value_len,
            kind,
        }
    }

    /// Shape of the item that these bytes are, from its first to its last; none if they cannot be
    /// one.
    pub fn of_bytes(bytes: &[u8]) -> Option<Layout> {
        Layout::of_front(bytes, bytes.len())
    }

    /// Shape of an item of so many bytes that begins with these; none if they cannot.
    #[inline]
    pub fn of_front(bytes: &[u8], item_bytes: usize) -> Option<Layout> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let kind = header[1];
        let value_len = match rest.first_chunk::<4>() {
            Some(wide) if kind & KIND_WIDE != 0 => u32::from_le_bytes(*wide) as usize,
            _ => usize::from(u16::from_le_bytes([header[2], header[3]])),
        };
        let layout = Layout {
            key_len: usize::from(header[0]),
            value_len,
            kind,
        };
        (layout.key_len > 0 && layout.size() == item_bytes).then_some(layout)
    }

    #[inline]
    fn has(&self, bit: u8) -> bool {
        self.kind & bit != 0
    }

    /// Where the expiry lies, if it has one.
    #[inline]
    pub fn expiry_offset(&self) -> usize {
        HEADER_BYTES + 4 * usize::from(self.has(KIND_WIDE))
    }

    /// Where the client flags lie, if it has any.
    #[inline]
    pub fn flags_offset(&self) -> usize {
        self.expiry_offset() + 4 * usize::from(self.has(KIND_EXPIRY))
    }

    /// Where the token lies, if it has one.
    #[inline]
    pub fn cas_offset(&self) -> usize {
        self.flags_offset() + 4 * usize::from(self.has(KIND_FLAGS))
    }

    /// Where the key begins.
    #[inline]
    pub fn key_offset(&self) -> usize {
        self.cas_offset() + 8 * usize::from(self.has(KIND_CAS))
    }

    /// Where the value begins.
    #[inline]
    pub fn value_offset(&self) -> usize {
        self.key_offset() + self.key_len
    }

    /// Bytes that the item takes in its segment.
    #[inline]
    pub fn size(&self) -> usize {
        (self.value_offset() + self.value_len).next_multiple_of(ITEM_ALIGNMENT)
    }
}

/// Size of an item as memcached accounts for it, which is what `-I` limits: a header of 48 bytes,
/// the CAS token, flags, key and its terminator, value and its line end.
/// Source: memcached `items.c`, `item_make_header`.
#[inline]
pub fn memcached_item_bytes(key_len: usize, value_len: usize, flags: u32) -> usize {
    48 + 8 + if flags == 0 { 0 } else { 4 } + key_len + 1 + value_len + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_its_default_takes_no_bytes() {
        let plain = Layout::new(16, 64, NEVER, 0, false);
        assert_eq!(
            (plain.key_offset(), plain.value_offset(), plain.size()),
            (8, 24, 88)
        );
        let full = Layout::new(16, 1 << 16, 100, 7, true);
        assert_eq!(
            (full.expiry_offset(), full.flags_offset(), full.cas_offset()),
            (12, 16, 20)
        );
        assert_eq!((full.key_offset(), full.size()), (28, 28 + 16 + (1 << 16)));
    }

    #[test]
    fn sizes_are_padded_to_the_alignment() {
        assert_eq!(Layout::new(1, 0, NEVER, 0, false).size(), 12);
        assert_eq!(Layout::new(1, 3, NEVER, 0, false).size(), 12);
        assert_eq!(Layout::new(1, 4, NEVER, 0, false).size(), 16);
    }

    #[test]
    fn only_bytes_that_fit_their_header_are_an_item() {
        // Key length 1, kind 0, value length 2, state, then key, value, padding.
        let item = [1, 0, 2, 0, 0, 0, 0, 0, b'k', b'v', b'w', 0];
        let plain = Layout::new(1, 2, NEVER, 0, false);
        assert_eq!(Layout::of_bytes(&item), Some(plain));
        for len in 0..item.len() {
            assert_eq!(Layout::of_bytes(&item[..len]), None, "{len} bytes");
        }
        let mut longer = item;
        longer[2] = 3;
        assert_eq!(
            Layout::of_bytes(&longer).map(|layout| layout.value_len),
            Some(3)
        );
        longer[2] = 4;
        assert_eq!(Layout::of_bytes(&longer), None);
        longer[0] = 0;
        assert_eq!(Layout::of_bytes(&longer), None, "no key");
        let mut wide = item;
        (wide[1], wide[8]) = (KIND_WIDE, 0xff);
        assert_eq!(Layout::of_bytes(&wide), None);
    }

    #[test]
    fn a_value_of_one_mebibyte_is_too_large_for_memcacheds_default() {
        assert!(memcached_item_bytes(1, 1 << 20, 0) > 1 << 20);
        assert!(memcached_item_bytes(16, 1_048_500, 0) <= 1 << 20);
    }
}
