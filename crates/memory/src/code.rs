//! The program's own code, as memory.

use rustix::mm::{Advice, madvise};
use std::ffi::c_void;

// The linker's: where the program begins in memory, and where its code ends.
unsafe extern "C" {
    static __executable_start: u8;
    static etext: u8;
}

/// Code and constants are shared with the file in units of the largest page that a kernel may
/// have, so that nothing else lies in a page that is given back.
const PAGE_BYTES: usize = 64 << 10;

/// Gives back the pages of the program's code and constants. They come back from the file, most
/// likely from the system's cache of it, as they are used: what only the start needed does not.
///
/// Does nothing where they are locked in memory, or the kernel refuses. Breakpoints that a
/// debugger has set are lost.
pub fn give_back_code() {
    let (start, end) = (&raw const __executable_start, &raw const etext);
    let skipped = start.addr().next_multiple_of(PAGE_BYTES) - start.addr();
    let bytes = (end.addr() - start.addr()).saturating_sub(skipped) / PAGE_BYTES * PAGE_BYTES;
    let first = start.wrapping_add(skipped).cast_mut().cast::<c_void>();
    // SAFETY: between the two lie the program's headers, constants and code, which are mapped
    // from its file, read-only, and never written: the kernel reads the same bytes again. What the
    // loader writes to when it relocates the program lies behind the code.
    let _ = unsafe { madvise(first, bytes, Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    static CONSTANTS: [u8; 256 << 10] = [7; 256 << 10];

    #[test]
    fn code_and_constants_are_as_they_were_once_they_have_been_given_back() {
        let seven = |constants: &[u8]| constants.iter().filter(|&&byte| byte == 7).count();
        assert_eq!(seven(std::hint::black_box(&CONSTANTS)), CONSTANTS.len());
        give_back_code();
        assert_eq!(seven(std::hint::black_box(&CONSTANTS)), CONSTANTS.len());
    }
}
