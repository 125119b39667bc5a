//! Text command lines: splitting and parsing never panic, and what is parsed lies in the line.
#![no_main]

use farcache_proto::peek_key;
use farcache_proto::text::{Request, parse, split_line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    while let Some((line, bytes)) = split_line(rest) {
        assert!(line.len() < bytes && bytes <= rest.len());
        check(line);
        rest = &rest[bytes..];
    }
    check(rest);
    assert!(peek_key(input).is_none_or(|key| key.len() < input.len()));
});

fn check(line: &[u8]) {
    match parse(line) {
        Ok(Request::Get { keys, .. } | Request::GetAndTouch { keys, .. }) => {
            assert!(keys.map(<[u8]>::len).sum::<usize>() <= line.len());
        }
        Ok(
            Request::Delete { key, .. }
            | Request::Touch { key, .. }
            | Request::Arithmetic { key, .. },
        ) => {
            assert!(!key.is_empty() && key.len() <= line.len());
        }
        _ => {}
    }
}
