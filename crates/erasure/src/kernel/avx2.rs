//! Products by two table look-ups for each byte, 32 bytes at a time.

use super::{
    lanes::{self, Lanes},
    part,
    table::{Nibbles, Table},
};
use crate::operands::Operands;
use std::arch::x86_64::*;

lanes::kernel!(
    Avx2,
    Vector,
    Nibbles,
    "avx2",
    is_x86_feature_detected!("avx2")
);

#[derive(Clone, Copy)]
struct Vector(__m256i);

// SAFETY: loads and stores touch a vector's 32 bytes, or the first ones. The caller vouches for the
// instructions and the pointers in every function.
unsafe impl Lanes for Vector {
    const BYTES: usize = 32;
    const MASKED: bool = false;
    const MANY_REGISTERS: bool = false;
    type Coefficient = Nibbles;
    /// The products by lower and upper halves, each twice: a look-up stays within 16 bytes.
    type Factor = [__m256i; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_setzero_si256() })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const u8, bytes: usize) -> Self {
        // SAFETY: see above.
        unsafe { part::load(from, bytes) }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, bytes: usize) {
        // SAFETY: see above.
        unsafe { part::store(self, to, bytes) }
    }
    #[inline(always)]
    unsafe fn factor(coefficient: &Nibbles) -> [__m256i; 2] {
        // SAFETY: see above; the table has 32 bytes.
        unsafe {
            let halves: *const __m128i = coefficient.0.as_ptr().cast();
            [halves, halves.add(1)].map(|half| _mm256_broadcastsi128_si256(_mm_loadu_si128(half)))
        }
    }
    #[inline(always)]
    unsafe fn multiply(self, [low, high]: [__m256i; 2]) -> Self {
        // SAFETY: see above.
        unsafe {
            let nibble = _mm256_set1_epi8(0xF);
            let lower = _mm256_and_si256(self.0, nibble);
            let upper = _mm256_and_si256(_mm256_srli_epi64::<4>(self.0), nibble);
            Self(_mm256_xor_si256(
                _mm256_shuffle_epi8(low, lower),
                _mm256_shuffle_epi8(high, upper),
            ))
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
}
