//! Vectors without special instructions, for tests: so that Miri can judge the loops of `lanes`.

use super::{
    lanes::{self, Lanes},
    part, scalar,
    table::{Nibbles, Table},
};
use crate::{matrix::Matrix, operands::Operands};
use std::array;

#[derive(Clone, Copy)]
struct Vector<const MASKED: bool>([u8; 8]);

// SAFETY: loads and stores touch a vector's 8 bytes, or the first ones. The caller vouches for the
// pointers in every function.
unsafe impl<const MASKED: bool> Lanes for Vector<MASKED> {
    const BYTES: usize = 8;
    const MASKED: bool = MASKED;
    const MANY_REGISTERS: bool = MASKED;
    type Coefficient = Nibbles;
    type Factor = Nibbles;

    unsafe fn zero() -> Self {
        Self([0; 8])
    }
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { from.cast::<[u8; 8]>().read_unaligned() })
    }
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { to.cast::<[u8; 8]>().write_unaligned(self.0) }
    }
    unsafe fn load_part(from: *const u8, bytes: usize) -> Self {
        // SAFETY: see above.
        unsafe { part::load(from, bytes) }
    }
    unsafe fn store_part(self, to: *mut u8, bytes: usize) {
        // SAFETY: see above.
        unsafe { part::store(self, to, bytes) }
    }
    unsafe fn factor(coefficient: &Nibbles) -> Nibbles {
        *coefficient
    }
    unsafe fn multiply(self, Nibbles(factor): Nibbles) -> Self {
        let product = |byte| factor[usize::from(byte & 0xF)] ^ factor[usize::from(byte >> 4) + 16];
        Self(self.0.map(product))
    }
    unsafe fn add(self, other: Self) -> Self {
        Self(array::from_fn(|lane| self.0[lane] ^ other.0[lane]))
    }
}

/// Sources of which the last lacks a third, filled with something.
fn sources(count: usize, bytes: usize) -> Vec<Vec<u8>> {
    let byte = |source: usize, place: usize| (source * 37 + place * 101 + 1) as u8;
    (0..count)
        .map(|source| {
            let bytes = bytes - if source + 1 == count { bytes / 3 } else { 0 };
            (0..bytes).map(|place| byte(source, place)).collect()
        })
        .collect()
}

/// What a kernel makes of outputs that were not zero.
fn outputs(
    rows: usize,
    bytes: usize,
    sources: &[Vec<u8>],
    kernel: impl FnOnce(Operands<'_, '_>),
) -> Vec<Vec<u8>> {
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut outputs = vec![vec![0xA5; bytes]; rows];
    let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    kernel(Operands::new(&sources, &mut slices).expect("they fit"));
    outputs
}

fn compare<const MASKED: bool>() {
    for rows in [1, 2, 4, 5] {
        let matrix = Matrix::new(rows, 3, |row, column| (row * 50 + column * 3 + 2) as u8);
        let ones = Matrix::new(rows, 3, |_, _| 1);
        for table in [&matrix, &ones].map(Table::<Nibbles>::new) {
            for bytes in [0, 1, 7, 8, 9, 17, 31, 32, 33, 70] {
                let (three, one) = (sources(3, bytes), sources(1, bytes));
                // SAFETY: these vectors need no special instructions.
                let found = outputs(rows, bytes, &three, |operands| unsafe {
                    lanes::multiply::<Vector<MASKED>>(&table, operands);
                });
                let expected = outputs(rows, bytes, &three, |o| scalar::multiply(&table, o));
                assert_eq!(found, expected, "{rows} rows, {bytes} bytes");
                // SAFETY: these vectors need no special instructions.
                let found = outputs(rows, bytes, &one, |operands| unsafe {
                    lanes::accumulate::<Vector<MASKED>>(&table, 1, operands);
                });
                let expected = outputs(rows, bytes, &one, |o| scalar::accumulate(&table, 1, o));
                assert_eq!(found, expected, "{rows} rows, {bytes} bytes, added");
            }
        }
    }
}

#[test]
fn the_loops_for_vectors_with_masks_compute_what_the_scalar_kernel_does() {
    compare::<true>();
}

#[test]
fn the_loops_for_vectors_without_masks_compute_what_the_scalar_kernel_does() {
    compare::<false>();
}
