//! libmemcached's key hashes: 32 bits of any key.

mod fnv;
mod jenkins;
mod md5_lanes;
mod murmur;

use md5::{Digest, Md5};
use md5_lanes::{FEW_LANES, LANES, ONE_BLOCK_BYTES, first_word, first_words};

/// One of libmemcached's hash functions (`MEMCACHED_HASH_*`).
///
/// `MEMCACHED_HASH_HSIEH` is not among them: Debian builds libmemcached without it and refuses to
/// select it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HashAlgorithm {
    /// Bob Jenkins' one-at-a-time, libmemcached's default.
    #[default]
    Default,
    /// The first four bytes of MD5, little endian.
    Md5,
    /// Bits 16 to 30 of CRC-32, so at most 15 bits.
    Crc,
    /// The lower half of the 64-bit FNV-1.
    Fnv1_64,
    /// The lower half of the 64-bit FNV-1a.
    Fnv1a64,
    /// The 32-bit FNV-1.
    Fnv1_32,
    /// The 32-bit FNV-1a.
    Fnv1a32,
    /// MurmurHash2, seeded with the key's length.
    Murmur,
    /// Bob Jenkins' lookup3.
    Jenkins,
    /// The 32-bit MurmurHash3, seeded with the key's length.
    Murmur3,
}

impl HashAlgorithm {
    /// Every algorithm, in the order of `memcached_hash_t`.
    pub const ALL: [Self; 10] = [
        Self::Default,
        Self::Md5,
        Self::Crc,
        Self::Fnv1_64,
        Self::Fnv1a64,
        Self::Fnv1_32,
        Self::Fnv1a32,
        Self::Murmur,
        Self::Jenkins,
        Self::Murmur3,
    ];

    /// The key's hash, as `memcached_generate_hash_value` returns it.
    #[must_use]
    pub fn digest(self, key: &[u8]) -> u32 {
        match self {
            Self::Default => jenkins::one_at_a_time(key),
            Self::Md5 => md5_first_word(key),
            Self::Crc => (crc32fast::hash(key) >> 16) & 0x7fff,
            Self::Fnv1_64 => fnv::fnv1_64(key),
            Self::Fnv1a64 => fnv::fnv1a_64(key),
            Self::Fnv1_32 => fnv::fnv1_32(key),
            Self::Fnv1a32 => fnv::fnv1a_32(key),
            Self::Murmur => murmur::murmur2(key),
            Self::Jenkins => jenkins::lookup3(key),
            Self::Murmur3 => murmur::murmur3(key),
        }
    }

    /// Hands the hash of each key to `take` until that returns false; whether it
    /// never did. Takes less time than [`digest`](Self::digest) of each of them where several keys
    /// can be hashed side by side.
    pub(crate) fn digest_each(self, keys: &[&[u8]], take: impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Md5 => md5_each(keys, take),
            _ => keys.iter().all(|key| take(self.digest(key))),
        }
    }

    /// The name in libmemcached's configuration strings (`--HASH=`): that of the constant after
    /// `MEMCACHED_HASH_`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::Md5 => "MD5",
            Self::Crc => "CRC",
            Self::Fnv1_64 => "FNV1_64",
            Self::Fnv1a64 => "FNV1A_64",
            Self::Fnv1_32 => "FNV1_32",
            Self::Fnv1a32 => "FNV1A_32",
            Self::Murmur => "MURMUR",
            Self::Jenkins => "JENKINS",
            Self::Murmur3 => "MURMUR3",
        }
    }

    /// The algorithm of this [name](Self::name), in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }
}

/// MD5 (RFC 1321) as four little-endian words: four points of a ketama continuum, or the first as a
/// key's hash.
pub(crate) fn md5_words(bytes: &[u8]) -> [u32; 4] {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    let (words, _) = digest.as_chunks::<4>();
    std::array::from_fn(|index| u32::from_le_bytes(words[index]))
}

/// The first of [`md5_words`], which takes less time for a key of one block.
fn md5_first_word(key: &[u8]) -> u32 {
    match key.len() {
        ..=ONE_BLOCK_BYTES => first_word(key),
        _ => md5_words(key)[0],
    }
}

/// So many keys are hashed sooner side by side than one by one, though lanes stay empty.
const LANES_MIN: usize = 2;

fn md5_each(keys: &[&[u8]], take: impl Fn(u32) -> bool) -> bool {
    keys.chunks(LANES).all(|chunk| {
        let are_short = chunk.iter().all(|key| key.len() <= ONE_BLOCK_BYTES);
        match chunk.len() {
            LANES_MIN..=FEW_LANES if are_short => in_lanes::<FEW_LANES>(chunk, &take),
            LANES_MIN.. if are_short => in_lanes::<LANES>(chunk, &take),
            _ => chunk.iter().all(|key| take(md5_first_word(key))),
        }
    })
}

/// Hashes at most `N` keys of one block each side by side; stops as soon as `take` says false.
fn in_lanes<const N: usize>(keys: &[&[u8]], take: impl Fn(u32) -> bool) -> bool {
    let mut lanes: [&[u8]; N] = [&[]; N];
    lanes[..keys.len()].copy_from_slice(keys);
    let firsts = first_words(&lanes);
    firsts[..keys.len()].iter().all(|&hash| take(hash))
}

/// A byte as libmemcached's byte-wise hashes read it: C's `char`, which amd64 sign-extends. So a
/// key with bytes above 127 hashes otherwise than the published definitions say, and otherwise than
/// on a machine whose `char` is unsigned.
fn sign_extended(byte: u8) -> u32 {
    i32::from(byte.cast_signed()).cast_unsigned()
}

/// A key's length as it enters a 32-bit hash.
fn length_word(key: &[u8]) -> u32 {
    key.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_values() {
        // CRC-32's check value is cbf43926, MD5's first test (RFC 1321, A.5)
        // d41d8cd98f00b204e9800998ecf8427e.
        assert_eq!(HashAlgorithm::Crc.digest(b"123456789"), 0xcbf4 & 0x7fff);
        assert_eq!(HashAlgorithm::Md5.digest(b""), 0xd98c_1dd4);
        assert_eq!(
            md5_words(b""),
            [0xd98c_1dd4, 0x04b2_008f, 0x9809_80e9, 0x7e42_f8ec]
        );
    }

    #[test]
    fn keys_hashed_side_by_side_have_the_hashes_that_they_have_alone() {
        let keys: Vec<Vec<u8>> = (0..2 * LANES + 60)
            .map(|length| vec![b'k'; length % 100])
            .collect();
        for algorithm in [HashAlgorithm::Md5, HashAlgorithm::Murmur3] {
            for count in 0..=2 * LANES + 1 {
                for first in [0, 20, 50] {
                    let keys: Vec<&[u8]> =
                        keys[first..][..count].iter().map(Vec::as_slice).collect();
                    let taken = std::cell::RefCell::new(Vec::new());
                    let take = |hash| {
                        taken.borrow_mut().push(hash);
                        true
                    };
                    assert!(algorithm.digest_each(&keys, take));
                    let alone: Vec<u32> = keys.iter().map(|key| algorithm.digest(key)).collect();
                    assert_eq!(*taken.borrow(), alone);
                }
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        for algorithm in HashAlgorithm::ALL {
            assert_eq!(HashAlgorithm::from_name(algorithm.name()), Some(algorithm));
            assert_eq!(
                HashAlgorithm::from_name(&algorithm.name().to_lowercase()),
                Some(algorithm)
            );
        }
        assert_eq!(HashAlgorithm::from_name("HSIEH"), None);
    }
}
