//! Chunks that are gone or damaged, servers that die: an error says so, and no byte is made up.

use crate::support::{Product, Server, wait_for};
use crate::{CHUNK_BYTES, client, client_at, content, read, server, settings, write};
use farcache_blobs::error::Damage;
use farcache_blobs::manifest::Fault;
use farcache_blobs::{Blobs, Error, Manifest};
use farcache_client::{Client, Transport};

/// A server with a blob of five chunks.
fn blob() -> (Server, Client, Blobs, Manifest) {
    let server = server(&[]);
    let client = client(&server, Transport::Tcp);
    let blobs = Blobs::new(client.clone(), settings(CHUNK_BYTES)).expect("settings");
    let manifest = write(&blobs, "b", &content(1, 4500));
    (server, client, blobs, manifest)
}

fn chunk(manifest: &Manifest, index: u64) -> String {
    format!("chunk:{}:{index}", manifest.write())
}

#[test]
fn a_chunk_that_is_gone_is_named() {
    let (_server, client, blobs, manifest) = blob();
    client.delete(chunk(&manifest, 3)).expect("deleted");
    let gone = Error::MissingChunk {
        name: "b".into(),
        write: manifest.write(),
        index: 3,
    };
    assert_eq!(read(&blobs, "b"), Err(gone.clone()));
    let said = format!("b: chunk 3 of write {} is gone", manifest.write());
    assert_eq!(gone.to_string(), said);
    // The others can be read, before it and behind it.
    let mut reader = blobs.open("b").expect("opened");
    let mut buffer = [0; 500];
    for place in [2500, 4000] {
        assert_eq!(reader.read_at(place, &mut buffer), Ok(500));
        assert!(buffer == content(1, 4500)[place as usize..][..500]);
    }
    // It is asked for anew each time.
    assert_eq!(reader.read_at(3999, &mut buffer), Err(gone));
    let whole = &content(1, 4500)[3000..4000];
    client.set(chunk(&manifest, 3), whole, 0).expect("stored");
    assert_eq!(reader.read_at(3999, &mut buffer), Ok(500));
}

#[test]
fn a_chunk_that_is_damaged_is_named() {
    let (_server, client, blobs, manifest) = blob();
    let damaged = |index, damage| Error::DamagedChunk {
        name: "b".into(),
        write: manifest.write(),
        index,
        damage,
    };
    let mut other = content(1, 4500)[1000..2000].to_vec();
    other[17] ^= 1;
    client.set(chunk(&manifest, 1), &other, 0).expect("stored");
    assert_eq!(read(&blobs, "b"), Err(damaged(1, Damage::Checksum)));
    let shorter = &other[..999];
    client.set(chunk(&manifest, 1), shorter, 0).expect("stored");
    let length = Damage::Length {
        expected: 1000,
        found: 999,
    };
    assert_eq!(read(&blobs, "b"), Err(damaged(1, length)));
}

#[test]
fn a_manifest_that_is_damaged_is_an_error_and_can_be_replaced_or_removed() {
    let (_server, client, blobs, manifest) = blob();
    let mut bytes = manifest.to_bytes();
    bytes[50] ^= 1;
    client.set("blob:b", &bytes, 0).expect("stored");
    let damaged = Error::DamagedManifest {
        name: "b".into(),
        fault: Fault::Checksum,
    };
    assert_eq!(blobs.open("b").map(drop), Err(damaged));
    write(&blobs, "b", &content(2, 100));
    assert!(read(&blobs, "b").expect("read") == content(2, 100));
    client.set("blob:b", b"no manifest", 0).expect("stored");
    blobs.remove("b").expect("removed");
    assert_eq!(blobs.remove("b"), Err(Error::NotFound("b".into())));
}

#[test]
fn what_a_full_server_has_evicted_is_an_error() {
    let server = server(&["-m", "8"]);
    let blobs = crate::blobs(&server, settings(100_000));
    let blob = |number: u64| content(number, 1_500_000);
    const BLOBS: u64 = 16;
    for number in 0..BLOBS {
        write(&blobs, &format!("b-{number}"), &blob(number));
    }
    let mut lost = 0;
    for number in 0..BLOBS {
        match read(&blobs, &format!("b-{number}")) {
            Ok(bytes) => assert!(bytes == blob(number), "{number}"),
            Err(Error::MissingChunk { .. } | Error::NotFound(_)) => lost += 1,
            Err(other) => panic!("{other}"),
        }
    }
    // 24 MB do not fit into 8.
    assert!(lost >= BLOBS / 2, "{lost}");
}

#[test]
fn a_server_that_is_full_and_evicts_nothing_refuses_a_blob_and_keeps_the_others() {
    let server = server(&["-m", "64", "-M"]);
    let blobs = crate::blobs(&server, settings(100_000));
    let kept = content(1, 1_500_000);
    write(&blobs, "kept", &kept);
    let mut writer = blobs.create("large").expect("a writer");
    let piece = content(2, 1_000_000);
    let mut pieces = (0..200).map(|_| writer.write(&piece));
    let error = pieces.find_map(Result::err).expect("there is no room");
    let refused = |error: &Error| {
        let out_of_memory = farcache_client::Error::OutOfMemory;
        matches!(error, Error::Request { error, chunk: Some(_), .. } if *error == out_of_memory)
    };
    assert!(refused(&error), "{error}");
    assert_eq!(writer.write(b"more"), Err(error.clone()));
    assert_eq!(writer.flush(), Err(error.clone()));
    assert_eq!(writer.close().map(drop), Err(error));
    assert!(read(&blobs, "kept").expect("read") == kept);
    assert_eq!(read(&blobs, "large"), Err(Error::NotFound("large".into())));
    // Its chunks are gone: there is room for the same as before.
    write(&blobs, "other", &content(3, 1_500_000));
}

#[test]
fn a_blob_whose_server_dies_while_it_is_written_is_not_there() {
    for is_filled in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let mut server = Server::start_unix(Product::Farcached, &socket);
        let client = client_at(socket.to_str().expect("text"), Transport::Tcp);
        let blobs = Blobs::new(client, settings(CHUNK_BYTES)).expect("settings");
        let mut writer = blobs.create("b").expect("a writer");
        writer.write(&content(1, 50_000)).expect("written");
        writer.flush().expect("stored");
        server.kill();
        // Chunks that are still to come fail, or the manifest does.
        let written = match is_filled {
            true => writer.write(&content(2, 50_000)),
            false => Ok(()),
        };
        let ended = written.and_then(|()| writer.close());
        let error = ended.expect_err("the server is dead");
        assert!(matches!(error, Error::Request { .. }), "{error}");
        // At the same place, which nobody else can take meanwhile.
        let _again = Server::start_unix(Product::Farcached, &socket);
        let found = wait_for("the new server", || match read(&blobs, "b") {
            Err(Error::Request { .. }) => None,
            answer => Some(answer),
        });
        assert_eq!(found, Err(Error::NotFound("b".into())));
    }
}
