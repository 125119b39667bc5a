//! The thread that brings what old owners hold: it asks for the next items and stores the ones that
//! have not been decided on here.

use super::ahead::Ahead;
use super::line::Line;
use super::source::Source;
use super::{Home, ServerMoves};
use crate::logging::EVENTS;
use farcache_cluster::map::{Epoch, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::course::{Asked, Trouble};
use farcache_moving::figures::Cause;
use farcache_moving::{Course, KeyPlace, Pace, Stage, Step, Stream};
use farcache_peers::moves::{Acknowledged, Fetched, MovedItem, Pulled};
use farcache_session::moved_options;
use farcache_store::{Interrupt, SetOutcome, StoreHandle, Suspended};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the thread looks whether the server ends.
const IDLE_WAIT: Duration = Duration::from_millis(200);
/// How often it looks whether another map has come, while it waits for answers.
const ANSWER_WAIT: Duration = Duration::from_millis(20);

/// Starts it.
///
/// # Errors
/// When threads are exhausted.
pub fn start(home: Arc<dyn Home>) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("mover".to_owned());
    thread.spawn(move || {
        let store = home.store();
        store.let_requests_await_room();
        let mover = Mover {
            pace: Pace::new(home.move_rate()),
            sources: Vec::new(),
            ahead: Ahead::default(),
            shared_by: None,
            store,
            home,
        };
        mover.run();
    })
}

/// A key's hash by this map; any where it places no keys.
fn hash_of_map(map: &ClusterMap, key: &[u8]) -> u32 {
    map.hash_of_key(key).unwrap_or(0)
}

/// How many servers take from this one by the map.
fn takers(map: &ClusterMap, from: ServerId) -> u64 {
    let moves = map.content().moves.iter();
    let given = moves.filter(|it| it.from == from && it.phase == Phase::Streaming);
    given.map(|it| it.to).collect::<BTreeSet<_>>().len() as u64
}

struct Mover {
    home: Arc<dyn Home>,
    store: StoreHandle,
    sources: Vec<Source>,
    ahead: Ahead,
    pace: Pace,
    /// Epoch of the map by which the old owners' paces have been shared.
    shared_by: Option<Epoch>,
}

impl Mover {
    fn run(mut self) {
        let mut seen = 0;
        while !self.home.is_stopping() {
            self.follow();
            let wait = self.ask();
            self.store.park();
            let awaits = |source: &Source| source.line().is_some_and(Line::awaits_answers);
            match self.sources.iter().any(awaits) {
                true => self.hear(wait.min(ANSWER_WAIT)),
                false => self.moves().wait(&mut seen, wait),
            }
        }
    }

    fn moves(&self) -> Arc<ServerMoves> {
        Arc::clone(self.home.moves())
    }

    /// Takes up streams that have begun, and drops those that have ended.
    fn follow(&mut self) {
        let (moves, table) = (self.moves(), self.moves().taking.table());
        let is_listed =
            |stream: &Arc<Stream>| table.streams().iter().any(|it| Arc::ptr_eq(it, stream));
        self.sources.retain(|source| is_listed(source.stream()));
        for stream in table.streams() {
            let mut known = self.sources.iter();
            if !known.any(|source| Arc::ptr_eq(source.stream(), stream)) {
                let now_ms = moves.now_ms();
                let course = Course::new(Arc::clone(stream), now_ms, moves.acknowledge_ms);
                let way = self.ahead.take(stream.from);
                self.sources.push(Source::new(course, way));
                self.shared_by = None;
            }
        }
        self.ahead.follow(&*self.home);
        self.share();
    }

    /// Gives each stream its part of what its old owner may send each second, as much as a server
    /// may take: those that take from it by the map have equal parts.
    fn share(&mut self) {
        let map = self.home.map();
        if self.shared_by.replace(map.epoch()) == Some(map.epoch()) {
            return;
        }
        let rate = self.home.move_rate();
        for source in &mut self.sources {
            let takers = takers(&map, source.stream().from);
            let part = rate.div_ceil(takers.max(1));
            source.course.set_share(part);
        }
    }

    /// Asks all that may be asked now; returns how long there is nothing more to ask.
    fn ask(&mut self) -> Duration {
        let waits = (0..self.sources.len()).map(|index| self.ask_one(index));
        waits.min().unwrap_or(IDLE_WAIT).min(IDLE_WAIT)
    }

    fn ask_one(&mut self, index: usize) -> Duration {
        let before = self.sources[index].stream().stage();
        if let Err(trouble) = self.sources[index].go_on(&*self.home) {
            self.on_trouble(index, trouble);
            self.tell_of(index, before);
        }
        loop {
            let (now_ms, before) = (self.moves().now_ms(), self.sources[index].stream().stage());
            let source = &mut self.sources[index];
            let step = source.course.next(now_ms, &mut self.pace);
            let asked = source.ask(&step, &*self.home);
            if let Err(trouble) = asked {
                self.on_trouble(index, trouble);
            }
            self.tell_of(index, before);
            match step {
                Step::Wait(until_ms) => return Duration::from_millis(until_ms - now_ms),
                Step::Over => {
                    self.sources[index].close();
                    return IDLE_WAIT;
                }
                _ => {}
            }
        }
    }

    /// Waits for answers, and takes those that have come.
    fn hear(&mut self, wait: Duration) {
        let lines = self.sources.iter().enumerate();
        let lines = lines.filter_map(|(index, source)| Some((index, source.line()?)));
        let (indexes, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = lines
            .map(|(index, line)| (index, PollFd::new(line, PollFlags::IN)))
            .unzip();
        let wait = Timespec::try_from(wait).ok();
        // Where it is interrupted nothing has come.
        let _ = poll(&mut polled, wait.as_ref());
        let is_ready = |line: &PollFd<'_>| !line.revents().is_empty();
        let ready: Vec<bool> = polled.iter().map(is_ready).collect();
        for (index, is_ready) in indexes.into_iter().zip(ready) {
            let before = self.sources[index].stream().stage();
            if is_ready {
                self.hear_one(index);
            } else if self.sources[index].is_silent(Instant::now()) {
                self.on_trouble(index, Trouble::Silent);
            }
            self.tell_of(index, before);
        }
    }

    fn hear_one(&mut self, index: usize) {
        let (bodies, trouble) = self.sources[index].hear();
        let taken = bodies.iter().try_for_each(|body| self.take(index, body));
        if let Some(trouble) = taken.err().or(trouble) {
            self.on_trouble(index, trouble);
        }
    }

    fn tell_of(&self, index: usize, before: Stage) {
        let stream = self.sources[index].stream();
        let (stage, from, epoch) = (stream.stage(), stream.from.0, stream.epoch);
        if before == Stage::Awaiting && stage != before {
            self.home.decides();
            // The standoff leaves those alone that are asked here.
            self.home.moves().wake();
        }
        match (before, stage) {
            (Stage::Awaiting, Stage::Moving) => tracing::info!(
                target: EVENTS, from, epoch,
                "the old owner has acknowledged: this server decides on the keys that move"
            ),
            (Stage::Awaiting | Stage::Moving, Stage::Done) => {
                tracing::info!(target: EVENTS, from, epoch, "all that moved has come");
            }
            (Stage::Awaiting | Stage::Moving, Stage::Lost) => tracing::warn!(
                target: EVENTS, from, epoch,
                "nothing more comes of keys that move: what is not here counts as absent"
            ),
            _ => {}
        }
    }

    /// Takes the answer to the first question under way.
    fn take(&mut self, index: usize, body: &[u8]) -> Result<(), Trouble> {
        let taken = match self.sources[index].course.awaited() {
            Some(Asked::Acknowledge) => self.acknowledged(index, body),
            Some(Asked::Pull) => self.pulled(index, body),
            Some(Asked::Fetch) => self.fetched(index, body),
            None => None,
        };
        // What makes no sense ends the connection.
        taken.ok_or(Trouble::Silent)
    }

    fn acknowledged(&mut self, index: usize, body: &[u8]) -> Option<()> {
        let said = Acknowledged::decode(body)?;
        let now_ms = self.moves().now_ms();
        self.sources[index].course.on_acknowledged(said, now_ms);
        let from = self.sources[index].stream().from;
        if self
            .moves()
            .taking
            .table()
            .on_acknowledged(from, said.epoch, now_ms)
        {
            self.home.decides();
        }
        Some(())
    }

    fn pulled(&mut self, index: usize, body: &[u8]) -> Option<()> {
        let Pulled { head, items } = Pulled::decode(body)?;
        let stream = Arc::clone(self.sources[index].stream());
        let mut by_key = Vec::new();
        for item in &items {
            match item.value {
                Some(_) => self.keep(&stream, item),
                None if stream.may_bring(self.place(item.key)) => by_key.push(item.key.to_vec()),
                None => {}
            }
        }
        let came = items.iter().filter(|item| item.value.is_some());
        let bytes = came.map(|item| item.bytes() as u64).sum();
        let now_ms = self.moves().now_ms();
        let course = &mut self.sources[index].course;
        course.on_pulled(head, by_key, (bytes, now_ms), &mut self.pace);
        Some(())
    }

    fn fetched(&mut self, index: usize, body: &[u8]) -> Option<()> {
        let fetched = Fetched::decode(body)?;
        let mut bytes = 0;
        if let Fetched::Item(item) = &fetched {
            let stream = Arc::clone(self.sources[index].stream());
            self.keep(&stream, item);
            bytes = item.bytes() as u64;
        }
        let is_its = fetched != Fetched::OtherInstance;
        let now_ms = self.moves().now_ms();
        let course = &mut self.sources[index].course;
        course.on_fetched(is_its, (bytes, now_ms), &mut self.pace);
        Some(())
    }

    fn on_trouble(&mut self, index: usize, trouble: Trouble) {
        let now_ms = self.moves().now_ms();
        self.sources[index].on_trouble(trouble, now_ms, &mut self.pace);
    }

    fn place(&self, key: &[u8]) -> KeyPlace {
        KeyPlace::new(hash_of_map(&self.home.map(), key), key)
    }

    /// Stores an item that has come, unless its key has been decided on.
    fn keep(&mut self, stream: &Stream, item: &MovedItem<'_>) {
        let (place, now_ms) = (self.place(item.key), self.moves().now_ms());
        let clock = self.home.clock();
        self.store.set_now(clock.now);
        let options = moved_options(item, clock.now);
        let value = item.value.unwrap_or_default();
        let instance = stream.instance();
        // Locked only while nothing is waited for: workers settle keys under the same locks.
        let stored = self.store.run_blocking(|store| {
            let stored = stream.admit(place, instance, || store.set(item.key, value, &options));
            match stored {
                Some(Err(Interrupt::Suspended(suspended))) => Err::<_, Suspended>(suspended),
                Some(Ok(SetOutcome::Stored { .. })) => Ok(true),
                _ => Ok(false),
            }
        });
        self.store.quiescent();
        stream.figures.note(Cause::Sweep, item.bytes(), now_ms);
        if !matches!(stored, Ok(true)) {
            stream.figures.note_refused();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_take_from_a_server_are_counted_once_each() {
        let text = "farcache-cluster-map 1\ncluster c\nepoch 1\nplacement slots\n\
            server 1 incarnation=1 weight=1 zone=- state=serving addresses=h1:1\n\
            server 2 incarnation=1 weight=1 zone=- state=serving addresses=h2:1\n\
            server 3 incarnation=1 weight=1 zone=- state=joining addresses=h3:1\n\
            slots 1 0-8191\nslots 2 8192-12287\nslots 3 12288-16383\n\
            move from=1 to=2 phase=streaming\narc 80000000-8fffffff\n\
            move from=1 to=3 phase=streaming\narc c0000000-c00000ff\n\
            move from=2 to=3 phase=handing-over\narc d0000000-d00000ff\nend\n";
        let map: ClusterMap = text.parse().expect("a map");
        assert_eq!(takers(&map, ServerId(1)), 2);
        assert_eq!(takers(&map, ServerId(2)), 0);
    }
}
