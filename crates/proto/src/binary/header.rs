//! The header in front of every packet.

use std::mem::{offset_of, size_of};

/// First byte of a request.
pub const MAGIC_REQUEST: u8 = 0x80;

/// First byte of a response.
pub const MAGIC_RESPONSE: u8 = 0x81;

/// Size of [`Header`] on the wire, in bytes.
pub const HEADER_BYTES: usize = 24;

/// The header of a packet, laid out as on the wire; numbers are big-endian there.
///
/// | offset | bytes | field                                                |
/// |-------:|------:|------------------------------------------------------|
/// |      0 |     1 | magic                                                |
/// |      1 |     1 | opcode                                               |
/// |      2 |     2 | key length                                           |
/// |      4 |     1 | extras length                                        |
/// |      5 |     1 | data type (0; 1: see [`super::split_told`])      |
/// |      6 |     2 | request: vbucket (0); response: status               |
/// |      8 |     4 | body length: extras, key and value together          |
/// |     12 |     4 | opaque: returned as it came                          |
/// |     16 |     8 | CAS token                                            |
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// [`MAGIC_REQUEST`] or [`MAGIC_RESPONSE`].
    pub magic: u8,
    /// The command, see [`super::Opcode`].
    pub opcode: u8,
    /// Bytes of the key.
    pub key_len: u16,
    /// Bytes of the extras.
    pub extras_len: u8,
    /// 0, but where the extras tell more than usual, see [`super::split_told`].
    pub data_type: u8,
    /// Status of a response, see [`super::Status`]; vbucket of a request.
    pub status: u16,
    /// Bytes of extras, key and value together.
    pub body_len: u32,
    /// Chosen by the client, returned unchanged.
    pub opaque: u32,
    /// CAS token; 0 for none.
    pub cas: u64,
}

const _: () = {
    assert!(size_of::<Header>() == HEADER_BYTES);
    assert!(offset_of!(Header, magic) == 0);
    assert!(offset_of!(Header, opcode) == 1);
    assert!(offset_of!(Header, key_len) == 2);
    assert!(offset_of!(Header, extras_len) == 4);
    assert!(offset_of!(Header, data_type) == 5);
    assert!(offset_of!(Header, status) == 6);
    assert!(offset_of!(Header, body_len) == 8);
    assert!(offset_of!(Header, opaque) == 12);
    assert!(offset_of!(Header, cas) == 16);
};

impl Header {
    /// Reads a header.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Header {
        Header {
            magic: bytes[0],
            opcode: bytes[1],
            key_len: u16::from_be_bytes([bytes[2], bytes[3]]),
            extras_len: bytes[4],
            data_type: bytes[5],
            status: u16::from_be_bytes([bytes[6], bytes[7]]),
            body_len: u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]),
            // The client's own bytes: their order means nothing to anyone else.
            opaque: u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]),
            cas: u64::from_be_bytes([
                bytes[16], bytes[17], bytes[18], bytes[19], bytes[20], bytes[21], bytes[22],
                bytes[23],
            ]),
        }
    }

    /// The header as on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.magic;
        bytes[1] = self.opcode;
        bytes[2..4].copy_from_slice(&self.key_len.to_be_bytes());
        bytes[4] = self.extras_len;
        bytes[5] = self.data_type;
        bytes[6..8].copy_from_slice(&self.status.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.body_len.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.opaque.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.cas.to_be_bytes());
        bytes
    }

    /// Bytes of the value, or `None` if the body is too short for extras and key.
    #[inline]
    pub fn value_len(&self) -> Option<usize> {
        (self.body_len as usize).checked_sub(self.extras_len as usize + self.key_len as usize)
    }
}
