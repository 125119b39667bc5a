//! Several parts of a blob that are read together.

use crate::{CHUNK_BYTES, client, content, server, settings, statistic, write};
use farcache_blobs::{Blobs, Error, Part, Settings};
use farcache_client::Transport;

const LENGTH: usize = 20_500;

/// Places and lengths: within chunks, over several, side by side, twice in one, behind the end.
const PARTS: [(u64, usize); 9] = [
    (15_000, 4_000),
    (10, 20),
    (990, 20),
    (40, 5),
    (3_000, 0),
    (20_400, 400),
    (30_000, 10),
    (5_500, 1_000),
    (6_500, 1_000),
];

fn parts<'a>(rooms: &'a mut [Vec<u8>]) -> Vec<Part<'a>> {
    let part = |(room, (offset, _)): (&'a mut Vec<u8>, &(u64, usize))| Part {
        offset: *offset,
        room,
    };
    rooms.iter_mut().zip(&PARTS).map(part).collect()
}

#[test]
fn parts_are_read_as_they_are_and_each_chunk_comes_once() {
    let server = server(&[]);
    let client = client(&server, Transport::Tcp);
    let bytes = content(1, LENGTH);
    // Room for all chunks, and for two.
    for window_bytes in [1 << 20, 2 * CHUNK_BYTES as usize] {
        let settings = Settings {
            window_bytes,
            ..settings(CHUNK_BYTES)
        };
        let blobs = Blobs::new(client.clone(), settings).expect("settings");
        write(&blobs, "b", &bytes);
        let mut reader = blobs.open("b").expect("opened");
        let mut rooms: Vec<Vec<u8>> = PARTS.iter().map(|(_, length)| vec![0; *length]).collect();
        let gets = statistic(&client, "get_hits");
        let read = reader.read_parts(&mut parts(&mut rooms)).expect("read");
        assert_eq!(read, 4_000 + 20 + 20 + 5 + 100 + 1_000 + 1_000);
        for (room, (offset, length)) in rooms.iter().zip(&PARTS) {
            let start = LENGTH.min(*offset as usize);
            let there = &bytes[start..LENGTH.min(start + length)];
            assert!(room[..there.len()] == *there, "at {offset}");
            assert!(room[there.len()..].iter().all(|byte| *byte == 0));
        }
        // Chunks 0, 1, 5, 6, 7, 15 to 18 and 20.
        assert_eq!(statistic(&client, "get_hits") - gets, 10);
        assert!(reader.bytes_held() <= window_bytes);
    }
}

#[test]
fn a_part_whose_chunk_is_gone_is_an_error() {
    let server = server(&[]);
    let client = client(&server, Transport::Tcp);
    let blobs = Blobs::new(client.clone(), settings(CHUNK_BYTES)).expect("settings");
    let manifest = write(&blobs, "b", &content(2, LENGTH));
    client
        .delete(format!("chunk:{}:6", manifest.write()))
        .expect("deleted");
    let mut reader = blobs.open("b").expect("opened");
    let mut rooms: Vec<Vec<u8>> = PARTS.iter().map(|(_, length)| vec![0; *length]).collect();
    let read = reader.read_parts(&mut parts(&mut rooms));
    assert!(matches!(read, Err(Error::MissingChunk { index: 6, .. })));
}
