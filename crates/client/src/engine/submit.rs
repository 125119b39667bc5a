//! An operation becomes a packet in its server's queue.

use super::checks::{SEVERAL_PLACES, check, check_key, is_of_plan};
use super::server::Stage;
use super::slots::NO_DEADLINE;
use super::ticket::{self, BATCH_KEYS_MAX, Named, QUIET};
use super::{Action, Engine, Ticket, encode, micros};
use crate::completion::Completion;
use crate::operation::{Delivery, Front, Operation, Route};
use crate::store::Value;
use crate::values::{Entry, Place, Values};
use crate::{Error, Item};
use farcache_base::version::Version;
use farcache_fabric::bytes::{SendBytes, zeroed_memory};
use farcache_proto::binary::{Placed, Told};
use std::collections::VecDeque;

/// Keys of a multi-get, by their numbers in order, that were got in another way.
pub(crate) type Elsewhere = VecDeque<(usize, Result<Option<Item>, Error>)>;

impl Engine {
    /// Takes an operation. It ends in time, whatever happens; one that cannot be sent at all has
    /// ended when this returns.
    ///
    /// # Panics
    /// Four million operations are under way.
    pub fn submit(
        &mut self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
        now_us: u64,
    ) -> Ticket {
        self.now_us = self.now_us.max(now_us);
        let timeout_us = delivery.timeout.map_or(self.settings.timeout_us, micros);
        let deadline_us = now_us.saturating_add(timeout_us).min(NO_DEADLINE - 1);
        let slot = self.slots.take(deadline_us);
        let slot = slot.expect("fewer than four million operations are under way");
        let opaque = self.slots.opaque(slot);
        match self.server_of(&operation, delivery.route) {
            Ok(server) => {
                let placed = match delivery.route {
                    Route::Owner(_, placed) => Some(placed),
                    _ => None,
                };
                self.enqueue(operation, (server, placed), slot, opaque);
            }
            Err(error) => self.refuse(operation, slot, error),
        }
        Ticket(opaque)
    }

    /// Sends an operation of which nobody wants to know how it ends: a store, a deletion, counting
    /// or a flush.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn submit_quietly(
        &mut self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
        now_us: u64,
    ) -> Result<(), Error> {
        self.now_us = self.now_us.max(now_us);
        let Some(opcode) = encode::quiet(encode::opcode(&operation)) else {
            return Err(Error::InvalidArguments("this operation needs an answer"));
        };
        let server = self.server_of(&operation, delivery.route)?;
        if value_bytes(&operation) > self.settings.eager_bytes_max {
            let ticket = self.submit(operation, delivery, now_us);
            self.abandon(ticket);
            return Ok(());
        }
        let packets = self.servers[server].outgoing.packets();
        encode::head(&operation, opcode, (QUIET, Told::default()), packets);
        if let Operation::Store(store) = &operation {
            packets.extend_from_slice(store.value.as_slice());
        }
        self.list(server);
        Ok(())
    }

    /// Takes note of an operation that is carried out elsewhere, to be fetched like any other when
    /// it has ended.
    ///
    /// # Panics
    /// Four million operations are under way.
    pub(crate) fn submit_elsewhere(&mut self) -> Ticket {
        let slot = self.slots.take(NO_DEADLINE);
        let slot = slot.expect("fewer than four million operations are under way");
        Ticket(self.slots.opaque(slot))
    }

    /// Such an operation has ended.
    pub(crate) fn ended_elsewhere(&mut self, ticket: Ticket, completion: Completion) {
        let Named::Single { slot, .. } = ticket::named(ticket.0) else {
            return;
        };
        let state = self.slots.at(slot);
        state.outcome = Some(completion.outcome);
        state.lent = completion.lent;
        state.returns_lent = true;
        state.room = completion.unused;
        self.slots.settle(slot);
    }

    /// Takes a multi-get of up to 65,536 keys. `values` is cleared and comes back with the result.
    ///
    /// # Panics
    /// There are more keys, or 8192 multi-gets are under way.
    pub fn submit_get_many<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        values: Values,
        delivery: Delivery<'_>,
        now_us: u64,
    ) -> Ticket {
        self.submit_get_rest(keys, values, delivery, now_us, Elsewhere::new())
    }

    /// Takes a multi-get of which some keys were got elsewhere, and are not asked for.
    ///
    /// # Panics
    /// There are more keys, or 8192 multi-gets are under way.
    pub(crate) fn submit_get_rest<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        mut values: Values,
        delivery: Delivery<'_>,
        now_us: u64,
        mut elsewhere: Elsewhere,
    ) -> Ticket {
        assert!(keys.len() <= BATCH_KEYS_MAX, "too many keys");
        self.now_us = self.now_us.max(now_us);
        values.clear();
        let timeout_us = delivery.timeout.map_or(self.settings.timeout_us, micros);
        let deadline_us = now_us.saturating_add(timeout_us).min(NO_DEADLINE - 1);
        let batch = self.batches.take(values, deadline_us);
        let batch = batch.expect("fewer than 8192 multi-gets are under way");
        let opaque = self.batches.opaque(batch);
        // One more than there are, so that it is not complete before the last has been looked at.
        self.batches.at(batch).missing = keys.len() + 1;
        let mut failed = 0;
        for (number, key) in keys.iter().enumerate() {
            if elsewhere.front().is_some_and(|(of, _)| *of == number) {
                let (_, got) = elsewhere.pop_front().expect("looked at");
                self.batches.at(batch).values.push_got(got);
                failed += 1;
                continue;
            }
            let server = self.server_of_get(key.as_ref(), delivery.route);
            let entry = Entry {
                place: Place::Awaited,
                server: *server.as_ref().unwrap_or(&0) as u32,
                flags: 0,
                cas: 0,
            };
            let values = &mut self.batches.at(batch).values;
            values.entries.push(entry);
            match server {
                Ok(server) => self.enqueue_get(key.as_ref(), server, opaque + number as u32),
                Err(error) => {
                    values.fail(number, error);
                    failed += 1;
                }
            }
        }
        self.batches.known(batch, failed + 1);
        Ticket(opaque)
    }

    fn enqueue_get(&mut self, key: &[u8], server: usize, opaque: u32) {
        let to = &mut self.servers[server];
        encode::get(key, opaque, to.outgoing.packets());
        self.expect_answer(server);
    }

    /// The server of an operation, if it can be sent there.
    fn server_of(&mut self, operation: &Operation<'_>, route: Route<'_>) -> Result<usize, Error> {
        check(operation)?;
        let key = encode::key(operation);
        // One of many places is not asked for the key as if it were the only one.
        if !is_of_plan(operation) && key.is_some_and(|key| !self.settings.is_single(key)) {
            return Err(SEVERAL_PLACES);
        }
        self.route(encode::key(operation), route)
    }

    fn server_of_get(&mut self, key: &[u8], route: Route<'_>) -> Result<usize, Error> {
        check_key(key)?;
        if !self.settings.is_single(key) {
            return Err(SEVERAL_PLACES);
        }
        self.route(Some(key), route)
    }

    fn route(&mut self, key: Option<&[u8]>, route: Route<'_>) -> Result<usize, Error> {
        let server = match (route, key) {
            (Route::Server(server) | Route::Owner(server, _), _) if server < self.servers.len() => {
                server
            }
            (Route::Server(_) | Route::Owner(..), _) => {
                return Err(Error::InvalidArguments("there is no such server"));
            }
            // Nothing to choose; the hash costs as much as the rest of a small get.
            (Route::Group(_) | Route::Key, Some(_)) if self.servers.len() == 1 => 0,
            (Route::Group(key), _) | (Route::Key, Some(key)) => {
                let server = self.routing.server_of_key(key);
                server.ok_or(Error::NoServers)?
            }
            (Route::Key, None) => {
                return Err(Error::InvalidArguments("this operation needs a server"));
            }
        };
        if !self.servers[server].is_connected() {
            self.approach(server)?;
        }
        Ok(server)
    }

    /// Ends a server's rest after a failure: the next operation tries it.
    pub(crate) fn end_rest(&mut self, server: usize) {
        if let Stage::Resting { until_us } = &mut self.servers[server].stage {
            *until_us = 0;
        }
    }

    /// Which attempt to connect to a server was the newest: while that stays, the server is the same
    /// process.
    pub(crate) fn attempt(&self, server: usize) -> u64 {
        self.servers[server].attempt
    }

    /// Begins a connection where there is none.
    pub(super) fn approach(&mut self, server: usize) -> Result<(), Error> {
        match self.servers[server].stage {
            Stage::Resting { until_us } if self.now_us < until_us => Err(Error::ServerDead),
            Stage::Idle | Stage::Resting { .. } => {
                self.attempts += 1;
                let attempt = self.attempts;
                self.servers[server].stage = Stage::Connecting { attempt };
                self.servers[server].attempt = attempt;
                self.servers[server].heard_us = self.now_us;
                self.actions.push_back(Action::Connect { server, attempt });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn enqueue(
        &mut self,
        operation: Operation<'_>,
        (server, placed): (usize, Option<Placed>),
        slot: usize,
        opaque: u32,
    ) {
        let opcode = encode::opcode(&operation);
        let to = &mut self.servers[server];
        let told = match encode::tells_of_versions(opcode) {
            true => Told {
                complete: to.untold.take().map_or(0, Version::bits),
                placed,
            },
            false => Told::default(),
        };
        let outgoing = &mut to.outgoing;
        let at = outgoing.packets().len();
        encode::head(&operation, opcode, (opaque, told), outgoing.packets());
        let state = self.slots.at(slot);
        state.opcode = opcode;
        state.server = server;
        state.answer_due = true;
        match operation {
            Operation::Get { into, .. }
            | Operation::GetAndTouch { into, .. }
            | Operation::GetVersioned { into, .. }
            | Operation::GetSpread { into, .. } => {
                state.room = Some(into);
            }
            Operation::GetPart { into, .. } => state.parts = Some((into, Front::new())),
            Operation::Store(store) => {
                state.returns_lent = matches!(store.value, Value::Lent(_));
                match large(store.value, self.settings.eager_bytes_max) {
                    Ok(body) => {
                        state.held += 1;
                        self.leaving += 1;
                        outgoing.attach(at, body, u64::from(opaque));
                    }
                    Err(small) => {
                        outgoing.packets().extend_from_slice(small.as_slice());
                        state.lent = lent(small);
                    }
                }
            }
            _ => {}
        }
        self.expect_answer(server);
    }

    /// One more answer is to come from this server.
    pub(super) fn expect_answer(&mut self, server: usize) {
        let from = &mut self.servers[server];
        if from.outstanding == 0 {
            // Silence counts from here: before, there was nothing to say.
            from.heard_us = self.now_us;
        }
        from.outstanding += 1;
        self.outstanding += 1;
        self.question.is_due = true;
        self.list(server);
    }

    /// Ends an operation that is not sent.
    fn refuse(&mut self, operation: Operation<'_>, slot: usize, error: Error) {
        let state = self.slots.at(slot);
        state.outcome = Some(Err(error));
        match operation {
            Operation::Get { into, .. }
            | Operation::GetAndTouch { into, .. }
            | Operation::GetVersioned { into, .. }
            | Operation::GetSpread { into, .. } => {
                state.room = Some(into);
            }
            Operation::Store(store) => {
                state.lent = lent(store.value);
                state.returns_lent = true;
            }
            _ => {}
        }
        self.slots.settle(slot);
    }

    /// Takes note that something waits for this server.
    pub(super) fn list(&mut self, server: usize) {
        let to = &mut self.servers[server];
        if !to.is_listed {
            to.is_listed = true;
            self.listed.push(server);
        }
    }
}

/// The value as one that is sent from where it lies, if it is larger than `eager_bytes_max`.
fn large(value: Value<'_>, eager_bytes_max: usize) -> Result<SendBytes, Value<'_>> {
    if value.as_slice().len() <= eager_bytes_max {
        return Err(value);
    }
    Ok(match value {
        Value::Copied(bytes) => {
            let mut copy = zeroed_memory(bytes.len());
            copy.copy_from_slice(bytes);
            copy.into()
        }
        Value::Lent(bytes) => bytes,
    })
}

fn lent(value: Value<'_>) -> Option<SendBytes> {
    match value {
        Value::Copied(_) => None,
        Value::Lent(bytes) => Some(bytes),
    }
}

fn value_bytes(operation: &Operation<'_>) -> usize {
    match operation {
        Operation::Store(store) => store.value.as_slice().len(),
        _ => 0,
    }
}
