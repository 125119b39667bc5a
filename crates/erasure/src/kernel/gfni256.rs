//! Products by the affine instruction of GFNI, 32 bytes at a time, for processors without AVX-512.

use super::{
    lanes::{self, Lanes},
    part,
    table::{Affine, Table},
};
use crate::operands::Operands;
use std::arch::x86_64::*;

lanes::kernel!(
    Gfni256,
    Vector,
    Affine,
    "avx2,gfni",
    (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"))
);

#[derive(Clone, Copy)]
struct Vector(__m256i);

// SAFETY: loads and stores touch a vector's 32 bytes, or the first ones. The caller vouches for the
// instructions and the pointers in every function.
unsafe impl Lanes for Vector {
    const BYTES: usize = 32;
    const MASKED: bool = false;
    const MANY_REGISTERS: bool = false;
    type Coefficient = Affine;
    type Factor = __m256i;

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
    unsafe fn factor(coefficient: &Affine) -> __m256i {
        // SAFETY: see above.
        unsafe { _mm256_set1_epi64x(coefficient.0 as i64) }
    }
    #[inline(always)]
    unsafe fn multiply(self, factor: __m256i) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_gf2p8affine_epi64_epi8::<0>(self.0, factor) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
}
