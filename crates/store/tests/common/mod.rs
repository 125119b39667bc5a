//! Items by number.

use farcache_store::*;

/// Size of a segment in these tests.
pub const SEGMENT: u32 = 64 << 10;

pub fn key(number: u32) -> Vec<u8> {
    format!("key-{number:08}").into_bytes()
}

pub fn set(handle: &StoreHandle, number: u32, value: &[u8]) -> Result<SetOutcome, Interrupt> {
    handle.set(&key(number), value, &SetOptions::default())
}

pub fn holds(handle: &StoreHandle, number: u32) -> bool {
    handle.get(&key(number), Access::Peek).unwrap().is_some()
}
