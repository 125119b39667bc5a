//! The loops of all kernels with vectors, over what one vector can do.
//!
//! A pass reads every source once and writes up to [`ROWS_MAX`] outputs, whose sums stay in
//! registers over several vectors of columns. More outputs take several passes; these go over the
//! columns in tiles, so that the later passes find the sources in the first-level cache.

use super::table::{ROWS_MAX, Table};
use crate::operands::Operands;
use std::{array, ops::Range};

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

/// One pass over the sources for the columns of `R` outputs.
///
/// # Safety
///
/// There are `R` outputs, and `R` coefficients for each source; all sources and outputs have the
/// columns. The processor has the instructions of `L`.
#[inline(always)]
unsafe fn pass<L: Lanes, const R: usize, const ADD: bool>(
    coefficients: &[L::Coefficient],
    sources: &[&[u8]],
    outputs: &mut [&mut [u8]],
    columns: Range<usize>,
) {
    debug_assert!(outputs.len() == R && coefficients.len() >= R * sources.len());
    let mut pointers = outputs.iter_mut().map(|output| output.as_mut_ptr());
    let outputs: [*mut u8; R] = array::from_fn(|_| pointers.next().expect("R outputs"));
    let pass = Pass::<L, R, ADD> {
        coefficients: coefficients.as_ptr(),
        sources,
        outputs,
    };
    // SAFETY: the caller vouches for the columns and the instructions.
    unsafe {
        if L::MANY_REGISTERS || R <= 2 {
            pass.run::<4>(columns);
        } else {
            pass.run::<2>(columns);
        }
    }
}

struct Pass<'a, L: Lanes, const R: usize, const ADD: bool> {
    /// `R` for each source.
    coefficients: *const L::Coefficient,
    sources: &'a [&'a [u8]],
    outputs: [*mut u8; R],
}

impl<L: Lanes, const R: usize, const ADD: bool> Pass<'_, L, R, ADD> {
    /// All columns, `N` vectors at a time while there are as many.
    ///
    /// # Safety
    ///
    /// All sources and outputs have the columns. The processor has the instructions of `L`.
    #[inline(always)]
    unsafe fn run<const N: usize>(&self, columns: Range<usize>) {
        let Range { mut start, end } = columns;
        // SAFETY: every step stays within the columns. The caller vouches for the instructions.
        unsafe {
            while end - start >= N * L::BYTES {
                self.step::<N>(start, L::BYTES);
                start += N * L::BYTES;
            }
            if L::MASKED {
                self.masked_end(start, end);
            } else {
                self.unmasked_end(columns.start, start, end);
            }
        }
    }

    /// The columns after the last full step, fewer than 4 vectors.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn masked_end(&self, start: usize, end: usize) {
        let bytes = end - start;
        // SAFETY: each step's last vector has as many bytes as the columns have left for it.
        unsafe {
            match bytes.div_ceil(L::BYTES) {
                0 => {}
                1 => self.step::<1>(start, bytes),
                2 => self.step::<2>(start, bytes - L::BYTES),
                3 => self.step::<3>(start, bytes - 2 * L::BYTES),
                _ => self.step::<4>(start, bytes - 3 * L::BYTES),
            }
        }
    }

    /// The columns from `start` on, after the last full step of a pass that began at `first`.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn unmasked_end(&self, first: usize, mut start: usize, end: usize) {
        // SAFETY: all steps stay within the columns.
        unsafe {
            while end - start >= L::BYTES {
                self.step::<1>(start, L::BYTES);
                start += L::BYTES;
            }
            if start == end {
                return;
            }
            if !ADD && end - first >= L::BYTES {
                // Some columns once more: cheaper than a part of a vector.
                self.step::<1>(end - L::BYTES, L::BYTES);
            } else {
                self.step::<1>(start, end - start);
            }
        }
    }

    /// The columns of `N` vectors, the last of which has `last_bytes` bytes.
    ///
    /// # Safety
    ///
    /// All sources and outputs have these columns. The processor has the instructions of `L`.
    #[inline(always)]
    unsafe fn step<const N: usize>(&self, start: usize, last_bytes: usize) {
        // SAFETY: the caller vouches for the columns and the instructions; each source has `R`
        // coefficients.
        unsafe {
            let mut sums = [[L::zero(); N]; R];
            if ADD {
                for (sums, &output) in sums.iter_mut().zip(&self.outputs) {
                    *sums = load::<L, N>(output.add(start), last_bytes);
                }
            }
            let mut coefficient = self.coefficients;
            for source in self.sources {
                let vectors = load::<L, N>(source.as_ptr().add(start), last_bytes);
                for sums in &mut sums {
                    let factor = L::factor(&*coefficient);
                    coefficient = coefficient.add(1);
                    for (sum, vector) in sums.iter_mut().zip(vectors) {
                        *sum = sum.add(vector.multiply(factor));
                    }
                }
            }
            for (sums, &output) in sums.iter().zip(&self.outputs) {
                store::<L, N>(sums, output.add(start), last_bytes);
            }
        }
    }
}

/// Reads `N` vectors, of the last one only `last_bytes` bytes.
///
/// # Safety
///
/// The bytes can be read. The processor has the instructions of `L`.
#[inline(always)]
unsafe fn load<L: Lanes, const N: usize>(from: *const u8, last_bytes: usize) -> [L; N] {
    // SAFETY: the caller vouches for the bytes and the instructions.
    unsafe {
        let mut vectors = [L::zero(); N];
        for (place, vector) in vectors.iter_mut().enumerate() {
            let from = from.add(place * L::BYTES);
            *vector = if place + 1 < N || last_bytes == L::BYTES {
                L::load(from)
            } else {
                L::load_part(from, last_bytes)
            };
        }
        vectors
    }
}

/// Writes `N` vectors, of the last one only `last_bytes` bytes.
///
/// # Safety
///
/// The bytes can be written. The processor has the instructions of `L`.
#[inline(always)]
unsafe fn store<L: Lanes, const N: usize>(vectors: &[L; N], to: *mut u8, last_bytes: usize) {
    // SAFETY: the caller vouches for the bytes and the instructions.
    unsafe {
        for (place, vector) in vectors.iter().enumerate() {
            let to = to.add(place * L::BYTES);
            if place + 1 < N || last_bytes == L::BYTES {
                vector.store(to);
            } else {
                vector.store_part(to, last_bytes);
            }
        }
    }
}
