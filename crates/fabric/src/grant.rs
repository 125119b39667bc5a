//! What a server answers to a client that asks to be let in.
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 1 | version, [`crate::frame::VERSION`] |
//! | 1 | 1 | network, [`Network`] |
//! | 2 | 2 | credits |
//! | 4 | 4 | session |
//! | 8 | 8 | token |
//! | 16 | 8 | key |
//! | 24 | 4 | most bytes of packets in a message |
//! | 28 | rest | address of the worker that will own the client |
//!
//! Numbers are little-endian, as in a frame.

use crate::error::Error;
use crate::frame::VERSION;

/// Bytes in front of the address.
const FIXED_BYTES: usize = 28;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Network {
    /// UCX.
    Ucx = 1,
    /// The memory of one process, for tests.
    Memory = 2,
}

impl Network {
    /// The network with this number.
    pub fn from_byte(byte: u8) -> Option<Network> {
        [Network::Ucx, Network::Memory]
            .into_iter()
            .find(|network| *network as u8 == byte)
    }
}

/// A client's way in. It is secret: whoever has it is let in, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What carries the messages.
    pub network: Network,
    /// Messages that the client may have unanswered at any time.
    pub credits: u16,
    /// The server's number for the session.
    pub session: u32,
    /// To be shown once, in the first message.
    pub token: u64,
    /// Carried by every message, both ways.
    pub key: u64,
    /// Most bytes of [`crate::Payload::Packets`] that the server takes in one message.
    pub message_bytes_max: u32,
    /// The port that will own the client.
    pub address: Vec<u8>,
}

impl Grant {
    /// The grant as it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.network as u8];
        bytes.extend_from_slice(&self.credits.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        bytes.extend_from_slice(&self.token.to_le_bytes());
        bytes.extend_from_slice(&self.key.to_le_bytes());
        bytes.extend_from_slice(&self.message_bytes_max.to_le_bytes());
        bytes.extend_from_slice(&self.address);
        bytes
    }

    /// Reads a grant.
    ///
    /// # Errors
    /// [`Error::Malformed`] names the rule that it breaks.
    pub fn decode(bytes: &[u8]) -> Result<Grant, Error> {
        let (fixed, address) = bytes
            .split_first_chunk::<FIXED_BYTES>()
            .ok_or(Error::Malformed("shorter than a grant"))?;
        if fixed[0] != VERSION {
            return Err(Error::Malformed("a version that is not spoken here"));
        }
        let network = Network::from_byte(fixed[1]).ok_or(Error::Malformed("an unknown network"))?;
        Ok(Grant {
            network,
            credits: u16::from_le_bytes([fixed[2], fixed[3]]),
            session: u32::from_le_bytes(array(&fixed[4..8])),
            token: u64::from_le_bytes(array(&fixed[8..16])),
            key: u64::from_le_bytes(array(&fixed[16..24])),
            message_bytes_max: u32::from_le_bytes(array(&fixed[24..28])),
            address: address.to_vec(),
        })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("sliced to this length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_has_its_golden_bytes() {
        let grant = Grant {
            network: Network::Ucx,
            credits: 0x0201,
            session: 0x0403_0201,
            token: 0x1817_1615_1413_1211,
            key: 0x2827_2625_2423_2221,
            message_bytes_max: 0x0001_0000,
            address: vec![0xaa, 0xbb],
        };
        let golden = [
            1, 1, 0x01, 0x02, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
            0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0, 0, 1, 0, 0xaa, 0xbb,
        ];
        assert_eq!(grant.encode(), golden);
        assert_eq!(Grant::decode(&golden), Ok(grant));
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        assert!(Grant::decode(&[1; FIXED_BYTES - 1]).is_err());
        assert!(Grant::decode(&[2; FIXED_BYTES]).is_err());
        let mut unknown_network = [1; FIXED_BYTES];
        unknown_network[1] = 9;
        assert!(Grant::decode(&unknown_network).is_err());
    }
}
