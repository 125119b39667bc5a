//! The namespace, a prefix of every key (`MEMCACHED_CALLBACK_NAMESPACE`, formerly
//! `..._PREFIX_KEY`).

use crate::hash::HashAlgorithm;
use farcache_base::limits::KEY_BYTES_MAX;

/// Longest namespace in bytes (`MEMCACHED_MAX_NAMESPACE` with its terminating zero).
pub const NAMESPACE_BYTES_MAX: usize = 127;

/// A prefix that goes before every key on the wire, and into its hash where the settings say so.
///
/// Which characters the wire's protocol can carry is checked where keys are written, with the key's
/// own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace(Box<[u8]>);

/// A namespace is empty, too long or contains a zero byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidNamespace;

impl std::fmt::Display for InvalidNamespace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "a namespace has 1 to {NAMESPACE_BYTES_MAX} bytes, none of them zero"
        )
    }
}

impl std::error::Error for InvalidNamespace {}

impl Namespace {
    /// Takes the prefix.
    ///
    /// # Errors
    ///
    /// Where it is empty, longer than [`NAMESPACE_BYTES_MAX`] or contains a zero byte.
    pub fn new(prefix: &[u8]) -> Result<Self, InvalidNamespace> {
        let fits = (1..=NAMESPACE_BYTES_MAX).contains(&prefix.len());
        let namespace = Self(prefix.into());
        (fits && !prefix.contains(&0))
            .then_some(namespace)
            .ok_or(InvalidNamespace)
    }

    /// The prefix.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The hash of prefix and key together; see [`digest_prefixed`].
    pub(super) fn digest(&self, algorithm: HashAlgorithm, key: &[u8]) -> u32 {
        digest_prefixed(&self.0, key, |whole| algorithm.digest(whole))
    }
}

/// The hash by any function of prefix and key together, as libmemcached hashes them: where both are
/// longer than a key may be, the hash is 0; a zero byte in the key ends it, and what follows is
/// hashed as zeros.
pub fn digest_prefixed(prefix: &[u8], key: &[u8], digest: impl FnOnce(&[u8]) -> u32) -> u32 {
    let mut buffer = [0; KEY_BYTES_MAX];
    let Some(whole) = buffer.get_mut(..prefix.len() + key.len()) else {
        return 0;
    };
    let text_length = key.iter().position(|&byte| byte == 0).unwrap_or(key.len());
    let (start, rest) = whole.split_at_mut(prefix.len());
    start.copy_from_slice(prefix);
    rest[..text_length].copy_from_slice(&key[..text_length]);
    digest(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_bytes_are_checked() {
        assert_eq!(Namespace::new(b""), Err(InvalidNamespace));
        assert_eq!(Namespace::new(b"a\0b"), Err(InvalidNamespace));
        assert_eq!(
            Namespace::new(&[b'a'; NAMESPACE_BYTES_MAX + 1]),
            Err(InvalidNamespace)
        );
        let longest = Namespace::new(&[b'a'; NAMESPACE_BYTES_MAX]).unwrap();
        assert_eq!(longest.as_bytes(), [b'a'; NAMESPACE_BYTES_MAX]);
    }

    #[test]
    fn prefix_and_key_are_hashed_as_one_key() {
        let namespace = Namespace::new(b"users:").unwrap();
        for algorithm in HashAlgorithm::ALL {
            assert_eq!(
                namespace.digest(algorithm, b"42"),
                algorithm.digest(b"users:42")
            );
        }
        assert_eq!(namespace.digest(HashAlgorithm::Default, &[b'k'; 244]), {
            let whole = [&b"users:"[..], &[b'k'; 244]].concat();
            HashAlgorithm::Default.digest(&whole)
        });
        assert_eq!(namespace.digest(HashAlgorithm::Default, &[b'k'; 245]), 0);
    }

    #[test]
    fn a_zero_byte_ends_the_key() {
        let namespace = Namespace::new(b"users:").unwrap();
        let hash = namespace.digest(HashAlgorithm::Default, b"4\x002");
        assert_eq!(hash, HashAlgorithm::Default.digest(b"users:4\0\0"));
    }
}
