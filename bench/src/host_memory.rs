//! Memory that the machine has at hand when a server is started.
//!
//! In a virtual machine the host takes free memory back, above all in large blocks, and gives it
//! again at the first touch, which takes ten to twenty times as long as clearing it. Which server
//! meets such memory is chance, and has to do with neither of them, so it is touched once before.

use crate::compare::machine::memory_kib;

/// What is written to each page, in bytes from one to the next.
const PAGE_BYTES: usize = 4096;

/// Has the host give this much memory, which is free again afterwards.
pub fn take_and_give_back(bytes: usize) {
    let mut memory = vec![0_u8; bytes];
    memory.chunks_mut(PAGE_BYTES).for_each(|page| page[0] = 1);
    // Else nothing of it would have to be done.
    std::hint::black_box(&memory);
}

/// Has the host give most of the memory that is free: the servers' pages may be any of it.
pub fn take_most_and_give_back() {
    let free = memory_kib("MemFree") as usize * 1024;
    take_and_give_back(free / 8 * 7);
}
