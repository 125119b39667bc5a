//! The thread that asks servers which may still decide on this server's keys, by an older map,
//! which map they go by. Nobody decides until they have said so, so it waits for none of them
//! while others answer.

use super::line::Line;
use super::{Home, ServerMoves};
use crate::dial::hello;
use crate::logging::EVENTS;
use farcache_cluster::ServerId;
use farcache_moving::Predecessor;
use farcache_moving::course::Trouble;
use farcache_peers::frame::Kind;
use farcache_peers::link::Answer;
use farcache_peers::moves::Acknowledged;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the thread looks whether the server ends.
const IDLE_WAIT: Duration = Duration::from_millis(200);

/// How many servers are asked at one time.
const ASKED_AT_ONCE: usize = 32;

/// Starts it.
///
/// # Errors
/// When threads are exhausted.
pub fn start(home: Arc<dyn Home>) -> io::Result<JoinHandle<()>> {
    let standoff = Standoff {
        home,
        lines: Mutex::default(),
    };
    let thread = thread::Builder::new().name("standoff".to_owned());
    thread.spawn(move || standoff.run())
}

struct Standoff {
    home: Arc<dyn Home>,
    lines: Mutex<BTreeMap<ServerId, Line>>,
}

/// One server with all that it may still decide on.
type Asked = (ServerId, Vec<Arc<Predecessor>>);

impl Standoff {
    fn run(self) {
        let mut seen = 0;
        let mut were_awaited = false;
        while !self.home.is_stopping() {
            let (due, wait) = self.due();
            if !due.is_empty() {
                self.ask_all(due);
            }
            let are_awaited = self.moves().taking.table().awaits_predecessors();
            if std::mem::replace(&mut were_awaited, are_awaited) && !are_awaited {
                // Where their right has ended nobody has told.
                self.home.decides();
                tracing::info!(target: EVENTS, "nobody decides on its keys by an older map");
                self.lines().clear();
            }
            self.moves().wait(&mut seen, wait);
        }
    }

    fn moves(&self) -> &ServerMoves {
        self.home.moves()
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, BTreeMap<ServerId, Line>> {
        self.lines.lock().expect("no panic while held")
    }

    /// Whom to ask now, and for how long nobody else is to be asked.
    fn due(&self) -> (Vec<Asked>, Duration) {
        let (now_ms, table) = (self.moves().now_ms(), self.moves().taking.table());
        let mut due = BTreeMap::<ServerId, Vec<Arc<Predecessor>>>::new();
        let mut wait = IDLE_WAIT;
        for predecessor in table.predecessors() {
            match predecessor.ask_at_ms(now_ms) {
                // The mover asks it, and tells when it has stopped asking.
                Some(_) if table.asks(predecessor.server) => {
                    let left_ms = predecessor.over_at_ms.saturating_sub(now_ms);
                    wait = wait.min(Duration::from_millis(left_ms));
                }
                Some(at_ms) if at_ms <= now_ms => {
                    let of_it = due.entry(predecessor.server).or_default();
                    of_it.push(Arc::clone(predecessor));
                }
                Some(at_ms) => wait = wait.min(Duration::from_millis(at_ms - now_ms)),
                None => {}
            }
        }
        if !due.is_empty() {
            wait = Duration::ZERO;
        }
        (due.into_iter().collect(), wait)
    }

    fn ask_all(&self, due: Vec<Asked>) {
        let at_once = due.len().min(ASKED_AT_ONCE);
        let waiting = Mutex::new(due.into_iter());
        let next = || waiting.lock().expect("no panic while held").next();
        thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| {
                    while let Some((server, predecessors)) = next() {
                        self.ask(server, &predecessors);
                    }
                });
            }
        });
    }

    fn ask(&self, server: ServerId, predecessors: &[Arc<Predecessor>]) {
        let is_own = self.home.name_in(&self.home.map()) == Some(server);
        let said = (!is_own).then(|| self.acknowledged(server));
        let now_ms = self.moves().now_ms();
        for predecessor in predecessors {
            let said = match &said {
                Some(said) => said.as_ref().map(|said| said.epoch).map_err(|it| *it),
                None => self.void_missed(predecessor.epoch),
            };
            match said {
                Ok(epoch) => predecessor.on_acknowledged(epoch, now_ms),
                Err(trouble) => predecessor.on_trouble(trouble, now_ms),
            }
        }
        if predecessors.iter().any(|it| it.has_stopped()) {
            self.home.decides();
        }
    }

    /// By which map this server goes, which has missed one and so is one of its own predecessors.
    fn void_missed(&self, epoch: u64) -> Result<u64, Trouble> {
        match self.home.void_missed(epoch) {
            true => Ok(epoch),
            false => Err(Trouble::Refused),
        }
    }

    fn acknowledged(&self, server: ServerId) -> Result<Acknowledged, Trouble> {
        let epoch = self.home.map().epoch().0;
        let line = self.lines().remove(&server);
        let mut line = match line {
            Some(line) => line,
            None => self.connect(server)?,
        };
        let answer = line.ask(Kind::Acknowledge, epoch, &[]);
        match answer.map_err(|_| Trouble::Silent)? {
            Answer::Reply(said) => {
                self.lines().insert(server, line);
                Acknowledged::decode(&said).ok_or(Trouble::Silent)
            }
            _ => Err(Trouble::Refused),
        }
    }

    fn connect(&self, server: ServerId) -> Result<Line, Trouble> {
        let map = self.home.map();
        let (Some(me), Some(other)) = (self.home.name_in(&map), map.server(server)) else {
            // The new map is about to come into force.
            return Err(Trouble::Refused);
        };
        let hello = hello(me, server, &map);
        let connected = Line::connect(&other.addresses, &hello, self.home.secret());
        connected.map_err(|(trouble, reason)| {
            tracing::debug!(server = server.0, reason, "cannot ask a server for its map");
            trouble
        })
    }
}
