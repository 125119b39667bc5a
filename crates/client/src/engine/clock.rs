//! Time limits.

use super::Engine;
use super::server::Stage;
use super::slots;
use crate::Error;
use crate::values::Place;

impl Engine {
    /// Ends what has taken too long.
    pub fn tick(&mut self, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
        self.expire_greetings();
        let mut from = 0;
        while let Some(index) = self.slots.next_expired(from, self.now_us) {
            self.expire(index);
            from = index + 1;
        }
        for index in 0..self.batches.len() {
            if self.batches.at(index).deadline_us <= self.now_us {
                self.expire_batch(index);
            }
        }
        self.restore_removed();
        self.look_for_map();
    }

    /// When [`Engine::tick`] next has something to do; [`u64::MAX`] for never.
    #[must_use]
    pub fn deadline_us(&self) -> u64 {
        let greetings = self.servers.iter().map(|server| match server.stage {
            Stage::Greeting { until_us, .. } => until_us,
            _ => u64::MAX,
        });
        let greeting = greetings.min().unwrap_or(u64::MAX);
        let operation = self.slots.deadline_us();
        greeting.min(operation).min(self.batches.deadline_us())
    }

    fn expire_greetings(&mut self) {
        for server in 0..self.servers.len() {
            match self.servers[server].stage {
                Stage::Greeting { until_us, .. } if until_us <= self.now_us => {
                    self.greeting_expired(server);
                }
                _ => {}
            }
        }
    }

    /// Ends one operation. Its session ends with it where the server has been silent for as long as
    /// the operation was allowed to take, or where nothing else gives back what the network holds.
    fn expire(&mut self, index: usize) {
        let slot = self.slots.at(index);
        let (server, held) = (slot.server, slot.held);
        slot.outcome.get_or_insert(Err(Error::Timeout));
        self.slots.forget_deadline(index);
        self.slots.settle(index);
        if held > 0 || self.is_silent(server) {
            self.end_session(server, &silence());
        }
    }

    /// Ends a multi-get, and the sessions of the servers that have not answered.
    fn expire_batch(&mut self, index: usize) {
        let batch = self.batches.at(index);
        batch.deadline_us = slots::NO_DEADLINE;
        let mut servers: Vec<u32> = Vec::new();
        let mut failed = 0;
        for key in 0..batch.values.entries.len() {
            let entry = &batch.values.entries[key];
            match entry.place {
                Place::Awaited => {
                    servers.push(entry.server);
                    batch.values.fail(key, Error::Timeout);
                    failed += 1;
                }
                Place::Arriving => servers.push(entry.server),
                _ => {}
            }
        }
        if failed > 0 {
            self.batches.known(index, failed);
        }
        servers.sort_unstable();
        servers.dedup();
        for server in servers {
            self.end_session(server as usize, &silence());
        }
    }

    fn is_silent(&self, server: usize) -> bool {
        let silent_us = self.now_us.saturating_sub(self.servers[server].heard_us);
        silent_us >= self.settings.timeout_us
    }
}

fn silence() -> Error {
    Error::ConnectionLost("the server did not answer another request in time".into())
}
