//! The opaque number of a packet, which names what it belongs to.
//!
//! | bits | of a single operation | of a key of a batch |
//! |---|---|---|
//! | 31 | 0 | 1 |
//! | 30..16 | slot and generation | 29..30 generation, 16..28 batch |
//! | 15..0 | slot | number of the key in its batch |
//!
//! A single operation has 22 bits of slot and 9 of generation. A slot is not used again before its
//! answer has come or its connection has ended, so the generation only guards against servers that
//! answer twice.

const BATCH_BIT: u32 = 1 << 31;
const SLOT_BITS: u32 = 22;
const GENERATION_MASK: u32 = (1 << 9) - 1;
const BATCH_SHIFT: u32 = 16;
const BATCH_BITS: u32 = 13;
const BATCH_GENERATION_MASK: u32 = 3;

/// Slots that can be in use at once.
pub(crate) const SLOTS_MAX: usize = (1 << SLOT_BITS) - 1;
/// Batches that can be in use at once.
pub(crate) const BATCHES_MAX: usize = 1 << BATCH_BITS;
/// Most keys of a batch.
pub(crate) const BATCH_KEYS_MAX: usize = 1 << BATCH_SHIFT;

/// The number of operations whose answer nobody waits for; no slot has it.
pub(crate) const QUIET: u32 = BATCH_BIT - 1;

/// What a number names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A single operation.
    Single {
        /// Its slot.
        slot: usize,
        /// The slot's generation.
        generation: u32,
    },
    /// A key of a batch.
    Key {
        /// The batch's slot.
        batch: usize,
        /// The slot's generation.
        generation: u32,
        /// The key.
        key: usize,
    },
}

/// The number of a single operation.
pub(crate) fn single(slot: usize, generation: u32) -> u32 {
    (generation & GENERATION_MASK) << SLOT_BITS | slot as u32
}

/// The number of the first key of a batch; the others follow.
pub(crate) fn batch(batch: usize, generation: u32) -> u32 {
    let generation = (generation & BATCH_GENERATION_MASK) << (BATCH_SHIFT + BATCH_BITS);
    BATCH_BIT | generation | (batch as u32) << BATCH_SHIFT
}

/// What the number names.
pub(crate) fn named(opaque: u32) -> Named {
    if opaque & BATCH_BIT == 0 {
        return Named::Single {
            slot: (opaque & ((1 << SLOT_BITS) - 1)) as usize,
            generation: opaque >> SLOT_BITS,
        };
    }
    Named::Key {
        batch: (opaque >> BATCH_SHIFT) as usize & (BATCHES_MAX - 1),
        generation: opaque >> (BATCH_SHIFT + BATCH_BITS) & BATCH_GENERATION_MASK,
        key: opaque as usize & (BATCH_KEYS_MAX - 1),
    }
}

/// The next generation of a slot.
pub(crate) fn next_generation(generation: u32) -> u32 {
    (generation + 1) & GENERATION_MASK
}

/// The next generation of a batch.
pub(crate) fn next_batch_generation(generation: u32) -> u32 {
    (generation + 1) & BATCH_GENERATION_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_what_they_were_made_for() {
        for (slot, generation) in [(0, 0), (SLOTS_MAX - 1, 511), (77, 300)] {
            let opaque = single(slot, generation);
            assert_ne!(opaque, QUIET);
            assert_eq!(named(opaque), Named::Single { slot, generation });
        }
        for (slot, generation) in [(0, 0), (BATCHES_MAX - 1, 3), (5, 2)] {
            for key in [0, 1, BATCH_KEYS_MAX - 1] {
                let opaque = batch(slot, generation) + key as u32;
                let batch = slot;
                let expected = Named::Key {
                    batch,
                    generation,
                    key,
                };
                assert_eq!(named(opaque), expected);
            }
        }
    }
}
