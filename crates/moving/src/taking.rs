//! All that one server is being given, as one map follows another.

use crate::predecessors::{Past, Predecessor};
use crate::stream::{KeyPlace, Stage, Stream, has};
use farcache_cluster::map::{HashArc, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Keys that may be settled at a time in all streams of a server: 9 to 18 bytes each.
pub const SETTLED_MAX: u64 = 1 << 22;

/// What is being brought under one map.
#[derive(Debug, Default)]
pub struct Table {
    /// By arcs; each with its stream.
    arcs: Vec<(HashArc, Arc<Stream>)>,
    streams: Vec<Arc<Stream>>,
    predecessors: Vec<Arc<Predecessor>>,
    /// All of them have stopped.
    have_stopped: AtomicBool,
}

impl Table {
    fn new(
        streams: Vec<(Arc<Stream>, Vec<HashArc>)>,
        predecessors: Vec<Arc<Predecessor>>,
    ) -> Table {
        let mut arcs: Vec<(HashArc, Arc<Stream>)> = Vec::new();
        for (stream, of_it) in &streams {
            arcs.extend(of_it.iter().map(|arc| (*arc, Arc::clone(stream))));
        }
        arcs.sort_unstable_by_key(|(arc, _)| *arc);
        Table {
            arcs,
            streams: streams.into_iter().map(|(stream, _)| stream).collect(),
            have_stopped: AtomicBool::new(predecessors.is_empty()),
            predecessors,
        }
    }

    /// Servers that may have decided by older maps on keys that this server has now.
    #[must_use]
    pub fn predecessors(&self) -> &[Arc<Predecessor>] {
        &self.predecessors
    }

    /// Whether some of them may decide still.
    #[must_use]
    #[inline]
    pub fn awaits_predecessors(&self) -> bool {
        if self.have_stopped.load(Relaxed) {
            return false;
        }
        let mut all = self.predecessors.iter();
        let have_stopped = all.all(|it| it.has_stopped());
        self.have_stopped.store(have_stopped, Relaxed);
        !have_stopped
    }

    /// Whether a stream is to ask this server anyway which map it goes by.
    #[must_use]
    pub fn asks(&self, server: ServerId) -> bool {
        let mut of_it = self.streams.iter().filter(|it| it.from == server);
        of_it.any(|stream| stream.stage() == Stage::Awaiting)
    }

    /// This server goes by the map of this epoch, as a stream was told; whether it decides by an
    /// older map no more on keys of which it may have done so.
    pub fn on_acknowledged(&self, server: ServerId, epoch: u64, now_ms: u64) -> bool {
        let its = self.predecessors.iter().filter(|it| it.server == server);
        let mut has_stopped = false;
        for predecessor in its.filter(|it| !it.has_stopped()) {
            predecessor.on_acknowledged(epoch, now_ms);
            has_stopped |= predecessor.has_stopped();
        }
        has_stopped
    }

    /// Whether nothing is being brought.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// What comes from each server, in ascending order of servers and epochs.
    #[must_use]
    pub fn streams(&self) -> &[Arc<Stream>] {
        &self.streams
    }

    /// By what keys of this hash are brought.
    #[must_use]
    pub fn stream_of(&self, hash: u32) -> Option<&Arc<Stream>> {
        let after = self.arcs.partition_point(|(arc, _)| arc.first <= hash);
        let (arc, stream) = self.arcs.get(after.checked_sub(1)?)?;
        arc.contains(hash).then_some(stream)
    }

    /// Whether nobody decides on keys of this hash yet, because their old owner, or one that may
    /// have been it, has not acknowledged the map.
    #[must_use]
    pub fn withholds(&self, hash: u32) -> bool {
        let stream = self.stream_of(hash);
        stream.is_some_and(|stream| stream.stage() == Stage::Awaiting)
            || self.awaits_predecessors() && self.predecessors.iter().any(|it| it.may_decide(hash))
    }

    /// The stream of a key of which the old owner may have something newer.
    #[must_use]
    pub fn may_bring(&self, place: KeyPlace) -> Option<&Arc<Stream>> {
        let stream = self.stream_of(place.hash)?;
        stream.may_bring(place).then_some(stream)
    }
}

/// What this server is being given.
#[derive(Debug)]
pub struct Taking {
    table: Mutex<Arc<Table>>,
    room: Arc<AtomicU64>,
    /// None where nobody's right to answer ends by itself.
    past: Option<Mutex<Past>>,
}

impl Default for Taking {
    fn default() -> Self {
        Taking::with_room(SETTLED_MAX)
    }
}

impl Taking {
    /// With room for so many settled keys.
    #[must_use]
    pub fn with_room(settled_max: u64) -> Taking {
        Taking {
            table: Mutex::default(),
            room: Arc::new(AtomicU64::new(settled_max)),
            past: None,
        }
    }

    /// Waits for whoever may decide by an older map, whose right to do so ends so many milliseconds
    /// after another one has followed it.
    #[must_use]
    pub fn with_fence(self, fence_ms: u64) -> Taking {
        Taking {
            past: Some(Mutex::new(Past::new(fence_ms))),
            ..self
        }
    }

    /// What is being brought.
    ///
    /// # Panics
    /// Never: nobody panics while the table is held.
    #[must_use]
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.lock().expect("no panic while held"))
    }

    /// A flush voids what has not been brought; comes before the flush.
    pub fn void(&self) {
        self.table().streams.iter().for_each(|stream| stream.void());
    }

    /// The map `next` is about to come into force for server `me`. `before` is the map in force, if
    /// this run of the program went by it and `next` is the one right after it: only then is it
    /// known that nobody has decided in between, and that what the old owner holds is the newest.
    /// `now_ms` is the time in milliseconds.
    ///
    /// What moved before goes on. What begins waits for its old owner's acknowledgement. Of moves
    /// of which that is not known nothing is brought then: their keys count as absent.
    ///
    /// # Panics
    /// Never: nobody panics while the table is held.
    pub fn succeed(
        &self,
        before: Option<&ClusterMap>,
        next: &ClusterMap,
        me: Option<ServerId>,
        now_ms: u64,
    ) {
        let mut table = self.table.lock().expect("no panic while held");
        let listed = me.map(|me| listed(next, me)).unwrap_or_default();
        let mut streams: Vec<(Arc<Stream>, Vec<HashArc>)> = Vec::new();
        for stream in &table.streams {
            let (from, mut kept) = (stream.from, Vec::new());
            if let Some(arcs) = listed.get(&from) {
                let goes_on = |arc: &&HashArc| is_within(arc, stream.began_with());
                kept = arcs.iter().filter(goes_on).copied().collect();
            }
            stream.keep_only(&kept);
            if stream.stage() == Stage::Awaiting {
                // Whether it is listed or not: its old owner may decide still.
                let mine = me.map(|me| next.arcs_of(me)).unwrap_or_default();
                let began_with = stream.began_with().iter();
                kept = began_with
                    .filter(|arc| is_within(arc, &mine))
                    .copied()
                    .collect();
            }
            if !kept.is_empty() {
                streams.push((Arc::clone(stream), kept));
            }
        }
        for (from, arcs) in listed {
            let goes_on = |arc: &HashArc| {
                let mut of_it = streams.iter().filter(|(stream, _)| stream.from == from);
                of_it.any(|(_, kept)| kept.contains(arc))
            };
            let new: Vec<HashArc> = arcs.into_iter().filter(|arc| !goes_on(arc)).collect();
            let owned = before
                .map(|before| before.arcs_of(from))
                .unwrap_or_default();
            let (known, unknown): (Vec<HashArc>, Vec<HashArc>) =
                new.into_iter().partition(|arc| is_within(arc, &owned));
            for (arcs, is_newest) in [(known, true), (unknown, false)] {
                if !arcs.is_empty() {
                    let room = Arc::clone(&self.room);
                    let stream = Stream::new(from, next.epoch().0, arcs.clone(), is_newest, room);
                    streams.push((Arc::new(stream), arcs));
                }
            }
        }
        streams.sort_by_key(|(stream, _)| (stream.from, stream.epoch));
        let predecessors = self.predecessors(&table, next, me, now_ms);
        *table = Arc::new(Table::new(streams, predecessors));
    }

    fn predecessors(
        &self,
        table: &Table,
        next: &ClusterMap,
        me: Option<ServerId>,
        now_ms: u64,
    ) -> Vec<Arc<Predecessor>> {
        let Some(past) = &self.past else {
            return Vec::new();
        };
        let mut past = past.lock().expect("no panic while held");
        let present = table.predecessors.iter().map(|it| &**it);
        let next = past.succeed(present, next, me, now_ms);
        next.into_iter().map(Arc::new).collect()
    }
}

/// The arcs that come to server `me` by streams, by their old owners.
fn listed(map: &ClusterMap, me: ServerId) -> BTreeMap<ServerId, Vec<HashArc>> {
    let mut listed = BTreeMap::<ServerId, Vec<HashArc>>::new();
    let moves = map.content().moves.iter();
    for moved in moves.filter(|it| it.to == me && it.phase == Phase::Streaming) {
        listed.entry(moved.from).or_default().extend(&moved.arcs);
    }
    listed
}

/// Whether all of an arc is on one of the others.
fn is_within(arc: &HashArc, others: &[HashArc]) -> bool {
    let after = others.partition_point(|other| other.first <= arc.first);
    after > 0 && has(&others[after - 1..after], arc.last)
}

#[cfg(test)]
mod tests;
