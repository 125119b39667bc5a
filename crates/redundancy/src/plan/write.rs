//! Writing a value or a tombstone.

use super::group::{Group, Positions};
use super::storing::{Progress, Requests, Storing};
use super::{Action, Event, Form, Question, Reply, RequestId, TRIES_MAX};
use crate::{Clock, Redundancy, TooFarAhead, Version};
use std::time::Duration;

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is acknowledged.
    Written {
        /// The version under which it took effect.
        version: Version,
        /// Whether the key had a value before.
        was_present: bool,
    },
    /// Fewer owners are live than a write must reach. It has had no effect.
    TooFewLive,
    /// Nobody has accepted it. It has had no effect, and will have none.
    Unavailable,
    /// What is there has a version ahead of the own clock by more than the limit. The write has had
    /// no effect.
    Skewed(TooFarAhead),
    /// It may have taken effect, or may take effect yet.
    Unknown,
}

enum Stage {
    /// Asks one server to accept the version.
    Accepting {
        id: RequestId,
        position: usize,
    },
    /// Stores the accepted version.
    Storing(Box<Storing>),
    /// Goes on with the next map.
    AwaitsMap,
    Ended,
}

/// Writes one value, or one tombstone, under one key.
pub struct Write {
    redundancy: Redundancy,
    form: Form,
    group: Group,
    version: Version,
    requests: Requests,
    stage: Stage,
    /// A server has accepted the version: it stays as it is (rule 3).
    is_accepted: bool,
    /// A server may have accepted the version without its answer having arrived. Then nothing may
    /// be written above it any more: the same write would take effect twice.
    is_doubtful: bool,
    was_present: bool,
    is_encoded: bool,
    is_told: bool,
    tries: u8,
}

type Actions = Vec<Action<WriteOutcome>>;

impl Write {
    /// Begins a write. `now` is the time since the Unix epoch.
    pub fn begin(
        redundancy: Redundancy,
        form: Form,
        group: Group,
        clock: &mut Clock,
        now: Duration,
        actions: &mut Actions,
    ) -> Write {
        let mut write = Write {
            redundancy,
            form,
            group,
            version: clock.next(now),
            requests: Requests::default(),
            stage: Stage::AwaitsMap,
            is_accepted: false,
            is_doubtful: false,
            was_present: false,
            is_encoded: false,
            is_told: false,
            tries: 0,
        };
        if matches!(form, Form::Shards(_)) {
            // Parity is computed while the first shard travels.
            actions.push(Action::Encode);
        }
        write.go_by_map(actions);
        write
    }

    /// Whether nothing more will be asked.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// The version that it goes by now.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Takes note of what has happened.
    pub fn handle(
        &mut self,
        event: Event,
        clock: &mut Clock,
        now: Duration,
        actions: &mut Actions,
    ) {
        match event {
            Event::Map(group) if group.epoch() > self.group.epoch() => {
                self.is_doubtful |= matches!(self.stage, Stage::Accepting { .. });
                self.group = group;
                if !self.has_ended() {
                    self.tries = 0;
                    self.go_by_map(actions);
                }
            }
            Event::Encoded => {
                self.is_encoded = true;
                if let Stage::Storing(storing) = &mut self.stage {
                    storing.note_encoded();
                    let progress = storing.go_on(&self.group, &mut self.requests, actions);
                    self.note_progress(progress, actions);
                }
            }
            Event::Reply(id, reply) => self.settle(id, Some(reply), clock, now, actions),
            Event::Lost(id) => self.settle(id, None, clock, now, actions),
            Event::Map(_) | Event::Decoded | Event::Slow => {}
        }
    }

    /// Begins at zero with a map (rule 5).
    fn go_by_map(&mut self, actions: &mut Actions) {
        if self.group.live_count() < self.redundancy.stored_min() {
            let outcome = match self.is_accepted || self.is_doubtful {
                true => WriteOutcome::Unknown,
                false => WriteOutcome::TooFewLive,
            };
            return self.end(outcome, actions);
        }
        if self.is_accepted {
            self.store(Positions::default(), actions);
        } else {
            self.ask_to_accept(0, actions);
        }
    }

    /// Asks the first live owner from this position on, if there is one.
    fn ask_to_accept(&mut self, from: usize, actions: &mut Actions) {
        let mut live = self.group.live().iter();
        let Some(position) = live.find(|position| *position >= from) else {
            return self.end(self.not_accepted(), actions);
        };
        let question = Question::Accept(self.version, self.form.part_at(position));
        let id = self.requests.ask(&self.group, position, question, actions);
        self.stage = Stage::Accepting { id, position };
    }

    fn not_accepted(&self) -> WriteOutcome {
        match self.is_doubtful {
            true => WriteOutcome::Unknown,
            false => WriteOutcome::Unavailable,
        }
    }

    fn store(&mut self, stored: Positions, actions: &mut Actions) {
        let mut storing = Storing::new(self.version, self.form, stored);
        if self.is_encoded {
            storing.note_encoded();
        }
        let progress = storing.go_on(&self.group, &mut self.requests, actions);
        self.stage = Stage::Storing(Box::new(storing));
        self.note_progress(progress, actions);
    }

    fn settle(
        &mut self,
        id: RequestId,
        reply: Option<Reply>,
        clock: &mut Clock,
        now: Duration,
        actions: &mut Actions,
    ) {
        match &mut self.stage {
            Stage::Accepting {
                id: expected,
                position,
            } if *expected == id => {
                let position = *position;
                self.settle_acceptance(position, reply, clock, now, actions);
            }
            Stage::Storing(storing) => {
                let (group, requests) = (&self.group, &mut self.requests);
                let progress = storing.settle(id, reply.as_ref(), group, requests, actions);
                self.note_progress(progress, actions);
            }
            _ => {}
        }
    }

    fn settle_acceptance(
        &mut self,
        position: usize,
        reply: Option<Reply>,
        clock: &mut Clock,
        now: Duration,
        actions: &mut Actions,
    ) {
        match reply {
            Some(Reply::Stored { was_present }) => {
                self.is_accepted = true;
                self.was_present = was_present;
                if self.redundancy.is_async() {
                    self.tell_written(actions);
                }
                self.store([position].into_iter().collect(), actions);
            }
            Some(Reply::Refused { current }) if !self.is_doubtful => {
                match clock.above(current, now) {
                    Ok(version) => {
                        self.version = version;
                        self.ask_to_accept(0, actions);
                    }
                    Err(skewed) => self.end(WriteOutcome::Skewed(skewed), actions),
                }
            }
            Some(Reply::Refused { .. }) => self.end(WriteOutcome::Unknown, actions),
            Some(Reply::NotReady) => self.ask_to_accept(position + 1, actions),
            Some(Reply::NewerMap) => self.stage = Stage::AwaitsMap,
            Some(Reply::Answer(_)) | None => {
                self.is_doubtful = true;
                self.tries += 1;
                if self.tries == TRIES_MAX {
                    return self.end(WriteOutcome::Unknown, actions);
                }
                self.ask_to_accept(position, actions);
            }
        }
    }

    fn note_progress(&mut self, progress: Progress, actions: &mut Actions) {
        match progress {
            Progress::Going => {}
            Progress::Stuck => self.end(WriteOutcome::Unknown, actions),
            Progress::Complete => {
                self.tell_written(actions);
                if let Stage::Storing(storing) = &self.stage {
                    storing.tell_complete(&self.group, &mut self.requests, actions);
                }
                self.stage = Stage::Ended;
            }
        }
    }

    fn tell_written(&mut self, actions: &mut Actions) {
        let (version, was_present) = (self.version, self.was_present);
        self.tell(
            WriteOutcome::Written {
                version,
                was_present,
            },
            actions,
        );
    }

    fn tell(&mut self, outcome: WriteOutcome, actions: &mut Actions) {
        if !std::mem::replace(&mut self.is_told, true) {
            actions.push(Action::Done(outcome));
        }
    }

    fn end(&mut self, outcome: WriteOutcome, actions: &mut Actions) {
        self.tell(outcome, actions);
        self.stage = Stage::Ended;
    }
}
