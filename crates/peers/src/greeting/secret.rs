//! Proofs that somebody knows a secret.

use super::challenge::CHALLENGE_SAID_BYTES;
use super::hello::HELLO_BYTES;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// What goes into the proofs of either end, so that one is of no use as the other.
const ASKING: &[u8] = b"farcache peer asks";
const GREETED: &[u8] = b"farcache peer answers";

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

    /// Shows that the asking end knows the secret.
    #[must_use]
    pub fn proof(&self, said: &Said) -> [u8; PROOF_BYTES] {
        self.prove(ASKING, said)
    }

    /// Whether the asking end knows the secret. Takes as long for a wrong proof as for a right one.
    #[must_use]
    pub fn is_proof(&self, proof: &[u8; PROOF_BYTES], said: &Said) -> bool {
        self.is_proven(ASKING, proof, said)
    }

    /// Shows that the greeted end knows the secret.
    pub(super) fn answer(&self, said: &Said) -> [u8; PROOF_BYTES] {
        self.prove(GREETED, said)
    }

    /// Whether the greeted end knows the secret.
    pub(super) fn is_answer(&self, proof: &[u8; PROOF_BYTES], said: &Said) -> bool {
        self.is_proven(GREETED, proof, said)
    }

    fn prove(&self, end: &[u8], said: &Said) -> [u8; PROOF_BYTES] {
        self.of(end, said).finalize().into_bytes().into()
    }

    fn is_proven(&self, end: &[u8], proof: &[u8; PROOF_BYTES], said: &Said) -> bool {
        self.of(end, said).verify(proof.into()).is_ok()
    }

    fn of(&self, end: &[u8], said: &Said) -> Hmac<Sha256> {
        self.0.clone().chain_update(end).chain_update(said.0)
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
    pub(super) fn new(hello: &[u8; HELLO_BYTES], challenge: &[u8; CHALLENGE_SAID_BYTES]) -> Said {
        let mut said = [0; HELLO_BYTES + CHALLENGE_SAID_BYTES];
        said[..HELLO_BYTES].copy_from_slice(hello);
        said[HELLO_BYTES..].copy_from_slice(challenge);
        Said(said)
    }
}
