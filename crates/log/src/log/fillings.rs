//! What a segment's filling is numbered by.

use crate::epoch::Epochs;

/// Who numbers the fillings of a store, in memory and on devices alike.
pub trait Fillings {
    /// When readers hold nothing any longer that has left a slot.
    fn epochs(&self) -> &Epochs;

    /// The sequence number of a filling that begins now.
    fn next_sequence(&self) -> u64;

    /// Only fillings with a higher sequence number take anything new.
    fn floor_for_new(&self) -> u64;
}
