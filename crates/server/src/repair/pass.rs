//! One pass: the plan's actions carried out. What other servers are asked is on its way to all of
//! them while this one makes and stores parts, and what they answer is looked at when it comes.

use super::making::{self, Brought, Making};
use super::sources::{Received, Sources};
use crate::parts::owned::Widest;
use crate::parts::replies::{self, Reply};
use crate::shared::Shared;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_peers::link::Answer;
use farcache_peers::listing::{Inquiry, read_page};
use farcache_redundancy::plan::repair::{
    Action, Entry, Event, HeldPart, Make, MendId, Mended, OwnItems, OwnState, PartInfo, Repair,
    Step,
};
use farcache_redundancy::stored::{HEADER_BYTES, Header, Piece};
use farcache_redundancy::{Ticks, Version, Writer};
use farcache_store::{Access, Forgotten, Listed, ScanCursor, StoreHandle, Suspended};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Items of this server that are looked at at a time.
const OWN_PAGE_ITEMS: usize = 128;

/// After so long whoever writes has been acknowledged or has given up: somewhat more than the time
/// that an operation of a client may take unless told otherwise.
const WRITES_END: Duration = Duration::from_secs(6);

/// Longest sleep before it is looked whether the server ends.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// What another server was asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    Page,
    Look(MendId),
    Fetch(MendId, Version),
}

/// What a pass works with.
pub struct Pass<'a> {
    pub shared: &'a Shared,
    pub plan: &'a mut Repair,
    pub handle: &'a mut StoreHandle,
    pub making: &'a mut Making,
    pub map: Arc<ClusterMap>,
    pub me: ServerId,
    pub is_catching_up: bool,
    ended_at_return: Version,
    sources: Sources<Asked>,
    widest: Widest,
    own: ScanCursor,
    mends: HashMap<MendId, UnderWay>,
    evictions: u64,
}

/// What is kept of a key that is being mended.
struct UnderWay {
    forgotten: Forgotten,
    brought: Vec<Brought>,
}

/// Versions up to this one are so old that their writers have ended.
pub fn ended() -> Version {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let then = now.unwrap_or_default().saturating_sub(WRITES_END);
    Version::new(Ticks::at_unix(then), Writer::FIRST)
}

impl<'a> Pass<'a> {
    /// Nothing has been asked.
    pub fn new(
        shared: &'a Shared,
        plan: &'a mut Repair,
        handle: &'a mut StoreHandle,
        making: &'a mut Making,
        (map, me, sources): (Arc<ClusterMap>, ServerId, Sources<Asked>),
        ended_at_return: Version,
    ) -> Pass<'a> {
        let store = handle.store();
        Pass {
            is_catching_up: store.is_catching_up(),
            ended_at_return,
            evictions: store.stats().evictions,
            shared,
            plan,
            handle,
            making,
            map,
            me,
            sources,
            widest: Widest::default(),
            own: ScanCursor::default(),
            mends: HashMap::new(),
        }
    }

    /// Runs to its end: whether nothing was left undone; none where the server ends. `report` is
    /// told how much is done, in 1024ths.
    ///
    /// # Errors
    /// This server's devices cannot be read at all.
    pub fn run(&mut self, mut report: impl FnMut(&Repair, u64)) -> io::Result<Option<bool>> {
        let started = Instant::now();
        let own = OwnState {
            is_catching_up: self.is_catching_up,
            ended_at_return: Some(self.ended_at_return),
            horizon: self.handle.store().horizon(),
            has_evicted: self.evictions > 0,
            ended: Some(ended()),
        };
        self.plan.begin(self.sources.ids(), own);
        loop {
            if self.shared.is_stopping() {
                return Ok(None);
            }
            self.handle.set_now(self.shared.clock().now);
            let now = started.elapsed();
            self.plan.note_ended(ended());
            match self.plan.step(now) {
                Step::Wait(until) => {
                    self.handle.park();
                    std::thread::sleep((until.saturating_sub(now)).min(SLEEP_MAX));
                }
                Step::Do(actions) if !actions.is_empty() => self.carry_out_all(actions, started)?,
                // Nothing is on its way that could bring an event.
                Step::Do(_) if !self.sources.are_awaited() => return Ok(Some(false)),
                Step::Do(_) => self.receive(started)?,
                Step::Done(is_clean) => return Ok(Some(is_clean)),
            }
            report(self.plan, self.plan.progress(progress));
        }
    }

    fn carry_out_all(&mut self, actions: Vec<Action>, started: Instant) -> io::Result<()> {
        let mut events = Vec::new();
        let (asks, own): (Vec<Action>, Vec<Action>) = actions.into_iter().partition(is_ask);
        for ask in asks {
            self.ask(&ask, &mut events);
        }
        events.extend(self.sources.flush().into_iter().map(Event::Away));
        for action in own {
            self.carry_out(action, &mut events)?;
            self.handle.quiescent();
        }
        self.note(events, started);
        Ok(())
    }

    fn receive(&mut self, started: Instant) -> io::Result<()> {
        // A thread that waits must not keep others from using memory again.
        self.handle.park();
        let Received { answers, lost } = self.sources.receive(SLEEP_MAX)?;
        let mut events = Vec::with_capacity(answers.len());
        for (from, asked, answer) in answers {
            let event = self.event(from, asked, answer)?;
            events.push(event.unwrap_or(Event::Away(from)));
            self.handle.quiescent();
        }
        events.extend(lost.into_iter().map(Event::Away));
        self.note(events, started);
        Ok(())
    }

    fn note(&mut self, events: Vec<Event>, started: Instant) {
        for event in events {
            if let Event::Away(server) = event {
                self.sources.leave(server);
            }
            self.plan.handle(event, started.elapsed());
        }
        let plan = &self.plan;
        self.mends.retain(|id, _| plan.key(*id).is_some());
    }

    fn ask(&mut self, action: &Action, events: &mut Vec<Event>) {
        let (to, asked, request) = match *action {
            Action::List {
                from,
                cursor,
                used_only,
                entries_max,
            } => {
                let asker = self.me.0;
                let inquiry = Inquiry {
                    cursor,
                    asker,
                    entries_max,
                    used_only,
                };
                (from, Asked::Page, replies::list(&inquiry))
            }
            Action::Look(id, to) => {
                let forgotten = self.handle.forgotten();
                self.mends.entry(id).or_insert_with(|| UnderWay {
                    forgotten,
                    brought: Vec::new(),
                });
                let key = self.plan.key(id).unwrap_or_default();
                (to, Asked::Look(id), replies::get(key, HEADER_BYTES))
            }
            Action::Fetch(id, to, version) => {
                let key = self.plan.key(id).unwrap_or_default();
                (to, Asked::Fetch(id, version), replies::get(key, usize::MAX))
            }
            _ => return,
        };
        if !self.sources.ask(to, asked, &request) {
            events.push(Event::Away(to));
        }
    }

    /// What an answer means to the plan; none where it makes no sense.
    fn event(&mut self, from: ServerId, asked: Asked, answer: Answer) -> io::Result<Option<Event>> {
        let Answer::Reply(bytes) = answer else {
            return Ok(None);
        };
        if let Asked::Fetch(id, version) = asked {
            let brought = Brought::new(bytes, version);
            let is_whole = brought.is_some();
            if let Some(under_way) = self.mends.get_mut(&id) {
                under_way.brought.extend(brought);
            }
            return Ok(Some(Event::Brought(id, from, is_whole)));
        }
        let Ok(reply) = Reply::read(&bytes) else {
            return Ok(None);
        };
        Ok(match asked {
            Asked::Page => self.page(from, &reply)?,
            Asked::Look(id) | Asked::Fetch(id, _) => {
                let held = reply.held().ok();
                held.map(|(held, dropped)| Event::Said(id, from, held, dropped))
            }
        })
    }

    fn page(&mut self, from: ServerId, reply: &Reply<'_>) -> io::Result<Option<Event>> {
        let Some((head, listed)) = Some(reply)
            .filter(|reply| reply.is_success())
            .and_then(|reply| read_page(reply.value).ok())
        else {
            return Ok(None);
        };
        let mut entries = Vec::with_capacity(listed.len());
        for one in &listed {
            let part = one
                .part
                .map(|part| (part.piece, part.owners, part.value_bytes));
            let Some(version) = Version::from_bits(one.version) else {
                continue;
            };
            if let Some(entry) = self.entry(one.key, version, part, None)? {
                entries.push(entry);
            }
        }
        self.note_if_full();
        Ok(Some(Event::Page {
            from,
            entries,
            next: head.goes_on.then_some(head.next),
            is_caught_up: head.is_caught_up,
            forgotten: Version::from_bits(head.horizon),
        }))
    }

    /// What a list has named, if this server is an owner of it.
    fn entry(
        &mut self,
        key: &[u8],
        version: Version,
        part: Option<([u8; 3], u8, u32)>,
        own: Option<HeldPart>,
    ) -> io::Result<Option<Entry>> {
        let owners = part.map_or(self.widest.get(), |(_, owners, _)| owners.into());
        self.widest.note(owners);
        let located = self.map.locate(key, owners);
        let me = located.iter().position(|owner| *owner == self.me);
        // With fewer owners than parts nobody could say which part is whose.
        let Some(me) = me.filter(|_| part.is_none() || located.len() == owners) else {
            return Ok(None);
        };
        let (held, piece) = match own {
            Some(own) => (Some(own.version), own.part.map(|part| part.piece)),
            None => self.handle.run_blocking(|handle| held_here(handle, key))?,
        };
        Ok(Some(Entry {
            key: key.into(),
            version,
            listed: part.and_then(|(numbers, ..)| Piece::from_numbers(numbers)),
            value_bytes: part.map_or(0, |(_, _, bytes)| bytes),
            owners: located.iter().copied().collect(),
            me,
            held,
            piece,
            is_unconfirmed: own.is_some(),
            was_owner: self.was_owner(key, owners),
        }))
    }

    fn carry_out(&mut self, action: Action, events: &mut Vec<Event>) -> io::Result<()> {
        match action {
            Action::ListOwn(items) => events.push(self.list_own(items)?),
            Action::LookUp(entry) => events.push(Event::LookedUp(self.looked_up(entry)?)),
            Action::Make(id, make) => {
                let mended = self.make(id, &make)?;
                events.push(Event::Mended(id, mended));
            }
            Action::Bury(id, version) => {
                let key = self.plan.key(id).unwrap_or_default();
                events.push(Event::Mended(id, making::bury(self.handle, key, version)?));
            }
            Action::Drop(id, version) => {
                let key = self.plan.key(id).unwrap_or_default();
                let mended = making::discard(self.handle, key, version)?;
                events.push(Event::Mended(id, mended));
            }
            Action::List { .. } | Action::Look(..) | Action::Fetch(..) => {}
        }
        Ok(())
    }

    /// A key with what this server has of it now.
    fn looked_up(&self, entry: Entry) -> io::Result<Entry> {
        let (held, piece) = self
            .handle
            .run_blocking(|handle| held_here(handle, &entry.key))?;
        Ok(Entry {
            held,
            piece,
            is_unconfirmed: entry.is_unconfirmed && held == entry.held,
            ..entry
        })
    }

    fn make(&mut self, id: MendId, make: &Make) -> io::Result<Mended> {
        let Some(under_way) = self.mends.remove(&id) else {
            return Ok(Mended::Damaged);
        };
        let key = self.plan.key(id).unwrap_or_default();
        let when = (under_way.forgotten, self.shared.clock());
        self.making
            .store(self.handle, key, make, under_way.brought, when)
    }

    /// A page of what this server has itself.
    fn list_own(&mut self, items: OwnItems) -> io::Result<Event> {
        let (mut listed, mut cursor, ended) = (Vec::new(), self.own, ended());
        let is_settled = |version| items == OwnItems::AllSettled && version <= ended;
        let goes_on = self.handle.run_blocking(|handle| {
            listed.clear();
            handle.scan_versions(&mut cursor, OWN_PAGE_ITEMS, &mut |item| {
                if is_settled(item.version) {
                    listed.extend(own_part(item));
                } else if handle.is_unconfirmed(item.version) {
                    listed.extend(own_part(item).filter(|own| !self.has_owned(own)));
                }
            })
        })?;
        self.handle.quiescent();
        self.own = cursor;
        let mut entries = Vec::with_capacity(listed.len());
        for (key, held, part) in listed {
            entries.extend(self.entry(&key, held.version, Some(part), Some(held))?);
        }
        Ok(Event::Own(entries, !goes_on))
    }

    /// Whether this server was an owner of a key all along, though it catches up.
    fn was_owner(&self, key: &[u8], owners: usize) -> bool {
        let earlier = self.shared.earlier().filter(|_| self.is_catching_up);
        earlier.is_some_and(|it| it.has_owned(key, owners, None))
    }

    /// Whether a part counts although it is from before: this server was an owner of its key.
    fn has_owned(&self, (key, held, (_, owners, _)): &Own) -> bool {
        let earlier = self.shared.earlier();
        earlier.is_some_and(|it| it.has_owned(key, (*owners).into(), Some(held.version)))
    }

    /// Where something had to be evicted for what came back, nothing more comes back in its place.
    fn note_if_full(&mut self) {
        if self.handle.store().stats().evictions > self.evictions {
            self.plan.note_full();
        }
    }
}

/// The version that this server has of a key, and which part of it where that is a value.
fn held_here(
    handle: &StoreHandle,
    key: &[u8],
) -> Result<(Option<Version>, Option<Piece>), Suspended> {
    if let Some(item) = handle.get(key, Access::Peek)?
        && let Some(version) = item.version()
    {
        let header = Header::decode(item.value()).ok();
        return Ok((Some(version), header.map(|header| header.piece)));
    }
    Ok((handle.held_version(key)?, None))
}

/// A part that this server has.
type Own = (Box<[u8]>, HeldPart, ([u8; 3], u8, u32));

fn own_part(item: &Listed<'_>) -> Option<Own> {
    let header = Header::decode(item.value?).ok()?;
    let (version, owners) = (item.version, header.owners() as u8);
    let part = PartInfo {
        piece: header.piece,
        owners,
        value_bytes: header.value_bytes,
    };
    let held = HeldPart {
        version,
        part: Some(part),
    };
    let numbers = (header.piece.numbers(), owners, header.value_bytes);
    Some((item.key.into(), held, numbers))
}

fn is_ask(action: &Action) -> bool {
    matches!(
        action,
        Action::List { .. } | Action::Look(..) | Action::Fetch(..)
    )
}

/// How much of a list lies before a cursor, in 1024ths.
fn progress(cursor: &[u8; ScanCursor::BYTES]) -> u64 {
    ScanCursor::decode(*cursor).map_or(0, ScanCursor::progress)
}
