//! One pass: the plan's actions carried out. What other servers are asked is on its way to all of
//! them while this one makes and stores parts, and what they answer is looked at when it comes.

use super::here::Here;
use super::making::{self, Brought, Making};
use super::sources::{Received, Sources};
use crate::parts::replies::{self, Reply};
use crate::shared::Shared;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_peers::link::Answer;
use farcache_peers::listing::{Inquiry, read_page};
use farcache_redundancy::plan::repair::{
    Action, Event, Make, MendId, Mended, OwnState, Repair, Step,
};
use farcache_redundancy::stored::HEADER_BYTES;
use farcache_redundancy::{Ticks, Version, Writer};
use farcache_store::{Forgotten, ScanCursor, StoreHandle};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    shared: &'a Shared,
    plan: &'a mut Repair,
    handle: &'a mut StoreHandle,
    making: &'a mut Making,
    here: Here<'a>,
    ended_at_return: Version,
    sources: Sources<Asked>,
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
            here: Here::new(shared, (map, me), store.is_catching_up()),
            ended_at_return,
            evictions: store.stats().evictions,
            shared,
            plan,
            handle,
            making,
            sources,
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
            is_catching_up: self.here.is_catching_up(),
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
                let asker = self.here.id().0;
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
            let named = (one.key, version, part);
            entries.extend(self.here.entry(self.handle, named, None)?);
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

    fn carry_out(&mut self, action: Action, events: &mut Vec<Event>) -> io::Result<()> {
        match action {
            Action::ListOwn(items) => events.push(self.here.list(self.handle, items, ended())?),
            Action::LookUp(entry) => {
                let entry = self.here.looked_up(self.handle, entry)?;
                events.push(Event::LookedUp(entry));
            }
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

    fn make(&mut self, id: MendId, make: &Make) -> io::Result<Mended> {
        let Some(under_way) = self.mends.remove(&id) else {
            return Ok(Mended::Damaged);
        };
        let key = self.plan.key(id).unwrap_or_default();
        let when = (under_way.forgotten, self.shared.clock());
        self.making
            .store(self.handle, key, make, under_way.brought, when)
    }

    /// Where something had to be evicted for what came back, nothing more comes back in its place.
    fn note_if_full(&mut self) {
        if self.handle.store().stats().evictions > self.evictions {
            self.plan.note_full();
        }
    }
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
