//! Products by the affine instruction of GFNI, 64 bytes at a time, with masks at the end.

use super::{
    lanes::{self, Lanes},
    table::{Affine, Table},
};
use crate::operands::Operands;
use std::arch::x86_64::*;

lanes::kernel!(
    Gfni512,
    Vector,
    Affine,
    "avx512f,avx512bw,gfni,bmi2",
    (is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("bmi2"))
);

#[derive(Clone, Copy)]
struct Vector(__m512i);

/// The mask of the first bytes of a vector; 0 to 64 of them.
#[inline(always)]
fn mask(bytes: usize) -> __mmask64 {
    if bytes >= 64 { !0 } else { !(!0 << bytes) }
}

// SAFETY: loads and stores touch a vector's 64 bytes, or those that the mask names. The caller
// vouches for the instructions and the pointers in every function.
unsafe impl Lanes for Vector {
    const BYTES: usize = 64;
    const MASKED: bool = true;
    const MANY_REGISTERS: bool = true;
    type Coefficient = Affine;
    type Factor = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_setzero_si512() })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const u8, bytes: usize) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_maskz_loadu_epi8(mask(bytes), from.cast()) })
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut u8, bytes: usize) {
        // SAFETY: see above.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), mask(bytes), self.0) }
    }
    #[inline(always)]
    unsafe fn factor(coefficient: &Affine) -> __m512i {
        // SAFETY: see above.
        unsafe { _mm512_set1_epi64(coefficient.0 as i64) }
    }
    #[inline(always)]
    unsafe fn multiply(self, factor: __m512i) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self.0, factor) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
}
