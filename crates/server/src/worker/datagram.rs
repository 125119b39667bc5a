//! UDP: each datagram is a request of its own, answered in one or several datagrams.
//!
//! Every datagram begins with a frame header of 8 bytes, four big-endian numbers of 16 bits:
//! request number, sequence number, datagrams in this message, 0.
//! Source: memcached `doc/protocol.txt`, "UDP protocol".

use crate::resources::reads::Place;
use crate::resources::{Resources, context};
use farcache_session::{HIGH_WATER_BYTES, Replies, SLICES_MAX, Session, Status, Unsent};
use farcache_store::{DurableMark, ReadId, Suspended};
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny};
use socket2::Socket;
use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::sync::Arc;

/// Bytes of the frame header.
const HEADER_BYTES: usize = 8;

/// Largest datagram sent, header included, in bytes: what memcached sends.
const DATAGRAM_BYTES_MAX: usize = 1400;

/// Payload of a full datagram, in bytes.
const PAYLOAD_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES;

/// Datagrams handled before the connections get their turn.
const DATAGRAMS_PER_TURN: usize = 32;

/// Longest reply: as many datagrams as the header can count.
const REPLY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX * u16::MAX as usize;

/// Datagrams that may wait for devices; further ones that need one are lost, as datagrams are.
const WAITING_MAX: usize = 1024;

const MULTI_PACKET_REQUEST: &[u8] = b"SERVER_ERROR multi-packet request not supported\r\n";
const REPLY_TOO_LARGE: &[u8] = b"SERVER_ERROR reply too large for UDP\r\n";

/// Where a reply goes.
#[derive(Clone)]
struct Sender {
    /// Number of the socket.
    socket: usize,
    client: SocketAddrAny,
    id: [u8; 2],
}

/// The sockets for UDP, with what waits at one worker.
pub(super) struct Datagrams {
    /// All workers share them.
    sockets: Vec<Arc<Socket>>,
    /// Datagrams that wait for reads.
    waiting: HashMap<ReadId, Waiting>,
    /// Replies that wait until what they tell of is durable, in the order of their marks.
    held: VecDeque<(DurableMark, Sender, Unsent)>,
}

/// A datagram whose requests wait for a device.
struct Waiting {
    sender: Sender,
    session: Session,
    /// Requests not yet handled.
    input: Vec<u8>,
    /// Replies to those that were.
    replies: Replies,
}

/// How far the requests of a datagram have come.
enum Progress {
    /// All have been handled.
    Done,
    /// Answer this instead of all replies, where they are more than one value and what a connection
    /// would get at once: the client's address may be another's, who asked for none of it.
    Refused(&'static [u8]),
    /// Something must be waited for; so many bytes are done with.
    Waits(usize, Suspended),
}

impl Datagrams {
    /// Nothing waits.
    pub(super) fn new(sockets: Vec<Arc<Socket>>) -> Self {
        Datagrams {
            sockets,
            waiting: HashMap::new(),
            held: VecDeque::new(),
        }
    }

    /// Answers the datagrams that have arrived at socket number `index`.
    pub(super) fn serve(&mut self, index: usize, resources: &mut Resources) {
        let mut buffer = std::mem::take(&mut resources.buffer);
        for _ in 0..DATAGRAMS_PER_TURN {
            let socket = &self.sockets[index];
            let received = rustix::net::recvfrom(&**socket, &mut buffer[..], RecvFlags::empty());
            // A failed send to some earlier client may be reported here: that is none of ours.
            let Ok((_, count, Some(client))) = received else {
                break;
            };
            resources.counters.bytes_read.add(count as u64);
            self.handle(index, client, &buffer[..count], resources);
        }
        resources.buffer = buffer;
    }

    /// Handles one datagram; one that is too short for a header is not answered.
    fn handle(
        &mut self,
        socket: usize,
        client: SocketAddrAny,
        datagram: &[u8],
        resources: &mut Resources,
    ) {
        let Some((header, input)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
            return;
        };
        let [id_high, id_low, _, _, count_high, count_low, _, _] = *header;
        resources.counters.udp_requests.bump();
        let mut session = Session::new(resources.shared.settings.protocol);
        let progress = match [count_high, count_low] {
            [0, 1] => execute(&mut session, input, resources),
            _ => Progress::Refused(MULTI_PACKET_REQUEST),
        };
        let waiting = Waiting {
            sender: Sender {
                socket,
                client,
                id: [id_high, id_low],
            },
            session,
            input: Vec::new(),
            replies: Replies::default(),
        };
        self.finish(waiting, input, progress, resources);
    }

    /// Answers a datagram, or lets it wait.
    fn finish(
        &mut self,
        mut datagram: Waiting,
        input: &[u8],
        progress: Progress,
        resources: &mut Resources,
    ) {
        match progress {
            Progress::Waits(used, suspended) if self.has_room() => {
                datagram.input = input[used..].to_vec();
                datagram.replies = std::mem::take(&mut resources.replies);
                if let Some(id) = resources.suspend(suspended, Place::Datagram) {
                    self.waiting.insert(id, datagram);
                }
                return;
            }
            // Lost, as datagrams are.
            Progress::Waits(..) => {
                resources.store.forget_reads();
                return resources.replies.clear();
            }
            Progress::Refused(refusal) => {
                resources.replies.clear();
                resources.replies.buffer().extend_from_slice(refusal);
            }
            Progress::Done => {
                let has_changed = datagram.session.take_changed();
                if resources.has_undurable(has_changed) && self.hold(&datagram.sender, resources) {
                    return;
                }
            }
        }
        let mut replies = std::mem::take(&mut resources.replies);
        self.send(&datagram.sender, &mut replies, resources);
        resources.replies = replies;
    }

    fn has_room(&self) -> bool {
        self.waiting.len() + self.held.len() < WAITING_MAX
    }

    /// Keeps the replies until what they tell of is durable; false if it is already.
    fn hold(&mut self, sender: &Sender, resources: &mut Resources) -> bool {
        let mark = resources.store.durable_mark();
        let has_nothing_to_tell = resources.replies.is_empty() && !resources.replies.has_changes();
        if resources.store.is_durable(mark) || has_nothing_to_tell {
            resources.replies.forget_changes();
            return false;
        }
        if !self.has_room() {
            // Lost, as datagrams are: nobody is told what may not come true.
            resources.replies.clear();
            return true;
        }
        let replies = std::mem::take(&mut resources.replies);
        let unsent = Unsent::new(replies, &resources.store);
        self.held.push_back((mark, sender.clone(), unsent));
        true
    }

    /// Something has become durable, or never will: sends the replies that waited for it.
    pub(super) fn release(&mut self, resources: &Resources) {
        while let Some(&(mark, ..)) = self.held.front() {
            let store = &resources.store;
            let is_lost = store.is_lost(mark);
            if !is_lost && !store.is_durable(mark) {
                return;
            }
            // Replies that had to give way to others are lost, as datagrams are.
            if let Some((_, sender, unsent)) = self.held.pop_front()
                && let Some(mut replies) = unsent.resume()
            {
                if is_lost {
                    replies.fail_changes();
                }
                self.send(&sender, &mut replies, resources);
            }
        }
    }

    fn send(&self, sender: &Sender, replies: &mut Replies, resources: &Resources) {
        let socket = &self.sockets[sender.socket];
        let sent = send(socket, &sender.client, sender.id, replies);
        resources.counters.bytes_written.add(sent as u64);
        replies.clear();
    }

    /// Goes on with a datagram whose reads have ended.
    pub(super) fn resume(&mut self, id: ReadId, resources: &mut Resources) {
        let Some(mut datagram) = self.waiting.remove(&id) else {
            return resources.store.cancel_reads(id);
        };
        let input = std::mem::take(&mut datagram.input);
        resources.replies = std::mem::take(&mut datagram.replies);
        resources.store.stage(id);
        let progress = execute(&mut datagram.session, &input, resources);
        self.finish(datagram, &input, progress, resources);
        resources.store.unstage();
    }
}

/// Carries the requests out.
fn execute(session: &mut Session, input: &[u8], resources: &mut Resources) -> Progress {
    resources.replies.set_notes_changes(resources.holds_replies);
    let settings = &resources.shared.settings;
    let bytes_max = (settings.item_bytes_max + HIGH_WATER_BYTES).min(REPLY_BYTES_MAX);
    let context = context!(resources, None);
    let mut done = 0;
    loop {
        let (used, status) = session.advance(&input[done..], &context, &mut resources.replies);
        done += used;
        let bytes = resources.replies.len();
        match status {
            Status::Suspended(suspended) => return Progress::Waits(done, suspended),
            Status::Yield if used > 0 && bytes < HIGH_WATER_BYTES => {}
            // The replies are full, or this is a dump of the store, which goes on without input.
            Status::Yield => return Progress::Refused(REPLY_TOO_LARGE),
            _ if bytes > bytes_max => return Progress::Refused(REPLY_TOO_LARGE),
            _ => return Progress::Done,
        }
    }
}

/// Sends the replies; returns the bytes sent.
fn send(socket: &Socket, client: &SocketAddrAny, id: [u8; 2], replies: &mut Replies) -> usize {
    let total = replies.len().div_ceil(PAYLOAD_BYTES_MAX) as u16;
    let mut sent = 0;
    for sequence in 0..total {
        let mut datagram = Datagram::new(id, sequence, total);
        replies.advance(datagram.fill(replies));
        let bytes = datagram.bytes();
        // What the network does not take is lost, as datagrams are.
        match rustix::net::sendto(socket, bytes, SendFlags::NOSIGNAL, client) {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    sent
}

/// A datagram being put together.
struct Datagram {
    bytes: [u8; DATAGRAM_BYTES_MAX],
    len: usize,
}

impl Datagram {
    fn new(id: [u8; 2], sequence: u16, total: u16) -> Self {
        let mut bytes = [0; DATAGRAM_BYTES_MAX];
        bytes[0..2].copy_from_slice(&id);
        bytes[2..4].copy_from_slice(&sequence.to_be_bytes());
        bytes[4..6].copy_from_slice(&total.to_be_bytes());
        Datagram {
            bytes,
            len: HEADER_BYTES,
        }
    }

    /// Takes as many bytes as fit from the front of `replies`; returns how many.
    fn fill(&mut self, replies: &Replies) -> usize {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = replies.gather(&mut slices);
        for slice in &slices[..count] {
            let taken = slice.len().min(DATAGRAM_BYTES_MAX - self.len);
            self.bytes[self.len..][..taken].copy_from_slice(&slice[..taken]);
            self.len += taken;
        }
        self.len - HEADER_BYTES
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_cut_into_framed_datagrams() {
        let mut replies = Replies::default();
        replies
            .buffer()
            .extend((0..3000).map(|number| number as u8));
        let expected = replies.buffer().clone();
        let total = replies.len().div_ceil(PAYLOAD_BYTES_MAX) as u16;
        assert_eq!(total, 3);
        let mut payload = Vec::new();
        for sequence in 0..total {
            let mut datagram = Datagram::new([0x12, 0x34], sequence, total);
            replies.advance(datagram.fill(&replies));
            assert_eq!(
                datagram.bytes()[..8],
                [0x12, 0x34, 0, sequence as u8, 0, 3, 0, 0]
            );
            payload.extend_from_slice(&datagram.bytes()[8..]);
        }
        assert_eq!(payload, expected);
        assert!(replies.is_empty());
    }
}
