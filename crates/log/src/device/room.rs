//! How large a device is, and room for a file taken before it is used.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

/// Unit in which the system counts a file's blocks (stat(2)).
pub(super) const STAT_BLOCK_BYTES: u64 = 512;
/// Room for a file is taken in pieces of so many bytes where it cannot be had at once.
const ROOM_PIECE_BYTES: u64 = 16 << 20;

/// The size of a block device of which `wanted` bytes are to be used, or all.
pub(super) fn size_of_block_device(mut file: &File, wanted: Option<u64>) -> io::Result<u64> {
    let bytes = file.seek(SeekFrom::End(0))?;
    match wanted {
        Some(wanted) if wanted > bytes => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the block device has only {bytes} bytes"),
        )),
        wanted => Ok(wanted.unwrap_or(bytes)),
    }
}

/// The size of a file, after room for `wanted` bytes was taken: a full file system shows now, not
/// later.
pub(super) fn size_of_file(file: &File, wanted: Option<u64>) -> io::Result<u64> {
    let bytes = file.metadata()?.len();
    let Some(wanted) = wanted else {
        return Ok(bytes);
    };
    if wanted < bytes {
        return Ok(bytes);
    }
    let blocks = file.metadata()?.blocks();
    let has_all = bytes == wanted && blocks * STAT_BLOCK_BYTES >= wanted;
    if has_all {
        return Ok(wanted);
    }
    let take = |start, bytes| fallocate(file, FallocateFlags::empty(), start, bytes);
    match take_room(wanted, take) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP) => file.set_len(wanted)?,
        Err(error) => return Err(error.into()),
    }
    Ok(wanted)
}

/// Takes room for so many bytes, at once or in pieces: XFS wants as much free space as it is asked
/// for, also where the file has a part of it already, because a start was cut off, say.
fn take_room(
    wanted: u64,
    mut take: impl FnMut(u64, u64) -> Result<(), Errno>,
) -> Result<(), Errno> {
    match take(0, wanted) {
        Err(Errno::NOSPC) => (0..wanted)
            .step_by(ROOM_PIECE_BYTES as usize)
            .try_for_each(|start| take(start, ROOM_PIECE_BYTES.min(wanted - start))),
        taken => taken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free bytes of a file system that wants as many for a request as it names, as XFS does, and
    /// the bytes of a file, in pieces.
    struct Room {
        free: u64,
        taken: Vec<bool>,
    }

    impl Room {
        fn take(&mut self, start: u64, bytes: u64) -> Result<(), Errno> {
            if bytes > self.free {
                return Err(Errno::NOSPC);
            }
            let first = (start / ROOM_PIECE_BYTES) as usize;
            let pieces = bytes.div_ceil(ROOM_PIECE_BYTES) as usize;
            for taken in &mut self.taken[first..first + pieces] {
                self.free -= if *taken { 0 } else { ROOM_PIECE_BYTES };
                *taken = true;
            }
            Ok(())
        }
    }

    #[test]
    fn a_file_that_has_a_part_of_its_room_gets_the_rest() {
        const PIECES: usize = 8;
        let wanted = PIECES as u64 * ROOM_PIECE_BYTES;
        for pieces_free in 0..PIECES {
            let mut taken = vec![true; PIECES];
            taken[..pieces_free / 2].fill(false);
            let free = pieces_free as u64 * ROOM_PIECE_BYTES;
            let mut room = Room { free, taken };
            let outcome = take_room(wanted, |start, bytes| room.take(start, bytes));
            let all = room.taken.iter().all(|&taken| taken);
            assert_eq!((outcome.is_ok(), all), (pieces_free > 0, true));
        }
        let mut room = Room {
            free: wanted - ROOM_PIECE_BYTES,
            taken: vec![false; PIECES],
        };
        let outcome = take_room(wanted, |start, bytes| room.take(start, bytes));
        assert_eq!(outcome, Err(Errno::NOSPC));
    }
}
