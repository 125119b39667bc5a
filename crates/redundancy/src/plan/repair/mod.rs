//! Bringing one server's copies and shards back to full strength.
//!
//! A *pass* asks the other owners for lists of what they have, page by page, first for what is read
//! often. Of each key of which this server lacks its part, or has an older one, it asks every owner
//! what that has, makes the part of the newest version that may have been acknowledged, and stores
//! it if it is newer than what came meanwhile. What a server that was away kept from before, it
//! asks the others about too, so that what was overwritten or deleted goes.
//!
//! | file | what it does |
//! |---|---|
//! | `exchange` | what it is told, and what it asks for |
//! | `own_state` | how this server stands |
//! | `sources` | the other owners, and how far their lists have been gone through |
//! | `mend` | one key: what its owners have, and what this server makes of that |
//! | `rate` | how fast it goes |
//! | `later` | keys that are looked at again, as somebody writes them just now |
//!
//! Whoever runs it keeps the bytes and knows the map: it says of each entry of a page who owns the
//! key and what this server has.

mod exchange;
mod later;
mod mend;
mod own_state;
mod rate;
mod sources;

pub use exchange::{Action, Cursor, Entry, Event, Make, MendId, Mended, OwnItems, Step};
pub use mend::{HeldPart, PartInfo, Said};
pub use own_state::OwnState;

use crate::Version;
use farcache_cluster::ServerId;
use later::Later;
use mend::{Decision, Mend, Stage};
use rate::Rate;
use sources::Sources;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What an entry of a list, or a question and its answer, costs of the rate, in bytes.
const ASKED_BYTES: u64 = 128;

/// How much a repair takes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes a second that are fetched, on the whole; not 0.
    pub bytes_per_second: u64,
    /// Entries of a page.
    pub entries_max: u16,
    /// Keys that are mended at the same time; not 0.
    pub keys_max: usize,
    /// Bytes that are fetched at the same time, in memory. One value may be larger.
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes_per_second: 128 << 20,
            entries_max: 128,
            keys_max: 32,
            bytes_max: 4 << 20,
        }
    }
}

/// What a repair has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries of lists that were looked at.
    pub keys_examined: u64,
    /// Copies and shards stored.
    pub parts_rebuilt: u64,
    /// Bytes fetched for that.
    pub bytes_fetched: u64,
    /// Tombstones stored.
    pub tombstones_stored: u64,
    /// Parts from before the server was away that were dropped.
    pub parts_dropped: u64,
    /// Keys with a version of which too few owners have a part.
    pub keys_short: u64,
    /// Keys that could not be mended now: an owner was lost, a part was damaged, no room.
    pub errors: u64,
}

/// The plan.
pub struct Repair {
    limits: Limits,
    rate: Rate,
    figures: Figures,
    sources: Sources,
    /// What lists have named and nobody has looked at yet.
    queue: VecDeque<Entry>,
    later: Later,
    /// Keys that are being looked up anew.
    looked_up: usize,
    mends: BTreeMap<MendId, Mend>,
    next_id: u64,
    actions: Vec<Action>,
    own_state: OwnState,
    is_clean: bool,
    /// This server would have to evict what it has for what it lacks.
    is_full: bool,
}

impl Repair {
    /// Nothing is to be done before a pass begins.
    ///
    /// # Panics
    /// Limits are 0 that must not be.
    pub fn new(limits: Limits) -> Repair {
        assert!(limits.keys_max > 0, "a repair that mends nothing");
        Repair {
            limits,
            rate: Rate::new(limits.bytes_per_second),
            figures: Figures::default(),
            sources: Sources::default(),
            queue: VecDeque::new(),
            later: Later::default(),
            looked_up: 0,
            mends: BTreeMap::new(),
            next_id: 0,
            actions: Vec::new(),
            own_state: OwnState::default(),
            is_clean: true,
            is_full: false,
        }
    }

    /// Begins a pass over what these servers have; an earlier one is given up.
    pub fn begin(&mut self, sources: impl IntoIterator<Item = ServerId>, own: OwnState) {
        self.sources = Sources::new(sources.into_iter(), own.is_catching_up);
        self.queue.clear();
        self.mends.clear();
        self.later = Later::default();
        self.looked_up = 0;
        (self.own_state, self.is_clean, self.is_full) = (own, true, false);
        self.actions = self.sources.greet().collect();
    }

    /// Writers of versions up to this one have ended by now; see [`OwnState::ended`].
    pub fn note_ended(&mut self, ended: Version) {
        self.own_state.ended = Some(ended);
    }

    /// This server has no room but what it evicts something for: until the pass ends nothing comes
    /// back of which it has no older version, so that no pass undoes what it has done.
    pub fn note_full(&mut self) {
        self.is_full = true;
        self.queue.retain(Entry::needs_no_room);
    }

    /// Whether that was said in the last pass.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// What was done since the plan was made.
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// The key that is being mended.
    pub fn key(&self, id: MendId) -> Option<&[u8]> {
        self.mends.get(&id).map(|mend| &*mend.entry.key)
    }

    /// How much of the pass is done, in 1024ths; `progress` tells it of a source's list.
    pub fn progress(&self, progress: impl Fn(&Cursor) -> u64) -> u64 {
        self.sources.progress(progress)
    }

    /// What is to be done now.
    pub fn step(&mut self, now: Duration) -> Step {
        if self.actions.is_empty() {
            for entry in self.later.take_due(now) {
                self.looked_up += 1;
                self.actions.push(Action::LookUp(entry));
            }
            if let Some(until) = self.begin_mends(now) {
                return Step::Wait(until);
            }
            self.ask_for_pages(now);
        }
        if !self.actions.is_empty() || !self.has_nothing_under_way() {
            return Step::Do(std::mem::take(&mut self.actions));
        }
        match self.later.next_due() {
            Some(due) => Step::Wait(due),
            None => Step::Done(self.is_clean),
        }
    }

    fn has_nothing_under_way(&self) -> bool {
        self.mends.is_empty()
            && self.queue.is_empty()
            && self.looked_up == 0
            && self.sources.have_ended()
    }

    /// Begins with as many keys as may be mended at once; or says until when none may.
    fn begin_mends(&mut self, now: Duration) -> Option<Duration> {
        let mut bytes: usize = self.mends.values().map(Mend::bytes).sum();
        while self.mends.len() < self.limits.keys_max && bytes < self.limits.bytes_max {
            if self.queue.is_empty() {
                return None;
            }
            if let Some(until) = self.rate.wait_until(now) {
                // What is under way goes on meanwhile.
                let is_idle = self.mends.is_empty() && self.actions.is_empty();
                return is_idle.then_some(until);
            }
            let entry = self.queue.pop_front()?;
            bytes += self.begin_mend(entry, now);
        }
        None
    }

    fn begin_mend(&mut self, entry: Entry, now: Duration) -> usize {
        let id = MendId(self.next_id);
        self.next_id += 1;
        let mend = Mend::new(entry, |server| self.sources.has(server));
        let (asked, bytes) = (mend.asked(), mend.bytes());
        self.rate.take(ASKED_BYTES * asked.len() as u64, now);
        self.mends.insert(id, mend);
        if asked.is_empty() {
            self.decide(id, now);
        }
        self.actions
            .extend(asked.into_iter().map(|owner| Action::Look(id, owner)));
        bytes
    }

    /// Asks for the next page of one list, unless there is enough to do.
    fn ask_for_pages(&mut self, now: Duration) {
        if !self.queue.is_empty() {
            return;
        }
        let (is_busy, entries_max) = (!self.mends.is_empty(), self.limits.entries_max);
        let ended_at_return = self.own_state.ended_at_return;
        let page = (self.sources).next_page(entries_max, is_busy, ended_at_return);
        if let Some(Action::List { .. }) = page {
            self.rate.take(ASKED_BYTES, now);
        }
        self.actions.extend(page);
    }

    /// Takes note of what has happened. What was given up is passed over.
    pub fn handle(&mut self, event: Event, now: Duration) {
        match event {
            Event::Page {
                from,
                entries,
                next,
                is_caught_up,
                forgotten,
            } => {
                let standing = (is_caught_up, forgotten);
                if self.sources.note_page(from, next, standing) {
                    self.queue_entries(entries);
                }
            }
            Event::Own(entries, is_last) => {
                self.sources.note_own_page(is_last);
                self.queue_entries(entries);
            }
            Event::LookedUp(entry) => {
                self.looked_up = self.looked_up.saturating_sub(1);
                self.queue
                    .extend(Some(entry).filter(|one| self.is_open(one)));
            }
            Event::Said(id, from, held, dropped) => {
                // Of a key that it owned all along, one that catches up tells what it has
                // forgotten.
                let is_caught_up = self.sources.is_caught_up(from) || dropped.is_some();
                let said = Said {
                    held,
                    dropped,
                    is_caught_up,
                };
                self.note_said(id, from, Some(said), now);
            }
            Event::Brought(id, from, is_whole) => self.note_brought(id, from, is_whole),
            Event::Mended(id, mended) => self.note_mended(id, mended),
            Event::Away(server) => self.note_away(server, now),
        }
    }

    fn queue_entries(&mut self, entries: Vec<Entry>) {
        self.figures.keys_examined += entries.len() as u64;
        let mut entries = entries;
        entries.retain(|entry| self.is_open(entry));
        self.queue.extend(entries);
    }

    /// Whether there may be something to mend.
    fn is_open(&self, entry: &Entry) -> bool {
        let is_behind = entry.is_unconfirmed || entry.held < Some(entry.version);
        let is_here = entry.held == Some(entry.version);
        let is_behind = is_behind || is_here && entry.listed.is_some_and(|one| entry.lacks(one));
        is_behind && (!self.is_full || entry.needs_no_room())
    }

    fn note_said(&mut self, id: MendId, from: ServerId, said: Option<Said>, now: Duration) {
        let mend = self.mends.get_mut(&id);
        let Some(mend) = mend.filter(|mend| mend.stage == Stage::Looking) else {
            return;
        };
        if mend.note(from, said) {
            self.decide(id, now);
        }
    }

    /// All owners of a key have answered.
    fn decide(&mut self, id: MendId, now: Duration) {
        let Some(mend) = self.mends.get_mut(&id) else {
            return;
        };
        match mend.decide(&self.own_state) {
            Decision::Keep => _ = self.mends.remove(&id),
            Decision::Unclear => self.fail(id),
            Decision::Young => self.look_later(id, now),
            Decision::TooFew => {
                self.figures.keys_short += 1;
                self.mends.remove(&id);
            }
            Decision::Bury(version) => {
                mend.stage = Stage::Burying;
                self.actions.push(Action::Bury(id, version));
            }
            Decision::Drop(version) => {
                mend.stage = Stage::Dropping;
                self.actions.push(Action::Drop(id, version));
            }
            Decision::Make(make) => {
                self.rate.take(make.bytes_fetched() as u64, now);
                let fetch = |from: &ServerId| Action::Fetch(id, *from, make.version);
                self.actions.extend(make.from.iter().map(fetch));
                let missing = make.from.len();
                mend.stage = Stage::Making(make, missing);
            }
        }
    }

    /// Somebody writes the key just now. It need not wait for another pass: if the write goes on,
    /// all have it in a moment.
    fn look_later(&mut self, id: MendId, now: Duration) {
        let Some(mend) = self.mends.remove(&id) else {
            return;
        };
        if !self.later.put_off(mend.entry, now) {
            self.note_failure();
        }
    }

    fn note_brought(&mut self, id: MendId, from: ServerId, is_whole: bool) {
        let Some(mend) = self.mends.get_mut(&id) else {
            return;
        };
        let Stage::Making(make, missing) = &mut mend.stage else {
            return;
        };
        if !make.from.contains(&from) || *missing == 0 {
            return;
        }
        if !is_whole {
            // Something newer has come there, or the part is damaged.
            return self.fail(id);
        }
        *missing -= 1;
        if *missing == 0 {
            self.figures.bytes_fetched += make.bytes_fetched() as u64;
            self.actions.push(Action::Make(id, make.clone()));
        }
    }

    fn fail(&mut self, id: MendId) {
        self.note_failure();
        self.mends.remove(&id);
    }

    fn note_failure(&mut self) {
        self.figures.errors += 1;
        self.is_clean = false;
    }

    fn note_mended(&mut self, id: MendId, mended: Mended) {
        if mended != Mended::Stored {
            return self.fail(id);
        }
        let figures = &mut self.figures;
        match self.mends.remove(&id).map(|mend| mend.stage) {
            Some(Stage::Making(..)) => figures.parts_rebuilt += 1,
            Some(Stage::Burying) => figures.tombstones_stored += 1,
            Some(Stage::Dropping) => figures.parts_dropped += 1,
            Some(Stage::Looking) | None => {}
        }
    }

    /// A server is gone: the others go on, and the next pass asks it from the beginning.
    fn note_away(&mut self, server: ServerId, now: Duration) {
        if !self.sources.note_away(server) {
            return;
        }
        self.note_failure();
        let under_way: Vec<MendId> = self.mends.keys().copied().collect();
        for id in under_way {
            match self.mends.get(&id).map(|mend| &mend.stage) {
                Some(Stage::Looking) => self.note_said(id, server, None, now),
                Some(Stage::Making(make, 1..)) if make.from.contains(&server) => self.fail(id),
                _ => {}
            }
        }
    }
}
