//! What is read of a message before anybody knows whom it is from: frames and grants. Whatever is accepted
//! has one encoding.
#![no_main]

use farcache_fabric::frame::{FRAME_BYTES, HEAD_BYTES_MAX};
use farcache_fabric::{Frame, Grant};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(grant) = Grant::decode(input) {
        assert_eq!(grant.encode(), input);
    }
    // Most inputs would fail at the length of the body alone, so it is also taken from the frame.
    let said = input.get(20..24).and_then(|bytes| bytes.try_into().ok());
    let said = said.map_or(0, u32::from_le_bytes) as usize;
    for body_bytes in [said, 0, input.len()] {
        check_frame(input, body_bytes);
    }
});

fn check_frame(front: &[u8], body_bytes: usize) {
    let Ok((frame, head)) = Frame::decode(front, body_bytes) else {
        return;
    };
    assert_eq!(frame.encode(), front[..FRAME_BYTES]);
    assert_eq!(head, &front[FRAME_BYTES..]);
    assert!(head.len() == usize::from(frame.head_bytes) && head.len() <= HEAD_BYTES_MAX);
    assert_eq!(frame.body_bytes as usize, body_bytes);
}
