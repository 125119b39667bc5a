//! Writing and reading blobs of many lengths.

use crate::{CHUNK_BYTES, client, content, read, server, settings, write};
use farcache_blobs::{Blobs, Error};
use farcache_client::Transport;

/// Lengths round the borders of chunks.
fn lengths(chunk: usize) -> Vec<usize> {
    let mut lengths = vec![0, 1];
    for chunks in [1, 2, 3, 16, 17] {
        lengths.extend([chunks * chunk - 1, chunks * chunk, chunks * chunk + 1]);
    }
    lengths
}

#[test]
fn what_is_written_is_read() {
    for transport in [Transport::Tcp, Transport::Fabric] {
        let server = server(&[]);
        let client = client(&server, transport);
        // Small chunks travel within messages, large ones from where they lie.
        for chunk_bytes in [CHUNK_BYTES, 100_000] {
            let blobs = Blobs::new(client.clone(), settings(chunk_bytes)).expect("settings");
            for length in lengths(chunk_bytes as usize) {
                let name = format!("{chunk_bytes}/{length}");
                let bytes = content(length as u64, length);
                let manifest = write(&blobs, &name, &bytes);
                assert_eq!(manifest.length(), length as u64);
                assert_eq!(blobs.manifest(&name), Ok(manifest));
                assert!(read(&blobs, &name).expect("read") == bytes, "{name}");
            }
        }
    }
}

#[test]
fn pieces_of_any_length_make_the_same_blob() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let bytes = content(7, 25_003);
    let whole = write(&blobs, "whole", &bytes);
    for piece in [1, 3, 999, 1000, 1001, 7919] {
        let mut writer = blobs.create("pieces").expect("a writer");
        for part in bytes.chunks(piece) {
            writer.write(part).expect("written");
            if part.len() % 2 == 1 {
                writer.flush().expect("stored");
            }
        }
        assert_eq!(writer.length(), 25_003);
        let manifest = writer.close().expect("closed");
        assert_eq!(manifest.checksums(), whole.checksums());
        assert!(read(&blobs, "pieces").expect("read") == bytes, "{piece}");
    }
}

#[test]
fn a_blob_of_default_chunks_fits_a_default_server() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, farcache_blobs::Settings::default());
    let bytes = content(1, (5 << 20) + 1);
    write(&blobs, "b", &bytes);
    assert!(read(&blobs, "b").expect("read") == bytes);
}

#[test]
fn a_blob_is_there_when_it_is_closed_and_not_before() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let not_found = || Err(Error::NotFound("new".into()));
    let mut writer = blobs.create("new").expect("a writer");
    writer.write(&content(1, 5500)).expect("written");
    writer.flush().expect("stored");
    assert_eq!(read(&blobs, "new"), not_found());
    writer.close().expect("closed");
    assert_eq!(read(&blobs, "new"), Ok(content(1, 5500)));
    blobs.remove("new").expect("removed");
    assert_eq!(read(&blobs, "new"), not_found());
    assert_eq!(blobs.remove("new"), Err(Error::NotFound("new".into())));
}

#[test]
fn what_cannot_be_is_refused() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let invalid = Error::InvalidName("a b".into());
    assert_eq!(blobs.create("a b").map(drop), Err(invalid.clone()));
    assert_eq!(blobs.open("a b").map(drop), Err(invalid.clone()));
    assert_eq!(blobs.remove("a b"), Err(invalid));
    for chunk_bytes in [0, (1 << 30) + 1] {
        let refused = Blobs::new(client(&server, Transport::Tcp), settings(chunk_bytes));
        assert!(matches!(refused, Err(Error::InvalidSettings(_))));
    }
}
