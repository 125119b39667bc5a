//! Writing a blob: cutting into chunks, the window of stores under way, publishing.

use crate::blobs::{Blobs, Placed, of_manifest};
use crate::budget::Share;
use crate::keys::{chunk_key, manifest_key};
use crate::{Error, Manifest, WriteId};
use farcache_client::{Operation, Request, Store};
use std::collections::VecDeque;
use std::fmt;

/// A blob that is being written, front to back. A full chunk is stored behind the caller's back;
/// where as many bytes are under way as [`Settings`](crate::Settings) allow, a call waits for the
/// oldest of them.
///
/// An error of a store shows in the call after it, and in every later one. A writer that is dropped
/// without [`Writer::close`] removes what it has stored, as [`Writer::abort`] does.
pub struct Writer {
    blobs: Blobs,
    name: Box<str>,
    key: String,
    write: WriteId,
    /// The chunk that is being filled.
    chunk: Vec<u8>,
    length: u64,
    /// One for each chunk that was sent.
    checksums: Vec<u32>,
    under_way: VecDeque<UnderWay>,
    bytes_under_way: usize,
    /// Memory of a chunk that has been stored.
    spare: Option<Vec<u8>>,
    failed: Option<Error>,
    is_ended: bool,
}

/// A store that is under way.
struct UnderWay {
    request: Request,
    index: u64,
    bytes: usize,
    _share: Option<Share>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Writer of {:?}, {}", self.name, self.write)
    }
}

impl Writer {
    pub(crate) fn new(blobs: &Blobs, name: &str) -> Result<Self, Error> {
        Ok(Writer {
            blobs: blobs.clone(),
            name: name.into(),
            key: manifest_key(name)?,
            write: WriteId::random()?,
            chunk: Vec::new(),
            length: 0,
            checksums: Vec::new(),
            under_way: VecDeque::new(),
            bytes_under_way: 0,
            spare: None,
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
        self.bytes_under_way
    }

    /// Writes more bytes.
    ///
    /// # Errors
    /// [`Error::Request`]: a chunk could not be stored, now or earlier.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.check()?;
        let chunk_bytes = self.blobs.settings.chunk_bytes as usize;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(chunk_bytes - self.chunk.len()));
            self.make_room(now.len());
            self.chunk.extend_from_slice(now);
            self.length += now.len() as u64;
            bytes = later;
            if self.chunk.len() == chunk_bytes {
                self.send()?;
            }
        }
        Ok(())
    }

    /// Waits until all full chunks are stored. What has been written behind them stays here, and
    /// nobody sees any of it before [`Writer::close`].
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn flush(&mut self) -> Result<(), Error> {
        self.check()?;
        while !self.under_way.is_empty() {
            self.settle_oldest()?;
        }
        Ok(())
    }

    /// Stores what is left, and then the manifest: the blob is there, in the place of a former one
    /// of its name, whose chunks are removed.
    ///
    /// # Errors
    /// [`Error::Request`]. Where it is one for the manifest whose outcome is unknown, so is whether
    /// the blob is there; otherwise the former one still is.
    pub fn close(mut self) -> Result<Manifest, Error> {
        self.check()?;
        if !self.chunk.is_empty() {
            self.send()?;
        }
        self.flush()?;
        let checksums = std::mem::take(&mut self.checksums);
        let chunks = checksums.len() as u64;
        let chunk_bytes = self.blobs.settings.chunk_bytes;
        let Some(manifest) = Manifest::new(self.write, chunk_bytes, self.length, checksums) else {
            // More chunks than a manifest can count.
            self.blobs.remove_chunks(self.write, chunks);
            return Err(of_manifest(&self.name, farcache_client::Error::TooLarge));
        };
        self.is_ended = true;
        match self.publish(&manifest) {
            Ok(replaced) => {
                replaced.inspect(|replaced| self.blobs.remove_chunks_of(replaced));
                Ok(manifest)
            }
            Err(error) => {
                if !may_have_happened(&error) {
                    self.blobs.remove_chunks(self.write, chunks);
                }
                Err(error)
            }
        }
    }

    /// Gives the blob up: waits for what is under way, and removes what was stored. A former blob
    /// of this name stays.
    pub fn abort(mut self) {
        self.give_up();
    }

    fn give_up(&mut self) {
        self.is_ended = true;
        for stored in self.under_way.drain(..) {
            drop(stored.request.complete());
        }
        let sent = self.checksums.len() as u64;
        self.blobs.remove_chunks(self.write, sent);
    }

    fn check(&self) -> Result<(), Error> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Prepares memory for more bytes of the chunk: for all of it once it is not a small blob.
    fn make_room(&mut self, bytes: usize) {
        if self.chunk.capacity() - self.chunk.len() >= bytes {
            return;
        }
        let chunk_bytes = self.blobs.settings.chunk_bytes as usize;
        match self.checksums.is_empty() {
            true => self.chunk.reserve(bytes),
            false => self.chunk.reserve_exact(chunk_bytes - self.chunk.len()),
        }
    }

    /// Sends the chunk that was filled, once there is room for it.
    fn send(&mut self) -> Result<(), Error> {
        let bytes = self.chunk.len();
        let share = self.wait_for_room(bytes)?;
        let index = self.checksums.len() as u64;
        let key = chunk_key(self.write, index);
        let next = self.spare.take().unwrap_or_default();
        let chunk = std::mem::replace(&mut self.chunk, next);
        self.checksums.push(crc32c::crc32c(&chunk));
        let store = Store::set(key.as_bytes(), chunk);
        let request = self.blobs.client.submit(Operation::Store(store));
        self.bytes_under_way += bytes;
        self.under_way.push_back(UnderWay {
            request,
            index,
            bytes,
            _share: share,
        });
        self.settle_complete()
    }

    /// Waits until so many bytes more may be under way.
    fn wait_for_room(&mut self, bytes: usize) -> Result<Option<Share>, Error> {
        loop {
            let is_within = self.bytes_under_way + bytes <= self.blobs.settings.window_bytes;
            if is_within && let Some(share) = self.blobs.budget.take(bytes) {
                return Ok(Some(share));
            }
            if self.under_way.is_empty() {
                return Ok(None);
            }
            self.settle_oldest()?;
        }
    }

    /// Sends what was submitted, and takes in what has been answered.
    fn settle_complete(&mut self) -> Result<(), Error> {
        self.blobs.client.flush();
        while let Some(oldest) = self.under_way.front() {
            if !oldest.request.test() {
                break;
            }
            self.settle_oldest()?;
        }
        Ok(())
    }

    /// Waits for the oldest store.
    fn settle_oldest(&mut self) -> Result<(), Error> {
        let Some(oldest) = self.under_way.pop_front() else {
            return Ok(());
        };
        self.bytes_under_way -= oldest.bytes;
        let completion = oldest.request.complete();
        if let Some(lent) = completion.lent {
            let mut memory = lent.into_vec();
            memory.clear();
            self.spare = Some(memory);
        }
        completion.outcome.map(drop).map_err(|error| {
            let error = Error::Request {
                name: self.name.clone(),
                chunk: Some(oldest.index),
                error,
            };
            self.failed = Some(error.clone());
            error
        })
    }

    /// Stores the manifest; returns the one that it has replaced. Each manifest is replaced by one
    /// writer only, which is the one to remove its chunks.
    fn publish(&self, manifest: &Manifest) -> Result<Option<Manifest>, Error> {
        use farcache_client::Error::{Exists, NotFound, NotStored};
        let client = &self.blobs.client;
        loop {
            let placed = self.blobs.placed(&self.name, &self.key)?;
            let bytes = manifest.to_bytes();
            let stored = match &placed {
                None => client.add(&self.key, bytes, 0),
                Some(placed) => client.cas(&self.key, bytes, 0, placed.cas),
            };
            match stored {
                Ok(_) => return Ok(placed.and_then(|placed| placed.manifest)),
                // Somebody else was faster: this one comes after it.
                Err(Exists | NotFound | NotStored) => {}
                Err(error) => {
                    let error = of_manifest(&self.name, error);
                    if !may_have_happened(&error) || !self.is_published() {
                        return Err(error);
                    }
                    return Ok(placed.and_then(|placed| placed.manifest));
                }
            }
        }
    }

    /// Whether this write's manifest is there.
    fn is_published(&self) -> bool {
        let placed = self.blobs.placed(&self.name, &self.key);
        let is_own = |placed: Placed| placed.manifest.is_some_and(|it| it.write() == self.write);
        placed.is_ok_and(|placed| placed.is_some_and(is_own))
    }
}

/// Whether the request of this error may have been carried out.
fn may_have_happened(error: &Error) -> bool {
    use farcache_client::Error::{ConnectionLost, Protocol, Timeout};
    matches!(
        error,
        Error::Request {
            error: Timeout | ConnectionLost(_) | Protocol(_),
            ..
        }
    )
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_ended {
            self.give_up();
        }
    }
}
