//! Lines by hash, in reserved address space: memory is taken as they are first written.

use super::Line;
#[cfg(not(loom))]
use crate::region::Region;
use std::io;

/// Room for a fixed number of lines, all empty at first.
pub(super) struct Table {
    #[cfg(not(loom))]
    region: Region,
    #[cfg(loom)]
    all: Vec<Line>,
    lines: u64,
}

impl Table {
    /// Room for so many lines.
    ///
    /// # Errors
    /// The kernel's, where the address space cannot be had.
    #[cfg(not(loom))]
    pub fn reserve(lines: u64, huge_pages: bool) -> io::Result<Table> {
        let bytes = usize::try_from(lines).ok();
        let bytes = bytes.and_then(|lines| lines.checked_mul(size_of::<Line>()));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let region = Region::reserve(bytes, huge_pages)?;
        Ok(Table { region, lines })
    }

    #[cfg(loom)]
    pub fn reserve(lines: u64, _huge_pages: bool) -> io::Result<Table> {
        let all = (0..lines).map(|_| Line::empty()).collect();
        Ok(Table { all, lines })
    }

    /// Lines that there is room for.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The line of a hash where the first `used` lines, at least one, are in use. As in the index
    /// (linear hashing), few hashes move when their number changes a little.
    #[inline]
    pub fn line(&self, hash: u64, used: u64) -> &Line {
        let used = used.min(self.lines);
        let mask = u64::MAX >> ((used - 1) | 1).leading_zeros();
        let number = hash & mask;
        self.at(if number < used {
            number
        } else {
            number & mask >> 1
        })
    }

    #[cfg(not(loom))]
    #[inline]
    fn at(&self, number: u64) -> &Line {
        debug_assert!(number < self.lines);
        // SAFETY: the only caller takes numbers below that of the lines: with the highest bit of
        // the mask cleared a number is less than half of the power of two that covers them. The
        // region is aligned to huge pages, its bytes are zero or were written through `Line`'s
        // atomics, any bytes are a valid `Line`, and it lives as long as the table.
        unsafe { &*self.region.base().cast::<Line>().add(number as usize) }
    }

    #[cfg(loom)]
    fn at(&self, number: u64) -> &Line {
        &self.all[number as usize]
    }
}
