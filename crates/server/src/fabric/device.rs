//! Messages that wait for devices, or for the owners of a key. Each message stands for itself, so
//! one that waits holds up no other.

use super::engine::{Arriving, Engine};
use super::kept::Kept;
use crate::peers::{Asked, Waiter};
use crate::resources::Resources;
use crate::resources::forward;
use crate::resources::reads::Place;
use farcache_fabric::{Frame, Offer};
use farcache_session::{Replies, Status};
use farcache_store::{DurableMark, ReadId, Reservation, Suspended, Uncommitted};

/// What waits.
pub(super) enum Work {
    /// The part of a message that has not been handled, and what other servers have answered.
    Message(Kept, Asked),
    /// A large value in its place, to be committed.
    Value(Reservation, Arriving),
    /// A large value that is still with its sender, and the message before it: there is no room
    /// yet.
    Offer(Frame, Vec<u8>, Offer),
}

/// Work that waits for reads, and whose it is.
pub(super) struct Parked {
    session: u32,
    key: u64,
    work: Work,
}

/// Replies that wait until what they tell of is durable, and whose they are.
pub(super) struct Held {
    mark: DurableMark,
    session: u32,
    key: u64,
    replies: Replies,
}

impl Engine {
    /// A message cannot go on yet.
    pub(super) fn park_message(
        &mut self,
        number: u32,
        rest: Kept,
        asked: Asked,
        suspended: Suspended,
        resources: &mut Resources,
    ) {
        let work = Work::Message(rest, asked);
        self.park(number, work, suspended, resources);
        if self.conversations[number as usize].is_some() {
            self.check_kept(number, resources);
        }
    }

    /// A value that has arrived cannot be stored yet.
    pub(super) fn park_value(
        &mut self,
        number: u32,
        uncommitted: Uncommitted,
        arriving: Arriving,
        resources: &mut Resources,
    ) {
        let work = Work::Value(uncommitted.reservation, arriving);
        self.park(number, work, uncommitted.suspended, resources);
    }

    /// An offered value has no room before a device has taken what is in memory.
    pub(super) fn park_offer(
        &mut self,
        number: u32,
        frame: &Frame,
        head: &[u8],
        offer: Offer,
        suspended: Suspended,
        resources: &mut Resources,
    ) {
        let work = Work::Offer(*frame, head.to_vec(), offer);
        self.park(number, work, suspended, resources);
    }

    fn park(&mut self, number: u32, work: Work, suspended: Suspended, resources: &mut Resources) {
        let key = self.conversation(number).key;
        let session = number;
        if suspended == Suspended::OnPeer {
            let waiter = Waiter::Message(self.next_waiter());
            let asked = forward::settle_message(waiter, Status::Suspended(suspended), resources);
            return self.await_peers(number, work, asked, resources);
        }
        match resources.suspend(suspended, Place::Message) {
            Some(id) => {
                self.parked.insert(id, Parked { session, key, work });
            }
            None => self.end_with(number, "the SSD tier cannot be read", resources),
        }
    }

    /// Whether any message waits for a device.
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty() || !self.held.is_empty()
    }

    /// The reads that some work has waited for have ended.
    pub fn on_reads_ended(&mut self, id: ReadId, resources: &mut Resources) {
        let Some(parked) = self.parked.remove(&id) else {
            return resources.store.cancel_reads(id);
        };
        let Some(number) = self.find_key(parked.session, parked.key) else {
            // The session has ended meanwhile.
            match parked.work {
                Work::Offer(_, _, offer) => self.port.refuse(offer),
                Work::Message(_, asked) => forward::forget_message(&asked, resources),
                Work::Value(..) => {}
            }
            return resources.store.cancel_reads(id);
        };
        resources.store.stage(id);
        let mut work = parked.work;
        if let Work::Message(_, asked) = &mut work {
            forward::stage_message(std::mem::take(asked), resources);
        }
        self.go_on(number, work, resources);
        resources.store.unstage();
        self.flush();
    }

    /// Goes on with what has been waited for.
    pub(super) fn go_on(&mut self, number: u32, work: Work, resources: &mut Resources) {
        match work {
            Work::Message(message, _) => self.execute_kept(number, message, resources),
            Work::Value(room, arriving) => self.store_value(number, room, arriving, resources),
            Work::Offer(frame, head, offer) => {
                self.take_offer(&frame, number, &head, offer, resources);
            }
        }
    }

    /// The messages whose answers are being gathered have changed something: the answers wait until
    /// that is durable.
    pub(super) fn hold_replies(&mut self, resources: &Resources) {
        let mark = resources.store.durable_mark();
        if !resources.store.is_durable(mark) {
            self.hold = Some(mark);
        } else if self.hold.is_none() {
            self.replies.forget_changes();
        }
    }

    /// Keeps the gathered answers of a session until `mark` is durable.
    pub(super) fn keep_replies(&mut self, number: u32, mark: DurableMark) {
        let Some(conversation) = &self.conversations[number as usize] else {
            return self.replies.clear();
        };
        let key = conversation.key;
        let replies = std::mem::replace(&mut self.replies, super::engine::no_replies());
        self.held.push_back(Held {
            mark,
            session: number,
            key,
            replies,
        });
    }

    /// Something has become durable, or never will: sends the answers that waited for it.
    pub fn on_durable(&mut self, resources: &Resources) {
        self.flush();
        let store = &resources.store;
        let is_told = |held: &mut Held| store.is_durable(held.mark) || store.is_lost(held.mark);
        while let Some(mut held) = self.held.pop_front_if(is_told) {
            if store.is_lost(held.mark) {
                held.replies.fail_changes();
            }
            if self.find_key(held.session, held.key).is_some() {
                self.replies = held.replies;
                self.gathering = Some(held.session);
                self.flush();
            }
        }
    }
}
