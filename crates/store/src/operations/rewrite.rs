//! Replacing an item by one made from it, as if in one step.
//!
//! Items are never changed in place, except for a few marks. So an operation reads the item, writes
//! its successor elsewhere and swaps the index entry if the item is still the same; if not, it
//! begins anew.

use crate::handle::Item;
use crate::handle::{Purpose, StoreHandle};
use crate::item::{Fields, Layout};
use crate::options::Access;
use crate::suspended::Interrupt;

/// A piece of the successor's value.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Borrowed(&'a [u8]),
    /// A decimal number.
    Number(u64),
}

/// Digits of the largest 64-bit number.
const DIGITS_MAX: usize = 20;

impl<'a> Part<'a> {
    pub const EMPTY: Part<'static> = Part::Borrowed(&[]);

    /// Its bytes, in `digits` if it is a number.
    fn bytes<'b>(self, digits: &'b mut [u8; DIGITS_MAX]) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Part::Borrowed(bytes) => bytes,
            Part::Number(number) => decimal(number, digits),
        }
    }
}

fn decimal(mut number: u64, digits: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut start = DIGITS_MAX;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

/// The successor: header fields, and a value of `before`, the old value if it is kept, and `after`.
pub(super) struct Rewrite<'a> {
    pub fields: Fields,
    pub before: Part<'a>,
    pub keeps_value: bool,
    pub after: Part<'a>,
}

/// How a rewrite ended.
pub(super) enum RewriteEnd<'h, R> {
    /// The successor is stored.
    Done(Item<'h>),
    /// The plan refused.
    Refused(R),
    /// There is no such item.
    Absent,
}

impl StoreHandle {
    /// Replaces the item of a key by what `plan` makes of it; `plan` may be called several times.
    pub(super) fn rewrite<'a, R>(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
        mut plan: impl FnMut(&Item<'_>) -> Result<Rewrite<'a>, R>,
    ) -> Result<RewriteEnd<'_, R>, Interrupt> {
        loop {
            let Some(item) = self.look_up(hash, key, access, Purpose::Rewrite)? else {
                return Ok(RewriteEnd::Absent);
            };
            let rewrite = match plan(&item) {
                Ok(rewrite) => rewrite,
                Err(refusal) => return Ok(RewriteEnd::Refused(refusal)),
            };
            let (mut first, mut last) = ([0; DIGITS_MAX], [0; DIGITS_MAX]);
            let kept: &[u8] = if rewrite.keeps_value {
                item.raw().value()
            } else {
                &[]
            };
            let parts = [
                rewrite.before.bytes(&mut first),
                kept,
                rewrite.after.bytes(&mut last),
            ];
            let value_len = parts.iter().map(|part| part.len()).sum();
            self.check_size(key, value_len, rewrite.fields.flags)?;
            let layout = rewrite.fields.layout(key.len(), value_len);
            if let Some(done) = self.try_rewrite(hash, key, &item, &rewrite.fields, layout, parts) {
                return Ok(RewriteEnd::Done(done));
            }
            // The item changed meanwhile, or there was no room. Making room may pass a quiescent
            // point, which ends the life of what was read.
            drop(item);
            self.ensure_room(&layout, rewrite.fields.expiry)?;
        }
    }

    /// Writes the successor and swaps the entry; none if there is no room or the item changed.
    fn try_rewrite(
        &self,
        hash: u64,
        key: &[u8],
        item: &Item<'_>,
        fields: &Fields,
        layout: Layout,
        parts: [&[u8]; 3],
    ) -> Option<Item<'_>> {
        let header_read = item.fields();
        let placed = self.place(&layout, fields.expiry)?;
        // SAFETY: the room was just placed, for exactly this layout.
        let written = unsafe { self.write(placed, layout, fields, key, parts) };
        let successor = written.item();
        successor.inherit_state(item.raw().state(), item.raw().state().frequency());
        let chain = self.core.index.lock(hash);
        let entry = self.entry(&chain, key).filter(|entry| {
            let is_same = entry.location == item.location() && entry.is_visible;
            is_same && item.fields() == header_read && !self.core.is_void(written.head(), successor)
        });
        let published = entry
            .as_ref()
            .and_then(|entry| self.publish(hash, &chain, Some(entry), &written));
        drop(chain);
        let Some(published) = published else {
            self.give_back(written);
            return None;
        };
        self.note_published(hash, &written, published);
        Some(Item::new(
            self,
            written.location(),
            successor,
            successor.state(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut digits = [0; DIGITS_MAX];
        assert_eq!(Part::Number(0).bytes(&mut digits), b"0");
        assert_eq!(Part::Number(907).bytes(&mut digits), b"907");
        assert_eq!(
            Part::Number(u64::MAX).bytes(&mut digits),
            b"18446744073709551615"
        );
    }
}
