//! What a conversation knows of whose keys have come, so that it need not ask for each of them.

use crate::Context;
use arrayvec::ArrayVec;

/// Storage commands whose keys are looked at together.
pub(super) const STORES_MAX: usize = 16;

/// Whose keys they are.
pub(super) struct Ownership<'i> {
    /// Another server may own some of them.
    pub(super) may_be_foreign: bool,
    /// How many of the next reads' keys are to be looked at one by one.
    reads_to_look_at: usize,
    /// Keys of the next storage commands, last one first, which are this server's own.
    own_stores: ArrayVec<&'i [u8], STORES_MAX>,
}

impl<'i> Ownership<'i> {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Ownership {
            may_be_foreign: context.may_forward(),
            reads_to_look_at: 0,
            own_stores: ArrayVec::new(),
        }
    }

    /// Some of the next `reads` are for keys of other servers.
    pub(super) fn look_at_each_of(&mut self, reads: usize) {
        self.reads_to_look_at = reads;
    }

    /// Whether the key of the next read is to be looked at alone, not together with others.
    #[inline]
    pub(super) fn looks_at_next_read(&mut self) -> bool {
        let looks = self.reads_to_look_at > 0;
        self.reads_to_look_at = self.reads_to_look_at.saturating_sub(1);
        looks
    }

    /// Looks at the keys of the storage commands that come next.
    #[inline]
    pub(super) fn look_at_stores(&mut self, keys: &[&'i [u8]], context: &Context<'_>) {
        self.own_stores.clear();
        if self.may_be_foreign && context.owns_each(keys) {
            self.own_stores.extend(keys.iter().rev().copied());
        }
    }

    /// Whether the next storage command has this key, here in the input, and that is known to be
    /// this server's own.
    pub(super) fn knows_next_store(&mut self, key: &[u8]) -> bool {
        let next = self.own_stores.last();
        let is_next = next.is_some_and(|next| std::ptr::eq::<[u8]>(*next, key));
        if is_next {
            self.own_stores.pop();
        }
        is_next
    }
}
