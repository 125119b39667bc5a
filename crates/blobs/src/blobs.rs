//! The handle: creating, opening, removing.

use crate::budget::Budget;
use crate::keys::{chunk_key, manifest_key};
use crate::manifest::CHUNK_BYTES_MAX;
use crate::{Error, Manifest, Reader, WriteId, Writer};
use farcache_client::{Client, Completion, Operation, Request};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Deletions that are sent together.
const DELETIONS_TOGETHER: usize = 512;

/// How blobs are written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a chunk of what is written: 512 KiB, at most 1 GiB. With its key it must be an item
    /// that the servers take (`--max-item-size`, 1 MiB by default).
    pub chunk_bytes: u32,
    /// Bytes that one writer may have under way, or one reader hold or have under way: 8 MiB. One
    /// chunk is always allowed.
    pub window_bytes: usize,
    /// The same for all writers and readers of a handle together: 64 MiB. One chunk of each is
    /// allowed beyond it.
    pub in_flight_bytes_max: usize,
    /// How long a writer goes on trying to store what servers have no room for or, of keys that lie
    /// on several servers, what too few of them are up for: not at all. In the end it fails with
    /// what the servers said.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            chunk_bytes: 512 << 10,
            window_bytes: 8 << 20,
            in_flight_bytes_max: 64 << 20,
            patience: Duration::ZERO,
        }
    }
}

/// Blobs on the servers of a client. It is cheap to clone.
///
/// Writers store behind their callers' backs only while something moves the client: with
/// [`ClientConfig::progress_thread`](farcache_client::ClientConfig::progress_thread) that is always
/// so, without it only within calls.
#[derive(Clone)]
pub struct Blobs {
    pub(crate) client: Client,
    pub(crate) settings: Settings,
    pub(crate) budget: Arc<Budget>,
}

impl fmt::Debug for Blobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Blobs of {:?}", self.client)
    }
}

/// A manifest at its place, with the token to change it by.
pub(crate) struct Placed {
    /// `None` where what stands there is no manifest.
    pub manifest: Option<Manifest>,
    pub cas: u64,
}

impl Placed {
    /// Whether it is of the same write.
    pub fn writes(&self, manifest: &Manifest) -> bool {
        let own = self.manifest.as_ref();
        own.is_some_and(|own| own.write() == manifest.write())
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
            client,
            settings,
            budget: Budget::new(settings.in_flight_bytes_max),
        })
    }

    /// Begins to write a blob. It is there, whole, once [`Writer::close`] has returned; until then
    /// a former blob of this name stays. Of several writers the one that closes last wins.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::NoRandomBytes`]. Nothing is sent yet.
    pub fn create(&self, name: &str) -> Result<Writer, Error> {
        Writer::new(self, name)
    }

    /// Opens a blob as it is now.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidName`], [`Error::DamagedManifest`], [`Error::Request`].
    pub fn open(&self, name: &str) -> Result<Reader, Error> {
        Ok(Reader::new(self, name, self.manifest(name)?))
    }

    /// What a blob consists of now.
    ///
    /// # Errors
    /// As [`Blobs::open`].
    pub fn manifest(&self, name: &str) -> Result<Manifest, Error> {
        let got = self.client.get(manifest_key(name)?);
        let item = got.map_err(|error| of_manifest(name, error))?;
        let item = item.ok_or_else(|| Error::NotFound(name.into()))?;
        let parsed = Manifest::parse(&item.value);
        parsed.map_err(|fault| Error::DamagedManifest {
            name: name.into(),
            fault,
        })
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
            let placed = self.placed(name, &key)?;
            let Placed { manifest, cas } = placed.ok_or_else(|| Error::NotFound(name.into()))?;
            let key = key.as_bytes();
            let request = self.client.submit(Operation::Delete { key, cas });
            match self.client.wait(request) {
                Ok(_) => {
                    manifest.inspect(|manifest| self.remove_chunks_of(manifest));
                    return Ok(());
                }
                // Somebody else has replaced or removed it meanwhile.
                Err(farcache_client::Error::Exists | farcache_client::Error::NotFound) => {}
                Err(error) => return Err(of_manifest(name, error)),
            }
        }
    }

    /// What stands in a manifest's place.
    pub(crate) fn placed(&self, name: &str, key: &str) -> Result<Option<Placed>, Error> {
        let got = self.client.get(key);
        let item = got.map_err(|error| of_manifest(name, error))?;
        Ok(item.map(|item| Placed {
            manifest: Manifest::parse(&item.value).ok(),
            cas: item.cas,
        }))
    }

    pub(crate) fn remove_chunks_of(&self, manifest: &Manifest) {
        let chunks = (0..manifest.chunks()).map(|index| (index, manifest.place_of(index)));
        self.remove_chunks(manifest.write(), chunks);
    }

    /// Removes chunks that no manifest has, given by number and place. One that stays, as its
    /// server does not answer, takes room and does no other harm.
    pub(crate) fn remove_chunks(
        &self,
        write: WriteId,
        chunks: impl IntoIterator<Item = (u64, u32)>,
    ) {
        let mut chunks = chunks.into_iter().peekable();
        while chunks.peek().is_some() {
            let together = chunks.by_ref().take(DELETIONS_TOGETHER);
            let begin = |(index, place)| {
                let key = chunk_key(write, index, place);
                self.client.submit_discard(key.as_bytes())
            };
            let under_way: Vec<Request> = together.flat_map(begin).collect();
            let ended: Vec<Completion> = under_way.into_iter().map(Request::complete).collect();
            let outcomes = ended.iter().map(|ended| ended.outcome.as_ref());
            let is_lost = |error: &farcache_client::Error| error.is_connection();
            if outcomes.into_iter().all(|it| it.is_err_and(is_lost)) {
                return;
            }
        }
    }
}

/// A request for a manifest that has failed.
pub(crate) fn of_manifest(name: &str, error: farcache_client::Error) -> Error {
    Error::Request {
        name: name.into(),
        chunk: None,
        error,
    }
}
