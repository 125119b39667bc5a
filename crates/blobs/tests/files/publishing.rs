//! What a writer publishes before it closes.

use crate::{CHUNK_BYTES, content, items, read, server, settings};
use farcache_blobs::{Blobs, Error};
use farcache_client::Transport;

#[test]
fn what_is_published_is_read_and_what_follows_it_is_not() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let client = crate::client(&server, Transport::Tcp);
    let bytes = content(1, 7321);
    let mut writer = blobs.create("b").expect("a writer");
    let mut written = 0;
    // Within a chunk, at its end, behind it, with nothing new, over several.
    for length in [1, 400, 1000, 1000, 1001, 1999, 5500, 7321] {
        writer.write(&bytes[written..length]).expect("written");
        writer.publish().expect("published");
        written = length;
        assert!(
            read(&blobs, "b").expect("read") == bytes[..length],
            "{length}"
        );
        // The manifest, and each chunk once.
        let chunks = (length as u64).div_ceil(1000);
        assert_eq!(items(&client), 1 + chunks, "{length}");
    }
    writer.close().expect("closed");
    assert!(read(&blobs, "b").expect("read") == bytes);
    assert_eq!(items(&client), 1 + 8);
}

#[test]
fn a_reader_goes_on_while_the_blob_grows() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let bytes = content(2, 9000);
    let mut writer = blobs.create("b").expect("a writer");
    writer.write(&bytes[..2500]).expect("written");
    writer.publish().expect("published");
    let mut reader = blobs.open("b").expect("opened");
    let mut later = blobs.open("b").expect("opened");
    for length in [2600, 2700, 9000] {
        let more = &bytes[writer.length() as usize..length];
        writer.write(more).expect("written");
        writer.publish().expect("published");
        let mut room = [0; 3000];
        assert_eq!(reader.read_at(0, &mut room), Ok(2500));
        assert!(room[..2500] == bytes[..2500]);
    }
    writer.close().expect("closed");
    let mut room = [0; 600];
    assert_eq!(later.read_at(1900, &mut room), Ok(600));
    assert!(room == bytes[1900..2500]);
    assert_eq!(later.length(), 2500);
}

#[test]
fn what_is_published_stays_when_the_writer_is_given_up() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let client = crate::client(&server, Transport::Tcp);
    let bytes = content(3, 6000);
    let mut writer = blobs.create("b").expect("a writer");
    writer.write(&bytes[..100]).expect("written");
    writer.publish().expect("published");
    writer.write(&bytes[100..2500]).expect("written");
    writer.publish().expect("published");
    writer.write(&bytes[2500..]).expect("written");
    writer.abort();
    assert!(read(&blobs, "b").expect("read") == bytes[..2500]);
    assert_eq!(items(&client), 1 + 3, "and nothing else does");
}

#[test]
fn who_is_replaced_after_it_has_published_is_told() {
    let server = server(&[]);
    let blobs = crate::blobs(&server, settings(CHUNK_BYTES));
    let published = |blobs: &Blobs| {
        let mut writer = blobs.create("b").expect("a writer");
        writer.write(&content(4, 2500)).expect("written");
        writer.publish().expect("published");
        writer
    };
    let replaced = Some(Error::Replaced("b".into()));
    let writer = published(&blobs);
    crate::write(&blobs, "b", &content(5, 100));
    assert_eq!(writer.close().err(), replaced);
    let writer = published(&blobs);
    blobs.remove("b").expect("removed");
    assert_eq!(writer.close().err(), replaced);
}
