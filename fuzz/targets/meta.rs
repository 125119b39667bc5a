//! Meta command lines: each input is the rest of a line behind every command; and base64 keys.
#![no_main]

use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::base64::{decode_key, push_encoded};
use farcache_proto::text::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for command in [&b"mg "[..], b"ms ", b"md ", b"ma ", b"me ", b"mn "] {
        let line = [command, input].concat();
        let _ = parse(&line);
    }
    let _ = decode_key(input);
    if (1..=KEY_BYTES_MAX).contains(&input.len()) {
        check_round_trip(input);
    }
});

fn check_round_trip(key: &[u8]) {
    let mut encoded = Vec::new();
    push_encoded(&mut encoded, key);
    assert_eq!(
        decode_key(&encoded)
            .expect("what was encoded can be decoded")
            .as_bytes(),
        key
    );
}
