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
//! | `mend` | one key: what its owners have, and what this server makes of that |
//! | `rate` | how fast it goes |
//! | `later` | keys that are looked at again, as somebody writes them just now |
//!
//! Whoever runs it keeps the bytes and knows the map: it says of each entry of a page who owns the
//! key and what this server has.

mod later;
mod mend;
mod rate;

pub use mend::{HeldPart, PartInfo, Said};

use crate::Version;
use crate::stored::{HEADER_BYTES, Piece};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use later::Later;
use mend::{Decision, Mend, Stage};
use rate::Rate;
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

/// Where a source's list goes on; it means something to the source only.
pub type Cursor = [u8; 16];

/// A key of which a list tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Box<[u8]>,
    /// The version that the list names.
    pub version: Version,
    /// Length of the value, 0 of a tombstone.
    pub value_bytes: u32,
    /// Its owners by the map, in the ring's order.
    pub owners: ArrayVec<ServerId, OWNERS_MAX>,
    /// Which of them this server is.
    pub me: usize,
    /// The version that this server has, a tombstone's included.
    pub held: Option<Version>,
    /// Which part that is, where it is known.
    pub piece: Option<Piece>,
    /// This server has it from before it was away: it may have been overwritten or deleted since.
    pub is_unconfirmed: bool,
}

impl Entry {
    /// Whether this server has an older version, or gets a tombstone only.
    fn needs_no_room(&self) -> bool {
        self.held.is_some() || self.value_bytes == 0
    }
}

/// A plan's name for a key that is being mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MendId(pub u64);

/// A part to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Make {
    /// Of this version.
    pub version: Version,
    /// Which part.
    pub piece: Piece,
    /// Length of the whole value.
    pub value_bytes: u32,
    /// Whose parts it is made of.
    pub from: ArrayVec<ServerId, OWNERS_MAX>,
}

impl Make {
    fn part_bytes(&self) -> usize {
        let value_bytes = self.value_bytes as usize;
        HEADER_BYTES
            + match self.piece {
                Piece::Copy => value_bytes,
                Piece::Shard { scheme, .. } => scheme.shard_bytes(value_bytes),
            }
    }

    fn bytes_fetched(&self) -> usize {
        self.part_bytes() * self.from.len()
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A source is to be asked for a page: [`Event::Page`] or [`Event::Away`].
    List {
        /// Whom to ask.
        from: ServerId,
        /// Where its list goes on; zeros are the beginning.
        cursor: Cursor,
        /// Only what was read since it was stored.
        used_only: bool,
        /// About how many entries; with 0 only the source's state is of interest.
        entries_max: u16,
    },
    /// The next page of what this server has from before it was away: [`Event::Own`].
    ListOwn,
    /// What this server has of the key is to be looked up anew: [`Event::LookedUp`].
    LookUp(Entry),
    /// An owner is to be asked what it has of the key: [`Event::Said`].
    Look(MendId, ServerId),
    /// An owner is to be asked for its part of this version, whole: [`Event::Brought`].
    Fetch(MendId, ServerId, Version),
    /// The part is to be made of what was brought, and stored if it is newer: [`Event::Mended`].
    Make(MendId, Make),
    /// A tombstone of this version is to be stored if it is newer: [`Event::Mended`].
    Bury(MendId, Version),
    /// What this server has is to be removed if it is of this version: [`Event::Mended`].
    Drop(MendId, Version),
}

/// How mending a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mended {
    /// The part is there, or something newer is.
    Stored,
    /// It cannot be stored now: there is no room, or something was forgotten meanwhile.
    Refused,
    /// What was brought is damaged, or does not fit together.
    Damaged,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A page has come, of which the entries count whose key this server owns.
    Page {
        /// Who has sent it.
        from: ServerId,
        /// What it lists.
        entries: Vec<Entry>,
        /// Where the next page begins; none where that was the last.
        next: Option<Cursor>,
        /// Whether the source has caught up.
        is_caught_up: bool,
    },
    /// What this server has from before it was away, and whether that was the last page.
    Own(Vec<Entry>, bool),
    /// A key with what this server has of it now.
    LookedUp(Entry),
    /// What an owner has of a key.
    Said(MendId, ServerId, Option<HeldPart>, Option<Version>),
    /// An owner has brought its part of the version that was asked for; or (false) it has it no
    /// longer, or damaged.
    Brought(MendId, ServerId, bool),
    /// A key has been dealt with.
    Mended(MendId, Mended),
    /// A server cannot be asked any more: what it was asked gets no answer.
    Away(ServerId),
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This; there may be nothing to be done before the next event.
    Do(Vec<Action>),
    /// Nothing before this time.
    Wait(Duration),
    /// The pass has ended. Whether nothing was left undone that another pass could do now.
    Done(bool),
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

/// How this server stands when a pass begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnState {
    /// It may lack what it has acknowledged, or have what was overwritten.
    pub is_catching_up: bool,
    /// Up to which version it has forgotten keys.
    pub horizon: Option<Version>,
    /// It has evicted values: what it lacks may be among them, and need not come back.
    pub has_evicted: bool,
    /// Writers of versions above this one may still be at work, and go above what too few have
    /// accepted; none where no writer is.
    pub ended: Option<Version>,
}

impl OwnState {
    /// Whether whoever wrote this version has given up or been acknowledged.
    fn has_ended(&self, version: Version) -> bool {
        self.ended.is_none_or(|ended| version <= ended)
    }

    /// Whether the server lacks this version because it has forgotten it, or something newer.
    /// Where many have it, nothing newer was acknowledged.
    fn has_forgotten(&self, version: Version, holders_are_few: bool) -> bool {
        let is_below = !self.is_catching_up && self.horizon >= Some(version);
        is_below && (self.has_evicted || holders_are_few)
    }
}

struct Source {
    server: ServerId,
    cursor: Cursor,
    used_only: bool,
    is_caught_up: bool,
    state: SourceState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceState {
    /// It has not answered yet in this pass.
    Greeted,
    Open,
    /// A page is on its way.
    Asked,
    Ended,
    Away,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Open,
    Asked,
    Ended,
}

/// The plan.
pub struct Repair {
    limits: Limits,
    rate: Rate,
    figures: Figures,
    sources: Vec<Source>,
    own: Own,
    /// What lists have named and nobody has looked at yet.
    queue: VecDeque<Entry>,
    later: Later,
    /// Keys that are being looked up anew.
    looked_up: usize,
    /// Whose list was asked for last, and whether for what is used only.
    listing: Option<(ServerId, bool)>,
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
            sources: Vec::new(),
            own: Own::Ended,
            queue: VecDeque::new(),
            later: Later::default(),
            looked_up: 0,
            listing: None,
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
        let sources = sources.into_iter().map(|server| Source {
            server,
            cursor: Cursor::default(),
            used_only: true,
            is_caught_up: false,
            state: SourceState::Greeted,
        });
        self.sources = sources.collect();
        self.own = if own.is_catching_up {
            Own::Open
        } else {
            Own::Ended
        };
        self.queue.clear();
        self.mends.clear();
        self.later = Later::default();
        (self.looked_up, self.listing) = (0, None);
        (self.own_state, self.is_clean, self.is_full) = (own, true, false);
        // All of them first: what one has forgotten counts only if it has caught up.
        let greet = self.sources.iter().map(|source| Action::List {
            from: source.server,
            cursor: source.cursor,
            used_only: true,
            entries_max: 0,
        });
        self.actions = greet.collect();
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
        let of_one = |source: &Source| match source.state {
            SourceState::Ended | SourceState::Away => 1024,
            _ if source.used_only => progress(&source.cursor) / 8,
            _ => 128 + progress(&source.cursor) * 7 / 8,
        };
        let sum: u64 = self.sources.iter().map(of_one).sum();
        match self.sources.len() as u64 {
            0 => 1024,
            count => sum / count,
        }
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
            && self.own == Own::Ended
            && self.sources.iter().all(Source::has_ended)
    }

    fn knows_sources(&self) -> bool {
        let is_greeted = |source: &Source| source.state == SourceState::Greeted;
        !self.sources.iter().any(is_greeted)
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
        let sources = &self.sources;
        let is_there = |server| {
            sources
                .iter()
                .any(|one| one.server == server && !one.is_away())
        };
        let mend = Mend::new(entry, is_there);
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
        let is_one_on_its_way = self.own == Own::Asked
            || self
                .sources
                .iter()
                .any(|one| one.state == SourceState::Asked);
        if is_one_on_its_way || !self.queue.is_empty() || !self.knows_sources() {
            return;
        }
        // What a page names is looked for here when it comes, so what other lists have named is to
        // be here by then. A list names each key once.
        let is_busy = !self.mends.is_empty();
        let listing = self.listing;
        // What is read often first, of all sources.
        let open = self.sources.iter_mut();
        let open = open.filter(|one| one.state == SourceState::Open);
        if let Some(source) = open.min_by_key(|source| !source.used_only) {
            let next = Some((source.server, source.used_only));
            if is_busy && next != listing {
                return;
            }
            source.state = SourceState::Asked;
            self.listing = next;
            self.rate.take(ASKED_BYTES, now);
            self.actions.push(Action::List {
                from: source.server,
                cursor: source.cursor,
                used_only: source.used_only,
                entries_max: self.limits.entries_max,
            });
        } else if self.own == Own::Open && !is_busy {
            self.own = Own::Asked;
            self.actions.push(Action::ListOwn);
        }
    }

    /// Takes note of what has happened. What was given up is passed over.
    pub fn handle(&mut self, event: Event, now: Duration) {
        match event {
            Event::Page {
                from,
                entries,
                next,
                is_caught_up,
            } => self.note_page(from, entries, (next, is_caught_up)),
            Event::Own(entries, is_last) => {
                self.own = if is_last { Own::Ended } else { Own::Open };
                self.queue_entries(entries);
            }
            Event::LookedUp(entry) => {
                self.looked_up = self.looked_up.saturating_sub(1);
                self.queue
                    .extend(Some(entry).filter(|one| self.is_open(one)));
            }
            Event::Said(id, from, held, dropped) => {
                let is_caught_up = self.is_caught_up(from);
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

    fn source(&mut self, server: ServerId) -> Option<&mut Source> {
        self.sources.iter_mut().find(|one| one.server == server)
    }

    fn is_caught_up(&self, server: ServerId) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|one| one.server == server && one.is_caught_up)
    }

    fn note_page(
        &mut self,
        from: ServerId,
        entries: Vec<Entry>,
        (next, is_caught_up): (Option<Cursor>, bool),
    ) {
        let Some(source) = self.source(from) else {
            return;
        };
        source.is_caught_up = is_caught_up;
        match (source.state, next) {
            // It was asked for its state only.
            (SourceState::Greeted, _) => return source.state = SourceState::Open,
            (SourceState::Asked, _) => {}
            _ => return,
        }
        source.state = SourceState::Open;
        match next {
            Some(next) => source.cursor = next,
            None if source.used_only => {
                (source.used_only, source.cursor) = (false, Cursor::default());
            }
            None => source.state = SourceState::Ended,
        }
        self.queue_entries(entries);
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
        let Some(source) = self.source(server).filter(|one| !one.is_away()) else {
            return;
        };
        source.state = SourceState::Away;
        source.is_caught_up = false;
        self.is_clean = false;
        self.figures.errors += 1;
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

impl Source {
    fn is_away(&self) -> bool {
        self.state == SourceState::Away
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, SourceState::Ended | SourceState::Away)
    }
}
