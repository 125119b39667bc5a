//! The head that stands before each body.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | kind |
//! | 1 | 3 | 0 |
//! | 4 | 4 | number that the asking server chose; replies repeat it |
//! | 8 | 8 | epoch of the sender's map |
//! | 16 | 4 | bytes of the body |
//! | 20 | 4 | 0 |
//!
//! Numbers are big-endian.

/// Bytes of a head.
pub const HEAD_BYTES: usize = 24;

/// What a frame is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The body is one request of a client, as it came. A server asks no third one for it.
    Request = 1,
    /// The body is the beginning of a reply, or goes on with it.
    Part = 2,
    /// The body ends a reply.
    Reply = 3,
    /// The asked server does not own the key in its map; the body is empty.
    NotOwner = 4,
    /// What was to be changed will not become durable; the body is empty.
    NotDurable = 5,
    /// Asks which map all workers of the server go by ([`crate::moves::Acknowledged`]); the body is
    /// empty.
    Acknowledge = 6,
    /// Asks for one item that the server does not decide on any more ([`crate::moves::Fetch`]).
    Fetch = 7,
    /// Asks for the next items of a move ([`crate::moves::Pull`]).
    Pull = 8,
    /// The body is one request about a part of a value, which the asking server makes for a client,
    /// and is answered as that client's would be.
    OnBehalf = 9,
    /// Asks for a session on the fabric, beside the connection: a version and a byte for each
    /// network, as a client asks for one. The reply is the grant.
    Fabric = 10,
}

impl Kind {
    /// Whether a server asks by such a frame.
    #[must_use]
    pub fn asks(self) -> bool {
        matches!(
            self,
            Kind::Request
                | Kind::OnBehalf
                | Kind::Acknowledge
                | Kind::Fetch
                | Kind::Pull
                | Kind::Fabric
        )
    }

    fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Request,
            2 => Kind::Part,
            3 => Kind::Reply,
            4 => Kind::NotOwner,
            5 => Kind::NotDurable,
            6 => Kind::Acknowledge,
            7 => Kind::Fetch,
            8 => Kind::Pull,
            9 => Kind::OnBehalf,
            10 => Kind::Fabric,
            _ => return None,
        })
    }
}

/// A head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the frame is.
    pub kind: Kind,
    /// Which request it is, or answers.
    pub number: u32,
    /// Epoch of the sender's map.
    pub epoch: u64,
    /// Length of the body.
    pub body_bytes: u32,
}

impl Head {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.body_bytes.to_be_bytes());
        bytes
    }

    /// The head that was sent so; none where this is no head.
    #[must_use]
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let [
            kind,
            0,
            0,
            0,
            n0,
            n1,
            n2,
            n3,
            e0,
            e1,
            e2,
            e3,
            e4,
            e5,
            e6,
            e7,
            b0,
            b1,
            b2,
            b3,
            0,
            0,
            0,
            0,
        ] = *bytes
        else {
            return None;
        };
        Some(Head {
            kind: Kind::from_byte(kind)?,
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            epoch: u64::from_be_bytes([e0, e1, e2, e3, e4, e5, e6, e7]),
            body_bytes: u32::from_be_bytes([b0, b1, b2, b3]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Derived by hand from the table above.
    const BYTES: [u8; HEAD_BYTES] = [
        3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 42, 0, 1, 0, 5, 0, 0, 0, 0,
    ];

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = Head {
            kind: Kind::Reply,
            number: 0x102,
            epoch: 42,
            body_bytes: 0x10005,
        };
        assert_eq!(head.encode(), BYTES);
        assert_eq!(Head::decode(&BYTES), Some(head));
        for kind in 1..=10 {
            let mut bytes = BYTES;
            bytes[0] = kind;
            assert_eq!(Head::decode(&bytes).map(|head| head.kind as u8), Some(kind));
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for (offset, byte) in [(0, 0), (0, 11), (1, 1), (3, 1), (20, 1), (23, 1)] {
            let mut bytes = BYTES;
            bytes[offset] = byte;
            assert_eq!(Head::decode(&bytes), None, "{offset}");
        }
    }
}
