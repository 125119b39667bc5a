//! Reading at any place.

use crate::{CHUNK_BYTES, content, server, settings, write};
use farcache_blobs::Settings;

#[test]
fn reads_at_the_end_and_behind_it_are_short() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let bytes = content(2, 2500);
    write(&blobs, "b", &bytes);
    let mut reader = blobs.open("b").expect("opened");
    let mut buffer = [0; 1000];
    assert_eq!(reader.read_at(2400, &mut buffer), Ok(100));
    assert!(buffer[..100] == bytes[2400..]);
    for offset in [2500, 2501, u64::MAX] {
        assert_eq!(reader.read_at(offset, &mut buffer), Ok(0));
    }
    assert_eq!(reader.read_at(0, &mut []), Ok(0));
}

#[test]
fn reads_in_any_order_see_what_was_written() {
    let server = server(&[]);
    let bytes = content(3, 40_321);
    // Room for everything, for some chunks, and for none but the one that is wanted.
    for window_bytes in [1 << 20, 3500, 0] {
        let settings = Settings {
            window_bytes,
            ..settings(CHUNK_BYTES)
        };
        let blobs = crate::blobs(&server, settings);
        write(&blobs, "b", &bytes);
        let mut reader = blobs.open("b").expect("opened");
        let mut place = 0;
        for numbers in content(4, 1500 * 3).chunks(3) {
            // One in three reads goes elsewhere, the others go on.
            if numbers[0] % 3 == 0 {
                place = usize::from(u16::from_le_bytes([numbers[1], numbers[2]])) % bytes.len();
            }
            let mut buffer = vec![0; usize::from(numbers[1]) * 20];
            let read = reader.read_at(place as u64, &mut buffer).expect("read");
            assert_eq!(read, buffer.len().min(bytes.len() - place));
            assert!(buffer[..read] == bytes[place..place + read], "at {place}");
            place += read;
            let bound = window_bytes.max(CHUNK_BYTES as usize);
            assert!(reader.bytes_held() <= bound, "{}", reader.bytes_held());
        }
    }
}

#[test]
fn reads_that_follow_one_another_are_read_ahead_and_others_are_not() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    write(&blobs, "b", &content(5, 100_000));
    let mut buffer = [0; 1000];

    let mut reader = blobs.open("b").expect("opened");
    for place in [50_000, 20_000, 80_000, 30_000] {
        reader.read_at(place, &mut buffer).expect("read");
    }
    assert_eq!(reader.bytes_held(), 4 * 1000);

    let mut reader = blobs.open("b").expect("opened");
    for place in 0..10 {
        reader.read_at(place * 1000, &mut buffer).expect("read");
    }
    // The ten that were read, and as many ahead of them.
    assert_eq!(reader.bytes_held(), 20 * 1000);
}

#[test]
fn a_reader_that_was_told_to_let_go_holds_nothing_and_reads_on() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let bytes = content(6, 10_000);
    write(&blobs, "b", &bytes);
    let mut buffer = [0; 1000];
    let mut reader = blobs.open("b").expect("opened");
    for place in (0..10_000).step_by(1000) {
        reader.unbuffer();
        assert_eq!(reader.bytes_held(), 0);
        assert_eq!(reader.read_at(place as u64, &mut buffer), Ok(1000));
        assert!(buffer == bytes[place..place + 1000], "at {place}");
    }
}
