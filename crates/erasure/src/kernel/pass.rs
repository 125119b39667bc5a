//! One pass over the sources: it reads each of them once and writes a few outputs, whose sums stay
//! in registers over several vectors of columns.

use super::lanes::Lanes;
use std::{array, ops::Range};

/// One pass over the sources for the columns of `R` outputs.
///
/// # Safety
///
/// There are `R` outputs, and `R` coefficients for each source; all sources and outputs have the
/// columns. The processor has the instructions of `L`.
#[inline(always)]
pub(super) unsafe fn pass<L: Lanes, const R: usize, const ADD: bool>(
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
