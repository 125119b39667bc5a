//! Store if newer, delete if newer, get with version, and their answers.

use super::{Parts, assert_golden, request, response};
use farcache_proto::binary::{
    ABOUT_OLDER, FRONT_BYTES_MAX, Head, Header, IS_ACCEPTED, ONLY_PROMISED, Opcode, Placed,
    SetExtras, Status, Told, VersionedGetExtras, encode_head_telling, encode_u32, split_told,
};

/// 2026-01-01T00:00:02.5Z of writer 3, see `farcache_base::version`: 2.5 s are 5 * 2^17 ticks,
/// 0xa0000; shifted by the writer's 14 bits 0x2_8000_0000; with the writer 0x2_8000_0003.
const VERSION: u64 = 0x2_8000_0003;

/// Extras: flags 0xdeadbeef, expiration 3600 = 0x0e10 (8 bytes); key 5; value 5: body 18 = 0x12.
#[test]
fn store_if_newer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf1,             // request, store if newer
        0x00, 0x05,             // key of 5 bytes
        0x08, 0x00,             // 8 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x12, // body of 18 bytes
        0x00, 0x00, 0x00, 0x2a, // opaque 42
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0xde, 0xad, 0xbe, 0xef, // flags
        0x00, 0x00, 0x0e, 0x10, // expiration
        b'H', b'e', b'l', b'l', b'o', b'W', b'o', b'r', b'l', b'd',
    ];
    let extras = SetExtras {
        flags: 0xdead_beef,
        expiration: 3600,
    };
    let parts = Parts {
        extras: &extras.encode(),
        key: b"Hello",
        value: b"World",
    };
    assert_golden(request(Opcode::SetVersioned, 42, VERSION), parts, &golden);
}

/// As above, of a value that begins with "Wo" in the extras: 10 bytes of extras, key 5, value 3:
/// body 18 = 0x12 again.
#[test]
fn store_if_newer_with_the_beginning_in_the_head_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf1,             // request, store if newer
        0x00, 0x05,             // key of 5 bytes
        0x0a, 0x00,             // 10 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x12, // body of 18 bytes
        0x00, 0x00, 0x00, 0x2a, // opaque 42
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0xde, 0xad, 0xbe, 0xef, // flags
        0x00, 0x00, 0x0e, 0x10, // expiration
        b'W', b'o',             // the beginning of the value
        b'H', b'e', b'l', b'l', b'o', b'r', b'l', b'd',
    ];
    let extras = SetExtras {
        flags: 0xdead_beef,
        expiration: 3600,
    };
    let parts = Parts {
        extras: &[&extras.encode()[..], b"Wo"].concat(),
        key: b"Hello",
        value: b"rld",
    };
    assert_golden(request(Opcode::SetVersioned, 42, VERSION), parts, &golden);
}

/// As the first, which tells of a version that it is complete: 16 bytes of extras, body 26 = 0x1a.
#[test]
fn store_if_newer_that_tells_of_a_complete_version_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf1,             // request, store if newer
        0x00, 0x05,             // key of 5 bytes
        0x10, 0x01,             // 16 bytes of extras, which end in a complete version
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x1a, // body of 26 bytes
        0x00, 0x00, 0x00, 0x2a, // opaque 42
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0xde, 0xad, 0xbe, 0xef, // flags
        0x00, 0x00, 0x0e, 0x10, // expiration
        0, 0, 0, 2, 0x40, 0, 0, 3, // an earlier version, which is complete
        b'H', b'e', b'l', b'l', b'o', b'W', b'o', b'r', b'l', b'd',
    ];
    let extras = SetExtras {
        flags: 0xdead_beef,
        expiration: 3600,
    };
    let (header, complete) = (request(Opcode::SetVersioned, 42, VERSION), 0x2_4000_0003);
    let mut packet = Vec::new();
    encode_head_telling(
        header,
        (&extras.encode(), Told::complete(complete)),
        b"Hello",
        5,
        &mut packet,
    );
    packet.extend_from_slice(b"World");
    assert_eq!(packet, golden);
    let head = Head::decode(&golden).unwrap().unwrap();
    let told = split_told(&head.header, head.extras);
    assert_eq!(told, Some((&extras.encode()[..], Told::complete(complete))));
    let mut silent = Vec::new();
    encode_head_telling(
        header,
        (&extras.encode(), Told::default()),
        b"Hello",
        5,
        &mut silent,
    );
    assert_eq!(silent[4..6], [8, 0], "as if there were nothing to tell of");
}

/// Extras: none kept (4 bytes), edition 5 (8), 3 owners (1), their sum (4), the complete version
/// (8): 25 = 0x19; key 1: body 26 = 0x1a. Data type: 8, told where it was placed, and 1.
#[test]
fn a_request_may_tell_by_which_owners_its_key_was_placed() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf3, 0, 1, 0x19, 9, 0, 0, 0, 0, 0, 0x1a, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, // any version
        0, 0, 0, 0, // extras of its own
        0, 0, 0, 0, 0, 0, 0, 5, 3, 1, 2, 3, 4, // how it was placed
        0, 0, 0, 2, 0x80, 0, 0, 3, // a version that is complete
        b'k',
    ];
    let header = Header {
        magic: 0x80,
        opcode: Opcode::GetVersioned as u8,
        ..Header::default()
    };
    let told = Told {
        complete: VERSION,
        placed: Some(Placed {
            edition: 5,
            owners: 3,
            sum: 0x0102_0304,
        }),
    };
    let mut packet = Vec::new();
    encode_head_telling(header, (&encode_u32(0), told), b"k", 0, &mut packet);
    assert_eq!(packet, golden);
    let head = Head::decode(&packet).unwrap().unwrap();
    let split = split_told(&head.header, head.extras);
    assert_eq!(split, Some((&encode_u32(0)[..], told)));
    for bytes in 0..21 {
        let cut = split_told(&head.header, &head.extras[..bytes]);
        assert_eq!(cut, None, "{bytes} bytes of extras are too few");
    }
}

/// Extras: a minute (4 bytes); key 1: body 5.
#[test]
fn delete_if_newer_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf2,             // request, delete if newer
        0x00, 0x01,             // key of 1 byte
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0x00, 0x00, 0x00, 0x3c, // the tombstone is kept for 60 s
        b'k',
    ];
    let extras = encode_u32(60);
    let parts = Parts {
        extras: &extras,
        key: b"k",
        ..Parts::default()
    };
    assert_golden(request(Opcode::DeleteVersioned, 0, VERSION), parts, &golden);
}

/// Extras: 32 bytes at most (4 bytes); key 1: body 5.
#[test]
fn get_with_version_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf3,             // request, get with version
        0x00, 0x01,             // key of 1 byte
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no version
        0x00, 0x00, 0x00, 0x20, // at most 32 bytes of the value
        b'k',
    ];
    let extras = encode_u32(32);
    let parts = Parts {
        extras: &extras,
        key: b"k",
        ..Parts::default()
    };
    assert_golden(request(Opcode::GetVersioned, 0, 0), parts, &golden);
}

/// Extras: all of the value, 32 bytes of it in front (5 bytes); key 1: body 6.
#[test]
fn get_with_version_and_front_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf3,             // request, get with version
        0x00, 0x01,             // key of 1 byte
        0x05, 0x00,             // 5 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x06, // body of 6 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 0, 0, 0, 0, 0, // no version
        0xff, 0xff, 0xff, 0xff, // all of the value
        0x20,                   // 32 bytes of it behind the answer's flags
        b'k',
    ];
    let extras = VersionedGetExtras {
        bytes_max: u32::MAX,
        front_bytes: 32,
    };
    assert_eq!(VersionedGetExtras::decode(&extras.encode()), Some(extras));
    let parts = Parts {
        extras: &extras.encode(),
        key: b"k",
        ..Parts::default()
    };
    assert_golden(request(Opcode::GetVersioned, 0, 0), parts, &golden);
}

#[test]
fn a_get_with_version_may_leave_the_front_out_and_not_ask_for_more_than_there_may_be() {
    let decoded = VersionedGetExtras::decode(&[0, 0, 1, 2]);
    let (bytes_max, front_bytes) = (0x102, 0);
    let expected = VersionedGetExtras {
        bytes_max,
        front_bytes,
    };
    assert_eq!(decoded, Some(expected));
    let most = FRONT_BYTES_MAX as u8;
    assert!(VersionedGetExtras::decode(&[0, 0, 1, 2, most]).is_some());
    for wrong in [&[0; 3][..], &[0, 0, 1, 2, most + 1], &[0; 6]] {
        assert_eq!(VersionedGetExtras::decode(wrong), None);
    }
}

/// Its answer, of a value of 9 bytes of which 4 were wanted in front: extras are the flags and
/// these (8 bytes), the packet's value is the rest (5): body 13 = 0x0d.
#[test]
fn value_with_front_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0xf3,             // response, get with version
        0x00, 0x00,             // no key
        0x08, 0x00,             // 8 bytes of extras
        0x00, 0x00,             // success
        0x00, 0x00, 0x00, 0x0d, // body of 13 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0xde, 0xad, 0xbe, 0xef, // flags
        b'1', b'2', b'3', b'4', // the value's beginning
        b'5', b'6', b'7', b'8', b'9',
    ];
    let extras = [&encode_u32(0xdead_beef)[..], b"1234"].concat();
    let parts = Parts {
        extras: &extras,
        value: b"56789",
        ..Parts::default()
    };
    let header = response(Opcode::GetVersioned, Status::Success, 0, VERSION);
    assert_golden(header, parts, &golden);
}

/// A promise of the version: as a get with version, which carries it.
#[test]
fn promise_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf3,             // request, get with version
        0x00, 0x01,             // key of 1 byte
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // nothing older is to be stored from now on
        0xff, 0xff, 0xff, 0xff, // all of the value
        b'k',
    ];
    let extras = encode_u32(u32::MAX);
    let parts = Parts {
        extras: &extras,
        key: b"k",
        ..Parts::default()
    };
    assert_golden(request(Opcode::GetVersioned, 0, VERSION), parts, &golden);
}

/// A deletion that stands on a promise: bit 63 beside the version's bits.
#[test]
fn delete_on_a_promise_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf2,             // request, delete if newer
        0x00, 0x01,             // key of 1 byte
        0x04, 0x00,             // 4 bytes of extras
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0x80, 0, 0, 2, 0x80, 0, 0, 3, // the version, while its promise stands
        0x00, 0x00, 0x00, 0x00, // the tombstone is kept while memory suffices
        b'k',
    ];
    let parts = Parts {
        extras: &encode_u32(0),
        key: b"k",
        ..Parts::default()
    };
    let header = request(Opcode::DeleteVersioned, 0, 1 << 63 | VERSION);
    assert_golden(header, parts, &golden);
}

/// Something newer was promised, and nothing newer is there: that version, and the text "Promised",
/// 8 bytes.
#[test]
fn promised_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0xf1,             // response, store if newer
        0x00, 0x00, 0x00, 0x01, // no key, no extras; nothing newer is there
        0x00, 0xf1,             // promised
        0x00, 0x00, 0x00, 0x08, // body of 8 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version that was promised
        b'P', b'r', b'o', b'm', b'i', b's', b'e', b'd',
    ];
    let promised = response(Opcode::SetVersioned, Status::Promised, 0, VERSION);
    assert_golden(
        Header {
            data_type: ONLY_PROMISED,
            ..promised
        },
        Parts {
            value: Status::Promised.text().as_bytes(),
            ..Parts::default()
        },
        &golden,
    );
}

/// What is there is newer: its version, and memcached's text for a key that is there, 20 = 0x14.
#[test]
fn refusal_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0xf1,             // response, store if newer
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0x02,             // exists
        0x00, 0x00, 0x00, 0x14, // body of 20 bytes
        0x00, 0x00, 0x00, 0x2a, // opaque 42
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version that is there
        b'D', b'a', b't', b'a', b' ', b'e', b'x', b'i', b's', b't', b's', b' ',
        b'f', b'o', b'r', b' ', b'k', b'e', b'y', b'.',
    ];
    assert_golden(
        response(Opcode::SetVersioned, Status::Exists, 42, VERSION),
        Parts {
            value: Status::Exists.text().as_bytes(),
            ..Parts::default()
        },
        &golden,
    );
}

/// A tombstone: its version, and the text "Deleted", 7 bytes.
#[test]
fn tombstone_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x81, 0xf3,             // response, get with version
        0x00, 0x00, 0x00, 0x00, // no key, no extras
        0x00, 0xf0,             // deleted
        0x00, 0x00, 0x00, 0x07, // body of 7 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version that deleted it
        b'D', b'e', b'l', b'e', b't', b'e', b'd',
    ];
    assert_golden(
        response(Opcode::GetVersioned, Status::Deleted, 0, VERSION),
        Parts {
            value: Status::Deleted.text().as_bytes(),
            ..Parts::default()
        },
        &golden,
    );
}

/// Data type 2 of a read: what was there when the version in the token was stored.
#[test]
fn read_of_an_older_version_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf3,             // request, get with version
        0x00, 0x01,             // key of 1 byte
        0x04, 0x02,             // 4 bytes of extras; what is older is wanted
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x05, // body of 5 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // than this version
        0xff, 0xff, 0xff, 0xff, // all of the value
        b'k',
    ];
    let parts = Parts {
        extras: &encode_u32(u32::MAX),
        key: b"k",
        ..Parts::default()
    };
    let header = Header {
        data_type: ABOUT_OLDER,
        ..request(Opcode::GetVersioned, 0, VERSION)
    };
    assert_golden(header, parts, &golden);
}

/// Data type 7 of a deletion: what is older is kept, the tombstone is kept beneath what is newer,
/// and another version is told to be complete.
#[test]
fn accepted_deletion_that_keeps_what_is_older_bytes() {
    #[rustfmt::skip]
    let golden = [
        0x80, 0xf2,             // request, delete if newer
        0x00, 0x01,             // key of 1 byte
        0x0c, 0x07,             // 12 bytes of extras; all three
        0x00, 0x00,             // vbucket 0
        0x00, 0x00, 0x00, 0x0d, // body of 13 bytes
        0x00, 0x00, 0x00, 0x00, // opaque
        0, 0, 0, 2, 0x80, 0, 0, 3, // the version
        0x00, 0x00, 0x00, 0x00, // the tombstone is kept while memory suffices
        0, 0, 0, 2, 0x80, 0, 0, 2, // this version is complete
        b'k',
    ];
    let header = Header {
        data_type: ABOUT_OLDER | IS_ACCEPTED,
        ..request(Opcode::DeleteVersioned, 0, VERSION)
    };
    let (mut packet, complete) = (Vec::new(), VERSION - 1);
    encode_head_telling(
        header,
        (&encode_u32(0), Told::complete(complete)),
        b"k",
        0,
        &mut packet,
    );
    assert_eq!(packet, golden);
}
