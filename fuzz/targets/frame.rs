//! What is read of a message before anybody knows whom it is from: frames, short forms and grants.
//! Whatever is accepted has one encoding.
#![no_main]

use farcache_fabric::frame::{FRAME_BYTES, HEAD_BYTES_MAX};
use farcache_fabric::short::{self, Form, Get, PACKET_BYTES_MAX, Room, Value};
use farcache_fabric::{Frame, Grant};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(grant) = Grant::decode(input) {
        assert_eq!(grant.encode(), input);
    }
    check_short(input);
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

fn check_short(message: &[u8]) {
    if let Ok(get) = Get::decode(message) {
        let frame = get.frame(1);
        assert_eq!(frame.body_bytes as usize, get.packet().len());
        let is_short = get.packet().len() <= PACKET_BYTES_MAX;
        let mut room = Room::default();
        let again = short::encode(get.key, 0, get.packet(), &mut room);
        assert_eq!(again, is_short.then_some((Form::Get, message)));
    }
    if let Ok(value) = Value::decode(message) {
        let packet = [&value.head[..], value.value].concat();
        let is_short = packet.len() <= PACKET_BYTES_MAX;
        let mut room = Room::default();
        let again = short::encode(value.key, value.credits, &packet, &mut room);
        assert_eq!(again, is_short.then_some((Form::Value, message)));
    }
    // As packets, whatever they are.
    let mut room = Room::default();
    match short::encode(7, 0, message, &mut room) {
        Some((Form::Get, said)) => assert_eq!(Get::decode(said).expect("a get").packet(), message),
        Some((Form::Value, said)) => {
            let value = Value::decode(said).expect("a value");
            assert_eq!([&value.head[..], value.value].concat(), message);
        }
        None => {}
    }
}
