//! Hashes and placements of keys, compared with what Debian's libmemcached answers.
//!
//! `generate.c` prints the data beside it and says at its top how to make it anew.

mod hashes;
mod placements;

/// The bytes that a word of hexadecimal digits stands for.
fn bytes(hexadecimal: &str) -> Vec<u8> {
    let (pairs, rest) = hexadecimal.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty(), "{hexadecimal}");
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(byte).collect()
}
