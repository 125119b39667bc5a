use super::*;
use farcache_base::crc32c;
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

/// The manifest of the nine bytes of [`GOLDEN`], with the second chunk at place 258.
#[rustfmt::skip]
const GOLDEN_WITH_PLACES: [u8; 68] = [
    b'F', b'C', b'B', b'M', 2, 1, 0, 0,
    4, 0, 0, 0,
    3, 0, 0, 0,
    9, 0, 0, 0, 0, 0, 0, 0,
    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
    0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
    0xee, 0xf4, 0x3a, 0xf6,
    0x0b, 0xcf, 0x0f, 0x10,
    0x2c, 0xc1, 0x2c, 0x1a,
    0, 0, 0, 0,                                     // places
    2, 1, 0, 0,
    0, 0, 0, 0,
    0x2b, 0x1a, 0x8e, 0x4c,                         // of all before
];

fn write() -> WriteId {
    WriteId(std::array::from_fn(|index| 0xa0 + index as u8))
}

fn golden() -> Manifest {
    let checksums = [&b"1234"[..], b"5678", b"9"].map(crc32c::crc32c);
    Manifest::new(write(), 4, 9, checksums.to_vec()).expect("fits")
}

/// A manifest with another byte, and a checksum that is right.
fn changed(manifest: &[u8], offset: usize, byte: u8) -> Vec<u8> {
    let mut bytes = manifest.to_vec();
    bytes[offset] = byte;
    let (all, own) = bytes.split_at_mut(manifest.len() - 4);
    own.copy_from_slice(&crc32c::crc32c(all).to_le_bytes());
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
fn the_bytes_of_one_with_places_are_these() {
    let manifest = golden().with_places(vec![0, 258, 0]);
    assert_eq!(manifest.to_bytes(), GOLDEN_WITH_PLACES);
    assert_eq!(Manifest::parse(&GOLDEN_WITH_PLACES), Ok(manifest.clone()));
    let places = [0, 1, 2, 3].map(|index| manifest.place_of(index));
    assert_eq!(places, [0, 258, 0, 0]);
    // One without any is what it was before there were places.
    assert_eq!(golden().with_places(vec![0; 3]).to_bytes(), GOLDEN);
}

#[test]
fn places_that_are_not_needed_or_do_not_fit_are_refused() {
    let without = changed(&changed(&GOLDEN_WITH_PLACES, 56, 0), 57, 0);
    assert_eq!(Manifest::parse(&without), Err(Fault::Places));
    let as_before = changed(&GOLDEN_WITH_PLACES, 4, 1);
    assert_eq!(Manifest::parse(&as_before), Err(Fault::Length));
    for bytes in 0..GOLDEN_WITH_PLACES.len() {
        let cut = Manifest::parse(&GOLDEN_WITH_PLACES[..bytes]);
        assert!(cut.is_err(), "{bytes}");
    }
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
        (4, 2, Fault::Length),
        (4, 3, Fault::Version),
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
        assert_eq!(Manifest::parse(&changed(&GOLDEN, offset, byte)), Err(fault));
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
        place in 0..3u32,
    ) {
        let chunk = u64::from(chunk_bytes);
        let length = match checksums.len() as u64 {
            0 => 0,
            chunks => (chunks - 1) * chunk + 1 + u64::from(last) % chunk,
        };
        let places = (0..).map(|index| index % 2 * place).take(checksums.len()).collect();
        let manifest = Manifest::new(write(), chunk_bytes, length, checksums).expect("fits");
        let manifest = manifest.with_places(places);
        prop_assert_eq!(Manifest::parse(&manifest.to_bytes()), Ok(manifest));
    }
}
