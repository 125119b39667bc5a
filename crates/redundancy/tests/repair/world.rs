//! Servers, writers and what is on its way between servers that repair.

use super::reading::{self, Shown};
use super::server::{Fault, Item, KEYS, Server, item_of};
use super::writing::Writer;
use crate::random::Random;
use farcache_cluster::ServerId;
use farcache_redundancy::plan::repair::{
    Action, Cursor, Entry, Event, HeldPart, Limits, Make, MendId, Mended, OwnItems, OwnState,
    Repair, Step,
};
use farcache_redundancy::plan::{Form, WriteOutcome};
use farcache_redundancy::stored::Piece;
use farcache_redundancy::{Clock, Redundancy, SKEW_MAX, Version};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

const BEGINNING: Duration = Duration::from_secs(1_800_000_000);

/// On its way between a server that repairs and another one.
struct Message {
    /// Who repairs.
    repairer: usize,
    what: What,
}

enum What {
    Action(Action),
    Page(Page),
    Event(Event),
}

/// What a source had of some keys when it listed them.
struct Page {
    from: ServerId,
    listed: Vec<(usize, HeldPart)>,
    next: Option<Cursor>,
    is_caught_up: bool,
    forgotten: Option<Version>,
}

/// What was acknowledged last of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Acknowledged {
    version: Version,
    form: Form,
}

pub struct World {
    redundancy: Redundancy,
    fault: Option<Fault>,
    random: Random,
    servers: Vec<Server>,
    has_device: bool,
    writers: Vec<Writer>,
    clock: Clock,
    now: Duration,
    messages: Vec<Message>,
    /// What had been forgotten when the others were first asked of a key.
    asked: BTreeMap<(usize, MendId), Option<Version>>,
    acknowledged: BTreeMap<usize, Acknowledged>,
    /// Whether anything goes wrong.
    is_rough: bool,
}

impl World {
    pub fn new(redundancy: &str, seed: u64, fault: Option<Fault>) -> World {
        let redundancy: Redundancy = redundancy.parse().expect("a redundancy");
        let mut random = Random::new(seed);
        let server = |_| Server {
            is_alive: true,
            ..Server::default()
        };
        World {
            redundancy,
            fault,
            servers: (0..redundancy.owners()).map(server).collect(),
            has_device: random.once_in(2),
            writers: Vec::new(),
            clock: Clock::new(farcache_redundancy::Writer::new(1).expect("one"), SKEW_MAX),
            now: BEGINNING,
            messages: Vec::new(),
            asked: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            is_rough: true,
            random,
        }
    }

    /// Something happens.
    pub fn step(&mut self) -> Result<(), String> {
        self.now += Duration::from_millis(1);
        match self.random.below(20) {
            0 => self.crash(),
            1 | 2 => self.restart(),
            3 if self.writers.len() < 2 => self.begin_write(),
            4 => self.forget(),
            5 => return self.read(),
            6..12 => return self.step_writer(),
            _ => self.step_repair(),
        }
        Ok(())
    }

    /// Memory is short at a server. It keeps a tombstone for longer than a write takes: otherwise
    /// the horizon refuses an older write of another key, which then counts as stored there.
    fn forget(&mut self) {
        let server = self.random.below(self.servers.len());
        let key = self.random.below(KEYS);
        let oldest = self.writers.iter().map(Writer::version).min();
        self.servers[server].forget(key, oldest);
    }

    /// Servers that may have lost something.
    fn missing(&self) -> usize {
        let is_missing = |server: &&Server| !server.is_alive || server.is_catching_up;
        self.servers.iter().filter(is_missing).count()
    }

    fn crash(&mut self) {
        let number = self.random.below(self.servers.len());
        let server = &self.servers[number];
        let was_missing = !server.is_alive || server.is_catching_up;
        // A reader takes so many answers that one of them at least has missed nothing, and a writer
        // waits for as many.
        let may_be_missing = self.redundancy.owners() - self.redundancy.stored_min();
        let is_too_many = !was_missing && self.missing() >= may_be_missing;
        if !server.is_alive || is_too_many {
            return;
        }
        let kept = self.random.below(1 << KEYS);
        let has_device = self.has_device;
        self.servers[number].crash(|key| kept >> key & 1 == 1, has_device);
        self.messages.retain(|message| message.repairer != number);
        self.asked.retain(|(repairer, _), _| *repairer != number);
        for repairer in 0..self.servers.len() {
            self.lose(repairer, number);
        }
    }

    /// A repair cannot ask another server any more.
    fn lose(&mut self, repairer: usize, server: usize) {
        let id = ServerId(server as u32);
        self.messages
            .retain(|message| message.repairer != repairer || message.what.server() != Some(id));
        self.tell(repairer, Event::Away(id));
    }

    fn restart(&mut self) {
        let number = self.random.below(self.servers.len());
        if !self.servers[number].is_alive {
            let ended = self.ended();
            self.servers[number].restart(ended, self.fault);
        }
    }

    fn begin_write(&mut self) {
        let (clock, random) = (&mut self.clock, &mut self.random);
        let writer = Writer::begin(self.redundancy, &self.servers, clock, self.now, random);
        // Two writes of one key at a time may leave too few shards of either.
        if !self.writers.iter().any(|other| other.key == writer.key) {
            self.writers.push(writer);
        }
    }

    fn step_writer(&mut self) -> Result<(), String> {
        if self.writers.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.writers.len());
        let time = (&mut self.clock, self.now);
        let has_stepped = self.writers[at].step(&mut self.servers, time, &mut self.random);
        let writer = &self.writers[at];
        match writer.outcome {
            None if has_stepped => return Ok(()),
            None => return Err("a write waits for nothing".to_owned()),
            Some(WriteOutcome::Written { version, .. }) => {
                let acknowledged = Acknowledged {
                    version,
                    form: writer.form,
                };
                self.acknowledged.insert(writer.key, acknowledged);
            }
            // It may have taken effect, or half of it: nothing is known of the key until the next.
            Some(WriteOutcome::Unknown) => _ = self.acknowledged.remove(&writer.key),
            Some(outcome) => return Err(format!("a write failed: {outcome:?}")),
        }
        self.writers.swap_remove(at);
        Ok(())
    }

    fn read(&mut self) -> Result<(), String> {
        let (key, first) = (
            self.random.below(KEYS),
            self.random.below(self.servers.len()),
        );
        let before = format!("{self:?}");
        let shown = reading::read(self.redundancy, &mut self.servers, key, first, self.fault);
        let Some(acknowledged) = self.acknowledged.get(&key) else {
            return Ok(());
        };
        match shown {
            Shown::Value(version) | Shown::Deleted(version) => {
                match version >= acknowledged.version {
                    true => Ok(()),
                    false => Err(format!(
                        "key {key}: {version:?} was shown from {first}: {acknowledged:?} {before}"
                    )),
                }
            }
            // One that is under way may hide what was there.
            Shown::Nothing if acknowledged.form == Form::Tombstone || self.is_written(key) => {
                Ok(())
            }
            Shown::Nothing => Err(format!("key {key}: a miss of {acknowledged:?}; {self:?}")),
            Shown::Unavailable => Ok(()),
        }
    }

    fn is_written(&self, key: usize) -> bool {
        self.writers.iter().any(|writer| writer.key == key)
    }

    fn step_repair(&mut self) {
        let number = self.random.below(self.servers.len());
        if self.servers[number].is_alive {
            self.go_on(number);
        }
        let of_repair = self.messages.len();
        if of_repair == 0 {
            return;
        }
        let at = self.random.below(of_repair);
        let Message { repairer, what } = self.messages.swap_remove(at);
        if self.is_rough
            && self.random.once_in(60)
            && let Some(server) = what.server()
        {
            return self.lose(repairer, server.0 as usize);
        }
        match what {
            What::Event(event) => self.tell(repairer, event),
            What::Page(page) => {
                let event = self.page(repairer, page);
                self.tell(repairer, event);
            }
            What::Action(action) => self.carry_out(repairer, action),
        }
    }

    fn since_beginning(&self) -> Duration {
        self.now - BEGINNING
    }

    fn tell(&mut self, repairer: usize, event: Event) {
        let now = self.since_beginning();
        if let Some(repair) = &mut self.servers[repairer].repair {
            repair.handle(event, now);
        }
    }

    /// A server's repair begins, or does what is next.
    fn go_on(&mut self, number: usize) {
        let now = self.since_beginning();
        let others: Vec<ServerId> = (0..self.servers.len())
            .filter(|other| *other != number && self.servers[*other].is_alive)
            .map(|other| ServerId(other as u32))
            .collect();
        let passed_over = self.writers.iter().any(|writer| !writer.knows(number));
        let has_all = others.len() + 1 == self.servers.len();
        let ended = self.ended();
        let server = &mut self.servers[number];
        let Some(repair) = &mut server.repair else {
            let mut repair = Repair::new(Limits {
                entries_max: 2,
                keys_max: 2,
                ..Limits::default()
            });
            let own = OwnState {
                is_catching_up: server.is_catching_up,
                ended_at_return: server.ended_at_return,
                horizon: server.horizon,
                has_evicted: false,
                ended: Some(ended),
            };
            repair.begin(others, own);
            server.repair = Some(repair);
            // A write that has begun without this server may end after the lists.
            server.pass_counts = !passed_over;
            return;
        };
        repair.note_ended(ended);
        match repair.step(now) {
            Step::Wait(_) => {}
            Step::Do(actions) => {
                let messages = actions.into_iter().map(|action| Message {
                    repairer: number,
                    what: What::Action(action),
                });
                self.messages.extend(messages);
            }
            Step::Done(is_clean) => {
                server.repair = None;
                // What comes late belongs to a pass that is over.
                self.messages.retain(|message| message.repairer != number);
                server.passes += u32::from(is_clean);
                self.asked.retain(|(repairer, _), _| *repairer != number);
                let counts = is_clean && server.pass_counts;
                if counts && (has_all || self.random.once_in(2)) {
                    server.is_catching_up = false;
                }
            }
        }
    }

    /// Writers of versions above this one may be at work.
    fn ended(&self) -> Version {
        let oldest = self.writers.iter().map(Writer::version).min();
        let before = |version: Version| Version::from_bits(version.bits() - 1);
        let newest = Version::from_bits(i64::MAX as u64);
        oldest.map_or(newest, before).expect("a version")
    }

    fn carry_out(&mut self, repairer: usize, action: Action) {
        let what = match action {
            Action::List {
                from,
                cursor,
                entries_max,
                ..
            } => self.list(from, cursor[0].into(), entries_max),
            Action::ListOwn(items) => {
                let entries = self.own_entries(repairer, items);
                What::Event(Event::Own(entries, true))
            }
            Action::LookUp(entry) => {
                let key = entry.key[0].into();
                let item = self.servers[repairer].items.get(&key);
                let held = item.map(|item| item.version);
                What::Event(Event::LookedUp(Entry {
                    held,
                    piece: item.and_then(|item| item.piece),
                    is_unconfirmed: entry.is_unconfirmed && held == entry.held,
                    ..entry
                }))
            }
            Action::Look(id, to) => {
                let forgotten = self.servers[repairer].forgotten;
                self.asked.entry((repairer, id)).or_insert(forgotten);
                let Some(key) = self.key(repairer, id) else {
                    return;
                };
                let server = &self.servers[to.0 as usize];
                let held = server.held(key, self.redundancy);
                // The first after the one that repairs is asked in any case.
                let is_first = to.0 as usize == (repairer + 1) % self.servers.len();
                let is_heard = self.fault != Some(Fault::AsksOneOnly) || is_first;
                let held = held.filter(|_| is_heard);
                let horizon = server.told_horizon(self.fault).filter(|_| is_heard);
                let dropped = horizon.filter(|_| held.is_none());
                What::Event(Event::Said(id, to, held, dropped))
            }
            Action::Fetch(id, to, version) => {
                let Some(key) = self.key(repairer, id) else {
                    return;
                };
                let item = self.servers[to.0 as usize].items.get(&key);
                let is_there =
                    item.is_some_and(|item| item.version == version && item.piece.is_some());
                What::Event(Event::Brought(id, to, is_there))
            }
            Action::Make(id, make) => What::Event(self.make(repairer, id, &make)),
            Action::Bury(id, version) => {
                let key = self.key(repairer, id).expect("it is being mended");
                let (piece, server) = (None, &mut self.servers[repairer]);
                server.accept(key, Item { version, piece });
                What::Event(Event::Mended(id, Mended::Stored))
            }
            Action::Drop(id, version) => {
                let key = self.key(repairer, id).expect("it is being mended");
                let server = &mut self.servers[repairer];
                if server
                    .items
                    .get(&key)
                    .is_some_and(|item| item.version == version)
                {
                    server.items.remove(&key);
                    server.horizon = server.horizon.max(Some(version));
                    server.forgotten = server.forgotten.max(Some(version));
                }
                What::Event(Event::Mended(id, Mended::Stored))
            }
        };
        self.messages.push(Message { repairer, what });
    }

    fn key(&self, repairer: usize, id: MendId) -> Option<usize> {
        let key = self.servers[repairer].repair.as_ref()?.key(id)?;
        Some(key[0].into())
    }

    /// A page of so many keys; the cursor is the next key.
    fn list(&self, from: ServerId, first: usize, entries_max: u16) -> What {
        let server = &self.servers[from.0 as usize];
        let last = KEYS.min(first + usize::from(entries_max));
        let listed =
            (first..last).filter_map(|key| Some((key, server.held(key, self.redundancy)?)));
        let mut next = Cursor::default();
        next[0] = last as u8;
        What::Page(Page {
            from,
            listed: listed.collect(),
            next: (last < KEYS).then_some(next),
            is_caught_up: !server.is_catching_up,
            forgotten: server.told_horizon(self.fault),
        })
    }

    fn page(&self, repairer: usize, page: Page) -> Event {
        let entries = page.listed.into_iter();
        let entries = entries.map(|(key, held)| self.entry(repairer, key, held, false));
        Event::Page {
            from: page.from,
            entries: entries.collect(),
            next: page.next,
            is_caught_up: page.is_caught_up,
            forgotten: page.forgotten,
        }
    }

    fn entry(&self, repairer: usize, key: usize, held: HeldPart, is_own: bool) -> Entry {
        let owners = 0..self.servers.len() as u32;
        let server = &self.servers[repairer];
        Entry {
            key: [key as u8].into(),
            version: held.version,
            listed: held.part.map(|part| part.piece),
            value_bytes: held.part.map_or(0, |part| part.value_bytes),
            owners: owners.map(ServerId).collect(),
            me: repairer,
            held: server.items.get(&key).map(|item| item.version),
            piece: server.items.get(&key).and_then(|item| item.piece),
            is_unconfirmed: is_own,
            was_owner: false,
        }
    }

    fn own_entries(&self, number: usize, items: OwnItems) -> Vec<Entry> {
        let (server, ended) = (&self.servers[number], self.ended());
        let is_settled = |version| items == OwnItems::AllSettled && version <= ended;
        if self.fault == Some(Fault::TrustsOldContent) {
            return Vec::new();
        }
        let own = (0..KEYS).filter_map(|key| Some((key, server.held(key, self.redundancy)?)));
        let own = own.filter(|(_, held)| held.part.is_some());
        let own =
            own.filter(|(_, held)| server.is_unconfirmed(held.version) || is_settled(held.version));
        own.map(|(key, held)| self.entry(number, key, held, true))
            .collect()
    }

    fn make(&mut self, repairer: usize, id: MendId, make: &Make) -> Event {
        let key = self.key(repairer, id).expect("it is being mended");
        let asked = self.asked.get(&(repairer, id)).copied().flatten();
        let piece = match (self.fault, make.piece) {
            (Some(Fault::MakesShardZero), Piece::Shard { scheme, .. }) => {
                Piece::Shard { scheme, shard: 0 }
            }
            (_, piece) => piece,
        };
        let item = Item {
            version: make.version,
            piece: Some(piece),
        };
        let is_there = self.servers[repairer].restore(key, item, asked, self.fault);
        let mended = if is_there {
            Mended::Stored
        } else {
            Mended::Refused
        };
        Event::Mended(id, mended)
    }

    /// Nothing goes wrong any more, all are back and have repaired: what is there then.
    pub fn settle(&mut self) -> Result<(), String> {
        self.is_rough = false;
        for server in 0..self.servers.len() {
            if !self.servers[server].is_alive {
                let ended = self.ended();
                self.servers[server].restart(ended, self.fault);
            }
        }
        let mut steps = 0;
        while !self.writers.is_empty() {
            self.step_writer()?;
            self.step_repair();
            steps += 1;
            if steps > 100_000 {
                return Err("writes do not end".to_owned());
            }
        }
        self.servers.iter_mut().for_each(|server| server.passes = 0);
        let has_ended = |server: &Server| !server.is_catching_up && server.passes > 2;
        while !self.servers.iter().all(has_ended) {
            self.now += Duration::from_millis(1);
            self.step_repair();
            steps += 1;
            if steps > 1_000_000 {
                return Err(format!("repair does not end: {self:?}"));
            }
        }
        (0..KEYS).try_for_each(|key| self.check(key))
    }

    fn check(&self, key: usize) -> Result<(), String> {
        let Some(expected) = self.acknowledged.get(&key) else {
            return Ok(());
        };
        for (number, server) in self.servers.iter().enumerate() {
            let item = server.items.get(&key);
            let part = expected.form.part_at(number);
            let wanted = item_of(self.redundancy, expected.version, part);
            let is_right = match item {
                None => expected.form == Form::Tombstone,
                Some(item) => *item == wanted,
            };
            if !is_right {
                return Err(format!(
                    "key {key}: server {number} has {item:?} for {expected:?}; {self:?}"
                ));
            }
        }
        Ok(())
    }
}

impl What {
    /// The other server that it comes from or goes to.
    fn server(&self) -> Option<ServerId> {
        match self {
            What::Action(Action::List { from, .. }) | What::Page(Page { from, .. }) => Some(*from),
            What::Action(Action::Look(_, to) | Action::Fetch(_, to, _)) => Some(*to),
            What::Event(Event::Said(_, from, ..) | Event::Brought(_, from, _)) => Some(*from),
            _ => None,
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, server) in self.servers.iter().enumerate() {
            let Server {
                is_alive,
                is_catching_up,
                unconfirmed,
                items,
                horizon,
                forgotten,
                repair,
                passes,
                ..
            } = server;
            let figures = repair.as_ref().map(Repair::figures);
            write!(
                out,
                "\nserver {number}: alive {is_alive}, catching up {is_catching_up}, unconfirmed \
                 {unconfirmed:?}, horizon {horizon:?}, forgotten {forgotten:?}, {passes} \
                 passes, {figures:?}, {items:?}"
            )?;
        }
        Ok(())
    }
}
