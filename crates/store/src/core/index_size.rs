//! How large the index is at first, and may become.

/// The index starts with a bucket for so many bytes of item memory: small enough not to matter,
/// large enough that it rarely grows for large values.
const MEMORY_PER_INITIAL_BUCKET: u64 = 32 << 10;
const INITIAL_LEVEL_RANGE: (u32, u32) = (10, 24);
/// Least memory that an item with its share of a bucket can take; bounds the address space of the
/// index.
const ITEM_BYTES_MIN: u64 = 16;
/// Bytes of a device for which the index has address space for an entry.
const DEVICE_BYTES_PER_ENTRY: u64 = 64;
/// Entries of a bucket, on average, where the address space is used up.
const ENTRIES_PER_BUCKET: u64 = 6;

/// Sizes of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexSize {
    /// It begins with 2 to the power of so many buckets.
    pub initial_level: u32,
    /// Buckets that there is address space for.
    pub capacity: u64,
}

impl IndexSize {
    /// Of a store that begins with a memory limit of `memory_bytes`, which can be raised up to
    /// `memory_max`, above devices of `device_bytes`.
    pub fn of(memory_bytes: u64, memory_max: u64, device_bytes: u64) -> IndexSize {
        let (low, high) = INITIAL_LEVEL_RANGE;
        let buckets = (memory_bytes / MEMORY_PER_INITIAL_BUCKET).max(1);
        let entries = memory_max / ITEM_BYTES_MIN + device_bytes / DEVICE_BYTES_PER_ENTRY;
        IndexSize {
            initial_level: buckets.ilog2().clamp(low, high),
            capacity: entries / ENTRIES_PER_BUCKET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_begins_small_and_has_room_for_the_smallest_items() {
        let level = |memory| IndexSize::of(memory, memory, 0).initial_level;
        assert_eq!([1 << 20, 1 << 30, 1 << 40].map(level), [10, 15, 24]);
        let capacity = |memory_max, device| IndexSize::of(1 << 30, memory_max, device).capacity;
        assert_eq!(capacity(4 << 30, 0), (4 << 30) / 96);
        assert_eq!(capacity(0, 1 << 40), (1 << 40) / 384);
    }
}
