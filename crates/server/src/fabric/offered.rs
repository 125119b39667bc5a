//! A large value is offered, and later has been received, straight into its place in the store.

use super::engine::{Arriving, Engine};
use crate::peers::Asked;
use crate::resources::{Resources, context};
use farcache_fabric::{Error, Frame, Kind, Offer};
use farcache_session::{self as session, Offered};
use farcache_store::Reservation;

impl Engine {
    pub(super) fn on_offered(
        &mut self,
        frame: &Frame,
        head: &[u8],
        offer: Offer,
        resources: &mut Resources,
    ) {
        let Some(number) = self.find(frame) else {
            return self.port.refuse(offer);
        };
        let now = resources.clock.now;
        if !self.conversation_mut(number).take_credit(now) {
            self.port.refuse(offer);
            return self.cut_off_debtor(number, resources);
        }
        self.take_offer(frame, number, head, offer, resources);
    }

    /// Makes room for an offered value and has it come.
    pub(super) fn take_offer(
        &mut self,
        frame: &Frame,
        number: u32,
        head: &[u8],
        offer: Offer,
        resources: &mut Resources,
    ) {
        match self.make_room(frame, number, head, offer.bytes, resources) {
            Offered::Suspended(suspended) => {
                self.park_offer(number, frame, head, offer, suspended, resources);
            }
            Offered::Wanted(room, expected) => {
                let key = frame.key;
                let tag = self.arriving.insert(Arriving {
                    session: number,
                    key,
                    expected,
                });
                self.figures.rendezvous_in_total.bump();
                self.count_arriving();
                self.port.receive(offer, room, tag as u64);
            }
            Offered::Refused => {
                self.figures.rendezvous_in_refused.bump();
                self.conversation_mut(number).give_credit();
                self.port.refuse(offer);
            }
            Offered::Malformed => {
                self.port.refuse(offer);
                self.cut_off(number, "an offer that is no value to store", resources);
            }
        }
    }

    /// Stores a value that came whole with its packet, straight from the message: such messages are
    /// long, and none is kept.
    pub(super) fn on_whole_value(
        &mut self,
        frame: &Frame,
        number: u32,
        message: &[u8],
        resources: &mut Resources,
    ) {
        let (head, value) = message.split_at(frame.head_bytes.into());
        match self.make_room(frame, number, head, value.len(), resources) {
            Offered::Suspended(suspended) => {
                let rest = self.kept(number, message);
                self.park_message(number, rest, Asked::default(), suspended, resources);
            }
            Offered::Wanted(mut room, expected) => {
                room.copy_from_slice(value);
                let (session, key) = (number, frame.key);
                let arriving = Arriving {
                    session,
                    key,
                    expected,
                };
                self.store_value(number, room, arriving, resources);
            }
            Offered::Refused => self.conversation_mut(number).give_credit(),
            Offered::Malformed => {
                self.cut_off(number, "a value that is not to be stored", resources);
            }
        }
    }

    /// A message has come that is too long for the port to put it together; of a value, there is
    /// the head.
    pub(super) fn on_too_long(
        &mut self,
        frame: &Frame,
        number: u32,
        head: &[u8],
        resources: &mut Resources,
    ) {
        let value_bytes = frame.body_bytes as usize;
        match self.make_room(frame, number, head, value_bytes, resources) {
            Offered::Refused => self.conversation_mut(number).give_credit(),
            offered => {
                if let Offered::Suspended(_) = offered {
                    resources.store.forget_reads();
                }
                self.cut_off(number, "a message that is too long", resources);
            }
        }
    }

    fn make_room(
        &mut self,
        frame: &Frame,
        number: u32,
        head: &[u8],
        value_bytes: usize,
        resources: &mut Resources,
    ) -> Offered {
        if frame.kind != Kind::Packets {
            return Offered::Malformed;
        }
        self.gather(number);
        let context = context!(resources, None);
        let session = &self.conversations[number as usize]
            .as_ref()
            .expect("the session is there")
            .session;
        session.offered(head, value_bytes, &context, &mut self.replies)
    }

    pub(super) fn on_received(
        &mut self,
        tag: u64,
        room: Reservation,
        outcome: Result<(), Error>,
        resources: &mut Resources,
    ) {
        let Some(arriving) = self.arriving.try_remove(tag as usize) else {
            return;
        };
        self.count_arriving();
        let Some(number) = self.find_key(arriving.session, arriving.key) else {
            // The session has ended meanwhile; the room goes back.
            return;
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a value did not arrive");
            self.figures.peers_lost.bump();
            return self.end_with(number, "a value did not arrive", resources);
        }
        self.count_in(room.len());
        self.store_value(number, room, arriving, resources);
    }

    /// Stores a value that is in its place.
    pub(super) fn store_value(
        &mut self,
        number: u32,
        room: Reservation,
        arriving: Arriving,
        resources: &mut Resources,
    ) {
        self.gather(number);
        self.replies.set_notes_changes(resources.holds_replies);
        let messages = resources.for_messages();
        let mut context = context!(resources, None);
        if let Some(messages) = &messages {
            context.forward = Some(messages);
        }
        let received = session::received(room, &arriving.expected, &context, &mut self.replies);
        if let Err(uncommitted) = received {
            return self.park_value(number, uncommitted, arriving, resources);
        }
        self.conversation_mut(number).give_credit();
        if resources.holds_replies {
            self.hold_replies(resources);
        }
    }

    fn count_arriving(&self) {
        self.figures.rendezvous_in.set(self.arriving.len() as u64);
    }
}
