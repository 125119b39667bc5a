//! Reading a blob at any place.

use crate::access::Access;
use crate::budget::Share;
use crate::error::Damage;
use crate::keys::chunk_key;
use crate::pattern::Pattern;
use crate::{Error, Manifest};
use farcache_base::crc32c;
use farcache_client::{Operation, ReceiveBytes, Reply, Request};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A blob as it was when it was opened. Reads that follow one another are read ahead, the further
/// the longer they go on, within what [`Settings`](crate::Settings) allow.
pub struct Reader {
    access: Access,
    name: Box<str>,
    manifest: Manifest,
    /// When it was opened. The manifest may have grown since, if the blob is still being written.
    length: u64,
    pattern: Pattern,
    /// Chunks that are here or under way.
    held: BTreeMap<u64, Held>,
    bytes_held: usize,
    /// Counts the reads, to tell which chunk was wanted last.
    reads: u64,
    /// Memory of a chunk that was let go.
    spare: Option<Vec<u8>>,
}

/// A part of a blob that is to be read.
#[derive(Debug)]
pub struct Part<'a> {
    /// Where it begins.
    pub offset: u64,
    /// What is to be filled.
    pub room: &'a mut [u8],
}

/// A chunk that is here or under way.
struct Held {
    state: State,
    bytes: usize,
    /// The read that has wanted it last.
    wanted: u64,
    _share: Option<Share>,
}

enum State {
    UnderWay(Request),
    Here(Vec<u8>),
}

/// Which chunks are wanted soon.
enum Wanted<'a> {
    /// All up to this one.
    UpTo(u64),
    /// The chunks of this list, in order.
    Listed(&'a [u64]),
}

impl Wanted<'_> {
    /// The next one behind a chunk.
    fn after(&self, index: u64) -> Option<u64> {
        match self {
            Wanted::UpTo(last) => (index < *last).then_some(index + 1),
            Wanted::Listed(listed) => {
                let next = listed.partition_point(|at| *at <= index);
                listed.get(next).copied()
            }
        }
    }

    fn has(&self, index: u64) -> bool {
        match self {
            Wanted::UpTo(last) => index <= *last,
            Wanted::Listed(listed) => listed.binary_search(&index).is_ok(),
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reader of {:?}", self.name)
    }
}

impl Reader {
    pub(crate) fn new(access: &Access, name: &str, manifest: Manifest) -> Self {
        Reader {
            access: access.clone(),
            name: name.into(),
            length: manifest.length(),
            manifest,
            pattern: Pattern::new(),
            held: BTreeMap::new(),
            bytes_held: 0,
            reads: 0,
            spare: None,
        }
    }

    /// What the blob consists of.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Length of the blob in bytes, as it was when it was opened.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that are held or under way, never more than
    /// [`Settings::window_bytes`](crate::Settings::window_bytes) or one chunk.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// How many of so many bytes from this place on each server of the client has, in the client's
    /// order: a copy or, of erasure coding, a shard of their chunks. That is where the manifest and
    /// the client's placement say they are; no server is asked.
    #[must_use]
    pub fn bytes_on_servers(&self, offset: u64, bytes: u64) -> Vec<u64> {
        let mut told = vec![0; self.access.client.servers().len()];
        let end = offset.saturating_add(bytes).min(self.length);
        let chunk_bytes = u64::from(self.manifest.chunk_bytes());
        for index in self.chunks_between(offset, end) {
            let begin = offset.max(index * chunk_bytes);
            let place = self.manifest.place_of(index);
            let key = chunk_key(self.manifest.write(), index, place);
            for server in self.access.client.servers_of_key(key.as_bytes()) {
                // The cluster may have got another server meanwhile.
                told.resize(told.len().max(server + 1), 0);
                told[server] += end.min((index + 1) * chunk_bytes) - begin;
            }
        }
        told
    }

    /// Reads from this place on; returns how many bytes: as many as the buffer takes or the blob
    /// has, 0 from its end on.
    ///
    /// # Errors
    /// [`Error::MissingChunk`], [`Error::DamagedChunk`], [`Error::Replaced`], [`Error::Request`].
    /// What the buffer holds then is unspecified. A later call asks again.
    pub fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let length = self.length();
        let bytes = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = bytes.min(buffer.len());
        if bytes == 0 {
            return Ok(0);
        }
        let end = offset + bytes as u64;
        let ahead = end.saturating_add(self.pattern.note(offset, end));
        self.reads += 1;
        let last = (ahead.min(length) - 1) / u64::from(self.manifest.chunk_bytes());
        self.copy(offset, &mut buffer[..bytes], &Wanted::UpTo(last))?;
        Ok(bytes)
    }

    /// Reads several parts of the blob; their chunks are asked for together, each of them once.
    /// Returns how many bytes were read: as many as there is room for, but for what lies behind the
    /// end of the blob. Nothing is read ahead.
    ///
    /// # Errors
    /// As [`Reader::read_at`].
    pub fn read_parts(&mut self, parts: &mut [Part<'_>]) -> Result<u64, Error> {
        let mut parts: Vec<&mut Part> = parts.iter_mut().collect();
        parts.sort_by_key(|part| part.offset);
        let mut wanted: Vec<u64> = parts.iter().flat_map(|part| self.chunks_of(part)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.reads += 1;
        let mut read = 0;
        for Part { offset, room } in parts {
            let left = self.length.saturating_sub(*offset);
            let bytes = usize::try_from(left).map_or(room.len(), |left| left.min(room.len()));
            self.copy(*offset, &mut room[..bytes], &Wanted::Listed(&wanted))?;
            read += bytes as u64;
        }
        Ok(read)
    }

    /// Lets go of all chunks that are here or under way, and of their memory. A later read asks
    /// again.
    pub fn unbuffer(&mut self) {
        self.let_all_go();
        self.spare = None;
    }

    /// The numbers of the chunks that a part lies in.
    fn chunks_of(&self, part: &Part) -> Range<u64> {
        let end = part.offset.saturating_add(part.room.len() as u64);
        self.chunks_between(part.offset, end.min(self.length))
    }

    fn chunks_between(&self, begin: u64, end: u64) -> Range<u64> {
        let chunk_bytes = u64::from(self.manifest.chunk_bytes());
        if begin < end {
            begin / chunk_bytes..end.div_ceil(chunk_bytes)
        } else {
            0..0
        }
    }

    /// Fills the buffer from this place on, and asks for other chunks that are wanted.
    fn copy(&mut self, offset: u64, buffer: &mut [u8], wanted: &Wanted) -> Result<(), Error> {
        let chunk_bytes = u64::from(self.manifest.chunk_bytes());
        let mut done = 0;
        while done < buffer.len() {
            let place = offset + done as u64;
            let (index, within) = (place / chunk_bytes, (place % chunk_bytes) as usize);
            self.ask(index, wanted);
            let chunk = self.wait(index)?;
            let part = &chunk[within..chunk.len().min(within + buffer.len() - done)];
            buffer[done..done + part.len()].copy_from_slice(part);
            done += part.len();
        }
        Ok(())
    }

    /// Asks for a chunk in any case, and for those behind it that are wanted while there is room.
    fn ask(&mut self, index: u64, wanted: &Wanted) {
        let mut is_new = false;
        let mut next = Some(index);
        while let Some(at) = next {
            next = wanted.after(at);
            if let Some(held) = self.held.get_mut(&at) {
                held.wanted = self.reads;
                continue;
            }
            let bytes = self.manifest.bytes_of(at);
            let share = self.room_for(bytes, index, wanted);
            if share.is_none() && at > index {
                break;
            }
            self.begin(at, bytes, share);
            is_new = true;
        }
        if is_new {
            self.access.client.flush();
        }
    }

    /// Room for a chunk, for which others are let go that lie outside of what is wanted now.
    /// Without any, there is none beside what this reader may have alone: one chunk.
    fn room_for(&mut self, bytes: usize, index: u64, wanted: &Wanted) -> Option<Share> {
        loop {
            if self.bytes_held + bytes <= self.access.settings.window_bytes
                && let Some(share) = self.access.budget.take(bytes)
            {
                return Some(share);
            }
            if !self.let_go_outside(index, wanted) {
                break;
            }
        }
        if !self.held.contains_key(&index) {
            // The chunk that is waited for goes before what was read ahead of it.
            self.let_all_go();
        }
        None
    }

    /// Lets go the chunk that was wanted longest ago, among those before this one and those that are
    /// not wanted.
    fn let_go_outside(&mut self, index: u64, wanted: &Wanted) -> bool {
        let is_outside = |at: u64| at < index || at > index && !wanted.has(at);
        let outside = self.held.iter().filter(|(at, _)| is_outside(**at));
        let oldest = outside
            .min_by_key(|(_, held)| held.wanted)
            .map(|(at, _)| *at);
        oldest.inspect(|at| self.let_go(*at)).is_some()
    }

    fn let_all_go(&mut self) {
        self.held.clear();
        self.bytes_held = 0;
    }

    fn let_go(&mut self, index: u64) {
        if let Some(held) = self.held.remove(&index) {
            self.bytes_held -= held.bytes;
            if let State::Here(memory) = held.state {
                self.spare = Some(memory);
            }
        }
    }

    fn begin(&mut self, index: u64, bytes: usize, share: Option<Share>) {
        let place = self.manifest.place_of(index);
        let key = chunk_key(self.manifest.write(), index, place);
        let into = ReceiveBytes::from(self.spare.take().unwrap_or_default());
        let key = key.as_bytes();
        let request = self.access.client.submit(Operation::Get { key, into });
        self.bytes_held += bytes;
        let held = Held {
            state: State::UnderWay(request),
            bytes,
            wanted: self.reads,
            _share: share,
        };
        self.held.insert(index, held);
    }

    /// Waits for a chunk that was asked for, and checks it once.
    fn wait(&mut self, index: u64) -> Result<&[u8], Error> {
        let mut held = self.held.remove(&index).expect("it was asked for");
        self.bytes_held -= held.bytes;
        let chunk = match held.state {
            State::Here(chunk) => chunk,
            State::UnderWay(request) => match self.arrived(index, request) {
                Err(Error::MissingChunk { .. }) if self.has_grown() => {
                    return self.ask_again(index);
                }
                arrived => arrived?,
            },
        };
        self.bytes_held += held.bytes;
        held.state = State::Here(chunk);
        match &self.held.entry(index).insert_entry(held).into_mut().state {
            State::Here(chunk) => Ok(chunk),
            State::UnderWay(_) => unreachable!("it is here"),
        }
    }

    /// Whether the blob's writer has published more of it, as is known from now on. What was its
    /// last chunk is then elsewhere.
    fn has_grown(&mut self) -> bool {
        let Ok(now) = self.access.manifest(&self.name) else {
            return false;
        };
        let is_more = now.write() == self.manifest.write() && now.length() > self.manifest.length();
        if is_more {
            self.manifest = now;
        }
        is_more
    }

    /// Waits for a chunk that is not where it was.
    fn ask_again(&mut self, index: u64) -> Result<&[u8], Error> {
        self.let_all_go();
        let bytes = self.manifest.bytes_of(index);
        let share = self.room_for(bytes, index, &Wanted::UpTo(index));
        self.begin(index, bytes, share);
        self.wait(index)
    }

    /// What the server has of a chunk, once it has been checked.
    fn arrived(&self, index: u64, request: Request) -> Result<Vec<u8>, Error> {
        let chunk = match request.complete().outcome {
            Ok(Reply::Value { value, .. }) => value.into_vec(),
            Ok(_) => {
                let other = farcache_client::Error::Protocol("the answer to another question");
                return Err(self.failed(index, other));
            }
            Err(farcache_client::Error::NotFound) => return Err(self.missing(index)),
            Err(error) => return Err(self.failed(index, error)),
        };
        match self.damage(index, &chunk) {
            None => Ok(chunk),
            Some(damage) => Err(Error::DamagedChunk {
                name: self.name.clone(),
                write: self.manifest.write(),
                index,
                damage,
            }),
        }
    }

    fn failed(&self, index: u64, error: farcache_client::Error) -> Error {
        Error::Request {
            name: self.name.clone(),
            chunk: Some(index),
            error,
        }
    }

    fn damage(&self, index: u64, chunk: &[u8]) -> Option<Damage> {
        let expected = self.manifest.bytes_of(index);
        if chunk.len() != expected {
            let found = chunk.len();
            return Some(Damage::Length { expected, found });
        }
        let checksum = self.manifest.checksums()[index as usize];
        (crc32c::crc32c(chunk) != checksum).then_some(Damage::Checksum)
    }

    /// Why a chunk is not there: whether the blob still is the one that was opened.
    fn missing(&self, index: u64) -> Error {
        let write = self.manifest.write();
        match self.access.manifest(&self.name) {
            Ok(now) if now.write() != write => Error::Replaced(self.name.clone()),
            Err(Error::NotFound(name)) => Error::Replaced(name),
            _ => Error::MissingChunk {
                name: self.name.clone(),
                write,
                index,
            },
        }
    }
}
