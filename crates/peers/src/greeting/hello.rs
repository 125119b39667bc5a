//! What a peer says first.

use super::verdict::Verdict;
use super::{FIRST_BYTE, Nonce, VERSION, part};

/// Bytes of a [`Hello`].
pub const HELLO_BYTES: usize = 120;

/// Longest name of a cluster, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// What a peer says first.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | [`FIRST_BYTE`] |
/// | 1 | 1 | version, 1 |
/// | 2 | 1 | length of the cluster's name |
/// | 3 | 1 | 0 |
/// | 4 | 4 | the peer's name in the map |
/// | 8 | 4 | name of the server that is meant |
/// | 12 | 4 | 0 |
/// | 16 | 8 | epoch of the peer's map |
/// | 24 | 32 | nonce |
/// | 56 | 64 | the cluster's name, then zeros |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The peer's name in the map.
    pub from: u32,
    /// Name of the server that is meant.
    pub to: u32,
    /// Epoch of the peer's map.
    pub epoch: u64,
    /// Its random number.
    pub nonce: Nonce,
    /// Name of the cluster, 1 to 64 bytes.
    pub cluster: String,
}

impl Hello {
    /// As it is sent.
    ///
    /// # Panics
    /// If the cluster's name is longer than 64 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let name = self.cluster.as_bytes();
        assert!(name.len() <= NAME_BYTES_MAX);
        [bytes[0], bytes[1], bytes[2]] = [FIRST_BYTE, VERSION, name.len() as u8];
        bytes[4..8].copy_from_slice(&self.from.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.to.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[24..56].copy_from_slice(&self.nonce);
        bytes[56..56 + name.len()].copy_from_slice(name);
        bytes
    }

    /// What was sent so.
    ///
    /// # Errors
    /// None where it makes no sense, a verdict where that is to be sent back.
    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Hello, Option<Verdict>> {
        if bytes[0] != FIRST_BYTE {
            return Err(None);
        }
        if bytes[1] != VERSION {
            return Err(Some(Verdict::OtherVersion));
        }
        let name_bytes = usize::from(bytes[2]);
        let has_zeros = bytes[3] == 0 && bytes[12..16] == [0; 4];
        if !has_zeros || !(1..=NAME_BYTES_MAX).contains(&name_bytes) {
            return Err(None);
        }
        let (name, rest) = bytes[56..].split_at(name_bytes);
        let name = std::str::from_utf8(name).ok();
        let name = name.filter(|_| rest.iter().all(|byte| *byte == 0));
        Ok(Hello {
            from: u32::from_be_bytes(part(bytes, 4)),
            to: u32::from_be_bytes(part(bytes, 8)),
            epoch: u64::from_be_bytes(part(bytes, 16)),
            nonce: part(bytes, 24),
            cluster: name.ok_or(None)?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            from: 1,
            to: 2,
            epoch: 3,
            nonce: [4; 32],
            cluster: "orders".into(),
        }
    }

    #[test]
    fn a_hello_is_read_as_it_is_written() {
        let bytes = hello().encode();
        assert_eq!(
            bytes[..16],
            [0xfc, 1, 6, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0]
        );
        assert_eq!(bytes[16..24], [0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(&bytes[56..63], b"orders\0");
        assert_eq!(Hello::decode(&bytes), Ok(hello()));
        let mut other_version = bytes;
        other_version[1] = 2;
        assert_eq!(
            Hello::decode(&other_version),
            Err(Some(Verdict::OtherVersion))
        );
        for (offset, byte) in [
            (0, 0x80),
            (2, 0),
            (2, 65),
            (3, 1),
            (12, 1),
            (56, 0xff),
            (119, 1),
        ] {
            let mut bytes = bytes;
            bytes[offset] = byte;
            assert_eq!(Hello::decode(&bytes), Err(None), "{offset}");
        }
    }
}
