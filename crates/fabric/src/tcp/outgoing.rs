//! What waits to be written to one stream, in order: packets, and values from where they lie.

use super::stream::Stream;
use crate::port::SendBody;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// Most pieces given to one system call.
const SLICES_MAX: usize = 16;

/// Capacity for packets that is kept when all of them are written, in bytes.
const KEPT_CAPACITY_BYTES: usize = 256 << 10;

/// A value, behind so many bytes of packets.
struct Large<S> {
    /// End of the packets in front of it, counted from the stream's beginning.
    after: u64,
    body: S,
    tag: u64,
}

/// The queue of one stream. Offsets count bytes of packets from the stream's beginning, values not
/// included.
pub(super) struct Outgoing<S> {
    packets: Vec<u8>,
    /// Offset of the first byte of `packets`.
    base: u64,
    /// Offset of the first byte that has not been written.
    written: u64,
    larges: VecDeque<Large<S>>,
    /// Bytes written of the first value, once all packets in front of it are.
    large_written: usize,
    /// Ends of messages that have not been written, for counting them.
    ends: VecDeque<u64>,
}

impl<S: SendBody> Outgoing<S> {
    pub(super) fn new() -> Self {
        Outgoing {
            packets: Vec::new(),
            base: 0,
            written: 0,
            larges: VecDeque::new(),
            large_written: 0,
            ends: VecDeque::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Messages that have not been written whole.
    pub(super) fn messages(&self) -> usize {
        self.ends.len()
    }

    fn end(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    pub(super) fn push_packets(&mut self, packets: &[u8]) {
        self.packets.extend_from_slice(packets);
        self.ends.push_back(self.end());
    }

    pub(super) fn push_large(&mut self, head: &[u8], body: S, tag: u64) {
        self.push_packets(head);
        let after = self.end();
        self.larges.push_back(Large { after, body, tag });
    }

    /// Writes as much as the stream takes; `sent` gets each value that has been written.
    ///
    /// # Errors
    /// As [`Stream::write`].
    pub(super) fn write(
        &mut self,
        stream: &mut Stream,
        mut sent: impl FnMut(u64, S),
    ) -> io::Result<()> {
        while !self.is_empty() {
            let count = {
                let mut slices = [IoSlice::new(&[]); SLICES_MAX];
                let used = self.gather(&mut slices);
                stream.write(&slices[..used])
            };
            match count {
                Ok(count) => self.advance(count, &mut sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.compact();
        Ok(())
    }

    /// Lists the next bytes in order; returns how many slices that took.
    fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let mut used = 0;
        let mut from = self.written;
        let mut skip = self.large_written;
        for large in &self.larges {
            if used + 2 > SLICES_MAX {
                return used;
            }
            if large.after > from {
                slices[used] = IoSlice::new(self.between(from, large.after));
                used += 1;
            }
            slices[used] = IoSlice::new(&large.body[skip..]);
            used += 1;
            (from, skip) = (large.after, 0);
        }
        if self.end() > from && used < SLICES_MAX {
            slices[used] = IoSlice::new(self.between(from, self.end()));
            used += 1;
        }
        used
    }

    fn between(&self, from: u64, to: u64) -> &[u8] {
        &self.packets[(from - self.base) as usize..(to - self.base) as usize]
    }

    /// Takes note that the stream has taken so many bytes.
    fn advance(&mut self, mut count: usize, sent: &mut impl FnMut(u64, S)) {
        while let Some(large) = self.larges.front() {
            let packets = ((large.after - self.written) as usize).min(count);
            self.written += packets as u64;
            count -= packets;
            if self.written < large.after {
                break;
            }
            let body = (large.body.len() - self.large_written).min(count);
            self.large_written += body;
            count -= body;
            if self.large_written < large.body.len() {
                break;
            }
            self.large_written = 0;
            if let Some(large) = self.larges.pop_front() {
                sent(large.tag, large.body);
            }
        }
        if self.larges.is_empty() {
            self.written += count as u64;
        }
        self.forget_ends();
    }

    fn forget_ends(&mut self) {
        // A message with a value ends where the value begins, and is written when the value is.
        let reached = match self.larges.front() {
            Some(large) if large.after <= self.written => large.after - 1,
            _ => self.written,
        };
        while self.ends.front().is_some_and(|&end| end <= reached) {
            self.ends.pop_front();
        }
    }

    fn compact(&mut self) {
        self.base = self.written;
        self.packets.clear();
        self.packets.shrink_to(KEPT_CAPACITY_BYTES);
    }

    /// Gives the values up that have not been written.
    pub(super) fn abandon(&mut self, mut unsent: impl FnMut(u64, S)) {
        self.ends.clear();
        self.written = self.end();
        for large in self.larges.drain(..) {
            unsent(large.tag, large.body);
        }
    }
}
