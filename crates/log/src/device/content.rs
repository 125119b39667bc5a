//! What a file or block device holds before it is ours.

use super::blank::is_blank;
use super::blkid;
use super::buffer::Buffer;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What a device of ours begins with, at either of these places.
pub(crate) const DEVICE_MAGIC: [u8; 8] = *b"FARCSSD\0";
/// Where that stands, in bytes from the device's start.
pub(crate) const DEVICE_MAGIC_PLACES: [u64; 2] = [0, 4096];

/// Size of the pieces in which it is looked at, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// What a file or block device of so many bytes holds that is not a store's; none where it is a
/// store's, or blank.
///
/// # Errors
/// The system's, where it cannot be read: it may hold anything then.
pub(super) fn foreign_content(file: &File, bytes: u64) -> io::Result<Option<String>> {
    if bytes == 0 || is_ours(file) {
        return Ok(None);
    }
    if let Some(known) = blkid::content_of(file) {
        return Ok(Some(known));
    }
    let mut buffer = Buffer::new(PIECE_BYTES);
    let is_blank = is_blank(&mut buffer, bytes, |part, offset| {
        file.read_exact_at(part, offset)
    })?;
    Ok((!is_blank).then(|| "data of an unknown kind".to_owned()))
}

/// Whether it is, or was, a store's.
fn is_ours(file: &File) -> bool {
    DEVICE_MAGIC_PLACES.iter().any(|&place| {
        let mut magic = [0; DEVICE_MAGIC.len()];
        file.read_exact_at(&mut magic, place).is_ok() && magic == DEVICE_MAGIC
    })
}
