//! The code of the program and of its libraries, as memory.
//!
//! What a program needs to start is several times what it needs to serve, and stays in memory as
//! long as nobody wants it. [`give_back_code`] gives it back.

use rustix::mm::{Advice, madvise};
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::{null_mut, slice_from_raw_parts};

/// How much of a file is compared at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// What the loader calls the program itself.
const PROGRAM: &str = "/proc/self/exe";

/// Gives back the pages of code and constants, the program's and its libraries'. They come back
/// from their files, most likely from the system's cache of them, as they are used: what only the
/// start needed does not. A page that is not as in its file, since something has been patched or
/// has set a breakpoint, is kept.
///
/// Does nothing where they are locked in memory, or the kernel refuses.
pub fn give_back_code() {
    // SAFETY: the function has the signature that the loader calls, and needs no data.
    unsafe { libc::dl_iterate_phdr(Some(give_back_object), null_mut()) };
}

/// One object that the loader has loaded. While it tells of them, it unloads none.
unsafe extern "C" fn give_back_object(
    info: *mut libc::dl_phdr_info,
    _: usize,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the loader's, for the length of this call.
    let object = unsafe { &*info };
    // SAFETY: a string of the loader's, which lives as long as the object.
    let name = unsafe { CStr::from_ptr(object.dlpi_name) };
    let Some(file) = open(name) else {
        return 0;
    };
    let headers = slice_from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
    // SAFETY: the object's table of segments, which it has in memory.
    let headers = unsafe { &*headers };
    for segment in headers.iter().filter(|header| is_constant(header)) {
        let start = (object.dlpi_addr + segment.p_vaddr) as usize as *const u8;
        let bytes = slice_from_raw_parts(start, segment.p_filesz as usize);
        // SAFETY: the loader has mapped the segment there, readable, from this file. Nobody writes
        // to it now: what patches code (UCX, a debugger) has done so, or stops all threads.
        let loaded = unsafe { &*bytes };
        let pages = Pages {
            loaded,
            page_bytes: segment.p_align as usize,
        };
        pages.give_back_equal(&file, segment.p_offset);
    }
    0
}

fn open(name: &CStr) -> Option<File> {
    let path = match name.to_bytes() {
        [] => Path::new(PROGRAM),
        path => Path::new(OsStr::from_bytes(path)),
    };
    // What the kernel itself provides has a name and no file.
    path.is_absolute().then(|| File::open(path).ok()).flatten()
}

/// Whether the segment is mapped from the file and never written. What the loader writes to when
/// it relocates is in segments that are writable.
fn is_constant(header: &libc::Elf64_Phdr) -> bool {
    let flags = header.p_flags & (libc::PF_R | libc::PF_W);
    header.p_type == libc::PT_LOAD && flags == libc::PF_R
}

/// A segment, as it lies in memory.
struct Pages<'a> {
    loaded: &'a [u8],
    /// What it is aligned to: the largest page that a kernel may have.
    page_bytes: usize,
}

impl<'a> Pages<'a> {
    /// Gives back the pages that are as in the file, where the segment begins at `offset`. All are
    /// compared first: to read one page makes the kernel map its neighbours again.
    fn give_back_equal(&self, file: &File, offset: u64) {
        let equal = self.equal(file, offset);
        equal.into_iter().for_each(give_back);
    }

    /// The pages that are as in the file. Neighbours may come as one slice.
    fn equal(&self, file: &File, offset: u64) -> Vec<&'a [u8]> {
        let skipped = self.loaded.as_ptr().align_offset(self.page_bytes);
        let pages = self.loaded.get(skipped..).unwrap_or_default();
        let mut buffer = [0; BLOCK_BYTES];
        let mut equal = Vec::new();
        for (index, block) in pages.chunks(BLOCK_BYTES).enumerate() {
            let block = &block[..block.len() / self.page_bytes * self.page_bytes];
            let original = &mut buffer[..block.len()];
            let at = offset + (skipped + index * BLOCK_BYTES) as u64;
            if file.read_exact_at(original, at).is_err() {
                break;
            }
            if block == original {
                equal.push(block);
            } else {
                let pages = block.chunks(self.page_bytes);
                let both = pages.zip(original.chunks(self.page_bytes));
                let both = both.filter(|(page, original)| page == original);
                equal.extend(both.map(|(page, _)| page));
            }
        }
        equal
    }
}

fn give_back(pages: &[u8]) {
    let start = pages.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: whole pages, mapped from a file, read-only: the kernel reads the same bytes again
    // from where they have just been read.
    let _ = unsafe { madvise(start, pages.len(), Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MprotectFlags, mprotect};

    /// Aligned, so that nothing else lies in its pages.
    #[repr(align(65536))]
    struct Constants([u8; 256 << 10]);

    static CONSTANTS: Constants = Constants([7; 256 << 10]);

    static PATCHED: Constants = Constants([7; 256 << 10]);

    fn sevens(constants: &Constants) -> usize {
        let bytes = std::hint::black_box(&constants.0);
        bytes.iter().filter(|&&byte| byte == 7).count()
    }

    #[test]
    fn constants_are_as_they_were_once_they_have_been_given_back() {
        assert_eq!(sevens(&CONSTANTS), 256 << 10);
        give_back_code();
        assert_eq!(sevens(&CONSTANTS), 256 << 10);
    }

    #[test]
    fn what_has_been_patched_is_kept() {
        let page = (&raw const PATCHED).cast_mut().cast::<u8>();
        let protect = |flags| {
            // SAFETY: nothing else lies in its pages.
            unsafe { mprotect(page.cast(), size_of::<Constants>(), flags) }
                .expect("it can be written");
        };
        protect(MprotectFlags::READ | MprotectFlags::WRITE);
        // SAFETY: writable now, and nobody else reads it.
        unsafe { page.write_volatile(8) };
        protect(MprotectFlags::READ);
        give_back_code();
        assert_eq!(sevens(&PATCHED), (256 << 10) - 1);
    }
}
