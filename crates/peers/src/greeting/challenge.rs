//! What the greeted server answers.

use super::hello::HELLO_BYTES;
use super::secret::{Said, Secret};
use super::verdict::Verdict;
use super::{FIRST_BYTE, Nonce, VERSION, part};

/// Bytes of a [`Challenge`].
pub const CHALLENGE_BYTES: usize = 80;

/// Bytes of a challenge that the proofs are about: all but the server's own.
pub(super) const CHALLENGE_SAID_BYTES: usize = 48;

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
            bytes[CHALLENGE_SAID_BYTES..].copy_from_slice(&secret.answer(&said));
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
                if !secret.is_answer(&part(bytes, CHALLENGE_SAID_BYTES), &said) {
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

#[cfg(test)]
mod tests {
    use super::super::secret::PROOF_BYTES;
    use super::*;
    use crate::greeting::Hello;

    fn hello() -> [u8; HELLO_BYTES] {
        let hello = Hello {
            from: 1,
            to: 2,
            epoch: 3,
            nonce: [4; 32],
            cluster: "orders".into(),
        };
        hello.encode()
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
    fn both_ends_prove_that_they_know_the_secret() {
        let (here, there) = (Secret::new(b"a secret"), Secret::new(b"a secret"));
        let hello = hello();
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
        let hello = hello();
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
        let hello = hello();
        let (bytes, _) = challenge(Verdict::Welcome).encode(&hello, None);
        assert!(Challenge::decode(&bytes, &hello, None).is_ok());
        assert!(Challenge::decode(&bytes, &hello, Some(&Secret::new(b"a secret"))).is_err());
        let (bytes, _) = challenge(Verdict::Prove).encode(&hello, Some(&Secret::new(b"a secret")));
        assert!(Challenge::decode(&bytes, &hello, None).is_err());
    }
}
