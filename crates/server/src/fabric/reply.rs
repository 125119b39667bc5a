//! Answers go out: those to messages of one session that came together in one message, large values
//! each in their own.

use super::engine::Engine;
use super::stalls::Departing;
use farcache_fabric::{Kind, Payload, Peer, SHARED_BYTES_MIN};
use farcache_proto::binary::whole_packets;
use std::sync::Arc;

/// Bytes of packets in one message: as many as the shared memory of a host takes in one piece (the
/// fabric's `ucx/layout.rs`), with the frame.
const MESSAGE_BYTES_BEST: usize = 32 << 10;

/// What a message must not be cut within.
#[derive(Clone, Copy)]
enum Unit {
    /// Clients get whole packets.
    Packet,
    /// Another server puts frames together.
    Byte,
}

impl Engine {
    /// From now on answers are gathered for this session.
    pub(super) fn gather(&mut self, number: u32) {
        if self.gathering != Some(number) {
            self.flush();
            self.gathering = Some(number);
        }
    }

    /// Sends the answers that have been gathered.
    pub(super) fn flush(&mut self) {
        let Some(number) = self.gathering.take() else {
            return;
        };
        if let Some(mark) = self.hold.take() {
            return self.keep_replies(number, mark);
        }
        let Some(conversation) = &mut self.conversations[number as usize] else {
            self.replies.clear();
            return;
        };
        let Some(peer) = conversation.peer() else {
            return;
        };
        let credits = conversation.credits();
        if self.replies.is_empty() && credits == 0 {
            return;
        }
        let has_large = self.replies.large_count() > 0;
        let is_answered = has_large && self.send_large(number, peer, credits);
        if !is_answered {
            self.send_packets(number, peer, credits);
        }
        self.replies.clear();
    }

    /// Sends the large values; true if these were all of the answer, so that the last one told the
    /// credits.
    fn send_large(&mut self, number: u32, peer: Peer, credits: u16) -> bool {
        let is_all = self.replies.is_all_large();
        let mut left = self.replies.large_count();
        let mut head_bytes = 0;
        let (port, figures, store) = (&mut self.port, &self.figures, &self.shared.store);
        let conversation = self.conversations[number as usize]
            .as_mut()
            .expect("the session is there");
        let departing = &mut self.departing;
        self.replies.take_large(|head, body| {
            left -= 1;
            let credits = if left == 0 && is_all { credits } else { 0 };
            figures.messages_out.bump();
            figures.rendezvous_out_total.bump();
            head_bytes += head.len();
            let body = store.lend(body);
            let one = Departing {
                session: number,
                key: conversation.key,
                is_in_read_memory: body.is_in_read_memory(),
            };
            conversation.taking.note_departing(&one);
            let tag = departing.insert(one) as u64;
            port.send(
                peer,
                Kind::Packets,
                credits,
                Payload::Large { head, body, tag },
            );
        });
        self.count_out(head_bytes);
        self.count_departing();
        is_all
    }

    /// Sends the packets that have been gathered; the last message tells the credits.
    fn send_packets(&mut self, number: u32, peer: Peer, credits: u16) {
        let packets = std::mem::take(self.replies.buffer());
        let conversation = self.conversation_mut(number);
        conversation.note_sent(packets.len());
        let unit = match conversation.asker {
            None => Unit::Packet,
            Some(_) => Unit::Byte,
        };
        let mut buffer = if packets.len() < SHARED_BYTES_MIN {
            self.send_small(peer, Kind::Packets, credits, &packets);
            packets
        } else {
            self.send_shared(peer, credits, packets, unit)
        };
        buffer.clear();
        *self.replies.buffer() = buffer;
    }

    /// Sends packets, in as many messages as they need, from where they are. The buffer comes back
    /// unless the network holds on to it.
    fn send_shared(&mut self, peer: Peer, credits: u16, packets: Vec<u8>, unit: Unit) -> Vec<u8> {
        let packets = Arc::new(packets);
        let mut from = 0;
        while from < packets.len() {
            let rest = &packets[from..];
            let to = match unit {
                Unit::Packet => from + whole_packets(rest, MESSAGE_BYTES_BEST),
                Unit::Byte => from + rest.len().min(MESSAGE_BYTES_BEST),
            };
            let credits = if to == packets.len() { credits } else { 0 };
            self.note_sending(to - from);
            let payload = Payload::Shared(&packets, from..to);
            self.port.send(peer, Kind::Packets, credits, payload);
            from = to;
        }
        Arc::try_unwrap(packets).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_RESPONSE, encode_head};

    fn packets(values: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &value_bytes in values {
            let header = Header {
                magic: MAGIC_RESPONSE,
                ..Header::default()
            };
            encode_head(header, &[], &[], value_bytes, &mut bytes);
            bytes.resize(bytes.len() + value_bytes, b'v');
        }
        bytes
    }

    #[test]
    fn messages_are_cut_between_packets() {
        let half = MESSAGE_BYTES_BEST / 2;
        let bytes = packets(&[half, half - 2 * HEADER_BYTES, 1]);
        assert_eq!(
            whole_packets(&bytes, MESSAGE_BYTES_BEST),
            MESSAGE_BYTES_BEST
        );
        let bytes = packets(&[half, half, 1]);
        assert_eq!(
            whole_packets(&bytes, MESSAGE_BYTES_BEST),
            half + HEADER_BYTES
        );
    }

    #[test]
    fn a_packet_larger_than_a_message_goes_alone() {
        let bytes = packets(&[2 * MESSAGE_BYTES_BEST, 1]);
        assert_eq!(
            whole_packets(&bytes, MESSAGE_BYTES_BEST),
            2 * MESSAGE_BYTES_BEST + HEADER_BYTES
        );
    }
}
