//! The thread that brings what old owners hold: it asks for the next items and stores the ones that
//! have not been decided on here.

use super::line::Line;
use super::{Home, ServerMoves};
use crate::dial::hello;
use crate::logging::EVENTS;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::course::Trouble;
use farcache_moving::figures::Cause;
use farcache_moving::{Course, KeyPlace, Pace, Stage, Step, Stream};
use farcache_peers::frame::Kind;
use farcache_peers::link::Answer;
use farcache_peers::moves::{Acknowledged, Fetch, Fetched, MovedItem, Pulled};
use farcache_session::moved_options;
use farcache_store::{Interrupt, SetOutcome, StoreHandle, Suspended};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread looks whether the server ends.
const IDLE_WAIT: Duration = Duration::from_millis(200);

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
            courses: Vec::new(),
            lines: HashMap::new(),
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

struct Mover {
    home: Arc<dyn Home>,
    store: StoreHandle,
    courses: Vec<Course>,
    lines: HashMap<ServerId, Line>,
    pace: Pace,
}

/// What came of a question.
type Asked = Result<Vec<u8>, Trouble>;

impl Mover {
    fn run(mut self) {
        let mut seen = 0;
        while !self.home.is_stopping() {
            self.follow();
            let wait = self.turn();
            self.store.park();
            if let Some(wait) = wait {
                self.moves().wait(&mut seen, wait);
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
        self.courses.retain(|course| is_listed(&course.stream));
        for stream in table.streams() {
            let mut known = self.courses.iter();
            if !known.any(|course| Arc::ptr_eq(&course.stream, stream)) {
                let now_ms = moves.now_ms();
                let course = Course::new(Arc::clone(stream), now_ms, moves.acknowledge_ms);
                self.courses.push(course);
            }
        }
        let is_in_use = |from: &ServerId| self.courses.iter().any(|it| it.stream.from == *from);
        let unused: Vec<ServerId> = self
            .lines
            .keys()
            .copied()
            .filter(|it| !is_in_use(it))
            .collect();
        unused.iter().for_each(|from| _ = self.lines.remove(from));
    }

    /// Takes one step of each stream; returns how long there is nothing to do.
    fn turn(&mut self) -> Option<Duration> {
        let mut wait = Some(IDLE_WAIT);
        for index in 0..self.courses.len() {
            let now_ms = self.moves().now_ms();
            let before = self.courses[index].stream.stage();
            let step = self.courses[index].next(now_ms);
            let paced_ms = match &step {
                Step::Pull(_) | Step::Fetch(_) => self.pace.next_ms(),
                Step::Wait(until_ms) => *until_ms,
                Step::Acknowledge => 0,
                Step::Over => u64::MAX,
            };
            if paced_ms > now_ms {
                let left = Duration::from_millis(paced_ms - now_ms);
                wait = wait.map(|wait| wait.min(left));
            } else {
                self.take(index, step);
                wait = None;
            }
            self.tell_of(index, before);
        }
        wait
    }

    fn tell_of(&self, index: usize, before: Stage) {
        let stream = &self.courses[index].stream;
        let (stage, from, epoch) = (stream.stage(), stream.from.0, stream.epoch);
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

    fn take(&mut self, index: usize, step: Step) {
        match step {
            Step::Acknowledge => self.acknowledge(index),
            Step::Pull(pull) => self.pull(index, &pull.encode()),
            Step::Fetch(key) => self.fetch(index, &key),
            Step::Wait(_) | Step::Over => {}
        }
    }

    fn acknowledge(&mut self, index: usize) {
        let asked = self.ask(index, Kind::Acknowledge, &[]);
        let said = asked.and_then(|body| Acknowledged::decode(&body).ok_or(Trouble::Silent));
        let now_ms = self.moves().now_ms();
        let course = &mut self.courses[index];
        match said {
            Ok(said) => course.on_acknowledged(said, now_ms),
            Err(trouble) => course.on_trouble(trouble, now_ms),
        }
    }

    fn pull(&mut self, index: usize, question: &[u8]) {
        let asked = self.ask(index, Kind::Pull, question);
        let pulled = match &asked {
            Ok(body) => Pulled::decode(body).ok_or(Trouble::Silent),
            Err(trouble) => Err(*trouble),
        };
        match pulled {
            Ok(Pulled { head, items }) => {
                let mut by_key = Vec::new();
                for item in &items {
                    match item.value {
                        Some(_) => self.keep(index, item),
                        None => by_key.push(item.key.to_vec()),
                    }
                }
                let stream = &self.courses[index].stream;
                by_key.retain(|key| stream.may_bring(self.place(key)));
                self.courses[index].on_pulled(head, by_key);
            }
            Err(trouble) => self.on_trouble(index, trouble),
        }
    }

    fn fetch(&mut self, index: usize, key: &[u8]) {
        let instance = self.courses[index].stream.instance();
        let question = Fetch { instance, key }.encode();
        let asked = self.ask(index, Kind::Fetch, &question);
        let fetched = match &asked {
            Ok(body) => Fetched::decode(body).ok_or(Trouble::Silent),
            Err(trouble) => Err(*trouble),
        };
        match fetched {
            Ok(fetched) => {
                if let Fetched::Item(item) = &fetched {
                    self.keep(index, item);
                }
                let is_its = fetched != Fetched::OtherInstance;
                self.courses[index].on_fetched(is_its);
            }
            Err(trouble) => self.on_trouble(index, trouble),
        }
    }

    fn on_trouble(&mut self, index: usize, trouble: Trouble) {
        let now_ms = self.moves().now_ms();
        self.courses[index].on_trouble(trouble, now_ms);
    }

    fn place(&self, key: &[u8]) -> KeyPlace {
        KeyPlace::new(hash_of_map(&self.home.map(), key), key)
    }

    /// Stores an item that has come, unless its key has been decided on.
    fn keep(&mut self, index: usize, item: &MovedItem<'_>) {
        let (place, now_ms) = (self.place(item.key), self.moves().now_ms());
        let stream = Arc::clone(&self.courses[index].stream);
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
        self.pace.spend(item.bytes() as u64, now_ms);
    }

    /// Asks the old owner of a stream.
    fn ask(&mut self, index: usize, kind: Kind, body: &[u8]) -> Asked {
        let from = self.courses[index].stream.from;
        let (map, line) = (self.home.map(), self.lines.remove(&from));
        let mut line = match line {
            Some(line) => line,
            None => self.connect(from)?,
        };
        match line.ask(kind, map.epoch().0, body) {
            Ok(answer) => {
                self.lines.insert(from, line);
                match answer {
                    Answer::Reply(reply) => Ok(reply),
                    Answer::NotOwner(_) => Err(Trouble::Refused),
                    Answer::NotDurable | Answer::TooLarge => Ok(Vec::new()),
                }
            }
            Err(error) => {
                tracing::debug!(%error, from = from.0, "a server that gives keys does not answer");
                Err(Trouble::Silent)
            }
        }
    }

    fn connect(&self, from: ServerId) -> Result<Line, Trouble> {
        let map = self.home.map();
        let (Some(me), Some(server)) = (self.home.name_in(&map), map.server(from)) else {
            return Err(Trouble::Silent);
        };
        let hello = hello(me, from, &map);
        let connected = Line::connect(&server.addresses, &hello, self.home.secret());
        connected.map_err(|(trouble, reason)| {
            tracing::info!(
                target: EVENTS, from = from.0, reason,
                "cannot reach a server that gives keys"
            );
            trouble
        })
    }
}
