//! Chunks on their way to the servers: the window of stores, and another place for a chunk that the
//! servers of one place do not take.

use crate::access::Access;
use crate::budget::Share;
use crate::keys::chunk_key;
use crate::patience::Patience;
use crate::{Error, WriteId};
use farcache_base::crc32c;
use farcache_client::{Operation, Request, Store};
use std::collections::VecDeque;

/// The chunks of one write.
pub(crate) struct Stores {
    access: Access,
    name: Box<str>,
    write: WriteId,
    /// Each chunk that was sent, as a manifest will name it.
    sent: Vec<Sent>,
    under_way: VecDeque<UnderWay>,
    bytes_under_way: usize,
    /// The first place of the next chunk.
    next_place: u32,
    /// Where a chunk was, or may be, that will not be named any more.
    left: Vec<(u64, u32)>,
    /// Memory of a chunk that has been stored.
    spare: Option<Vec<u8>>,
}

/// A chunk that was sent.
#[derive(Clone, Copy)]
struct Sent {
    checksum: u32,
    place: u32,
}

/// A store that is under way.
struct UnderWay {
    request: Request,
    index: u64,
    bytes: usize,
    _share: Option<Share>,
}

impl Stores {
    /// Nothing has been sent.
    pub fn new(access: &Access, name: &str, write: WriteId) -> Self {
        Stores {
            access: access.clone(),
            name: name.into(),
            write,
            sent: Vec::new(),
            under_way: VecDeque::new(),
            bytes_under_way: 0,
            next_place: 0,
            left: Vec::new(),
            spare: None,
        }
    }

    /// How many chunks were sent.
    pub fn sent(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Checksum and place of each chunk.
    pub fn checksums_and_places(&self) -> (Vec<u32>, Vec<u32>) {
        self.sent.iter().map(|it| (it.checksum, it.place)).unzip()
    }

    /// Where the chunk with this index is to be.
    pub fn place_of(&self, index: u64) -> Option<u32> {
        self.sent.get(index as usize).map(|sent| sent.place)
    }

    /// Bytes that are under way.
    pub fn bytes_under_way(&self) -> usize {
        self.bytes_under_way
    }

    /// Sends a chunk, once there is room for it; returns memory for the next one.
    ///
    /// # Errors
    /// A store has failed, this one or an earlier one.
    pub fn send(&mut self, chunk: Vec<u8>) -> Result<Vec<u8>, Error> {
        let bytes = chunk.len();
        let share = self.wait_for_room(bytes)?;
        let index = self.sent();
        self.sent.push(Sent {
            checksum: crc32c::crc32c(&chunk),
            place: std::mem::take(&mut self.next_place),
        });
        let request = self.submit(index, chunk);
        self.bytes_under_way += bytes;
        self.under_way.push_back(UnderWay {
            request,
            index,
            bytes,
            _share: share,
        });
        self.settle_complete()?;
        Ok(self.spare.take().unwrap_or_default())
    }

    fn submit(&self, index: u64, chunk: Vec<u8>) -> Request {
        let key = chunk_key(self.write, index, self.sent[index as usize].place);
        let store = Store::set(key.as_bytes(), chunk);
        self.access.client.submit(Operation::Store(store))
    }

    /// The last chunk will be sent again, with more in it, and to another place, so that both are
    /// there meanwhile.
    pub fn take_back_last(&mut self) {
        if let Some(last) = self.sent.pop() {
            self.left.push((self.sent(), last.place));
            self.next_place = last.place + 1;
        }
    }

    /// Waits until so many bytes more may be under way.
    fn wait_for_room(&mut self, bytes: usize) -> Result<Option<Share>, Error> {
        loop {
            let is_within = self.bytes_under_way + bytes <= self.access.settings.window_bytes;
            if is_within && let Some(share) = self.access.budget.take(bytes) {
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
        self.access.client.flush();
        while let Some(oldest) = self.under_way.front() {
            if !oldest.request.test() {
                break;
            }
            self.settle_oldest()?;
        }
        Ok(())
    }

    /// Waits for all stores.
    ///
    /// # Errors
    /// One has failed.
    pub fn settle_all(&mut self) -> Result<(), Error> {
        while !self.under_way.is_empty() {
            self.settle_oldest()?;
        }
        Ok(())
    }

    /// Waits for all stores, whatever becomes of them.
    pub fn give_up(&mut self) {
        for stored in self.under_way.drain(..) {
            drop(stored.request.complete());
        }
        self.bytes_under_way = 0;
    }

    /// Waits for the oldest store, elsewhere where it fails.
    fn settle_oldest(&mut self) -> Result<(), Error> {
        let Some(oldest) = self.under_way.pop_front() else {
            return Ok(());
        };
        self.bytes_under_way -= oldest.bytes;
        let index = oldest.index;
        let mut patience = Patience::new(self.access.settings.patience);
        let mut request = oldest.request;
        loop {
            let completion = request.complete();
            let lent = completion.lent.map(farcache_client::SendBytes::into_vec);
            let Err(error) = completion.outcome else {
                self.spare = lent.map(cleared);
                return Ok(());
            };
            let has_copies = self.has_copies(index);
            let pause = patience.pause_after(&error, has_copies);
            let (Some(pause), Some(chunk)) = (pause, lent) else {
                return Err(self.failed(index, error));
            };
            self.move_on(index);
            if !pause.is_zero() {
                self.access.client.pause(pause);
            }
            request = self.submit(index, chunk);
        }
    }

    fn has_copies(&self, index: u64) -> bool {
        let key = chunk_key(self.write, index, self.sent[index as usize].place);
        self.access.client.has_redundancy(key.as_bytes())
    }

    /// Gives a chunk its next place.
    fn move_on(&mut self, index: u64) {
        let sent = &mut self.sent[index as usize];
        self.left.push((index, sent.place));
        sent.place += 1;
    }

    fn failed(&self, index: u64, error: farcache_client::Error) -> Error {
        Error::Request {
            name: self.name.clone(),
            chunk: Some(index),
            error,
        }
    }

    /// Removes what may be left of chunks that have moved on.
    pub fn remove_left(&mut self) {
        self.remove_left_but(|_, _| false);
    }

    /// Removes what may be left of chunks that have moved on, except those whose number and place
    /// `stays` wants kept.
    pub fn remove_left_but(&mut self, stays: impl Fn(u64, u32) -> bool) {
        let left = std::mem::take(&mut self.left).into_iter();
        let goes = left.filter(|(index, place)| !stays(*index, *place));
        self.access.remove_chunks(self.write, goes);
    }
}

fn cleared(mut memory: Vec<u8>) -> Vec<u8> {
    memory.clear();
    memory
}
