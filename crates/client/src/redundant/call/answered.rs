//! What comes of a plan's requests.

use super::{Call, Patience, REST_PAUSE, UnderWay};
use crate::Error;
use crate::connections::Submitted;
use crate::redundant::is_of_other_owners;
use farcache_cluster::ServerId;
use farcache_redundancy::plan::{self, Event, Question};
use std::time::Instant;

impl Call {
    /// The next answer, once it is there.
    pub(super) fn next_event(&mut self, patience: Patience) -> Result<Option<Event>, Error> {
        loop {
            if self.under_way.is_empty() {
                return Err(Error::Protocol("a plan that waits for nothing"));
            }
            let at = match patience {
                Patience::Waits => {
                    let tickets = self.under_way().map(Submitted::ticket);
                    self.redundant.connections.wait_any(tickets)
                }
                Patience::Looks => match self.under_way().position(Submitted::is_complete) {
                    Some(at) => at,
                    None => return Ok(None),
                },
            };
            let one = self.under_way.swap_remove(at);
            if let Some(event) = self.answered(one)? {
                return Ok(Some(event));
            }
        }
    }

    /// What the plan is told of a request that has ended; nothing where it is made again.
    fn answered(&mut self, one: UnderWay) -> Result<Option<Event>, Error> {
        let UnderWay {
            request,
            asked,
            attempt,
            owners_sum,
            repeated,
        } = one;
        let is_of_these = owners_sum == self.placed.sum;
        match request.wait() {
            Ok(reply) => {
                self.redundant.availability.note_down(asked.to, false);
                let is_late = || Instant::now() >= self.deadline;
                let reply = self.cargo.take(&asked, reply, is_late)?;
                if is_of_these && matches!(reply, plan::Reply::Stored { .. }) {
                    self.note_accepted(asked.to, attempt);
                }
                Ok(Some(Event::Reply(asked.id, reply)))
            }
            Err(error) if self.redundant.follows_map && is_of_other_owners(&error) => {
                match is_of_these {
                    true => self.find_owners(asked, repeated),
                    false => Ok(Some(Event::Lost(asked.id))),
                }
            }
            Err(error) => self.failed(&asked, error).map(Some),
        }
    }

    /// A server gives the key to others. Where it has a newer map the plan goes on by that one;
    /// else the request is made again, until the server knows of it, too.
    fn find_owners(&mut self, asked: plan::Request, repeated: u32) -> Result<Option<Event>, Error> {
        let left = self.time_left()();
        if left.is_zero() {
            return Err(Error::Timeout);
        }
        let read_time = self.redundant.read_time(left);
        // Where it does not tell, the request is made again, and refused.
        _ = self.redundant.connections.learn_map(asked.to, read_time);
        let (owners, placed) = self.redundant.place(&self.key, self.deadline)?;
        if placed.sum == self.placed.sum {
            self.placed = placed;
            if asked.question.is_read() && REST_PAUSE * repeated > read_time {
                return Ok(Some(Event::Lost(asked.id)));
            }
            std::thread::sleep(REST_PAUSE);
            self.ask_again(asked, left, repeated + 1);
            self.redundant.connections.flush();
            return Ok(self.events.pop_front());
        }
        self.placed = placed;
        self.accepted.clear();
        self.owners.replace(owners.iter().copied());
        self.look_after_those_down();
        Ok(Some(self.owners.event_of_new()))
    }

    fn note_accepted(&mut self, server: ServerId, attempt: u64) {
        if self.accepted.iter().all(|one| one.0 != server) {
            // There are no more servers than owners.
            _ = self.accepted.try_push((server, attempt));
        }
    }

    /// A request has failed: whether that ends the operation, or what the plan is told.
    fn failed(&mut self, asked: &plan::Request, error: Error) -> Result<Event, Error> {
        if Instant::now() >= self.deadline {
            return Err(Error::Timeout);
        }
        if self.redundant.availability.is_gone(asked.to, &error) {
            self.redundant.availability.note_down(asked.to, true);
            self.owners.note_down(asked.to);
            return Ok(self.owners.event_of_down(asked));
        }
        let is_first = matches!(
            asked.question,
            Question::Accept(..) | Question::AcceptPromised(..)
        );
        match error {
            Error::Unsupported => Err(error),
            // It has not taken the value, and it will not fit the next time either.
            Error::TooLarge | Error::OutOfMemory | Error::InvalidArguments(_) if is_first => {
                self.cargo.refuse(error);
                Ok(Event::Reply(asked.id, plan::Reply::NotReady))
            }
            Error::ServerDead if !asked.question.is_read() => {
                std::thread::sleep(REST_PAUSE);
                Ok(Event::Lost(asked.id))
            }
            _ => Ok(Event::Lost(asked.id)),
        }
    }
}
