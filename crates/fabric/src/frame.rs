//! The fixed header in front of every message.
//!
//! | offset | bytes | field | meaning |
//! |---:|---:|---|---|
//! | 0 | 1 | version | [`VERSION`] |
//! | 1 | 1 | kind | [`Kind`] |
//! | 2 | 2 | head bytes | bytes that follow the frame in front of the body: a packet without its value |
//! | 4 | 4 | session | the receiver's number for this conversation |
//! | 8 | 8 | key | known to the two ends only |
//! | 16 | 2 | credits | see [`Frame::credits`] |
//! | 18 | 2 | reserved | 0 |
//! | 20 | 4 | body bytes | length of the body |
//!
//! Numbers are little-endian: both ends are meant to be fast on machines that are.

use crate::error::Error;

/// The format's version.
pub const VERSION: u8 = 1;

/// Length of a frame in bytes.
pub const FRAME_BYTES: usize = 24;

/// Most bytes of a head: header, extras (20 at most) and key (65,535 at most by its field, 250 in
/// truth) of one packet, with room to spare.
pub const HEAD_BYTES_MAX: usize = 512;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Client to server, once: here I am. The packets are the one-time token, 8 bytes.
    Hello = 1,
    /// Server to client: the session is open.
    Welcome = 2,
    /// Packets of memcached's binary protocol.
    Packets = 3,
    /// Either way: the session is over. The packets are a reason in English, perhaps empty.
    Goodbye = 4,
    /// Client to server: the session is over, and its TCP connection stays, for operations. The
    /// server closes the session's connection on the network some time later.
    Retire = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        // The kind of nearly all messages first.
        let others = [Kind::Hello, Kind::Welcome, Kind::Goodbye, Kind::Retire];
        std::iter::once(Kind::Packets)
            .chain(others)
            .find(|kind| *kind as u8 == byte)
    }
}

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// The receiver's number for the conversation.
    pub session: u32,
    /// The conversation's secret.
    pub key: u64,
    /// From a server: so many more of the client's messages have been answered completely. From a
    /// client: 0.
    pub credits: u16,
    /// Bytes of the head.
    pub head_bytes: u16,
    /// Bytes of the body.
    pub body_bytes: u32,
}

impl Frame {
    /// The frame as it is sent.
    #[inline]
    pub fn encode(&self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        bytes[0] = VERSION;
        bytes[1] = self.kind as u8;
        bytes[2..4].copy_from_slice(&self.head_bytes.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.session.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.credits.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.body_bytes.to_le_bytes());
        bytes
    }

    /// Splits a message's front into frame and head, given the length of the body that came with
    /// it.
    ///
    /// # Errors
    /// [`Error::Malformed`] names the rule that it breaks.
    #[inline]
    pub fn decode(front: &[u8], body_bytes: usize) -> Result<(Frame, &[u8]), Error> {
        let (bytes, head) = front
            .split_first_chunk::<FRAME_BYTES>()
            .ok_or(Error::Malformed("shorter than a frame"))?;
        let [version, kind, head_0, head_1, s0, s1, s2, s3, rest @ ..] = *bytes;
        let [
            k0,
            k1,
            k2,
            k3,
            k4,
            k5,
            k6,
            k7,
            credits_0,
            credits_1,
            reserved_0,
            reserved_1,
            b0,
            b1,
            b2,
            b3,
        ] = rest;
        if version != VERSION {
            return Err(Error::Malformed("a version that is not spoken here"));
        }
        let frame = Frame {
            kind: Kind::from_byte(kind).ok_or(Error::Malformed("an unknown kind of message"))?,
            session: u32::from_le_bytes([s0, s1, s2, s3]),
            key: u64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]),
            credits: u16::from_le_bytes([credits_0, credits_1]),
            head_bytes: u16::from_le_bytes([head_0, head_1]),
            body_bytes: u32::from_le_bytes([b0, b1, b2, b3]),
        };
        if [reserved_0, reserved_1] != [0, 0] {
            return Err(Error::Malformed("reserved bytes that are not 0"));
        }
        if usize::from(frame.head_bytes) != head.len() || head.len() > HEAD_BYTES_MAX {
            return Err(Error::Malformed("a head of another length than said"));
        }
        if frame.body_bytes as usize != body_bytes {
            return Err(Error::Malformed("a body of another length than said"));
        }
        Ok((frame, head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        kind: Kind::Packets,
        session: 0x0403_0201,
        key: 0x1817_1615_1413_1211,
        credits: 0x2221,
        head_bytes: 3,
        body_bytes: 0x0001_0000,
    };

    /// Each field at the offset of the table above, its lowest byte first.
    const GOLDEN: [u8; FRAME_BYTES] = [
        1, 3, 3, 0, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21,
        0x22, 0, 0, 0, 0, 1, 0,
    ];

    #[test]
    fn a_frame_has_its_golden_bytes() {
        assert_eq!(FRAME.encode(), GOLDEN);
        let front = [&GOLDEN[..], b"abc"].concat();
        assert_eq!(Frame::decode(&front, 0x0001_0000), Ok((FRAME, &b"abc"[..])));
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        let front = [&GOLDEN[..], b"abc"].concat();
        for (place, byte) in [(0, 2), (1, 9), (1, 0), (2, 4), (18, 1), (19, 1), (20, 1)] {
            let mut broken = front.clone();
            broken[place] = byte;
            assert!(
                Frame::decode(&broken, 0x0001_0000).is_err(),
                "{place} {byte}"
            );
        }
        assert!(Frame::decode(&front, 0xffff).is_err());
        assert!(Frame::decode(&front[..FRAME_BYTES - 1], 0).is_err());
    }
}
