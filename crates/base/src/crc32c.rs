//! CRC-32C, which seals what lies on SSDs, parts of values on several servers, and files' chunks.
//!
//! The polynomial is Castagnoli's, as in iSCSI (RFC 3720, 12.1). The library folds with carry-less
//! multiplications of as many bits as the processor has, at run time: 50 GB/s with 512, 25 in a
//! copy that is summed as it goes.

use crc_fast::{CrcAlgorithm, Digest};

const ALGORITHM: CrcAlgorithm = CrcAlgorithm::Crc32Iscsi;

/// The checksum of these bytes.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(ALGORITHM, bytes) as u32
}

/// The checksum of bytes that have this one, with more behind them.
#[must_use]
pub fn crc32c_append(checksum: u32, more: &[u8]) -> u32 {
    // The state is what the checksum is the complement of.
    let mut digest = Digest::new_with_init_state(ALGORITHM, u64::from(!checksum));
    digest.update(more);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, B.4, and the check value of the catalogue of CRCs (CRC-32/ISCSI).
    #[test]
    fn published_checksums_are_these() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[]), 0);
    }

    /// Bit by bit, as the polynomial says.
    fn by_bits(bytes: &[u8]) -> u32 {
        let step = |sum: u32, byte: &u8| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
                (sum >> 1) ^ (0x82f6_3b78 * (sum & 1))
            })
        };
        !bytes.iter().fold(u32::MAX, step)
    }

    #[test]
    fn every_length_and_every_cut_is_as_the_polynomial_says() {
        let bytes: Vec<u8> = (0..1100_u32).map(|at| ((at * 167) >> 3) as u8).collect();
        for length in 0..bytes.len() {
            let part = &bytes[..length];
            let checksum = crc32c(part);
            assert_eq!(checksum, by_bits(part), "{length} bytes");
            let (head, rest) = part.split_at(length / 3);
            assert_eq!(crc32c_append(crc32c(head), rest), checksum);
        }
    }
}
