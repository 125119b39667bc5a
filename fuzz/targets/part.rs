//! What a server stores of a value's copies and shards: reading it never panics, what was read is
//! written to the same bytes, and shards of one value decode without a panic.
#![no_main]

use farcache_redundancy::stored::{HEADER_BYTES, Header, checksum};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check(input);
    // Checksums are seldom right by chance.
    let mut sealed = input.to_vec();
    if sealed.len() >= HEADER_BYTES {
        let sum = checksum(&sealed[HEADER_BYTES..]);
        sealed[24..28].copy_from_slice(&sum.to_be_bytes());
        let sum = checksum(&sealed[..28]);
        sealed[28..32].copy_from_slice(&sum.to_be_bytes());
        check(&sealed);
    }
});

fn check(bytes: &[u8]) {
    let header = Header::decode(bytes);
    if let Ok(header) = header {
        assert_eq!(header.encode(), bytes[..HEADER_BYTES]);
        assert!(header.part_bytes() <= header.value_bytes as usize);
    }
    match Header::split(bytes) {
        Ok((whole, part)) => {
            assert_eq!(Ok(whole), header);
            assert_eq!(part.len(), whole.part_bytes());
            assert_eq!(part, &bytes[HEADER_BYTES..]);
        }
        Err(_) => assert!(header.is_err() || !fits(&header.expect("one"), bytes)),
    }
}

fn fits(header: &Header, bytes: &[u8]) -> bool {
    let part = &bytes[HEADER_BYTES..];
    part.len() == header.part_bytes() && checksum(part) == header.checksum
}
