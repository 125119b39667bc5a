//! Servers that may still decide, by an older map, on keys which the newest one gives to this
//! server. Until each of them is known to have stopped, nobody decides.
//!
//! A map reaches servers one after the other. Whoever loses keys by it, without a move that would
//! hand them over, goes on to decide on them until it hears of the map. A server that is cut off
//! does not hear of it: but its right to answer ends by itself, at a time that is known
//! (`fence_ms`). So the new owner waits for every server that may have decided by a map which was
//! in force within that time: until it says that it goes by the new map, until nobody listens there
//! any more, or until its right has ended. Servers that are gone have none any more.
//!
//! A server that has missed a map is one of them itself: by that map others may have owned what it
//! has now, while some of its workers went by the one before. It has stopped when all of its
//! workers go by the new map and what they have stored until then has been voided, for which no
//! time is set.

use crate::course::Trouble;
use crate::patience::pause_ms;
use crate::stream::has;
use farcache_cluster::map::arcs::{common, join, without};
use farcache_cluster::map::{HashArc, MemberState};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// Longest wait before one is asked once more, in milliseconds; the first ones are shorter.
const ASK_AGAIN_MS_MAX: u64 = 5;
/// Wait after one could not be asked, in milliseconds.
const RETRY_MS: u64 = 100;

/// One that may still decide.
#[derive(Debug)]
pub struct Predecessor {
    /// Which server.
    pub server: ServerId,
    /// It has stopped when it goes by the map of this epoch, or a later one.
    pub epoch: u64,
    arcs: Vec<HashArc>,
    began_ms: u64,
    /// When its right to decide has ended for certain, in milliseconds.
    pub over_at_ms: u64,
    not_before_ms: AtomicU64,
    has_stopped: AtomicBool,
}

impl Predecessor {
    /// One that may decide on these arcs until it goes by this map, without an end by itself.
    fn new(
        (server, arcs): (ServerId, Vec<HashArc>),
        next: &ClusterMap,
        now_ms: u64,
    ) -> Predecessor {
        Predecessor {
            server,
            epoch: next.epoch().0,
            arcs,
            began_ms: now_ms,
            over_at_ms: u64::MAX,
            not_before_ms: AtomicU64::new(0),
            has_stopped: AtomicBool::new(false),
        }
    }

    /// Whether it has stopped for certain.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(SeqCst)
    }

    /// Whether it may still decide on this hash.
    #[must_use]
    pub fn may_decide(&self, hash: u32) -> bool {
        !self.has_stopped() && has(&self.arcs, hash)
    }

    /// When it is to be asked which map it goes by; none where it has stopped.
    #[must_use]
    pub fn ask_at_ms(&self, now_ms: u64) -> Option<u64> {
        if now_ms >= self.over_at_ms {
            self.has_stopped.store(true, SeqCst);
        }
        let at = self.not_before_ms.load(SeqCst).min(self.over_at_ms);
        (!self.has_stopped()).then_some(at)
    }

    /// It goes by the map of this epoch.
    pub fn on_acknowledged(&self, epoch: u64, now_ms: u64) {
        if epoch >= self.epoch {
            self.has_stopped.store(true, SeqCst);
        }
        self.not_before_ms.store(self.ask_again_ms(now_ms), SeqCst);
    }

    fn ask_again_ms(&self, now_ms: u64) -> u64 {
        now_ms + pause_ms(now_ms.saturating_sub(self.began_ms), ASK_AGAIN_MS_MAX)
    }

    /// It could not be asked.
    pub fn on_trouble(&self, trouble: Trouble, now_ms: u64) {
        if trouble == Trouble::NobodyThere {
            // When it starts, it finds this map or a later one before it answers.
            self.has_stopped.store(true, SeqCst);
        }
        let at_ms = match trouble {
            Trouble::Refused => self.ask_again_ms(now_ms),
            Trouble::NobodyThere | Trouble::Silent => now_ms + RETRY_MS,
        };
        self.not_before_ms.store(at_ms, SeqCst);
    }

    /// What is left of it where these arcs alone are of interest.
    fn within(&self, mine: &[HashArc]) -> Option<Predecessor> {
        let arcs = common(&self.arcs, mine);
        (!self.has_stopped() && !arcs.is_empty()).then(|| Predecessor {
            arcs,
            not_before_ms: AtomicU64::new(self.not_before_ms.load(SeqCst)),
            has_stopped: AtomicBool::new(false),
            ..*self
        })
    }
}

/// The maps by which others may still decide.
#[derive(Debug)]
pub struct Past {
    /// How long after a newer map others may go by an older one.
    fence_ms: u64,
    /// In ascending order; each but the last with the time at which the next one was heard of.
    maps: Vec<(ClusterMap, Option<u64>)>,
    /// Until then others may go by maps that were not seen here.
    unseen_until_ms: u64,
}

impl Past {
    /// Nothing is known of the past. After `fence_ms` nobody answers by a map that another one has
    /// followed.
    #[must_use]
    pub fn new(fence_ms: u64) -> Past {
        Past {
            fence_ms,
            maps: Vec::new(),
            unseen_until_ms: 0,
        }
    }

    /// The map `next` is about to come into force for server `me`: who may still decide on keys
    /// that it gives to this server, those of `present` included that have not stopped.
    pub fn succeed<'p>(
        &mut self,
        present: impl Iterator<Item = &'p Predecessor>,
        next: &ClusterMap,
        me: Option<ServerId>,
        now_ms: u64,
    ) -> Vec<Predecessor> {
        let mine = me.map(|me| next.arcs_of(me)).unwrap_or_default();
        let kept = present.filter_map(|it| it.within(&mine));
        let mut all: Vec<Predecessor> = kept.collect();
        let (kept_arcs, has_missed) = self.note(next, me, now_ms);
        if let (Some(me), true, false) = (me, has_missed, mine.is_empty()) {
            all.push(Predecessor::new((me, mine.clone()), next, now_ms));
        }
        let gained = without(&mine, &kept_arcs);
        let others = next.content().servers.iter();
        let others = others.filter(|it| Some(it.id) != me && it.state != MemberState::Gone);
        let mut deciders = BTreeMap::<ServerId, Vec<HashArc>>::new();
        for (map, _) in &self.maps[..self.maps.len() - 1] {
            for (server, arcs) in map.deciders_of(&gained) {
                deciders.entry(server).or_default().extend(arcs);
            }
        }
        for other in others {
            let mut arcs = match now_ms < self.unseen_until_ms {
                true => gained.clone(),
                false => deciders.remove(&other.id).unwrap_or_default(),
            };
            if arcs.is_empty() {
                continue;
            }
            join(&mut arcs);
            let other = Predecessor::new((other.id, arcs), next, now_ms);
            all.push(Predecessor {
                over_at_ms: now_ms + self.fence_ms,
                ..other
            });
        }
        all
    }

    /// Adds this map, and drops those by which nobody goes any more; returns the arcs that the
    /// server `me` has had since the map right before, and whether others may have come between
    /// that and the last one that this run of the server went by.
    fn note(
        &mut self,
        next: &ClusterMap,
        me: Option<ServerId>,
        now_ms: u64,
    ) -> (Vec<HashArc>, bool) {
        let follows = self.maps.last().is_some_and(|(last, _)| {
            let (last, next) = (last.content(), next.content());
            let is_comparable = last.rule.key_hash() == next.rule.key_hash();
            is_comparable && last.cluster == next.cluster && last.epoch.0 + 1 == next.epoch.0
        });
        let has_missed = !follows && !self.maps.is_empty();
        let mut kept = Vec::new();
        if follows {
            let last = self.maps.last_mut().expect("it is followed");
            last.1 = Some(now_ms);
            kept = me.map(|me| last.0.arcs_of(me)).unwrap_or_default();
        } else {
            self.maps.clear();
            self.unseen_until_ms = now_ms + self.fence_ms;
        }
        let fence_ms = self.fence_ms;
        self.maps
            .retain(|(_, until)| until.is_none_or(|until| now_ms < until + fence_ms));
        self.maps.push((next.clone(), None));
        (kept, has_missed)
    }
}

#[cfg(test)]
mod tests;
