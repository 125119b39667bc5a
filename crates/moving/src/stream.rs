//! The keys that come from one server since one epoch: which of them have been decided on here, so
//! that nothing older is brought.
//!
//! A key is *settled* once a client of this server has changed it, or the old owner has said that
//! it has nothing of it. Whoever changes a key settles it first; whoever stores what has been
//! brought does so under the lock under which keys are settled, and only if this one is not. So
//! what was brought either comes before the change, which sees it, or not at all. An item that was
//! stored and evicted again is settled, too, so no older one comes in its place.

use crate::figures::Figures;
use farcache_cluster::ServerId;
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::map::HashArc;
use farcache_peers::moves::Instance;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

/// Locks of one stream.
const STRIPES: usize = 64;

/// Where a key lies: its hash by the map, and one more by which it is known as settled. Two keys of
/// one place are settled together, which costs a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The map's hash of the key.
    pub hash: u32,
    /// Another one.
    pub second: u32,
}

impl KeyPlace {
    /// The place of a key with this hash by the map.
    #[must_use]
    pub fn new(hash: u32, key: &[u8]) -> KeyPlace {
        KeyPlace {
            hash,
            // No map hashes keys by it.
            second: HashAlgorithm::Fnv1a64.digest(key),
        }
    }

    fn word(self) -> u64 {
        u64::from(self.hash) << 32 | u64::from(self.second)
    }

    fn stripe(self) -> usize {
        self.second as usize % STRIPES
    }
}

/// How far a stream is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The old owner has not acknowledged yet: nobody decides.
    Awaiting = 0,
    /// This server decides, and brings what the old owner holds.
    Moving = 1,
    /// Nothing more will come: all has been brought.
    Done = 2,
    /// Nothing more will come, although there may have been more.
    Lost = 3,
}

impl Stage {
    fn from_byte(byte: u8) -> Stage {
        match byte {
            0 => Stage::Awaiting,
            1 => Stage::Moving,
            2 => Stage::Done,
            _ => Stage::Lost,
        }
    }
}

#[derive(Debug)]
struct Stripe {
    /// Keys that may be brought; none once nothing is brought any more.
    arcs: Arc<[HashArc]>,
    settled: HashSet<u64>,
}

impl Stripe {
    fn may_bring(&self, place: KeyPlace) -> bool {
        has(&self.arcs, place.hash) && !self.settled.contains(&place.word())
    }
}

/// What comes from one server.
#[derive(Debug)]
pub struct Stream {
    /// The old owner.
    pub from: ServerId,
    /// Epoch of the map by which it began; the old owner must go by this one or a later.
    pub epoch: u64,
    /// How it fares.
    pub figures: Figures,
    /// Which keys it began with.
    began_with: Arc<[HashArc]>,
    /// Whether what the old owner holds may be brought, once that has acknowledged.
    may_ever_bring: bool,
    stage: AtomicU8,
    instance: AtomicU64,
    acknowledged_epoch: AtomicU64,
    stripes: [Mutex<Stripe>; STRIPES],
    /// How many keys may still be settled, in all streams of the server.
    room: Arc<AtomicU64>,
}

/// Whether a hash lies on one of the arcs, which ascend.
pub(crate) fn has(arcs: &[HashArc], hash: u32) -> bool {
    let after = arcs.partition_point(|arc| arc.first <= hash);
    after > 0 && hash <= arcs[after - 1].last
}

impl Stream {
    /// `may_ever_bring` says whether what the old owner holds is the newest; if it is not, the old
    /// owner has to stop deciding all the same.
    pub(crate) fn new(
        from: ServerId,
        epoch: u64,
        arcs: Vec<HashArc>,
        may_ever_bring: bool,
        room: Arc<AtomicU64>,
    ) -> Stream {
        let began_with: Arc<[HashArc]> = arcs.into();
        let arcs = match may_ever_bring {
            true => Arc::clone(&began_with),
            false => Arc::default(),
        };
        Stream {
            from,
            epoch,
            figures: Figures::default(),
            began_with,
            may_ever_bring,
            stage: AtomicU8::new(Stage::Awaiting as u8),
            instance: AtomicU64::new(0),
            acknowledged_epoch: AtomicU64::new(0),
            stripes: std::array::from_fn(|_| {
                Mutex::new(Stripe {
                    arcs: Arc::clone(&arcs),
                    settled: HashSet::new(),
                })
            }),
            room,
        }
    }

    /// Which keys it began with.
    #[must_use]
    pub fn began_with(&self) -> &[HashArc] {
        &self.began_with
    }

    /// How far it is.
    #[must_use]
    pub fn stage(&self) -> Stage {
        Stage::from_byte(self.stage.load(SeqCst))
    }

    /// Which run of the old owner's program has acknowledged.
    #[must_use]
    pub fn instance(&self) -> Instance {
        self.instance.load(SeqCst)
    }

    /// What the old owner has acknowledged; 0 before.
    #[must_use]
    pub fn acknowledged_epoch(&self) -> u64 {
        self.acknowledged_epoch.load(SeqCst)
    }

    fn stripe(&self, place: KeyPlace) -> MutexGuard<'_, Stripe> {
        self.stripes[place.stripe()]
            .lock()
            .expect("no panic while held")
    }

    /// The old owner goes by the map of this epoch: from now on this server decides, if that is
    /// late enough. True where it decides now.
    pub fn acknowledge(&self, instance: Instance, epoch: u64) -> bool {
        if epoch < self.epoch || self.stage() != Stage::Awaiting {
            return self.stage() != Stage::Awaiting;
        }
        self.instance.store(instance, SeqCst);
        self.acknowledged_epoch.store(epoch, SeqCst);
        // Others may have given it up meanwhile.
        let next = match self.may_ever_bring {
            true => Stage::Moving,
            false => Stage::Lost,
        };
        let (from, to) = (Stage::Awaiting as u8, next as u8);
        _ = self.stage.compare_exchange(from, to, SeqCst, SeqCst);
        true
    }

    /// All has been brought.
    pub fn finish(&self) {
        self.close(Stage::Done);
    }

    /// Nothing more can be brought: what is not here yet counts as absent.
    pub fn lose(&self) {
        self.close(Stage::Lost);
    }

    /// A flush voids what has not been brought. Comes before the flush, which voids what has.
    pub fn void(&self) {
        if self.stage() != Stage::Awaiting {
            return self.close(Stage::Done);
        }
        // Nobody has decided yet; when this server does, there is nothing to bring.
        self.keep_only(&[]);
    }

    fn close(&self, stage: Stage) {
        let is_open = |byte: u8| matches!(Stage::from_byte(byte), Stage::Awaiting | Stage::Moving);
        let next = |byte| is_open(byte).then_some(stage as u8);
        _ = self.stage.fetch_update(SeqCst, SeqCst, next);
        self.keep_only(&[]);
    }

    /// From now on only these of its keys are brought. When this returns, nobody is storing others.
    pub(crate) fn keep_only(&self, arcs: &[HashArc]) {
        let arcs: Arc<[HashArc]> = arcs.into();
        for stripe in &self.stripes {
            let mut stripe = stripe.lock().expect("no panic while held");
            let is_closed = stripe.arcs.is_empty();
            if !is_closed {
                stripe.arcs = Arc::clone(&arcs);
            }
            if arcs.is_empty() {
                let settled = std::mem::take(&mut stripe.settled).len() as u64;
                self.room.fetch_add(settled, SeqCst);
            }
        }
    }

    /// Whether the old owner may have something of this key that is newer than what is here.
    #[must_use]
    pub fn may_bring(&self, place: KeyPlace) -> bool {
        self.stage() == Stage::Moving && self.stripe(place).may_bring(place)
    }

    /// Nothing is brought of this key any more. Comes before it is changed here.
    pub fn settle(&self, place: KeyPlace) {
        if !matches!(self.stage(), Stage::Awaiting | Stage::Moving) {
            return;
        }
        if !self.settle_locked(&mut self.stripe(place), place) {
            // Which keys have been decided on cannot be told any more.
            self.lose();
        }
    }

    /// False where there is no room to note it.
    fn settle_locked(&self, stripe: &mut Stripe, place: KeyPlace) -> bool {
        if !stripe.may_bring(place) {
            return true;
        }
        let take = |room: u64| room.checked_sub(1);
        if self.room.fetch_update(SeqCst, SeqCst, take).is_err() {
            return false;
        }
        stripe.settled.insert(place.word());
        true
    }

    /// Stores what the run `instance` of the old owner had of a key, by `store`, unless that has
    /// been decided on; none where it has. Nothing is settled meanwhile, so `store` must not wait.
    pub fn admit<R>(
        &self,
        place: KeyPlace,
        instance: Instance,
        store: impl FnOnce() -> R,
    ) -> Option<R> {
        let stripe = self.stripe(place);
        let is_its = self.stage() == Stage::Moving && self.instance() == instance;
        (is_its && stripe.may_bring(place)).then(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARC: HashArc = HashArc {
        first: 10,
        last: 19,
    };

    fn stream(room: u64) -> Stream {
        let room = Arc::new(AtomicU64::new(room));
        Stream::new(ServerId(1), 5, vec![ARC], true, room)
    }

    fn place(hash: u32) -> KeyPlace {
        KeyPlace { hash, second: hash }
    }

    #[test]
    fn nothing_is_brought_before_the_old_owner_has_stopped_deciding() {
        let stream = stream(9);
        assert!(!stream.acknowledge(7, 4));
        assert_eq!(stream.admit(place(10), 7, || ()), None);
        assert!(!stream.may_bring(place(10)));
        assert!(stream.acknowledge(7, 5));
        assert!(stream.may_bring(place(10)));
        assert_eq!(stream.admit(place(10), 7, || ()), Some(()));
        assert_eq!(stream.admit(place(10), 8, || ()), None, "another run");
        assert_eq!(stream.admit(place(20), 7, || ()), None, "another arc");
    }

    #[test]
    fn what_has_been_decided_on_is_not_brought() {
        let stream = stream(9);
        stream.acknowledge(7, 5);
        stream.settle(place(11));
        assert!(!stream.may_bring(place(11)));
        assert_eq!(stream.admit(place(11), 7, || ()), None);
        assert_eq!(stream.admit(place(12), 7, || ()), Some(()));
    }

    #[test]
    fn where_too_much_is_decided_on_nothing_more_is_brought() {
        let stream = stream(2);
        stream.acknowledge(7, 5);
        stream.settle(place(11));
        stream.settle(place(11));
        stream.settle(place(12));
        assert_eq!(stream.stage(), Stage::Moving);
        stream.settle(place(13));
        assert_eq!(stream.stage(), Stage::Lost);
        assert_eq!(stream.admit(place(14), 7, || ()), None);
        assert_eq!(stream.room.load(SeqCst), 2, "others may use it");
    }

    #[test]
    fn a_flush_voids_what_has_not_come_at_each_stage() {
        let awaiting = stream(9);
        awaiting.void();
        awaiting.acknowledge(7, 5);
        assert_eq!(awaiting.admit(place(10), 7, || ()), None);
        let moving = stream(9);
        moving.acknowledge(7, 5);
        moving.void();
        assert_eq!(moving.stage(), Stage::Done);
        assert_eq!(moving.admit(place(10), 7, || ()), None);
    }

    #[test]
    fn arcs_that_have_left_are_not_brought_and_do_not_come_back() {
        let stream = stream(9);
        stream.acknowledge(7, 5);
        stream.keep_only(&[HashArc {
            first: 10,
            last: 12,
        }]);
        assert_eq!(stream.admit(place(13), 7, || ()), None);
        assert_eq!(stream.admit(place(12), 7, || ()), Some(()));
        stream.keep_only(&[]);
        stream.keep_only(&[ARC]);
        assert_eq!(stream.admit(place(12), 7, || ()), None);
    }
}
