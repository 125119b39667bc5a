//! A port whose way in is blocked starts anew: see [`super::probe`].

use super::layout::Layout;
use super::links::Stage;
use super::port::UcxPort;
use super::probe::{Finding, Prober};
use super::receiving::Receiving;
use super::sending::Returned;
use super::worker::Worker;
use crate::error::Error;
use crate::inbox::Event;
use crate::port::{Peer, ReceiveBody, SendBody};

/// How far the looking after is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probing {
    /// No process writes to a queue of this port, so that none can block it.
    Never,
    /// Nothing speaks against the way in.
    No,
    /// A probe is to be sent.
    Wanted,
    /// A probe is on its way.
    Sent,
    /// A probe is on its way, and another one is to follow.
    SentAndWanted,
}

impl Probing {
    /// Of a port with such queues in shared memory, if it has any. Over other networks a probe says
    /// nothing, and where it takes long, all connections would be lost for nothing.
    pub fn of(queues: Option<Layout>) -> Probing {
        match queues {
            Some(_) => Probing::No,
            None => Probing::Never,
        }
    }

    /// Whether nothing is to be done.
    pub fn is_at_rest(self) -> bool {
        matches!(self, Probing::Never | Probing::No)
    }

    /// Something has happened after which the way in may be blocked.
    pub fn want(&mut self) {
        *self = match self {
            Probing::Never => Probing::Never,
            Probing::No | Probing::Wanted => Probing::Wanted,
            Probing::Sent | Probing::SentAndWanted => Probing::SentAndWanted,
        };
    }
}

impl<S: SendBody, R: ReceiveBody> UcxPort<S, R> {
    /// Sends the probe that is wanted, and looks after the one that is on its way.
    pub(super) fn probe(&mut self) {
        match self.probing {
            Probing::Never | Probing::No => {}
            Probing::Wanted => self.send_probe(),
            Probing::Sent | Probing::SentAndWanted => self.look_after_probe(),
        }
    }

    fn send_probe(&mut self) {
        self.probing = Probing::No;
        if self.prober.is_none() {
            self.prober = Prober::new(&self.context, self.worker.address()).ok();
            self.arrivals.get().probes = 0;
        }
        // Without one (no memory, no descriptors) the port goes on as it is.
        if let Some(prober) = &mut self.prober {
            prober.send();
            self.probing = Probing::Sent;
        }
    }

    fn look_after_probe(&mut self) {
        let arrived = self.arrivals.get().probes;
        let Some(prober) = &mut self.prober else {
            return;
        };
        match prober.look(arrived) {
            Finding::Open if self.probing == Probing::SentAndWanted => self.send_probe(),
            Finding::Open => self.probing = Probing::No,
            Finding::Blocked => self.renew(),
            Finding::Unknown => {}
        }
    }

    /// Loses everyone, and starts again with a new worker.
    fn renew(&mut self) {
        self.prober = None;
        self.probing = Probing::Wanted;
        let Ok(mut worker) = Worker::new(&self.context) else {
            return;
        };
        if self.arrivals.attach(&mut worker).is_err() {
            return;
        }
        for peer in self.links.peers() {
            self.lose_for_good(peer);
        }
        // All connections are closed. What UCX does not complete even so, as a dead peer's queue is
        // full, ends with its worker, and so do the descriptors and the memory that it has.
        self.end_worker();
        drop(std::mem::replace(&mut self.worker, worker));
        self.give_back_everything();
        self.home.move_to(&self.worker);
        // An error means that the thread does not wake before its time limit.
        let _ = self.wake.watch(&self.worker);
        self.completed.push(Event::Renewed);
        self.probing = Probing::No;
    }

    fn lose_for_good(&mut self, peer: Peer) {
        let error = Error::PeerLost("a process of this host died and blocked the way".into());
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        if link.lose(error.clone()) {
            let error = error.clone();
            self.completed.push(Event::Lost { peer, error });
        }
        if let Stage::Lost(endpoint, _) = &mut link.stage
            && let Some(endpoint) = endpoint.take()
        {
            endpoint.close(&mut self.worker);
        }
    }

    fn give_back_everything(&mut self) {
        let mut events = std::mem::take(&mut self.completed);
        self.settle_finished(&mut events);
        self.completed = events;
        for peer in self.links.peers() {
            let Some(link) = self.links.get_mut(peer) else {
                continue;
            };
            (link.unsent, link.receiving) = (0, 0);
            let error = link.error();
            if link.is_closed() {
                self.links.remove(peer);
            }
            self.give_back_all_of(peer, &error);
        }
        self.closing.clear();
    }
}

impl<S, R> UcxPort<S, R> {
    /// Gives back all that is under way for a peer, after which UCX will touch none of it.
    pub(super) fn give_back_all_of(&mut self, peer: Peer, error: &Error) {
        for Returned { body, tag } in self.sends.give_up(peer) {
            let outcome = Err(error.clone());
            self.completed.push(Event::Sent { tag, body, outcome });
        }
        for Receiving { into, tag, .. } in self.receives.give_up(peer) {
            let outcome = Err(error.clone());
            self.completed.push(Event::Received { tag, into, outcome });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_in_through_shared_memory_is_looked_after() {
        let queues = Layout {
            number: 1,
            is_by_name: false,
        };
        let mut probing = Probing::of(Some(queues));
        assert!(probing.is_at_rest());
        probing.want();
        assert_eq!(probing, Probing::Wanted);
    }

    #[test]
    fn without_queues_in_shared_memory_the_way_in_is_never_doubted() {
        let mut probing = Probing::of(None);
        probing.want();
        assert_eq!(probing, Probing::Never);
        assert!(probing.is_at_rest());
    }
}
