//! The bytes of an item at their places: the one file that knows them by address.

use super::fields::Fields;
use super::layout::*;
use super::state::State;
use crate::schedule::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use farcache_base::time::Seconds;
use std::marker::PhantomData;

/// An item's bytes, at their address. The accessors are safe because making one is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemBytes<'a>(*const u8, PhantomData<&'a [u8]>);

impl<'a> ItemBytes<'a> {
    /// # Safety
    /// As for [`RawItem::at`](super::RawItem::at).
    #[inline]
    pub unsafe fn at(address: *const u8) -> ItemBytes<'a> {
        debug_assert!((address as usize).is_multiple_of(ITEM_ALIGNMENT));
        ItemBytes(address, PhantomData)
    }

    /// This one for longer.
    ///
    /// # Safety
    /// The item's memory is not reused for `'b` either.
    #[inline]
    pub unsafe fn outliving<'b>(self) -> ItemBytes<'b> {
        ItemBytes(self.0, PhantomData)
    }

    /// Writes all of an item but its value.
    ///
    /// # Safety
    /// As for [`RawItem::write_header`](super::RawItem::write_header).
    #[inline]
    pub unsafe fn write(
        address: *mut u8,
        layout: Layout,
        fields: &Fields,
        key: &[u8],
        now: Seconds,
    ) -> ItemBytes<'a> {
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
        ItemBytes(address, PhantomData)
    }

    /// A field that never changes.
    #[inline]
    fn word(&self, offset: usize) -> u32 {
        // SAFETY: only used for fields that the kind says are there; 4-aligned, and never changed
        // after the item was written.
        unsafe { self.0.add(offset).cast::<u32>().read() }
    }

    /// The kind, whose marks change.
    #[inline]
    pub fn kind_byte(&self) -> &AtomicU8 {
        // SAFETY: byte 1 of a live item; once published it is only accessed atomically.
        unsafe { AtomicU8::from_ptr(self.0.cast_mut().add(1)) }
    }

    /// How the item has been used.
    #[inline]
    pub fn state_word(&self) -> &AtomicU32 {
        // SAFETY: bytes 4 to 7 of a live item, 4-aligned; once published only accessed atomically.
        unsafe { AtomicU32::from_ptr(self.0.cast_mut().add(4).cast()) }
    }

    /// When the item expires, where there is room for that.
    #[inline]
    pub fn expiry_word(&self) -> Option<&AtomicU32> {
        let layout = self.layout();
        if layout.kind & KIND_EXPIRY == 0 {
            return None;
        }
        // SAFETY: the kind says that the field is there; as for the state word.
        Some(unsafe { AtomicU32::from_ptr(self.0.cast_mut().add(layout.expiry_offset()).cast()) })
    }

    #[inline]
    pub fn kind(&self) -> u8 {
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

    #[inline]
    pub fn key_len(&self) -> usize {
        // SAFETY: byte 0 of a live item.
        usize::from(unsafe { self.0.read() })
    }

    #[inline]
    pub fn key(self) -> &'a [u8] {
        let layout = self.layout();
        // SAFETY: the key lies there, is not changed, and stays by the maker's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(layout.key_offset()), layout.key_len) }
    }

    #[inline]
    pub fn value(self) -> &'a [u8] {
        let layout = self.layout();
        // SAFETY: as for the key; the value was complete before the item was published.
        unsafe { std::slice::from_raw_parts(self.0.add(layout.value_offset()), layout.value_len) }
    }

    /// The client's flags, where there are any.
    #[inline]
    pub fn flags(&self) -> Option<u32> {
        let layout = self.layout();
        if layout.kind & KIND_FLAGS == 0 {
            return None;
        }
        Some(self.word(layout.flags_offset()))
    }

    /// The token that is written down, or the version.
    #[inline]
    pub fn token(&self) -> Option<u64> {
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
}
