//! Giving a blob an expiry.

use crate::blobs::of_manifest;
use crate::keys::{chunk_key, manifest_key};
use crate::{Blobs, Error, Manifest};
use farcache_client::{Operation, Request};

impl Blobs {
    /// Gives a blob, which nobody is writing, an expiry: its chunks, then its manifest. From then
    /// on it is a cached copy of what its owner has elsewhere: a server that needs room may evict
    /// any part of it, and who reads it has to expect [`Error::MissingChunk`].
    ///
    /// The values stay where they are and do not travel, but for those that lie on several servers.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidName`], [`Error::DamagedManifest`];
    /// [`Error::MissingChunk`], [`Error::Request`]: some chunks have the expiry and others have not,
    /// and the blob is still there.
    pub fn expire(&self, name: &str, expiry_s: u32) -> Result<(), Error> {
        let manifest = self.manifest(name)?;
        let chunk_bytes = manifest.chunk_bytes() as usize;
        let together = (self.settings.window_bytes / chunk_bytes).max(1);
        let indices: Vec<u64> = (0..manifest.chunks()).collect();
        for batch in indices.chunks(together) {
            self.expire_chunks(name, &manifest, batch, expiry_s)?;
        }
        let touched = self.client.touch(manifest_key(name)?, expiry_s);
        touched.map_err(|error| match error {
            farcache_client::Error::NotFound => Error::NotFound(name.into()),
            error => of_manifest(name, error),
        })
    }

    /// Touches chunks together; all of them have been answered when this returns.
    fn expire_chunks(
        &self,
        name: &str,
        manifest: &Manifest,
        chunks: &[u64],
        expiry_s: u32,
    ) -> Result<(), Error> {
        let begin = |index: &u64| {
            let key = chunk_key(manifest.write(), *index, manifest.place_of(*index));
            let key = key.as_bytes();
            self.client.submit(Operation::Touch { key, expiry_s })
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
}
