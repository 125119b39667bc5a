//! Blobs with an expiry, which make room for others.

use crate::{CHUNK_BYTES, client, content, read, server, settings, statistic, write};
use farcache_blobs::{Blobs, Error};
use farcache_client::Transport;

#[test]
fn a_blob_that_expires_is_whole_until_a_full_server_needs_its_room() {
    const CHUNK_BYTES: u32 = 100_000;
    const BYTES: usize = 40 << 20;
    let server = server(&["-m", "64", "-M", "--evict-expiring"]);
    let client = client(&server, Transport::Tcp);
    let blobs = Blobs::new(client.clone(), settings(CHUNK_BYTES)).expect("settings");
    write(&blobs, "first", &content(1, BYTES));
    blobs.expire("first", 1000).expect("expires");
    assert!(read(&blobs, "first").expect("read") == content(1, BYTES));
    assert_eq!(statistic(&client, "evictions"), 0);
    // There is no room for both: without the expiry this one would be refused.
    write(&blobs, "second", &content(2, BYTES));
    assert!(read(&blobs, "second").expect("read") == content(2, BYTES));
    assert!(statistic(&client, "evictions") > 0);
    match read(&blobs, "first") {
        Err(Error::MissingChunk { .. } | Error::NotFound(_)) => {}
        other => panic!("a part of it has made room: {:?}", other.map(|it| it.len())),
    }
}

#[test]
fn every_chunk_and_the_manifest_get_the_expiry() {
    let server = server(&[]);
    let client = client(&server, Transport::Tcp);
    let blobs = Blobs::new(client.clone(), settings(CHUNK_BYTES)).expect("settings");
    write(&blobs, "b", &content(1, 4500));
    // A time in 1970.
    blobs.expire("b", 30 * 86_400 + 1).expect("expires");
    assert_eq!(read(&blobs, "b"), Err(Error::NotFound("b".into())));
    let manifest = write(&blobs, "b", &content(1, 4500));
    blobs.expire("b", 1000).expect("expires");
    client
        .delete(format!("chunk:{}:4", manifest.write()))
        .expect("deleted");
    let missing = Error::MissingChunk {
        name: "b".into(),
        write: manifest.write(),
        index: 4,
    };
    assert_eq!(blobs.expire("b", 1000), Err(missing));
    assert_eq!(blobs.expire("c", 1000), Err(Error::NotFound("c".into())));
}
