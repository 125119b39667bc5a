//! The manifest of a blob: reading any bytes never panics, and what is read is written back byte
//! for byte and has chunks that make up its length. The bytes are tried once as they are and once
//! with a checksum that is right, which hardly any others have.
#![no_main]

use farcache_blobs::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check(input);
    let mut sealed = input.to_vec();
    sealed.extend(crc32c::crc32c(input).to_le_bytes());
    check(&sealed);
});

fn check(bytes: &[u8]) {
    let Ok(manifest) = Manifest::parse(bytes) else {
        return;
    };
    assert_eq!(manifest.to_bytes(), bytes);
    let lengths = (0..manifest.chunks()).map(|index| manifest.bytes_of(index) as u64);
    assert!(lengths.clone().all(|length| length > 0));
    assert_eq!(lengths.sum::<u64>(), manifest.length());
}
