//! Requests arrive.

use super::MESSAGE_BYTES_MAX;
use super::device::Work;
use super::engine::Engine;
use super::kept::{Kept, SESSION_BYTES_MAX, WORKER_BYTES_MAX};
use crate::peers::{Asked, Waiter};
use crate::resources::forward;
use crate::resources::{Resources, context};
use farcache_fabric::Frame;
use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_REQUEST};
use farcache_session::{BATCHED_COPY_BYTES_MAX, MESSAGE_COPY_BYTES_MAX, Session, Status};
use farcache_store::Suspended;

/// Bytes of replies after which further messages' replies go into a message of their own.
pub(super) const GATHER_BYTES_MAX: usize = 16 << 10;

/// What became of a message.
enum Outcome {
    /// All of it is done with.
    Done,
    /// So many bytes are done with; the rest comes after others had their turn.
    Again(usize),
    /// So many bytes are done with; the rest has to wait. What other servers have answered may
    /// still be needed then.
    Wait(usize, Suspended, Asked),
    /// The session is over.
    Over,
    /// The message holds a packet that makes no sense.
    Malformed,
}

impl Engine {
    pub(super) fn on_packets(&mut self, frame: &Frame, message: &[u8], resources: &mut Resources) {
        let Some(number) = self.find(frame) else {
            return;
        };
        let conversation = self.conversation_mut(number);
        if !conversation.take_credit(resources.clock.now) {
            return self.cut_off_debtor(number, resources);
        }
        if message.len() < usize::from(frame.head_bytes) + frame.body_bytes as usize {
            return self.on_too_long(frame, number, message, resources);
        }
        if !is_well_formed(frame, message, self.conversation(number).asker.is_some()) {
            return self.cut_off(number, "packets that do not fill the message", resources);
        }
        let must_wait = self.must_wait(number);
        if frame.head_bytes > 0 && (must_wait || message.len() > MESSAGE_BYTES_MAX) {
            self.on_whole_value(frame, number, message, resources);
        } else if must_wait {
            self.keep_new(number, message, resources);
        } else {
            self.execute(number, message, None, resources);
        }
    }

    fn must_wait(&mut self, number: u32) -> bool {
        if !self.conversation(number).waiting.is_empty() {
            return true;
        }
        let is_blocked = self.is_blocked(number);
        if is_blocked {
            self.figures.sessions_blocked.bump();
        }
        is_blocked
    }

    fn is_blocked(&mut self, number: u32) -> bool {
        let conversation = self.conversations[number as usize]
            .as_mut()
            .expect("the session is there");
        conversation.is_blocked(&*self.port, &self.shared.store)
    }

    /// Keeps a message behind what waits already.
    fn keep_new(&mut self, number: u32, message: &[u8], resources: &mut Resources) {
        let kept = self.kept(number, message);
        self.conversation_mut(number).waiting.push_back(kept);
        self.enqueue(number);
        self.check_kept(number, resources);
    }

    /// A message of a session, kept.
    pub(super) fn kept(&self, number: u32, message: &[u8]) -> Kept {
        Kept::new(message, &self.conversation(number).kept, &self.kept)
    }

    /// Ends this session if more is kept for it than may be, or else, if more is kept for all, the
    /// one for which most is.
    pub(super) fn check_kept(&mut self, number: u32, resources: &mut Resources) {
        if self.conversation(number).kept.bytes() > SESSION_BYTES_MAX {
            return self.cut_off_hoarder(number, resources);
        }
        if self.kept.bytes() > WORKER_BYTES_MAX {
            let sessions = self.by_peer.values().copied();
            let most = sessions.max_by_key(|number| self.conversation(*number).kept.bytes());
            self.cut_off_hoarder(most.unwrap_or(number), resources);
        }
    }

    fn enqueue(&mut self, number: u32) {
        let conversation = self.conversation_mut(number);
        if !conversation.is_queued {
            conversation.is_queued = true;
            self.queue.push(number);
        }
    }

    /// Handles a message that was kept, or what is left of it.
    pub(super) fn execute_kept(&mut self, number: u32, mut kept: Kept, resources: &mut Resources) {
        let begun = kept.begun.take();
        self.execute(number, kept.bytes(), begun, resources);
    }

    /// Handles a message, and keeps what cannot be handled now.
    fn execute(
        &mut self,
        number: u32,
        message: &[u8],
        mut begun: Option<Session>,
        resources: &mut Resources,
    ) {
        match self.advance(number, message, &mut begun, resources) {
            Outcome::Done => {}
            Outcome::Again(bytes) => {
                let rest = self.rest(number, &message[bytes..], begun);
                self.conversation_mut(number).waiting.push_front(rest);
                self.enqueue(number);
                self.has_ready = true;
            }
            Outcome::Wait(bytes, suspended, asked) => {
                let rest = self.rest(number, &message[bytes..], begun);
                match suspended {
                    Suspended::OnPeer => {
                        let work = Work::Message(rest, Asked::default());
                        self.await_peers(number, work, asked, resources);
                    }
                    _ => self.park_message(number, rest, asked, suspended, resources),
                }
            }
            Outcome::Over => self.end_after_replies(number, resources),
            Outcome::Malformed => self.cut_off(number, "a packet that makes no sense", resources),
        }
    }

    /// What is left of a message, with what has been begun of it.
    fn rest(&mut self, number: u32, rest: &[u8], begun: Option<Session>) -> Kept {
        let mut kept = self.kept(number, rest);
        kept.begun = begun.or_else(|| self.conversation_mut(number).take_begun());
        kept
    }

    fn advance(
        &mut self,
        number: u32,
        input: &[u8],
        begun: &mut Option<Session>,
        resources: &mut Resources,
    ) -> Outcome {
        self.gather(number);
        let waiter = Waiter::Message(self.next_waiter());
        let conversation = self.conversations[number as usize]
            .as_mut()
            .expect("the session is there");
        let is_peer = conversation.asker.is_some();
        self.replies.copy_up_to(match is_peer {
            // Frames say how long they are, and no value goes apart from its frame.
            true => usize::MAX,
            false => copied_bytes_max(input),
        });
        self.replies.set_notes_changes(resources.holds_replies);
        let context = context!(resources, None, desk);
        let session = begun.as_mut().unwrap_or(&mut conversation.session);
        let (used, status) = session.advance(input, &context, &mut self.replies);
        let has_changed = session.take_changed();
        let asked = forward::settle_message(waiter, status, resources);
        let outcome = match status {
            Status::NeedInput if used == input.len() => Outcome::Done,
            Status::NeedInput | Status::ValueWanted => Outcome::Malformed,
            // Of a frame there may be more to come.
            Status::Yield if used == input.len() && !is_peer => Outcome::Done,
            Status::Yield => Outcome::Again(used),
            Status::Suspended(suspended) => Outcome::Wait(used, suspended, asked),
            Status::Close => Outcome::Over,
        };
        match outcome {
            Outcome::Wait(..) => {}
            Outcome::Again(_) => resources.counters.conn_yields.bump(),
            _ => conversation.give_credit(),
        }
        if resources.has_undurable(has_changed) {
            self.hold_replies(resources);
        }
        let is_full = self.replies.len() >= GATHER_BYTES_MAX;
        if is_full || matches!(outcome, Outcome::Again(_)) {
            self.flush();
        }
        outcome
    }

    /// Goes on with the sessions that had to give way, or whose clients did not take replies.
    pub(super) fn resume(&mut self, resources: &mut Resources) {
        self.has_ready = false;
        for number in std::mem::take(&mut self.queue) {
            // It may have ended since, and another one may have its number.
            let queued = self.conversations[number as usize].as_mut();
            let Some(conversation) = queued.filter(|conversation| conversation.is_queued) else {
                continue;
            };
            conversation.is_queued = false;
            self.resume_one(number, resources);
        }
    }

    fn resume_one(&mut self, number: u32, resources: &mut Resources) {
        // As many messages as there were: what comes anew waits for the next turn.
        for _ in 0..self.conversation(number).waiting.len() {
            if self.is_blocked(number) {
                break;
            }
            let Some(message) = self.conversation_mut(number).waiting.pop_front() else {
                break;
            };
            self.execute_kept(number, message, resources);
            let is_open = self.conversations[number as usize].is_some();
            if !is_open || self.conversation(number).is_queued {
                return;
            }
        }
        if !self.conversation(number).waiting.is_empty() {
            self.enqueue(number);
        }
    }
}

/// Up to which size values are copied into the answer to a message.
fn copied_bytes_max(message: &[u8]) -> usize {
    match message.first_chunk::<HEADER_BYTES>().map(Header::decode) {
        Some(header) if message.len() > HEADER_BYTES + header.body_len as usize => {
            BATCHED_COPY_BYTES_MAX
        }
        _ => MESSAGE_COPY_BYTES_MAX,
    }
}

/// Whether a message is what its frame says: one packet with a value of its own, or packets that
/// fill it exactly. Frames of another server are looked at one by one.
fn is_well_formed(frame: &Frame, message: &[u8], is_peer: bool) -> bool {
    let has_head = frame.head_bytes > 0;
    let is_small = message.len() <= MESSAGE_BYTES_MAX;
    if is_peer {
        return !has_head && is_small;
    }
    let count = count_packets(message);
    count.is_some_and(|count| if has_head { count == 1 } else { is_small })
}

/// How many packets fill the message exactly; none if they do not.
fn count_packets(mut message: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !message.is_empty() {
        let header = Header::decode(message.first_chunk::<HEADER_BYTES>()?);
        let is_request = header.magic == MAGIC_REQUEST && header.value_len().is_some();
        let packet_bytes = HEADER_BYTES + header.body_len as usize;
        message = message.get(packet_bytes..).filter(|_| is_request)?;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_proto::binary::{Opcode, encode_head};

    fn get(key: &[u8]) -> Vec<u8> {
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: Opcode::Get as u8,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        encode_head(header, &[], key, 0, &mut bytes);
        bytes
    }

    #[test]
    fn packets_must_fill_their_message() {
        let message = [get(b"a"), get(b"bcd")].concat();
        assert_eq!(count_packets(&message), Some(2));
        assert_eq!(count_packets(&[]), Some(0));
        for end in 1..message.len() {
            let is_boundary = end == get(b"a").len();
            assert_eq!(
                count_packets(&message[..end]).is_some(),
                is_boundary,
                "{end}"
            );
        }
        assert_eq!(count_packets(&[&message[..], b"\x80"].concat()), None);
    }

    #[test]
    fn values_that_are_asked_for_together_are_copied_up_to_a_larger_size() {
        assert_eq!(copied_bytes_max(&get(b"a")), MESSAGE_COPY_BYTES_MAX);
        assert_eq!(copied_bytes_max(&[]), MESSAGE_COPY_BYTES_MAX);
        let together = [get(b"a"), get(b"b")].concat();
        assert_eq!(copied_bytes_max(&together), BATCHED_COPY_BYTES_MAX);
    }

    #[test]
    fn responses_and_contradicting_lengths_are_refused() {
        let mut message = get(b"key");
        message[0] = 0x81;
        assert_eq!(count_packets(&message), None);
        let mut message = get(b"key");
        message[11] = 2;
        assert_eq!(count_packets(&message[..HEADER_BYTES + 2]), None);
    }
}
