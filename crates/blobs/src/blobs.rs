//! The handle: creating, opening, removing.

use crate::access::{Access, Placed, Settings, of_manifest};
use crate::budget::Budget;
use crate::expiry;
use crate::keys::manifest_key;
use crate::manifest::CHUNK_BYTES_MAX;
use crate::{Error, Manifest, Reader, Writer};
use farcache_client::{Client, Operation};
use std::fmt;

/// Blobs on the servers of a client. It is cheap to clone.
///
/// Writers store behind their callers' backs only while something moves the client: with
/// [`ClientConfig::progress_thread`](farcache_client::ClientConfig::progress_thread) that is always
/// so, without it only within calls.
#[derive(Clone)]
pub struct Blobs {
    access: Access,
}

impl fmt::Debug for Blobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Blobs of {:?}", self.access.client)
    }
}

impl Blobs {
    /// Blobs on the servers of this client.
    ///
    /// # Errors
    /// [`Error::InvalidSettings`]: no chunk has so many bytes.
    pub fn new(client: Client, settings: Settings) -> Result<Self, Error> {
        if !(1..=CHUNK_BYTES_MAX).contains(&settings.chunk_bytes) {
            return Err(Error::InvalidSettings("a chunk has 1 byte to 1 GiB"));
        }
        Ok(Blobs {
            access: Access {
                client,
                settings,
                budget: Budget::new(settings.in_flight_bytes_max),
            },
        })
    }

    /// Begins to write a blob. It is there, whole, once [`Writer::close`] has returned; until then
    /// a former blob of this name stays. Of several writers the one that closes last wins.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::NoRandomBytes`]. Nothing is sent yet.
    pub fn create(&self, name: &str) -> Result<Writer, Error> {
        Writer::new(&self.access, name)
    }

    /// Opens a blob as it is now.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidName`], [`Error::DamagedManifest`], [`Error::Request`].
    pub fn open(&self, name: &str) -> Result<Reader, Error> {
        Ok(Reader::new(&self.access, name, self.manifest(name)?))
    }

    /// What a blob consists of now.
    ///
    /// # Errors
    /// As [`Blobs::open`].
    pub fn manifest(&self, name: &str) -> Result<Manifest, Error> {
        self.access.manifest(name)
    }

    /// Removes a blob: its manifest, then its chunks. Who has it open gets [`Error::Replaced`] for
    /// what it does not hold. Where a server does not answer, chunks may stay; nobody sees them.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidName`]; [`Error::Request`]: whether the blob is still
    /// there is unknown if that is so of the request.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let key = manifest_key(name)?;
        loop {
            let placed = self.access.placed(name, &key)?;
            let Placed { manifest, cas } = placed.ok_or_else(|| Error::NotFound(name.into()))?;
            let key = key.as_bytes();
            let request = self.access.client.submit(Operation::Delete { key, cas });
            match self.access.client.wait(request) {
                Ok(_) => {
                    manifest.inspect(|manifest| self.access.remove_chunks_of(manifest));
                    return Ok(());
                }
                // Somebody else has replaced or removed it meanwhile.
                Err(farcache_client::Error::Exists | farcache_client::Error::NotFound) => {}
                Err(error) => return Err(of_manifest(name, error)),
            }
        }
    }

    /// Gives a blob, which nobody is writing, an expiry: its chunks, then its manifest. From then
    /// on it is a cached copy of what its owner has elsewhere: a server that needs room may evict
    /// any part of it, and who reads it has to expect [`Error::MissingChunk`].
    ///
    /// The values stay where they are and do not travel, but for those that lie on several servers.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidName`], [`Error::DamagedManifest`];
    /// [`Error::MissingChunk`], [`Error::Request`]: some chunks have the expiry and others have
    /// not, and the blob is still there.
    pub fn expire(&self, name: &str, expiry_s: u32) -> Result<(), Error> {
        expiry::expire(&self.access, name, expiry_s)
    }
}
