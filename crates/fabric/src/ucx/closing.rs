//! Ends of connections, and of ports.

use super::endpoint::EndpointId;
use super::links::Stage;
use super::port::UcxPort;
use crate::port::Peer;

/// Turns that a port that ends gives UCX to let go of everything, before it ends the worker, which
/// lets go of the rest.
const LAST_TURNS_MAX: usize = 1000;

/// Turns between two looks at the processes of peers whose close UCX does not complete.
const TURNS_PER_LOOK: u32 = 256;

/// Turns in which everything is read that was there before: UCX's queue in shared memory holds 64
/// messages, or what the user says, and each turn reads one at least.
const TURNS_TO_READ_ALL: u32 = 1 << 16;

impl<S, R> UcxPort<S, R> {
    pub(super) fn close_link(&mut self, peer: Peer) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        if link.is_closed() {
            return;
        }
        let error = link.error();
        let stage = std::mem::replace(&mut link.stage, Stage::Closing(error));
        self.arrivals.get().sessions.remove(link.key, peer);
        // Of whoever is turned away nobody knows where it is.
        if link
            .process
            .is_none_or(|process| process.is_seen(self.home.process()))
        {
            self.probing.want();
        }
        if link.is_busy() {
            self.closing.push(peer);
        } else {
            self.links.remove(peer);
        }
        if let Stage::Open(endpoint) | Stage::Lost(Some(endpoint), _) = stage {
            let id = endpoint.id();
            endpoint.close(&mut self.worker);
            self.release_offers(Some(id));
        }
    }

    /// Gives up the offers that came by this endpoint, or all.
    pub(super) fn release_offers(&mut self, endpoint: Option<EndpointId>) {
        let is_meant = |came_by: EndpointId| endpoint.is_none_or(|endpoint| endpoint == came_by);
        let offers = self.arrivals.get().offers.iter();
        let numbers: Vec<u32> = offers
            .filter_map(|(number, offered)| is_meant(offered.endpoint()).then_some(number))
            .collect();
        for number in numbers {
            if let Some(offered) = self.arrivals.get().offers.remove(number) {
                offered.release(&mut self.worker);
            }
        }
    }

    /// Whether it is time to look after closes that UCX may never complete.
    pub(super) fn is_time_to_reap(&self) -> bool {
        !self.closing.is_empty() && self.turns.is_multiple_of(TURNS_PER_LOOK)
    }

    /// Ends closed connections that UCX does not end: what is under way with a process that is gone
    /// is given up once all that it sent has been read.
    pub(super) fn reap(&mut self) {
        let (links, here, turn) = (&mut self.links, self.home.process(), self.turns);
        let mut any_gone = false;
        self.closing.retain(|peer| {
            let Some(link) = links.get_mut(*peer) else {
                return false;
            };
            if link.gone_since.is_none()
                && link.process.is_some_and(|process| process.is_gone(here))
            {
                link.gone_since = Some(turn);
            }
            any_gone |= link.gone_since.is_some();
            true
        });
        if any_gone {
            let all_is_read = !self.worker.progress();
            self.give_up_gone(all_is_read);
        }
    }

    fn give_up_gone(&mut self, all_is_read: bool) {
        let turn = self.turns;
        let is_read = |since: u32| all_is_read || turn.wrapping_sub(since) >= TURNS_TO_READ_ALL;
        for peer in std::mem::take(&mut self.closing) {
            match self.links.get(peer) {
                Some(link) if link.gone_since.is_some_and(is_read) => self.give_up(peer),
                Some(_) => self.closing.push(peer),
                None => {}
            }
        }
    }

    fn give_up(&mut self, peer: Peer) {
        let Some(link) = self.links.remove(peer) else {
            return;
        };
        self.give_back_all_of(peer, &link.error());
    }
}

impl<S, R> UcxPort<S, R> {
    /// Lets UCX let go of everything, before the worker is dropped, which lets go of the rest.
    pub(super) fn end_worker(&mut self) {
        self.release_offers(None);
        let mut turns = 0;
        while self.is_anything_pending() && turns < LAST_TURNS_MAX {
            self.worker.progress();
            turns += 1;
        }
    }

    fn is_anything_pending(&self) -> bool {
        self.sends.is_pending() || self.receives.is_pending()
    }
}

impl<S, R> Drop for UcxPort<S, R> {
    fn drop(&mut self) {
        for peer in self.links.peers() {
            self.close_link(peer);
        }
        self.end_worker();
        if self.is_anything_pending() {
            self.worker.abandon();
        }
    }
}
