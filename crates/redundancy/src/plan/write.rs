//! Writing a value or a tombstone.

use super::accepting::{Accepting, Verdict};
use super::group::{Group, Positions};
use super::round::Requests;
use super::storing::{Progress, Storing};
use super::{Action, Event, Fencing, Form, Reply, RequestId};
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
    /// Asks all members to accept the version.
    Accepting(Box<Accepting>),
    /// Stores the accepted version.
    Storing(Box<Storing>),
    /// Goes on with the next map.
    AwaitsMap,
    Ended,
}

/// Writes one value, or one tombstone, under one key.
pub struct Write {
    redundancy: Redundancy,
    fencing: Fencing,
    form: Form,
    group: Group,
    version: Version,
    requests: Requests,
    stage: Stage,
    /// The version has been accepted: it stays as it is (rule 3).
    is_accepted: bool,
    /// A server may have accepted the version without its answer having arrived. Then nothing may
    /// be written above it any more: the same write would take effect twice.
    is_doubtful: bool,
    was_present: bool,
    is_encoded: bool,
    is_told: bool,
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
        let fencing = Fencing::Kept;
        Self::begin_among(redundancy, fencing, form, group, (clock, now), actions)
    }

    /// Begins a write among servers of which this is known.
    pub fn begin_among(
        redundancy: Redundancy,
        fencing: Fencing,
        form: Form,
        group: Group,
        (clock, now): (&mut Clock, Duration),
        actions: &mut Actions,
    ) -> Write {
        let mut write = Write {
            redundancy,
            fencing,
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
        };
        if matches!(form, Form::Shards(_)) {
            // Parity is computed while the data travels.
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
                if let Stage::Accepting(accepting) = &self.stage {
                    self.is_doubtful |= accepting.may_be_held();
                }
                self.group = group;
                if !self.has_ended() {
                    self.go_by_map(actions);
                }
            }
            Event::Encoded => {
                self.is_encoded = true;
                match &mut self.stage {
                    Stage::Accepting(accepting) => {
                        accepting.note_encoded();
                        accepting.go_on(&self.group, &mut self.requests, actions);
                    }
                    Stage::Storing(storing) => {
                        storing.note_encoded();
                        let progress = storing.go_on(&self.group, &mut self.requests, actions);
                        self.note_progress(progress, actions);
                    }
                    Stage::AwaitsMap | Stage::Ended => {}
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
            let storing = Storing::new(self.version, self.form, Positions::default());
            self.store(storing, actions);
        } else {
            self.ask_to_accept(actions);
        }
    }

    /// Asks all members at once: what nobody has seen may be refused by all (rule 3).
    fn ask_to_accept(&mut self, actions: &mut Actions) {
        let wanted = match self.fencing {
            Fencing::Kept => 1,
            Fencing::None => self.redundancy.accepted_min(),
        };
        let mut accepting = Accepting::new(self.version, self.form, wanted, self.is_encoded);
        accepting.go_on(&self.group, &mut self.requests, actions);
        self.stage = Stage::Accepting(Box::new(accepting));
    }

    fn store(&mut self, mut storing: Storing, actions: &mut Actions) {
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
        let (group, requests) = (&self.group, &mut self.requests);
        match &mut self.stage {
            Stage::Accepting(accepting) => {
                let verdict = accepting.settle(id, reply.as_ref(), group, requests, actions);
                self.note_verdict(verdict, clock, now, actions);
            }
            Stage::Storing(storing) => {
                let progress = storing.settle(id, reply.as_ref(), group, requests, actions);
                self.note_progress(progress, actions);
            }
            Stage::AwaitsMap | Stage::Ended => {}
        }
    }

    fn note_verdict(
        &mut self,
        verdict: Verdict,
        clock: &mut Clock,
        now: Duration,
        actions: &mut Actions,
    ) {
        match verdict {
            Verdict::Open | Verdict::AwaitsMap => {}
            Verdict::Accepted => self.go_on_accepted(actions),
            Verdict::Doubtful => self.end(WriteOutcome::Unknown, actions),
            _ if self.is_doubtful => self.end(WriteOutcome::Unknown, actions),
            Verdict::NobodyReady => self.end(WriteOutcome::Unavailable, actions),
            Verdict::Refused { current } => match clock.above(current, now) {
                Ok(version) => {
                    self.version = version;
                    self.ask_to_accept(actions);
                }
                Err(skewed) => self.end(WriteOutcome::Skewed(skewed), actions),
            },
        }
    }

    fn go_on_accepted(&mut self, actions: &mut Actions) {
        let Stage::Accepting(accepting) = std::mem::replace(&mut self.stage, Stage::AwaitsMap)
        else {
            return;
        };
        self.is_accepted = true;
        self.was_present = accepting.was_present;
        if self.redundancy.is_async() {
            self.tell_written(actions);
        }
        self.store(accepting.into_storing(), actions);
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
