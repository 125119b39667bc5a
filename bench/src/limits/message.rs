//! What stands in front of a request's body.
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 4 | length of the reply's body, little-endian |
//! | 4 | 4 | values among which the server chooses in turn, little-endian |
//! | 8 | 16 | nothing: as long as the fabric's frame |

/// Length of the header; that of the fabric's frame.
pub const HEADER_BYTES: usize = 24;

/// Number of the messages that ask.
pub const REQUEST: u16 = 1;
/// Number of the messages that answer.
pub const REPLY: u16 = 2;

/// Most bytes over which values of one size are spread: more than caches hold.
const SPREAD_BYTES_MAX: usize = 64 << 20;
/// Most values of one size.
const VALUES_MAX: usize = 1000;

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the body to answer with.
    pub reply_bytes: u32,
    /// Values among which the server chooses in turn, so that large ones do not lie in its cache.
    pub values: u32,
}

impl Header {
    /// As it is sent.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.reply_bytes.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.values.to_le_bytes());
        bytes
    }

    /// As it was sent; `None` for another length.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Some(Header {
            reply_bytes: number(0),
            values: number(4),
        })
    }
}

/// How many values of a size there are: the same number of keys that the fabric's measurements use.
pub fn values_of(bytes: usize) -> usize {
    (SPREAD_BYTES_MAX / bytes.max(1)).clamp(1, VALUES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_as_it_was() {
        let header = Header {
            reply_bytes: 0x0403_0201,
            values: 0x14,
        };
        let bytes = header.encode();
        assert_eq!(bytes[..8], [1, 2, 3, 4, 0x14, 0, 0, 0]);
        assert_eq!(Header::decode(&bytes), Some(header));
        assert_eq!(Header::decode(&bytes[1..]), None);
    }

    #[test]
    fn large_values_are_spread_beyond_caches_and_small_ones_are_many() {
        assert_eq!(
            [1, 64, 1 << 20, 512 << 20].map(values_of),
            [1000, 1000, 64, 1]
        );
    }
}
