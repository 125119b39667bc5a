//! A bucket: one cache line with seven slots and a control word.
//!
//! | word | content |
//! |---|---|
//! | 0 | control: bit 0 lock, bits 1 to 31 version (odd while entries move), bits 32 to 63 number of the overflow bucket that follows, plus 1 (0: none) |
//! | 1 to 7 | slots, 0 when empty |
//!
//! | bits of a slot | content |
//! |---|---|
//! | 44 to 63 | tag: 20 bits of the key's hash |
//! | 43 | set in every occupied slot |
//! | 0 to 42 | location |

use crate::sync::{AtomicU64, Ordering};
pub(crate) use farcache_memory::location::{LOCATION_BITS, Location};

/// Slots in a bucket; few in a model, so that short chains have overflow buckets there.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 7 };
/// Bits of a hash kept in a slot.
pub(super) const TAG_BITS: u32 = 20;
const TAG_SHIFT: u32 = 44;
const OCCUPIED: u64 = 1 << 43;
const LOCATION_MASK: u64 = (1 << LOCATION_BITS) - 1;

const LOCKED: u64 = 1;
const VERSION_ONE: u64 = 1 << 1;
const VERSION_MASK: u64 = 0xffff_fffe;
const NEXT_SHIFT: u32 = 32;

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub u64);

impl Slot {
    pub const EMPTY: Slot = Slot(0);

    pub fn new(tag: u64, location: Location) -> Slot {
        debug_assert!(tag < 1 << TAG_BITS && location.bits() <= LOCATION_MASK);
        Slot(tag << TAG_SHIFT | OCCUPIED | location.bits())
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn tag(self) -> u64 {
        self.0 >> TAG_SHIFT
    }

    pub fn has_tag(self, tag: u64) -> bool {
        self.0 & !LOCATION_MASK == tag << TAG_SHIFT | OCCUPIED
    }

    pub fn location(self) -> Location {
        Location::from_bits(self.0)
    }
}

#[repr(C, align(64))]
pub(super) struct Bucket {
    control: AtomicU64,
    slots: [AtomicU64; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 64 && align_of::<Bucket>() == 64);

/// A control word as it was read.
#[derive(Clone, Copy)]
pub(super) struct Control(u64);

impl Control {
    /// Number of the overflow bucket that follows.
    pub fn next(self) -> Option<u64> {
        (self.0 >> NEXT_SHIFT).checked_sub(1)
    }

    /// Whether entries of the chain were being moved.
    pub fn is_moving(self) -> bool {
        self.0 & VERSION_ONE != 0
    }

    /// Whether entries of the chain were moved between this reading and another.
    pub fn moved_since(self, earlier: Control) -> bool {
        (self.0 ^ earlier.0) & VERSION_MASK != 0
    }
}

impl Bucket {
    /// A bucket as the kernel's zeroed pages hold it.
    #[cfg(loom)]
    pub fn empty() -> Bucket {
        Bucket {
            control: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    pub fn control(&self) -> Control {
        Control(self.control.load(Ordering::Acquire))
    }

    pub fn slot(&self, number: usize) -> Slot {
        Slot(self.slots[number].load(Ordering::Acquire))
    }

    /// Only with the chain locked, or before the bucket can be reached.
    pub fn set_slot(&self, number: usize, slot: Slot) {
        self.slots[number].store(slot.0, Ordering::Release);
    }

    /// Tries to take the chain's lock (kept in its first bucket).
    pub fn try_lock(&self) -> bool {
        let control = self.control.load(Ordering::Relaxed);
        control & LOCKED == 0
            && self
                .control
                .compare_exchange_weak(
                    control,
                    control | LOCKED,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    /// Only by the holder of the lock, as are all further changes of the control word.
    pub fn unlock(&self) {
        self.update_control(|control| control & !LOCKED);
    }

    /// Starts or ends a move of entries, for readers to notice.
    pub fn bump_version(&self) {
        self.update_control(|control| {
            control & !VERSION_MASK | control.wrapping_add(VERSION_ONE) & VERSION_MASK
        });
    }

    pub fn set_next(&self, next: Option<u64>) {
        let next = next.map_or(0, |number| number + 1);
        self.update_control(|control| control & 0xffff_ffff | next << NEXT_SHIFT);
    }

    fn update_control(&self, change: impl FnOnce(u64) -> u64) {
        let control = self.control.load(Ordering::Relaxed);
        self.control.store(change(control), Ordering::Release);
    }

    /// Number of an empty slot.
    pub fn vacancy(&self) -> Option<usize> {
        (0..SLOTS).find(|&number| self.slot(number).is_empty())
    }

    /// Numbers of the occupied slots.
    pub fn occupied(&self) -> impl Iterator<Item = usize> + '_ {
        (0..SLOTS).filter(|&number| !self.slot(number).is_empty())
    }

    /// A bit for each slot whose tag is this one: a hint, to be checked against the slot itself.
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    #[inline]
    pub fn matches(&self, tag: u64) -> u32 {
        use std::arch::x86_64::*;
        const HIGH_HALVES: i32 = 0b11_01_11_01;
        let wanted = (Slot::new(tag, Location::from_bits(0)).0 >> 32) as i32;
        let pairs = self.words_in_pairs();
        // SAFETY: SSE2 is part of every x86-64.
        let hits = unsafe {
            let pair = |number: usize| _mm_castsi128_ps(pairs[number]);
            let low = _mm_castps_si128(_mm_shuffle_ps::<HIGH_HALVES>(pair(0), pair(1)));
            let high = _mm_castps_si128(_mm_shuffle_ps::<HIGH_HALVES>(pair(2), pair(3)));
            let mask = _mm_set1_epi32((!LOCATION_MASK >> 32) as i32);
            let wanted = _mm_set1_epi32(wanted);
            let low = _mm_cmpeq_epi32(_mm_and_si128(low, mask), wanted);
            let high = _mm_cmpeq_epi32(_mm_and_si128(high, mask), wanted);
            let bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
            _mm_movemask_epi8(bytes) as u32
        };
        // Lane 0 is the control word.
        hits >> 1
    }

    /// The control word and the slots, two to a register, each word as some atomic store left it.
    ///
    /// Other threads store to single words meanwhile. An ordinary load of 16 bytes that races with
    /// them is undefined in Rust's memory model, which is C++20's; so the loads are written in
    /// assembly, which stands for what it does to memory: here a relaxed atomic load of each word
    /// (Rust reference, "Inline assembly", rules for inline assembly). The processor keeps that
    /// promise: an aligned load of 8 bytes, or 16 where there is AVX, is atomic (Intel, "Software
    /// Developer's Manual", volume 3A, "Guaranteed Atomic Operations"; AMD, "Architecture
    /// Programmer's Manual", volume 2, "Access Atomicity"), and older ones split one of 16 bytes
    /// into its halves.
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    #[inline]
    fn words_in_pairs(&self) -> [std::arch::x86_64::__m128i; 4] {
        let (first, second, third, fourth);
        // SAFETY: the loads cover exactly this bucket, 64 bytes at a 64-byte boundary, and each of
        // its words is an atomic.
        unsafe {
            std::arch::asm!(
                "movdqa {first}, [{bucket}]",
                "movdqa {second}, [{bucket} + 16]",
                "movdqa {third}, [{bucket} + 32]",
                "movdqa {fourth}, [{bucket} + 48]",
                bucket = in(reg) std::ptr::from_ref(self),
                first = out(xmm_reg) first,
                second = out(xmm_reg) second,
                third = out(xmm_reg) third,
                fourth = out(xmm_reg) fourth,
                options(readonly, nostack, preserves_flags),
            );
        }
        [first, second, third, fourth]
    }

    /// A bit for each slot whose tag is this one.
    #[cfg(any(not(target_arch = "x86_64"), loom, miri))]
    pub fn matches(&self, tag: u64) -> u32 {
        (0..SLOTS)
            .filter(|&number| self.slot(number).has_tag(tag))
            .fold(0, |hits, number| hits | 1 << number)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket {
            control: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    #[test]
    fn a_slot_keeps_tag_and_location_apart() {
        let slot = Slot::new(0xf_ffff, Location::from_bits(LOCATION_MASK));
        assert_eq!(
            (slot.tag(), slot.location().bits()),
            (0xf_ffff, LOCATION_MASK)
        );
        assert!(slot.has_tag(0xf_ffff) && !slot.has_tag(0xf_fffe) && !slot.is_empty());
        assert!(
            !Slot::EMPTY.has_tag(0),
            "an empty slot matches no tag, not even 0"
        );
    }

    #[test]
    fn matches_finds_every_slot_of_a_tag_and_no_other() {
        let bucket = bucket();
        bucket.set_next(Some(0xffff_fffe));
        for number in 0..SLOTS {
            bucket.set_slot(
                number,
                Slot::new(number as u64 % 3, Location::from_bits(number as u64)),
            );
        }
        assert_eq!(bucket.matches(0), 0b100_1001);
        assert_eq!(bucket.matches(1), 0b001_0010);
        assert_eq!(bucket.matches(0xf_ffff), 0, "the control word is no slot");
        bucket.set_slot(0, Slot::EMPTY);
        assert_eq!((bucket.matches(0), bucket.vacancy()), (0b100_1000, Some(0)));
    }

    #[test]
    fn the_parts_of_the_control_word_do_not_disturb_each_other() {
        let bucket = bucket();
        assert!(bucket.try_lock() && !bucket.try_lock());
        let before = bucket.control();
        bucket.set_next(Some(41));
        assert!(!bucket.control().moved_since(before));
        bucket.bump_version();
        assert!(bucket.control().is_moving() && bucket.control().moved_since(before));
        bucket.bump_version();
        assert!(!bucket.control().is_moving() && bucket.control().moved_since(before));
        bucket.unlock();
        assert_eq!(bucket.control().next(), Some(41));
        bucket.set_next(None);
        assert!(bucket.control().next().is_none() && bucket.try_lock());
    }

    #[test]
    fn the_version_wraps_without_touching_lock_or_link() {
        let bucket = bucket();
        bucket.set_next(Some(5));
        bucket.update_control(|control| control | VERSION_MASK);
        assert!(bucket.try_lock());
        bucket.bump_version();
        assert!(!bucket.try_lock() && !bucket.control().is_moving());
        assert_eq!(bucket.control().next(), Some(5));
    }
}
