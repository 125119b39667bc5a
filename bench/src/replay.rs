//! A trace played against a server as a cache is used: get, and set what was not there.

use crate::load::connection::{Connection, Pending};
use crate::load::keys::KeyId;
use crate::load::measurement::Stopwatch;
use crate::load::protocol::{Operation, Renderer};
use crate::load::runner::Plan;
use crate::load::scanner::Outcome;
use std::io;

/// Requests sent together. Two requests of one batch for the same absent key both miss; with
/// popular keys cached that is too rare to matter, and the same for every server.
const BATCH: usize = 64;

/// What a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Hits {
    /// Keys asked for.
    pub requests: u64,
    /// Keys found.
    pub hits: u64,
    /// Values that the server refused to store.
    pub refused: u64,
}

impl Hits {
    /// Hits over requests.
    pub fn ratio(&self) -> f64 {
        self.hits as f64 / self.requests.max(1) as f64
    }
}

/// Plays `requests` of the trace, and counts the hits of those after the first `warmup`.
///
/// # Errors
/// Those of the connection, and wrong replies.
pub fn replay(
    plan: &Plan,
    trace: impl Iterator<Item = KeyId>,
    requests: usize,
    warmup: usize,
) -> io::Result<Hits> {
    let mut player = Player {
        connection: Connection::new(plan.target.connect()?, plan.scanner()),
        renderer: plan.renderer(),
        clock: Stopwatch::start(),
        missed: Vec::new(),
        hits: Hits::default(),
    };
    let mut trace = trace.take(requests);
    let mut played = 0;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        batch.extend(trace.by_ref().take(BATCH));
        if batch.is_empty() {
            return Ok(player.hits);
        }
        player.play(&batch)?;
        let before = played;
        played += batch.len();
        if before < warmup && played >= warmup {
            player.hits = Hits::default();
        }
    }
}

struct Player {
    connection: Connection,
    renderer: Renderer,
    clock: Stopwatch,
    missed: Vec<KeyId>,
    hits: Hits,
}

impl Player {
    fn play(&mut self, batch: &[KeyId]) -> io::Result<()> {
        for &id in batch {
            let pending = Pending {
                operation: Operation::Get(id),
                since_ns: 0,
            };
            self.connection
                .queue(pending, |buffer| self.renderer.get(id, buffer));
        }
        self.exchange()?;
        for id in std::mem::take(&mut self.missed) {
            let pending = Pending {
                operation: Operation::Set(id),
                since_ns: 0,
            };
            self.connection
                .queue(pending, |buffer| self.renderer.set(id, buffer));
        }
        self.exchange()
    }

    fn exchange(&mut self) -> io::Result<()> {
        self.connection.send()?;
        let (missed, hits) = (&mut self.missed, &mut self.hits);
        let mut note = |pending: Pending, outcome: Outcome, _| match pending.operation {
            Operation::Get(id) => {
                hits.requests += 1;
                hits.hits += u64::from(outcome.hits);
                if outcome.hits == 0 {
                    missed.push(id);
                }
            }
            _ => hits.refused += u64::from(!outcome.stored),
        };
        while self.connection.outstanding() > 0 {
            self.connection.receive(&self.clock, &mut note)?;
        }
        Ok(())
    }
}
