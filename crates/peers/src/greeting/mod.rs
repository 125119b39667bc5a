//! How a peer shows who it is. It sends a [`Hello`], the other server a [`Challenge`]; where that
//! wants a proof, the peer sends 32 bytes, and gets four more with a [`Verdict`].
//!
//! With a shared secret both ends show that they know it without telling it: each sends the
//! HMAC-SHA-256 of what both have said, which has a random number of each. Source of the scheme:
//! challenge and response with mutual authentication, ISO/IEC 9798-4, mechanism 6.2.2.

mod challenge;
mod hello;
mod secret;
mod verdict;

pub use challenge::{CHALLENGE_BYTES, Challenge};
pub use hello::{HELLO_BYTES, Hello};
pub use secret::{PROOF_BYTES, Said, Secret};
pub use verdict::{VERDICT_BYTES, Verdict, decode_verdict, encode_verdict};

/// First byte of a peer's conversation. No memcached protocol begins so.
pub const FIRST_BYTE: u8 = 0xfc;

/// Version of all of this.
const VERSION: u8 = 1;

/// A random number, used once.
pub type Nonce = [u8; 32];

fn part<const LENGTH: usize>(bytes: &[u8], offset: usize) -> [u8; LENGTH] {
    let part = bytes[offset..].first_chunk();
    *part.expect("an offset of the table above")
}
