//! Writing a blob: cutting into chunks, and the manifest once they are stored.

use crate::access::{Access, of_manifest};
use crate::keys::manifest_key;
use crate::publish::Publication;
use crate::stores::Stores;
use crate::{Error, Manifest, WriteId};
use std::fmt;

/// A blob that is being written, front to back. A full chunk is stored behind the caller's back;
/// where as many bytes are under way as [`Settings`](crate::Settings) allow, a call waits for the
/// oldest of them. Where servers are full, or too few of a chunk's are up, the chunk is stored
/// under another key, at once or after a while: within
/// [`Settings::patience`](crate::Settings::patience).
///
/// An error of a store shows in the call after it, and in every later one. A writer that is dropped
/// without [`Writer::close`] removes what it has stored, as [`Writer::abort`] does.
pub struct Writer {
    access: Access,
    name: Box<str>,
    write: WriteId,
    /// The chunk that is being filled.
    chunk: Vec<u8>,
    length: u64,
    stores: Stores,
    publication: Publication,
    failed: Option<Error>,
    is_ended: bool,
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Writer of {:?}, {}", self.name, self.write)
    }
}

impl Writer {
    pub(crate) fn new(access: &Access, name: &str) -> Result<Self, Error> {
        let key = manifest_key(name)?;
        let write = WriteId::random();
        let write = write.map_err(|error| Error::NoRandomBytes(error.to_string().into()))?;
        Ok(Writer {
            access: access.clone(),
            name: name.into(),
            write,
            chunk: Vec::new(),
            length: 0,
            stores: Stores::new(access, name, write),
            publication: Publication::new(access, name, key),
            failed: None,
            is_ended: false,
        })
    }

    /// The id of this write, which stands in the keys of its chunks.
    #[must_use]
    pub fn write_id(&self) -> WriteId {
        self.write
    }

    /// Bytes written so far.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that are under way, never more than
    /// [`Settings::window_bytes`](crate::Settings::window_bytes) or one chunk.
    #[must_use]
    pub fn bytes_under_way(&self) -> usize {
        self.stores.bytes_under_way()
    }

    /// Writes more bytes.
    ///
    /// # Errors
    /// [`Error::Request`]: a chunk could not be stored, now or earlier.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.check()?;
        let chunk_bytes = self.access.settings.chunk_bytes as usize;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(chunk_bytes - self.chunk.len()));
            self.make_room(now.len());
            self.chunk.extend_from_slice(now);
            self.length += now.len() as u64;
            bytes = later;
            if self.chunk.len() == chunk_bytes {
                self.send_chunk()?;
            }
        }
        Ok(())
    }

    /// Waits until all full chunks are stored. What has been written behind them stays here, and
    /// nobody sees any of it before [`Writer::publish`] or [`Writer::close`].
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.check()?;
        let settled = self.stores.settle_all();
        self.note(settled)
    }

    /// Stores what has been written so far, and a manifest of it: from now on there is a blob with
    /// these bytes, in the place of a former one of its name. Who opens it now sees no more of it
    /// than that; it stays as it is if the writer is given up or dies.
    ///
    /// # Errors
    /// [`Error::Request`] as with [`Writer::close`]; [`Error::Replaced`]: another writer's blob of
    /// this name has taken the place of what was published, or it was removed.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.check()?;
        let has_tail = !self.chunk.is_empty();
        if has_tail {
            let tail = self.chunk.clone();
            self.send(tail)?;
        }
        self.flush()?;
        let published = self.place_manifest();
        self.note(published)?;
        self.stores.remove_left();
        if has_tail {
            self.stores.take_back_last();
        }
        Ok(())
    }

    /// Stores what is left, and then the manifest: the blob is there, in the place of a former one
    /// of its name, whose chunks are removed.
    ///
    /// # Errors
    /// [`Error::Request`]. Where it is one for the manifest whose outcome is unknown, so is whether
    /// the blob is there; otherwise the former one still is. [`Error::Replaced`] as with
    /// [`Writer::publish`].
    pub fn close(mut self) -> Result<Manifest, Error> {
        self.check()?;
        if !self.chunk.is_empty() {
            self.send_chunk()?;
        }
        self.flush()?;
        let placed = self.place_manifest();
        // Chunks of a manifest that may be there stay.
        self.is_ended = !placed
            .as_ref()
            .is_err_and(|error| !error.may_have_happened());
        placed.inspect(|_| self.stores.remove_left())
    }

    /// Gives the blob up: waits for what is under way, and removes what was stored and has not been
    /// published. A former blob of this name stays.
    pub fn abort(mut self) {
        self.give_up();
    }

    fn give_up(&mut self) {
        self.is_ended = true;
        self.stores.give_up();
        let published = self.publication.published();
        let is_published = |index, place| {
            published.is_some_and(|it| index < it.chunks() && it.place_of(index) == place)
        };
        let sent = (0..self.stores.sent()).filter_map(|index| {
            let place = self.stores.place_of(index)?;
            (!is_published(index, place)).then_some((index, place))
        });
        self.access.remove_chunks(self.write, sent);
        self.stores.remove_left_but(is_published);
    }

    fn check(&self) -> Result<(), Error> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        outcome.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Prepares memory for more bytes of the chunk: for all of it once it is not a small blob.
    fn make_room(&mut self, bytes: usize) {
        if self.chunk.capacity() - self.chunk.len() >= bytes {
            return;
        }
        let chunk_bytes = self.access.settings.chunk_bytes as usize;
        match self.stores.sent() {
            0 => self.chunk.reserve(bytes),
            _ => self.chunk.reserve_exact(chunk_bytes - self.chunk.len()),
        }
    }

    /// Sends the chunk that was filled.
    fn send_chunk(&mut self) -> Result<(), Error> {
        let chunk = std::mem::take(&mut self.chunk);
        self.chunk = self.send(chunk)?;
        Ok(())
    }

    fn send(&mut self, chunk: Vec<u8>) -> Result<Vec<u8>, Error> {
        let sent = self.stores.send(chunk);
        self.note(sent)
    }

    /// Puts the manifest of all that was sent into its place.
    fn place_manifest(&mut self) -> Result<Manifest, Error> {
        let (checksums, places) = self.stores.checksums_and_places();
        let chunk_bytes = self.access.settings.chunk_bytes;
        let manifest = Manifest::new(self.write, chunk_bytes, self.length, checksums);
        // More chunks than a manifest can count.
        let too_large = || of_manifest(&self.name, farcache_client::Error::TooLarge);
        let manifest = manifest.ok_or_else(too_large)?.with_places(places);
        self.publication.place(&manifest)?;
        Ok(manifest)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_ended {
            self.give_up();
        }
    }
}
