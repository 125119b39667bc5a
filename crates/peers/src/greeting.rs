//! How a peer shows who it is. It sends a [`Hello`], the other server a [`Challenge`]; where that
//! wants a proof, the peer sends 32 bytes, and gets four more with a [`Verdict`].
//!
//! With a shared secret both ends show that they know it without telling it: each sends the
//! HMAC-SHA-256 of what both have said, which has a random number of each. Source of the scheme:
//! challenge and response with mutual authentication, ISO/IEC 9798-4, mechanism 6.2.2.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// First byte of a peer's conversation. No memcached protocol begins so.
pub const FIRST_BYTE: u8 = 0xfc;

/// Version of all of this.
const VERSION: u8 = 1;

/// Bytes of a [`Hello`].
pub const HELLO_BYTES: usize = 120;

/// Bytes of a [`Challenge`].
pub const CHALLENGE_BYTES: usize = 80;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Bytes of a verdict on a proof.
pub const VERDICT_BYTES: usize = 4;

/// Longest name of a cluster, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Bytes of a challenge that the proofs are about: all but the server's own.
const CHALLENGE_SAID_BYTES: usize = 48;

/// A random number, used once.
pub type Nonce = [u8; 32];

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

/// A secret that the servers of a cluster share.
#[derive(Clone)]
pub struct Secret(Hmac<Sha256>);

impl Secret {
    /// Shortest secret, in bytes.
    pub const BYTES_MIN: usize = 16;

    /// The secret of these bytes.
    ///
    /// # Panics
    /// Never: HMAC takes keys of any length.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Secret {
        Secret(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length"))
    }

    fn of(&self, end: &[u8], said: &Said) -> Hmac<Sha256> {
        self.0.clone().chain_update(end).chain_update(said.0)
    }

    /// Shows that the asking end knows the secret.
    #[must_use]
    pub fn proof(&self, said: &Said) -> [u8; PROOF_BYTES] {
        self.of(b"farcache peer asks", said)
            .finalize()
            .into_bytes()
            .into()
    }

    /// Whether the asking end knows the secret. Takes as long for a wrong proof as for a right one.
    #[must_use]
    pub fn is_proof(&self, proof: &[u8; PROOF_BYTES], said: &Said) -> bool {
        self.of(b"farcache peer asks", said)
            .verify(proof.into())
            .is_ok()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

/// What both ends have said before the proofs.
#[derive(Clone, Debug)]
pub struct Said([u8; HELLO_BYTES + CHALLENGE_SAID_BYTES]);

impl Said {
    fn new(hello: &[u8; HELLO_BYTES], challenge: &[u8; CHALLENGE_SAID_BYTES]) -> Said {
        let mut said = [0; HELLO_BYTES + CHALLENGE_SAID_BYTES];
        said[..HELLO_BYTES].copy_from_slice(hello);
        said[HELLO_BYTES..].copy_from_slice(challenge);
        Said(said)
    }
}

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

/// What the greeted server answers.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | [`FIRST_BYTE`] |
/// | 1 | 1 | version, 1 |
/// | 2 | 1 | [`Verdict`] |
/// | 3 | 1 | 0 |
/// | 4 | 4 | the server's name in the map |
/// | 8 | 8 | epoch of its map |
/// | 16 | 32 | nonce |
/// | 48 | 32 | the server's proof; zeros where no proof is wanted |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// What it says.
    pub verdict: Verdict,
    /// The server's name in the map.
    pub server: u32,
    /// Epoch of its map.
    pub epoch: u64,
    /// Its random number.
    pub nonce: Nonce,
}

impl Challenge {
    fn said(&self) -> [u8; CHALLENGE_SAID_BYTES] {
        let mut bytes = [0; CHALLENGE_SAID_BYTES];
        [bytes[0], bytes[1], bytes[2]] = [FIRST_BYTE, VERSION, self.verdict as u8];
        bytes[4..8].copy_from_slice(&self.server.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[16..48].copy_from_slice(&self.nonce);
        bytes
    }

    /// As it is sent in answer to `hello`, with the proof of who has the secret, and what has been
    /// said then.
    #[must_use]
    pub fn encode(
        &self,
        hello: &[u8; HELLO_BYTES],
        secret: Option<&Secret>,
    ) -> ([u8; CHALLENGE_BYTES], Said) {
        let said = Said::new(hello, &self.said());
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes[..CHALLENGE_SAID_BYTES].copy_from_slice(&self.said());
        if let Some(secret) = secret {
            let proof = secret.of(b"farcache peer answers", &said).finalize();
            bytes[CHALLENGE_SAID_BYTES..].copy_from_slice(&proof.into_bytes());
        }
        (bytes, said)
    }

    /// What was sent so in answer to `hello`, and what has been said then; none where it makes no
    /// sense, or where there is a secret that its sender does not know.
    ///
    /// # Errors
    /// Why the two ends do not come together, for the operator.
    pub fn decode(
        bytes: &[u8; CHALLENGE_BYTES],
        hello: &[u8; HELLO_BYTES],
        secret: Option<&Secret>,
    ) -> Result<(Challenge, Said), &'static str> {
        const NO_PEER: &str = "it does not answer as a server of a cluster";
        if bytes[..2] != [FIRST_BYTE, VERSION] || bytes[3] != 0 {
            return Err(NO_PEER);
        }
        let challenge = Challenge {
            verdict: Verdict::from_byte(bytes[2]).ok_or(NO_PEER)?,
            server: u32::from_be_bytes(part(bytes, 4)),
            epoch: u64::from_be_bytes(part(bytes, 8)),
            nonce: part(bytes, 16),
        };
        let said = Said::new(hello, &challenge.said());
        match (challenge.verdict, secret) {
            (Verdict::Prove, Some(secret)) => {
                let proof: [u8; PROOF_BYTES] = part(bytes, CHALLENGE_SAID_BYTES);
                let mac = secret.of(b"farcache peer answers", &said);
                if mac.verify((&proof).into()).is_err() {
                    return Err("it does not know the secret");
                }
            }
            (Verdict::Welcome, Some(_)) => return Err("it has no secret, and this server has one"),
            (Verdict::Welcome, None) => {}
            (refusal, _) => return Err(refusal.text()),
        }
        Ok((challenge, said))
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

fn part<const LENGTH: usize>(bytes: &[u8], offset: usize) -> [u8; LENGTH] {
    let part = bytes[offset..].first_chunk();
    *part.expect("an offset of the table above")
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

    fn challenge(verdict: Verdict) -> Challenge {
        Challenge {
            verdict,
            server: 2,
            epoch: 5,
            nonce: [6; 32],
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

    #[test]
    fn both_ends_prove_that_they_know_the_secret() {
        let (here, there) = (Secret::new(b"a secret"), Secret::new(b"a secret"));
        let hello = hello().encode();
        let (bytes, said) = challenge(Verdict::Prove).encode(&hello, Some(&there));
        let decoded = Challenge::decode(&bytes, &hello, Some(&here)).expect("the same secret");
        assert_eq!(decoded.0, challenge(Verdict::Prove));
        let proof = here.proof(&decoded.1);
        assert!(there.is_proof(&proof, &said));
        for bit in 0..PROOF_BYTES * 8 {
            let mut wrong = proof;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!there.is_proof(&wrong, &said), "bit {bit}");
        }
    }

    #[test]
    fn who_does_not_know_the_secret_is_found_out() {
        let (here, there) = (Secret::new(b"a secret"), Secret::new(b"another"));
        let hello = hello().encode();
        let (bytes, said) = challenge(Verdict::Prove).encode(&hello, Some(&there));
        assert!(Challenge::decode(&bytes, &hello, Some(&here)).is_err());
        assert!(!there.is_proof(&here.proof(&said), &said));
        // What one end has shown is of no use to the other, nor in another conversation.
        let own: [u8; PROOF_BYTES] = part(&bytes, CHALLENGE_SAID_BYTES);
        assert!(!there.is_proof(&own, &said));
        let mut later = challenge(Verdict::Prove);
        later.nonce = [7; 32];
        let (_, said_later) = later.encode(&hello, Some(&there));
        assert!(!there.is_proof(&there.proof(&said), &said_later));
    }

    #[test]
    fn a_server_with_a_secret_trusts_nobody_without() {
        let hello = hello().encode();
        let (bytes, _) = challenge(Verdict::Welcome).encode(&hello, None);
        assert!(Challenge::decode(&bytes, &hello, None).is_ok());
        assert!(Challenge::decode(&bytes, &hello, Some(&Secret::new(b"a secret"))).is_err());
        let (bytes, _) = challenge(Verdict::Prove).encode(&hello, Some(&Secret::new(b"a secret")));
        assert!(Challenge::decode(&bytes, &hello, None).is_err());
    }

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
