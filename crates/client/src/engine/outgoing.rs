//! What waits to be sent to one server.

use farcache_fabric::bytes::SendBytes;
use farcache_fabric::{Payload, SHARED_BYTES_MIN};
use farcache_proto::binary::{HEADER_BYTES, Header, whole_packets};
use std::collections::VecDeque;
use std::sync::Arc;

/// Capacity that is kept when everything has been sent, in bytes.
const KEPT_CAPACITY_BYTES: usize = 256 << 10;

/// So many bytes of so many requests do not wait for more: about ten small ones, or four with
/// values, of which a server then does the first while the next are made.
const BATCHED_BYTES: usize = 512;
const BATCHED_REQUESTS: usize = 4;

/// A value that is sent from where it lies.
#[derive(Debug)]
struct Large {
    /// Where its packet's head is in the queue.
    at: usize,
    head_bytes: usize,
    body: SendBytes,
    tag: u64,
}

/// Packets in order; those without their value have it beside them.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    packets: Vec<u8>,
    sent: usize,
    larges: VecDeque<Large>,
    /// Packets that have been handed to the network, which may still hold a share of them: the next
    /// buffer if it does not.
    shared: Option<Arc<Vec<u8>>>,
}

impl Outgoing {
    /// Where the next packet is appended.
    pub(super) fn packets(&mut self) -> &mut Vec<u8> {
        if self.packets.capacity() == 0 {
            self.renew();
        }
        if self.is_empty() && self.sent > 0 {
            self.clear();
        } else if self.sent > KEPT_CAPACITY_BYTES && self.sent > self.packets.len() / 2 {
            self.compact();
        }
        &mut self.packets
    }

    /// Takes the buffer that was handed to the network, if that holds it no more.
    fn renew(&mut self) {
        if let Some(Ok(mut packets)) = self.shared.take().map(Arc::try_unwrap) {
            packets.clear();
            packets.shrink_to(KEPT_CAPACITY_BYTES);
            self.packets = packets;
        }
    }

    /// Forgets what has been sent, where something has always been waiting.
    fn compact(&mut self) {
        self.packets.drain(..self.sent);
        for large in &mut self.larges {
            large.at -= self.sent;
        }
        self.sent = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.packets.len()
    }

    /// Whether there is enough for a message of its own.
    pub(super) fn is_worth_sending(&self) -> bool {
        let waiting = &self.packets[self.sent..];
        let is_enough = || waiting.len() >= BATCHED_BYTES && has_packets(waiting, BATCHED_REQUESTS);
        !self.larges.is_empty() || is_enough()
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.packets.shrink_to(KEPT_CAPACITY_BYTES);
        self.sent = 0;
    }

    /// Takes the packet that begins at `at` and has just been appended for one whose value is
    /// `body`.
    pub(super) fn attach(&mut self, at: usize, body: SendBytes, tag: u64) {
        let head_bytes = self.packets.len() - at;
        self.larges.push_back(Large {
            at,
            head_bytes,
            body,
            tag,
        });
    }

    /// The next message, of at most so many bytes of packets.
    #[inline]
    pub(super) fn next(&mut self, bytes_max: usize) -> Option<Payload<'_, SendBytes>> {
        let start = self.sent;
        let large = self.larges.pop_front_if(|large| large.at == start);
        if let Some(Large {
            head_bytes,
            body,
            tag,
            ..
        }) = large
        {
            self.sent += head_bytes;
            let head = &self.packets[start..self.sent];
            return Some(Payload::Large { head, body, tag });
        }
        let end = match self.larges.front() {
            Some(large) => large.at,
            None => self.packets.len(),
        };
        if start == end {
            return None;
        }
        let waiting = &self.packets[start..end];
        self.sent += whole_packets(waiting, bytes_max);
        if self.is_empty() && self.sent - start >= SHARED_BYTES_MIN {
            let packets = std::mem::take(&mut self.packets);
            let range = start..std::mem::take(&mut self.sent);
            return Some(Payload::Shared(
                self.shared.insert(Arc::new(packets)),
                range,
            ));
        }
        Some(Payload::Packets(&self.packets[start..self.sent]))
    }

    /// Forgets what has not been sent; the values come back.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = (u64, SendBytes)> {
        self.clear();
        std::mem::take(&mut self.larges)
            .into_iter()
            .map(|large| (large.tag, large.body))
    }
}

/// Whether there are at least so many packets.
fn has_packets(mut packets: &[u8], count: usize) -> bool {
    (0..count).all(|_| {
        let Some(header) = packets.first_chunk::<HEADER_BYTES>() else {
            return false;
        };
        let bytes = HEADER_BYTES + Header::decode(header).body_len as usize;
        packets = packets.get(bytes..).unwrap_or_default();
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::encode;

    fn packets_of(payload: Option<Payload<'_, SendBytes>>) -> usize {
        match payload {
            Some(Payload::Packets(packets)) => packets.len(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_hold_whole_packets() {
        let mut outgoing = Outgoing::default();
        for _ in 0..5 {
            encode::get(b"key", 0, outgoing.packets());
        }
        let packet = HEADER_BYTES + 3;
        assert_eq!(packets_of(outgoing.next(2 * packet + 1)), 2 * packet);
        assert_eq!(packets_of(outgoing.next(1)), packet);
        assert_eq!(packets_of(outgoing.next(usize::MAX)), 2 * packet);
        assert!(outgoing.next(usize::MAX).is_none());
    }

    #[test]
    fn four_requests_of_half_a_kilobyte_are_worth_sending() {
        let mut outgoing = Outgoing::default();
        for _ in 0..3 {
            encode::get(&[b'k'; 250], 0, outgoing.packets());
        }
        assert!(!outgoing.is_worth_sending());
        encode::get(b"key", 0, outgoing.packets());
        assert!(outgoing.is_worth_sending());
        let mut outgoing = Outgoing::default();
        for _ in 0..4 {
            encode::get(b"key", 0, outgoing.packets());
        }
        assert!(!outgoing.is_worth_sending());
    }

    #[test]
    fn many_packets_are_shared_with_the_network_and_their_buffer_is_used_again() {
        let mut outgoing = Outgoing::default();
        let (mut held, mut places) = (Vec::new(), Vec::new());
        for round in 0..3 {
            let value = vec![b'k'; SHARED_BYTES_MIN];
            outgoing.packets().extend_from_slice(&value);
            let Some(Payload::Shared(packets, range)) = outgoing.next(usize::MAX) else {
                panic!("so many are not copied");
            };
            assert_eq!(packets[range], value);
            places.push(packets.as_ptr());
            if round == 1 {
                // The network is slow.
                held.push(Arc::clone(packets));
            }
            assert!(outgoing.is_empty() && outgoing.next(usize::MAX).is_none());
        }
        assert_eq!(places[0], places[1]);
        assert_ne!(places[1], places[2]);
    }

    #[test]
    fn a_large_value_is_a_message_of_its_own_in_its_place() {
        let mut outgoing = Outgoing::default();
        encode::get(b"key", 0, outgoing.packets());
        let at = outgoing.packets().len();
        outgoing.packets().extend_from_slice(b"head");
        outgoing.attach(at, vec![1, 2, 3].into(), 7);
        encode::get(b"key", 0, outgoing.packets());
        assert_eq!(packets_of(outgoing.next(usize::MAX)), at);
        let Some(Payload::Large { head, body, tag }) = outgoing.next(usize::MAX) else {
            panic!("the value comes second");
        };
        assert_eq!((head, &body[..], tag), (&b"head"[..], &[1, 2, 3][..], 7));
        assert_eq!(packets_of(outgoing.next(usize::MAX)), at);
        assert!(outgoing.is_empty());
    }
}
