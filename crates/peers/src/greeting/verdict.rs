//! What comes of a greeting.

use super::{FIRST_BYTE, VERSION};

/// Bytes of a verdict on a proof.
pub const VERDICT_BYTES: usize = 4;

/// What the greeted server says.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Frames may follow.
    Welcome = 0,
    /// A proof is wanted first.
    Prove = 1,
    /// It speaks another version.
    OtherVersion = 2,
    /// It belongs to another cluster.
    OtherCluster = 3,
    /// It is another server than the one that was meant.
    OtherServer = 4,
    /// It has no secret, and lets in without one only who is on its own machine.
    NoSecret = 5,
    /// The proof is wrong.
    WrongProof = 6,
}

impl Verdict {
    /// The verdict with this byte.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Verdict> {
        Some(match byte {
            0 => Verdict::Welcome,
            1 => Verdict::Prove,
            2 => Verdict::OtherVersion,
            3 => Verdict::OtherCluster,
            4 => Verdict::OtherServer,
            5 => Verdict::NoSecret,
            6 => Verdict::WrongProof,
            _ => return None,
        })
    }

    /// Why a peer was refused, for an operator to read.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Welcome => "it lets this server in",
            Verdict::Prove => "it wants a proof, and this server has no secret",
            Verdict::OtherVersion => "it speaks another version of the peers' protocol",
            Verdict::OtherCluster => "it belongs to another cluster",
            Verdict::OtherServer => "it is another server of the cluster",
            Verdict::NoSecret => "it has no secret, and this server is not on its machine",
            Verdict::WrongProof => "it has another secret",
        }
    }
}

/// A verdict on a proof, as it is sent.
#[must_use]
pub fn encode_verdict(verdict: Verdict) -> [u8; VERDICT_BYTES] {
    [FIRST_BYTE, VERSION, verdict as u8, 0]
}

/// The verdict that was sent so.
#[must_use]
pub fn decode_verdict(bytes: [u8; VERDICT_BYTES]) -> Option<Verdict> {
    match bytes {
        [FIRST_BYTE, VERSION, verdict, 0] => Verdict::from_byte(verdict),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_as_they_are_written() {
        for byte in 0..=6 {
            let verdict = Verdict::from_byte(byte).expect("a verdict");
            assert_eq!(decode_verdict(encode_verdict(verdict)), Some(verdict));
            assert!(!verdict.text().is_empty());
        }
        assert_eq!(Verdict::from_byte(7), None);
        assert_eq!(decode_verdict([FIRST_BYTE, VERSION, 0, 1]), None);
    }
}
