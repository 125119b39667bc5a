//! Whether there is anything on a device that somebody may miss.

use std::io;

/// So much is looked at in full at the beginning and at the end, in bytes: whatever lays out disks
/// (file systems, RAID, volume managers, partition tables) leaves its marks there.
pub(crate) const EDGE_BYTES: u64 = 1 << 20;
/// Between the edges so many samples are looked at, of the size of a block of the file systems.
const SAMPLES: u64 = 1024;
const SAMPLE_BYTES: u64 = 4096;

/// Whether a device of so many bytes seems to hold nothing: zeros at both ends, and wherever a
/// sample is taken. `read` fills a part of `buffer`, whose size is a multiple of 4096, from an
/// offset that is a multiple of 4096.
///
/// # Errors
/// The errors of `read`.
pub(crate) fn is_blank(
    buffer: &mut [u8],
    bytes: u64,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<()>,
) -> io::Result<bool> {
    let edge = EDGE_BYTES.min(bytes);
    let end = (bytes - edge) / SAMPLE_BYTES * SAMPLE_BYTES;
    let stride = (end / SAMPLES)
        .next_multiple_of(SAMPLE_BYTES)
        .max(SAMPLE_BYTES);
    let samples = (0..end).step_by(stride as usize).skip(1);
    let samples = samples.map(|start| start..start + SAMPLE_BYTES);
    for mut range in [0..edge, end..bytes].into_iter().chain(samples) {
        while range.start < range.end {
            let count = (buffer.len() as u64).min(range.end - range.start) as usize;
            let part = &mut buffer[..count];
            read(part, range.start)?;
            if part.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            range.start += count as u64;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds_nothing(bytes: &[u8]) -> bool {
        let mut buffer = [1; 8192];
        is_blank(&mut buffer, bytes.len() as u64, |part, offset| {
            assert_eq!(offset % 4096, 0);
            part.copy_from_slice(&bytes[offset as usize..][..part.len()]);
            Ok(())
        })
        .unwrap()
    }

    #[test]
    fn zeros_are_nothing_whatever_their_number() {
        for bytes in [0, 1, 511, 4096, 5000, 1 << 20, (5 << 20) + 17, 9 << 20] {
            assert!(holds_nothing(&vec![0; bytes]), "{bytes}");
        }
    }

    #[test]
    fn a_single_byte_at_either_end_is_something() {
        let size = (8 << 20) + 100;
        let edge = EDGE_BYTES as usize;
        for place in [0, 1, 65_600, edge - 1, size - edge, size - 4096, size - 1] {
            let mut bytes = vec![0; size];
            bytes[place] = 1;
            assert!(!holds_nothing(&bytes), "{place}");
        }
        for size in [1, 11, 4097] {
            let mut bytes = vec![0; size];
            bytes[size - 1] = 1;
            assert!(!holds_nothing(&bytes), "the last of {size}");
        }
    }

    #[test]
    fn what_fills_the_middle_is_met_by_samples() {
        let mut bytes = vec![0; 64 << 20];
        bytes[20 << 20..21 << 20].fill(7);
        assert!(!holds_nothing(&bytes));
    }
}
