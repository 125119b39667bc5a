//! What libblkid knows a device to hold: the library by which `mkfs` finds out what it is about to
//! overwrite. It knows some hundred file systems, RAID and volume managers and partition tables,
//! wherever on the device they leave their marks.
//!
//! It is loaded at run time. Where it is missing nothing is known; whoever asks must refuse what is
//! not blank anyway.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::null;

const LIBRARY_FILE: &str = "libblkid.so.1";

// Source: blkid.h of util-linux.
const SUBLKS_TYPE: c_int = 1 << 5;
const SUBLKS_USAGE: c_int = 1 << 7;
/// Probes report what has a wrong checksum, too.
const SUBLKS_BADCSUM: c_int = 1 << 10;
/// Probes find a GPT even if the partition table for old systems is not there.
const PARTS_FORCE_GPT: c_int = 1 << 1;

/// A probe of the library.
type Probe = *mut c_void;
type Set = unsafe extern "C" fn(Probe, c_int) -> c_int;

struct Functions {
    new_probe: unsafe extern "C" fn() -> Probe,
    free_probe: unsafe extern "C" fn(Probe),
    set_device: unsafe extern "C" fn(Probe, c_int, i64, i64) -> c_int,
    enable_superblocks: Set,
    set_superblocks_flags: Set,
    enable_partitions: Set,
    set_partitions_flags: Set,
    do_fullprobe: unsafe extern "C" fn(Probe) -> c_int,
    lookup_value:
        unsafe extern "C" fn(Probe, *const c_char, *mut *const c_char, *mut usize) -> c_int,
}

impl Functions {
    fn find(code: &Library) -> Result<Functions, libloading::Error> {
        // SAFETY: under these names the library has had functions of these types since util-linux
        // 2.17; `loff_t` is 64 bits wide on every Linux.
        unsafe {
            Ok(Functions {
                new_probe: *code.get("blkid_new_probe")?,
                free_probe: *code.get("blkid_free_probe")?,
                set_device: *code.get("blkid_probe_set_device")?,
                enable_superblocks: *code.get("blkid_probe_enable_superblocks")?,
                set_superblocks_flags: *code.get("blkid_probe_set_superblocks_flags")?,
                enable_partitions: *code.get("blkid_probe_enable_partitions")?,
                set_partitions_flags: *code.get("blkid_probe_set_partitions_flags")?,
                do_fullprobe: *code.get("blkid_do_fullprobe")?,
                lookup_value: *code.get("blkid_probe_lookup_value")?,
            })
        }
    }
}

/// What a file or block device holds, as far as the library is there and knows it.
pub(super) fn content_of(file: &File) -> Option<String> {
    // SAFETY: the library's initialisers depend on nothing of ours; it stays loaded while it is
    // used.
    let code = unsafe { Library::open(Some(LIBRARY_FILE), RTLD_NOW | RTLD_LOCAL) }.ok()?;
    let functions = Functions::find(&code).ok()?;
    // SAFETY: it takes nothing, and gives a probe or null.
    let probe = unsafe { (functions.new_probe)() };
    if probe.is_null() {
        return None;
    }
    let content = Probing {
        functions: &functions,
        probe,
    }
    .content_of(file);
    // SAFETY: the probe came from the library and is not used any more.
    unsafe { (functions.free_probe)(probe) };
    content
}

/// Whether the library is installed.
#[cfg(test)]
pub(super) fn is_there() -> bool {
    // SAFETY: as in `content_of`.
    unsafe { Library::open(Some(LIBRARY_FILE), RTLD_NOW | RTLD_LOCAL) }.is_ok()
}

/// A probe that is not null.
struct Probing<'f> {
    functions: &'f Functions,
    probe: Probe,
}

impl Probing<'_> {
    fn content_of(&self, file: &File) -> Option<String> {
        let Probing { functions, probe } = *self;
        // SAFETY: the probe is the library's; the descriptor stays open while it is used, and
        // reading moves nothing but its offset, which nobody goes by.
        let found = unsafe {
            (functions.enable_superblocks)(probe, 1);
            let flags = SUBLKS_TYPE | SUBLKS_USAGE | SUBLKS_BADCSUM;
            (functions.set_superblocks_flags)(probe, flags);
            (functions.enable_partitions)(probe, 1);
            (functions.set_partitions_flags)(probe, PARTS_FORCE_GPT);
            // A size of 0 is all there is.
            (functions.set_device)(probe, file.as_raw_fd(), 0, 0) == 0
                && (functions.do_fullprobe)(probe) == 0
        };
        if !found {
            return None;
        }
        let kind = self.value(c"TYPE").map(|kind| {
            let usage = self.value(c"USAGE").unwrap_or_default();
            format!("{kind} ({usage})")
        });
        let table = self.value(c"PTTYPE");
        kind.or(table.map(|table| format!("a partition table ({table})")))
    }

    fn value(&self, name: &CStr) -> Option<String> {
        let (mut data, mut bytes) = (null(), 0);
        // SAFETY: the probe is the library's, the name ends in zero, and both places may be
        // written.
        let status = unsafe {
            (self.functions.lookup_value)(self.probe, name.as_ptr(), &mut data, &mut bytes)
        };
        if status != 0 || data.is_null() {
            return None;
        }
        // SAFETY: the library gives a text that ends in zero and stays as long as the probe.
        let text = unsafe { CStr::from_ptr(data) };
        Some(text.to_string_lossy().into_owned())
    }
}
