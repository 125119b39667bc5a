//! Products by two table look-ups for each byte, 16 bytes at a time.

use super::{
    lanes::{self, Lanes},
    part,
    table::{Nibbles, Table},
};
use crate::operands::Operands;
use std::arch::aarch64::*;

lanes::kernel!(
    Neon,
    Vector,
    Nibbles,
    "neon",
    std::arch::is_aarch64_feature_detected!("neon")
);

#[derive(Clone, Copy)]
struct Vector(uint8x16_t);

// SAFETY: loads and stores touch a vector's 16 bytes, or the first ones. The caller vouches for the
// instructions and the pointers in every function.
unsafe impl Lanes for Vector {
    const BYTES: usize = 16;
    const MASKED: bool = false;
    const MANY_REGISTERS: bool = true;
    type Coefficient = Nibbles;
    /// The products by lower and upper halves.
    type Factor = [uint8x16_t; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: see above.
        Self(unsafe { vdupq_n_u8(0) })
    }
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { vld1q_u8(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { vst1q_u8(to, self.0) }
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
    unsafe fn factor(coefficient: &Nibbles) -> [uint8x16_t; 2] {
        // SAFETY: see above; the table has 32 bytes.
        unsafe {
            let halves = coefficient.0.as_ptr();
            [vld1q_u8(halves), vld1q_u8(halves.add(16))]
        }
    }
    #[inline(always)]
    unsafe fn multiply(self, [low, high]: [uint8x16_t; 2]) -> Self {
        // SAFETY: see above.
        unsafe {
            let lower = vandq_u8(self.0, vdupq_n_u8(0xF));
            let upper = vshrq_n_u8::<4>(self.0);
            Self(veorq_u8(vqtbl1q_u8(low, lower), vqtbl1q_u8(high, upper)))
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { veorq_u8(self.0, other.0) })
    }
}
