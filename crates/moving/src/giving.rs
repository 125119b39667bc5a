//! What the old owner may hand out: keys that it does not decide on any more, to the one server
//! that does.

use crate::figures::Figures;
use farcache_cluster::map::{HashArc, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Which keys a server hands out under one map.
#[derive(Debug, Default)]
pub struct Outgoing(Vec<(HashArc, ServerId)>);

impl Outgoing {
    /// What server `me` hands out.
    #[must_use]
    pub fn new(map: &ClusterMap, me: ServerId) -> Outgoing {
        let moves = map.content().moves.iter();
        let given = moves.filter(|it| it.from == me && it.phase == Phase::Streaming);
        let mut arcs: Vec<(HashArc, ServerId)> = given
            .flat_map(|moved| moved.arcs.iter().map(|arc| (*arc, moved.to)))
            .collect();
        arcs.sort_unstable();
        Outgoing(arcs)
    }

    /// The server to which keys of this hash go.
    #[must_use]
    pub fn to(&self, hash: u32) -> Option<ServerId> {
        let after = self.0.partition_point(|(arc, _)| arc.first <= hash);
        let &(arc, to) = self.0.get(after.checked_sub(1)?)?;
        arc.contains(hash).then_some(to)
    }

    /// Whether anything goes to this server.
    #[must_use]
    pub fn has_any_for(&self, to: ServerId) -> bool {
        self.0.iter().any(|(_, other)| *other == to)
    }
}

/// What goes to one server.
#[derive(Debug, Default)]
pub struct Gift {
    /// How it fares.
    pub figures: Figures,
    is_done: AtomicBool,
}

impl Gift {
    /// Everything has been gone through.
    pub fn finish(&self) {
        self.is_done.store(true, SeqCst);
    }

    /// It begins anew.
    pub fn begin(&self) {
        self.is_done.store(false, SeqCst);
    }

    /// Whether everything has been gone through.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done.load(SeqCst)
    }
}

/// What this server is giving.
#[derive(Debug, Default)]
pub struct Giving(Mutex<BTreeMap<ServerId, Arc<Gift>>>);

impl Giving {
    /// What goes to this server.
    ///
    /// # Panics
    /// Never: nobody panics while the list is held.
    #[must_use]
    pub fn to(&self, to: ServerId) -> Arc<Gift> {
        let mut gifts = self.0.lock().expect("no panic while held");
        Arc::clone(gifts.entry(to).or_default())
    }

    /// A map is about to come into force: what is not listed any more is forgotten.
    ///
    /// # Panics
    /// Never: nobody panics while the list is held.
    pub fn succeed(&self, next: &ClusterMap, me: Option<ServerId>) {
        let outgoing = me.map(|me| Outgoing::new(next, me)).unwrap_or_default();
        let mut gifts = self.0.lock().expect("no panic while held");
        gifts.retain(|to, _| outgoing.has_any_for(*to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_streams_is_handed_out_and_only_to_its_new_owner() {
        let text = "farcache-cluster-map 1\ncluster c\nepoch 1\nplacement slots\n\
            server 1 incarnation=1 weight=1 zone=- state=serving addresses=h1:1\n\
            server 2 incarnation=1 weight=1 zone=- state=joining addresses=h2:1\n\
            slots 1 0-8191\nslots 2 8192-16383\n\
            move from=1 to=2 phase=handing-over\narc 80000000-8fffffff\n\
            move from=1 to=2 phase=streaming\narc a0000000-a00000ff\nend\n";
        let map: ClusterMap = text.parse().expect("a map");
        let outgoing = Outgoing::new(&map, ServerId(1));
        assert_eq!(outgoing.to(0x8000_0000), None);
        assert_eq!(outgoing.to(0xa000_0000), Some(ServerId(2)));
        assert_eq!(outgoing.to(0xa000_0100), None);
        assert_eq!(Outgoing::new(&map, ServerId(2)).to(0xa000_0000), None);
    }
}
