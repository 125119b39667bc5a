//! The servers, as a handle and its writers and readers see them.

use crate::budget::Budget;
use crate::keys::{chunk_key, manifest_key};
use crate::{Error, Manifest, WriteId};
use farcache_client::{Client, Completion, Request};
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
    /// Bytes that all writers and readers of a handle together may hold or have under way: 64 MiB.
    /// One chunk of each is allowed beyond it.
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

/// What a handle shares with its writers and readers.
#[derive(Clone)]
pub(crate) struct Access {
    pub client: Client,
    pub settings: Settings,
    pub budget: Arc<Budget>,
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

impl Access {
    /// What a blob consists of now.
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

    /// What stands in a manifest's place.
    pub fn placed(&self, name: &str, key: &str) -> Result<Option<Placed>, Error> {
        let got = self.client.get(key);
        let item = got.map_err(|error| of_manifest(name, error))?;
        Ok(item.map(|item| Placed {
            manifest: Manifest::parse(&item.value).ok(),
            cas: item.cas,
        }))
    }

    pub fn remove_chunks_of(&self, manifest: &Manifest) {
        let chunks = (0..manifest.chunks()).map(|index| (index, manifest.place_of(index)));
        self.remove_chunks(manifest.write(), chunks);
    }

    /// Removes chunks that no manifest has, given by number and place. One that stays, as its
    /// server does not answer, takes room and does no other harm.
    pub fn remove_chunks(&self, write: WriteId, chunks: impl IntoIterator<Item = (u64, u32)>) {
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
