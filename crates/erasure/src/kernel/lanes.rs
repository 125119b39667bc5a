//! The loops of all kernels with vectors, over what one vector can do.
//!
//! A [`pass`] writes up to [`ROWS_MAX`] outputs. More outputs take several passes; these go over
//! the columns in tiles, so that the later passes find the sources in the first-level cache.

use super::pass::pass;
use super::table::{ROWS_MAX, Table};
use crate::operands::Operands;

/// What the sources' tiles may take of the first-level cache, which has 32 KiB or more.
const TILE_BYTES: usize = 16 << 10;

/// A vector of bytes and what the loops do with it.
///
/// # Safety
///
/// The loads read, and the stores write, the bytes that they document and no others. All functions
/// need the instructions of the type; who calls them has checked that the processor has them.
pub unsafe trait Lanes: Copy {
    /// Bytes of a vector.
    const BYTES: usize;
    /// Whether a part of a vector is loaded and stored as fast as a whole one.
    const MASKED: bool;
    /// Whether there are 32 registers instead of 16.
    const MANY_REGISTERS: bool;
    /// A coefficient, as tables hold it.
    type Coefficient;
    /// A coefficient in registers.
    type Factor: Copy;

    unsafe fn zero() -> Self;
    /// Reads a vector, aligned or not.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector, aligned or not.
    unsafe fn store(self, to: *mut u8);
    /// Reads the first `bytes` bytes, at most [`BYTES`](Self::BYTES); the others are zero.
    unsafe fn load_part(from: *const u8, bytes: usize) -> Self;
    /// Writes the first `bytes` bytes, at most [`BYTES`](Self::BYTES).
    unsafe fn store_part(self, to: *mut u8, bytes: usize);
    unsafe fn factor(coefficient: &Self::Coefficient) -> Self::Factor;
    /// Each byte's product by the factor.
    unsafe fn multiply(self, factor: Self::Factor) -> Self;
    unsafe fn add(self, other: Self) -> Self;
}

/// Defines the type of a kernel: a proof that the processor has the instructions, which runs the
/// loops over this vector with them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! kernel {
    ($name:ident, $vector:ty, $coefficient:ty, $instructions:literal, $has_all:expr) => {
        /// The processor has the instructions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(());

        impl $name {
            pub fn detect() -> Option<Self> {
                $has_all.then_some(Self(()))
            }

            pub fn multiply(self, table: &Table<$coefficient>, operands: Operands<'_, '_>) {
                #[target_feature(enable = $instructions)]
                fn run(table: &Table<$coefficient>, operands: Operands<'_, '_>) {
                    // SAFETY: this function has the instructions.
                    unsafe { lanes::multiply::<$vector>(table, operands) }
                }
                // SAFETY: `detect` has found the instructions.
                unsafe { run(table, operands) }
            }

            pub fn accumulate(
                self,
                table: &Table<$coefficient>,
                column: usize,
                operands: Operands<'_, '_>,
            ) {
                #[target_feature(enable = $instructions)]
                fn run(table: &Table<$coefficient>, column: usize, operands: Operands<'_, '_>) {
                    // SAFETY: this function has the instructions.
                    unsafe { lanes::accumulate::<$vector>(table, column, operands) }
                }
                // SAFETY: `detect` has found the instructions.
                unsafe { run(table, column, operands) }
            }
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use kernel;

/// Coefficients that are all 1: products cost nothing.
#[derive(Clone, Copy)]
struct Ones<L>(L);

// SAFETY: the loads and stores are those of `L`.
unsafe impl<L: Lanes> Lanes for Ones<L> {
    const BYTES: usize = L::BYTES;
    const MASKED: bool = L::MASKED;
    const MANY_REGISTERS: bool = L::MANY_REGISTERS;
    type Coefficient = L::Coefficient;
    type Factor = ();

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller vouches for the instructions, as in all functions here.
        Self(unsafe { L::zero() })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's pointer.
        Self(unsafe { L::load(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's pointer.
        unsafe { self.0.store(to) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const u8, bytes: usize) -> Self {
        // SAFETY: the caller's pointer and length.
        Self(unsafe { L::load_part(from, bytes) })
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, bytes: usize) {
        // SAFETY: the caller's pointer and length.
        unsafe { self.0.store_part(to, bytes) }
    }
    #[inline(always)]
    unsafe fn factor(_: &Self::Coefficient) {}
    #[inline(always)]
    unsafe fn multiply(self, (): ()) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { self.0.add(other.0) })
    }
}

/// Sets the outputs to the product of the table and the sources.
///
/// # Safety
///
/// The processor has the instructions of `L`.
#[inline(always)]
pub unsafe fn multiply<L: Lanes>(table: &Table<L::Coefficient>, operands: Operands<'_, '_>) {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        if table.is_all_ones() {
            run::<Ones<L>, false>(table, 0, operands);
        } else {
            run::<L, false>(table, 0, operands);
        }
    }
}

/// Adds to the outputs the product of one column of the table and the one source.
///
/// # Safety
///
/// The processor has the instructions of `L`.
#[inline(always)]
pub unsafe fn accumulate<L: Lanes>(
    table: &Table<L::Coefficient>,
    column: usize,
    operands: Operands<'_, '_>,
) {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        if table.is_all_ones() {
            run::<Ones<L>, true>(table, column, operands);
        } else {
            run::<L, true>(table, column, operands);
        }
    }
}

/// The product of the table's columns from `first` on with the sources; `ADD` adds it to what is in
/// the outputs.
///
/// # Safety
///
/// The processor has the instructions of `L`.
#[inline(always)]
unsafe fn run<L: Lanes, const ADD: bool>(
    table: &Table<L::Coefficient>,
    first: usize,
    mut operands: Operands<'_, '_>,
) {
    let sources = operands.sources();
    assert!(first + sources.len() <= table.columns() && operands.outputs().len() == table.rows());
    let mut start = 0;
    while let Some((reaching, columns)) = operands.block(start) {
        start = columns.end;
        let sources = &sources[..reaching];
        let tile_bytes = tile_bytes(reaching, table.rows());
        let mut tile = columns.start..columns.start;
        while tile.end < columns.end {
            tile = tile.end..columns.end.min(tile.end.saturating_add(tile_bytes));
            for (group, outputs) in operands.outputs().chunks_mut(ROWS_MAX).enumerate() {
                let coefficients = table.group(group, first);
                // SAFETY: all operands have these columns, as `Operands` says; the group has a
                // coefficient for each of its outputs and each source, as was asserted. The caller
                // vouches for the instructions.
                unsafe {
                    match outputs.len() {
                        1 => pass::<L, 1, ADD>(coefficients, sources, outputs, tile.clone()),
                        2 => pass::<L, 2, ADD>(coefficients, sources, outputs, tile.clone()),
                        3 => pass::<L, 3, ADD>(coefficients, sources, outputs, tile.clone()),
                        _ => pass::<L, 4, ADD>(coefficients, sources, outputs, tile.clone()),
                    }
                }
            }
        }
    }
}

/// How many columns are done at a time: with several passes a multiple of what the widest kernel
/// takes at once, with a single pass all of them.
fn tile_bytes(sources: usize, rows: usize) -> usize {
    if rows <= ROWS_MAX {
        usize::MAX
    } else {
        (TILE_BYTES / sources.max(1)).next_multiple_of(256)
    }
}
