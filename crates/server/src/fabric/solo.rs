//! The solo path of requests that come alone, which is what a client sends that waits for each
//! answer: they are answered where their message lies, while the network still has it. That passes
//! by the inbox, by the events and by the queue of the session.
//!
//! | taken | left to the usual way |
//! |---|---|
//! | a message that is one plain get, set, add or replace, with nothing before it in the inbox | any other, and all that come behind it in the same turn |
//! | of a session that is open, has credit and has nothing waiting or blocked | of one that has |
//! | of the session whose answers are being gathered, if there are any | of any other |
//! | of a key that this server decides on | of one that others decide on, or have something of |
//! | of a value in memory, or of none | of one on a device |
//! | a value to store that needs nothing from a device, neither before nor until it is durable | any other |
//!
//! The answer goes out when the network is done with what has come; answers to messages that came
//! together go out together, as on the usual way.

use super::conversation::Conversation;
use super::engine::Engine;
use super::packets::GATHER_BYTES_MAX;
use crate::resources::{Resources, context};
use farcache_fabric::{Frame, Kind, Whole};
use farcache_session::{MESSAGE_COPY_BYTES_MAX, Replies, Solo};

/// What the solo path works with: all of the engine but its port.
struct SoloPath<'a> {
    conversations: &'a mut [Option<Box<Conversation>>],
    gathering: &'a mut Option<u32>,
    replies: &'a mut Replies,
    resources: &'a Resources,
    done: Done,
}

/// What has been answered.
#[derive(Default)]
struct Done {
    messages: usize,
    bytes: usize,
    /// How many of these messages stored a value.
    stores: usize,
}

impl Engine {
    /// Whether the solo path is open in this turn: nobody waits for a turn, nobody wants times
    /// recorded, and what came last came alone. Of messages that come together, the usual way
    /// fetches what they need together.
    pub(super) fn may_go_solo(&self, resources: &Resources) -> bool {
        self.came_solo && self.queue.is_empty() && resources.latencies.is_none()
    }

    /// Moves the port once and answers what may use the solo path; returns whether anything
    /// happened.
    pub(super) fn progress_solo(&mut self, resources: &Resources) -> bool {
        let mut solo = SoloPath {
            conversations: &mut self.conversations,
            gathering: &mut self.gathering,
            replies: &mut self.replies,
            resources,
            done: Done::default(),
        };
        let inbox = &mut self.inbox;
        let has_moved = self
            .port
            .progress_with(inbox, &mut |message| solo.take(message));
        let done = solo.done;
        if done.messages > 0 {
            // Where more has come, all of it is answered together.
            if self.inbox.is_empty() {
                self.flush();
            }
            self.note_lane(&done);
        }
        has_moved
    }

    /// Takes note of what has been answered on the solo path.
    fn note_lane(&mut self, done: &Done) {
        self.came_solo = done.messages == 1;
        self.figures.messages_in.add(done.messages as u64);
        let gets = done.messages - done.stores;
        self.figures.gets_solo.add(gets as u64);
        self.figures.stores_solo.add(done.stores as u64);
        self.count_in(done.bytes);
    }
}

impl SoloPath<'_> {
    /// Answers a message, if it may use the solo path.
    #[inline]
    fn take(&mut self, message: Whole<'_>) -> bool {
        let Whole { frame, head, body } = message;
        let is_request = frame.kind == Kind::Packets && head.is_empty();
        // What may have to wait until something is durable is answered like others.
        let may_be_held = self.resources.holds_replies;
        is_request
            && !may_be_held
            && self.has_room_for(frame.session)
            && self.answer(frame, body).is_some()
    }

    /// Whether the answer can be gathered with what there is.
    fn has_room_for(&self, session: u32) -> bool {
        let is_its = self.gathering.is_none_or(|gathered| gathered == session);
        is_its && self.replies.len() < GATHER_BYTES_MAX
    }

    fn answer(&mut self, frame: &Frame, message: &[u8]) -> Option<()> {
        let conversations = self.conversations.get_mut(frame.session as usize);
        let conversation = conversations?.as_mut()?;
        let is_open = conversation.key == frame.key && conversation.peer().is_some();
        let store = self.resources.store.store();
        if !is_open || !conversation.may_use_lane() || conversation.must_take_first(store) {
            return None;
        }
        self.replies.copy_up_to(MESSAGE_COPY_BYTES_MAX);
        let context = context!(self.resources, None);
        let session = &conversation.session;
        let done = session.answer_solo(message, &context, self.replies)?;
        self.done.stores += usize::from(done == Solo::Store);
        conversation.note_lane(self.resources.clock.now);
        *self.gathering = Some(frame.session);
        self.done.messages += 1;
        self.done.bytes += message.len();
        Some(())
    }
}
