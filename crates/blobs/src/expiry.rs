//! Giving a blob an expiry.

use crate::access::{Access, of_manifest};
use crate::keys::{chunk_key, manifest_key};
use crate::{Error, Manifest};
use farcache_client::{Operation, Request};

/// Gives a blob an expiry; see [`crate::Blobs::expire`].
pub(crate) fn expire(access: &Access, name: &str, expiry_s: u32) -> Result<(), Error> {
    let manifest = access.manifest(name)?;
    let chunk_bytes = manifest.chunk_bytes() as usize;
    let together = (access.settings.window_bytes / chunk_bytes).max(1);
    let indices: Vec<u64> = (0..manifest.chunks()).collect();
    for batch in indices.chunks(together) {
        expire_chunks(access, name, &manifest, batch, expiry_s)?;
    }
    let touched = access.client.touch(manifest_key(name)?, expiry_s);
    touched.map_err(|error| match error {
        farcache_client::Error::NotFound => Error::NotFound(name.into()),
        error => of_manifest(name, error),
    })
}

/// Touches chunks together; all of them have been answered when this returns.
fn expire_chunks(
    access: &Access,
    name: &str,
    manifest: &Manifest,
    chunks: &[u64],
    expiry_s: u32,
) -> Result<(), Error> {
    let begin = |index: &u64| {
        let key = chunk_key(manifest.write(), *index, manifest.place_of(*index));
        let key = key.as_bytes();
        access.client.submit(Operation::Touch { key, expiry_s })
    };
    let under_way: Vec<Request> = chunks.iter().map(begin).collect();
    let ended: Vec<_> = under_way.into_iter().map(Request::complete).collect();
    for (index, completion) in chunks.iter().zip(ended) {
        let touched = completion.outcome;
        touched.map_err(|error| match error {
            farcache_client::Error::NotFound => Error::MissingChunk {
                name: name.into(),
                write: manifest.write(),
                index: *index,
            },
            error => Error::Request {
                name: name.into(),
                chunk: Some(*index),
                error,
            },
        })?;
    }
    Ok(())
}
