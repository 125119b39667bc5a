//! What UCX noted during a call, turned into events.

use super::errors::error_of;
use super::links::Link;
use super::port::UcxPort;
use super::receiving::Receiving;
use super::sending::Returned;
use crate::error::Error;
use crate::inbox::Event;
use crate::port::{Peer, ReceiveBody, SendBody};
use farcache_ucx_sys::raw::ucs_status_t;

impl<S: SendBody, R: ReceiveBody> UcxPort<S, R> {
    /// Gives the senders of greetings their numbers.
    pub(super) fn settle_greetings(&mut self) {
        let arrived = self.arrivals.get();
        if arrived.greetings.is_empty() {
            return;
        }
        for greeting in arrived.greetings.drain(..) {
            let event = greeting.event;
            let peer = self.links.greeted(greeting);
            if let Event::Message { sender, .. } = &mut arrived.inbox.events[event] {
                *sender = Some(peer);
            }
        }
    }

    /// Takes note of who understands short messages.
    pub(super) fn settle_learned(&mut self) {
        for peer in self.arrivals.get().sessions.learned.drain(..) {
            if let Some(link) = self.links.get_mut(peer) {
                link.takes_short = true;
            }
        }
    }

    /// Tells what has ended.
    pub(super) fn settle_finished(&mut self, events: &mut Vec<Event<S, R>>) {
        let mut ended = std::mem::take(&mut self.ended);
        self.finished.take_sends(&mut ended);
        for (index, status) in ended.drain(..) {
            let (peer, returned) = self.sends.free(index);
            if let Some(peer) = peer {
                self.settle_send(peer, status, returned, events);
                self.count(peer, |link| link.unsent -= 1);
            }
        }
        self.finished.take_receives(&mut ended);
        for (index, status) in ended.drain(..) {
            if let Some(receiving) = self.receives.free(index) {
                let peer = receiving.peer;
                events.push(self.received(status, receiving));
                self.count(peer, |link| link.receiving -= 1);
            }
        }
        self.ended = ended;
        for (endpoint, status) in self.finished.take_failures() {
            if let Some(peer) = self.links.find(endpoint) {
                let error = error_of(self.worker.library(), "the connection failed", status);
                self.lose(peer, error, events);
            }
        }
    }

    /// Tells what became of a send, when that is worth telling.
    pub(super) fn settle_send(
        &mut self,
        peer: Peer,
        status: ucs_status_t,
        returned: Option<Returned<S>>,
        events: &mut Vec<Event<S, R>>,
    ) {
        let mut outcome = Ok(());
        if status.is_error() {
            let error = error_of(self.worker.library(), "sending", status);
            self.lose(peer, error.clone(), events);
            outcome = Err(self.links.get(peer).map_or(error, Link::error));
        }
        if let Some(Returned { body, tag }) = returned {
            events.push(Event::Sent { tag, body, outcome });
        }
    }

    /// Has the next progress tell what became of a send, where that is worth telling.
    #[inline]
    pub(super) fn settle_at_once(
        &mut self,
        peer: Peer,
        status: ucs_status_t,
        returned: Option<Returned<S>>,
    ) {
        if status.is_error() || returned.is_some() {
            let mut events = std::mem::take(&mut self.completed);
            self.settle_send(peer, status, returned, &mut events);
            self.completed = events;
        }
    }

    /// What became of a reception.
    pub(super) fn received(&self, status: ucs_status_t, receiving: Receiving<R>) -> Event<S, R> {
        let Receiving { peer, into, tag } = receiving;
        let mut outcome = Ok(());
        if status.is_error() {
            outcome = Err(match self.links.get(peer) {
                Some(link) if !link.is_open() => link.error(),
                _ => error_of(self.worker.library(), "receiving", status),
            });
        }
        Event::Received { tag, into, outcome }
    }

    /// Counts that UCX has let go of something; with the last of it, a closed connection ends.
    fn count(&mut self, peer: Peer, count: impl FnOnce(&mut Link)) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        count(link);
        if link.is_closed() && !link.is_busy() {
            self.links.remove(peer);
        }
    }

    fn lose(&mut self, peer: Peer, error: Error, events: &mut Vec<Event<S, R>>) {
        if let Some(link) = self.links.get_mut(peer)
            && link.lose(error.clone())
        {
            events.push(Event::Lost { peer, error });
        }
    }
}
