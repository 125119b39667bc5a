//! What owners are told of versions that are complete: with the next request that goes there
//! anyway, or by itself where none does. And of keys that are in use.

use super::{PartTag, Way, packets};
use farcache_cluster::ServerId;
use farcache_redundancy::plan::RequestId;
use farcache_redundancy::{Untold, Version};
use std::collections::HashMap;
use std::time::Instant;

/// The answer, which says nothing, is no plan's.
const NO_PLAN: PartTag = PartTag {
    slot: usize::MAX,
    number: 0,
    id: RequestId(0),
};

/// Tells owners that a key is in use of whose value they were not asked.
pub fn tell_used(way: &mut dyn Way, owners: impl Iterator<Item = ServerId>, key: &[u8]) {
    let packet = packets::used(key);
    for owner in owners {
        // Of what is not told nothing but the use is lost.
        let _ = way.ask(owner, NO_PLAN, &[&packet]);
    }
}

/// Of which complete versions each server is still to be told.
#[derive(Default)]
pub struct Telling {
    untold: HashMap<ServerId, Untold>,
    due: Option<Instant>,
}

impl Telling {
    /// A server is to be told of one more.
    pub fn push(&mut self, to: ServerId, version: Version, now: Instant) {
        self.untold.entry(to).or_default().push(version);
        self.due.get_or_insert(now + Untold::LEFT_AFTER);
    }

    /// The one that a server is told of next, with a request.
    pub fn take(&mut self, to: ServerId) -> Option<Version> {
        self.untold.get_mut(&to)?.take()
    }

    /// When [`Telling::tell_left_over`] has something to do.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Tells what no request has told, where it is time.
    pub fn tell_left_over(&mut self, way: &mut dyn Way, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        for (to, untold) in &mut self.untold {
            let packets: Vec<_> = untold.take_left_over().map(packets::complete).collect();
            let pieces: Vec<_> = packets.iter().map(Vec::as_slice).collect();
            if !pieces.is_empty() {
                // Of what is not told readers find out.
                let _ = way.ask(*to, NO_PLAN, &pieces);
            }
        }
        self.untold.retain(|_, untold| !untold.is_empty());
        let is_over = self.untold.is_empty();
        self.due = (!is_over).then(|| now + Untold::LEFT_AFTER);
    }
}
