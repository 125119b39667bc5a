//! The extras of requests and responses that carry some.

use std::mem::{offset_of, size_of};

/// Extras of set, add and replace.
///
/// | offset | bytes | field      |
/// |-------:|------:|------------|
/// |      0 |     4 | flags      |
/// |      4 |     4 | expiration |
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetExtras {
    /// The client's opaque flags.
    pub flags: u32,
    /// Expiration as in the text protocol, in seconds.
    pub expiration: u32,
}

/// Extras of increment and decrement.
///
/// | offset | bytes | field      |
/// |-------:|------:|------------|
/// |      0 |     8 | delta      |
/// |      8 |     8 | initial    |
/// |     16 |     4 | expiration |
#[repr(C, packed(4))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArithmeticExtras {
    /// Amount to add or subtract.
    pub delta: u64,
    /// Value with which an absent key is created.
    pub initial: u64,
    /// Expiration of a created item, in seconds; [`super::NO_CREATE`] to create none.
    pub expiration: u32,
}

const _: () = {
    assert!(size_of::<SetExtras>() == SetExtras::BYTES);
    assert!(offset_of!(SetExtras, flags) == 0);
    assert!(offset_of!(SetExtras, expiration) == 4);
    assert!(size_of::<ArithmeticExtras>() == ArithmeticExtras::BYTES);
    assert!(offset_of!(ArithmeticExtras, delta) == 0);
    assert!(offset_of!(ArithmeticExtras, initial) == 8);
    assert!(offset_of!(ArithmeticExtras, expiration) == 16);
};

/// Bytes of a value that may stand behind the extras at most, of *store if newer* or of the answer
/// to *get with version*: the value's beginning, where the rest lies elsewhere with the sender, or
/// is to lie elsewhere with the receiver.
pub const FRONT_BYTES_MAX: usize = 64;

/// Extras of *get with version*, of which the second may be left out.
///
/// | offset | bytes | field |
/// |-------:|------:|-------|
/// |      0 |     4 | how many bytes of the value are wanted at most |
/// |      4 |     1 | how many of these come behind the answer's flags; 0 for none, 64 at most |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionedGetExtras {
    /// How many bytes of the value are wanted at most.
    pub bytes_max: u32,
    /// How many of these come behind the answer's flags, [`FRONT_BYTES_MAX`] at most; the rest is
    /// the packet's value.
    pub front_bytes: u8,
}

impl VersionedGetExtras {
    /// Reads them; `None` if they have another length, or ask for more than there may be.
    pub fn decode(extras: &[u8]) -> Option<VersionedGetExtras> {
        let (bytes_max, rest) = extras.split_first_chunk()?;
        let front_bytes = match *rest {
            [] => 0,
            [front_bytes] => front_bytes,
            _ => return None,
        };
        let is_possible = usize::from(front_bytes) <= FRONT_BYTES_MAX;
        is_possible.then_some(VersionedGetExtras {
            bytes_max: u32::from_be_bytes(*bytes_max),
            front_bytes,
        })
    }

    /// With both fields.
    pub fn encode(self) -> [u8; 5] {
        let [b0, b1, b2, b3] = self.bytes_max.to_be_bytes();
        [b0, b1, b2, b3, self.front_bytes]
    }
}

impl SetExtras {
    /// Size on the wire, in bytes.
    pub const BYTES: usize = 8;

    /// Reads them; `None` if the length is another.
    pub fn decode(extras: &[u8]) -> Option<SetExtras> {
        let extras: &[u8; Self::BYTES] = extras.try_into().ok()?;
        let [f0, f1, f2, f3, e0, e1, e2, e3] = *extras;
        Some(SetExtras {
            flags: u32::from_be_bytes([f0, f1, f2, f3]),
            expiration: u32::from_be_bytes([e0, e1, e2, e3]),
        })
    }

    /// As on the wire.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.flags.to_be_bytes());
        bytes[4..].copy_from_slice(&self.expiration.to_be_bytes());
        bytes
    }
}

impl ArithmeticExtras {
    /// Size on the wire, in bytes.
    pub const BYTES: usize = 20;

    /// Reads them; `None` if the length is another.
    pub fn decode(extras: &[u8]) -> Option<ArithmeticExtras> {
        let extras: &[u8; Self::BYTES] = extras.try_into().ok()?;
        let (delta, rest) = extras.split_first_chunk::<8>()?;
        let (initial, rest) = rest.split_first_chunk::<8>()?;
        Some(ArithmeticExtras {
            delta: u64::from_be_bytes(*delta),
            initial: u64::from_be_bytes(*initial),
            expiration: decode_u32(rest)?,
        })
    }

    /// As on the wire.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&{ self.delta }.to_be_bytes());
        bytes[8..16].copy_from_slice(&{ self.initial }.to_be_bytes());
        bytes[16..].copy_from_slice(&encode_u32(self.expiration));
        bytes
    }
}

/// Reads extras that are one number: the expiration of touch, get-and-touch and flush, the level of
/// verbosity, the flags of a value returned. `None` if the length is another.
#[inline]
pub fn decode_u32(extras: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(extras.try_into().ok()?))
}

/// Extras that are one number, as on the wire.
pub fn encode_u32(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}
