use super::*;
use proptest::prelude::*;

/// A blob of the nine bytes `123456789` in chunks of four. The checksums are those of `1234`,
/// `5678`, `9` and of the 52 bytes before the last four, computed bit by bit from the reflected
/// polynomial 0x82f63b78.
#[rustfmt::skip]
const GOLDEN: [u8; 56] = [
    b'F', b'C', b'B', b'M',
    1,                                              // version
    1,                                              // CRC-32C
    0, 0,
    4, 0, 0, 0,                                     // bytes of a chunk
    3, 0, 0, 0,                                     // chunks
    9, 0, 0, 0, 0, 0, 0, 0,                         // length
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, // id of the write
    0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
    0xee, 0xf4, 0x3a, 0xf6,
    0x0b, 0xcf, 0x0f, 0x10,
    0x2c, 0xc1, 0x2c, 0x1a,
    0x9e, 0xa9, 0x4c, 0x7e,                         // of all before
];

/// An empty blob in chunks of 512 KiB.
#[rustfmt::skip]
const GOLDEN_EMPTY: [u8; 44] = [
    b'F', b'C', b'B', b'M', 1, 1, 0, 0,
    0, 0, 8, 0,
    0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
    0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
    0xec, 0x81, 0x65, 0x9c,
];

fn write() -> WriteId {
    WriteId(std::array::from_fn(|index| 0xa0 + index as u8))
}

fn golden() -> Manifest {
    let checksums = [&b"1234"[..], b"5678", b"9"].map(crc32c::crc32c);
    Manifest::new(write(), 4, 9, checksums.to_vec()).expect("fits")
}

/// The golden manifest with another byte, and a checksum that is right.
fn changed(offset: usize, byte: u8) -> Vec<u8> {
    let mut bytes = GOLDEN.to_vec();
    bytes[offset] = byte;
    let own = crc32c::crc32c(&bytes[..52]);
    bytes[52..].copy_from_slice(&own.to_le_bytes());
    bytes
}

#[test]
fn the_bytes_are_these() {
    assert_eq!(golden().to_bytes(), GOLDEN);
    assert_eq!(Manifest::parse(&GOLDEN), Ok(golden()));
    let empty = Manifest::new(write(), 512 << 10, 0, Vec::new()).expect("fits");
    assert_eq!(empty.to_bytes(), GOLDEN_EMPTY);
    assert_eq!(Manifest::parse(&GOLDEN_EMPTY), Ok(empty));
}

#[test]
fn chunks_have_these_lengths() {
    let lengths = (0..3).map(|index| golden().bytes_of(index));
    assert!(lengths.eq([4, 4, 1]));
    let even = Manifest::new(write(), 4, 8, vec![0, 0]).expect("fits");
    assert_eq!(even.bytes_of(1), 4);
}

#[test]
fn every_change_of_a_byte_is_noticed() {
    for offset in 0..GOLDEN.len() {
        let mut bytes = GOLDEN;
        bytes[offset] ^= 0x10;
        assert!(Manifest::parse(&bytes).is_err(), "{offset}");
    }
}

#[test]
fn faults_are_named() {
    let cases = [
        (0, b'G', Fault::Magic),
        (4, 2, Fault::Version),
        (5, 2, Fault::Version),
        (7, 1, Fault::Reserved),
        (8, 0, Fault::ChunkBytes),
        (11, 0x80, Fault::ChunkBytes),
        (12, 2, Fault::Length),
        (16, 8, Fault::Chunks),
        (16, 13, Fault::Chunks),
        (23, 0xff, Fault::Chunks),
    ];
    for (offset, byte, fault) in cases {
        assert_eq!(Manifest::parse(&changed(offset, byte)), Err(fault));
    }
    let mut damaged = GOLDEN;
    damaged[40] ^= 1;
    assert_eq!(Manifest::parse(&damaged), Err(Fault::Checksum));
}

#[test]
fn every_other_length_is_refused() {
    for bytes in 0..GOLDEN.len() {
        assert!(Manifest::parse(&GOLDEN[..bytes]).is_err(), "{bytes}");
    }
    let longer = [&GOLDEN[..], &[0; 4]].concat();
    assert_eq!(Manifest::parse(&longer), Err(Fault::Length));
}

#[test]
fn what_cannot_be_a_manifest_is_not_made() {
    assert!(Manifest::new(write(), 0, 0, Vec::new()).is_none());
    assert!(Manifest::new(write(), CHUNK_BYTES_MAX + 1, 0, Vec::new()).is_none());
    assert!(Manifest::new(write(), 4, 9, vec![0; 2]).is_none());
    assert!(Manifest::new(write(), 4, 8, vec![0; 3]).is_none());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        chunk_bytes in 1..CHUNK_BYTES_MAX,
        checksums in prop::collection::vec(any::<u32>(), 0..50),
        last in any::<u32>(),
    ) {
        let chunk = u64::from(chunk_bytes);
        let length = match checksums.len() as u64 {
            0 => 0,
            chunks => (chunks - 1) * chunk + 1 + u64::from(last) % chunk,
        };
        let manifest = Manifest::new(write(), chunk_bytes, length, checksums).expect("fits");
        prop_assert_eq!(Manifest::parse(&manifest.to_bytes()), Ok(manifest));
    }
}
