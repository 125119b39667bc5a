//! Waiting for devices: whose request waits for which reads, and whose replies until what was
//! stored is durable.

use super::Resources;
use super::arrivals::Arrivals;
use super::deferred::DeferredQueue;
use farcache_store::{Durability, DurableMark, ReadId, Suspended};
use std::collections::{HashMap, VecDeque};

/// Whose request waits for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The request of the connection in this slot.
    Connection(usize),
    /// The request of a datagram.
    Datagram,
    /// The request of a message on the fabric.
    Message,
}

/// Everyone who waits at one worker.
#[derive(Default)]
pub struct Waits {
    /// Whose reads are under way.
    pub places: HashMap<ReadId, Place>,
    /// What is to be done for them, and who goes first.
    pub deferred: DeferredQueue,
    /// Where the store tells of them; kept for its memory.
    pub done: Vec<ReadId>,
    /// Connections whose replies are held back, in the order of their marks.
    pub held: VecDeque<(DurableMark, usize)>,
    /// Connections whose large values wait for others'.
    pub arrivals: Arrivals,
}

/// Whether replies to changes wait until these are durable.
pub fn holds_replies(durability: Durability, has_tier: bool) -> bool {
    has_tier && durability == Durability::Sync
}

impl Resources {
    /// Begins the wait for what has suspended the last request; none if that cannot be waited for,
    /// which is logged.
    pub fn suspend(&mut self, suspended: Suspended, place: Place) -> Option<ReadId> {
        match suspended {
            Suspended::OnDevice => self.start_reads(place),
            // Those who are given a way to wait for one, or a turn, do not come here.
            Suspended::OnPeer => unreachable!("nothing is forwarded over this transport"),
            Suspended::OnArrivals => unreachable!("values are refused over this transport"),
        }
    }

    fn start_reads(&mut self, place: Place) -> Option<ReadId> {
        self.counters.device_waits.bump();
        match self.store.start_reads() {
            Ok(id) => {
                self.waits.places.insert(id, place);
                Some(id)
            }
            Err(error) => {
                tracing::error!(%error, "cannot read from the SSD tier");
                self.store.forget_reads();
                None
            }
        }
    }

    /// Gives up reads whose request has gone.
    pub fn give_up_reads(&mut self, id: ReadId) {
        self.counters.get_aborted_extstore.bump();
        self.take_back_reads(id);
    }

    /// Lets go of reads that will be made again.
    pub fn take_back_reads(&mut self, id: ReadId) {
        self.waits.places.remove(&id);
        self.store.cancel_reads(id);
    }
}
