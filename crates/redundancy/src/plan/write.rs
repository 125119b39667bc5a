//! Writing a value or a tombstone.

use super::accepting::{Accepting, Verdict, Wanted};
use super::group::{Group, Positions};
use super::layout::Layout;
use super::round::Requests;
use super::storing::{Progress, Storing};
use super::{Action, Event, Fencing, Form, Reply, RequestId};
use crate::{Clock, Redundancy, TooFarAhead, Version};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
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
    /// It stands on promises, and too few to read it have accepted it: somebody has written, or has
    /// been given a promise, in between. It has had no effect, and will have none.
    Refused {
        /// What a newer version must exceed.
        current: Version,
    },
    /// It was accepted by some, and is not stored by all: others have promised to take something
    /// newer only, and who has asked for that may have met it. It is acknowledged when all
    /// members hold this version, or a newer one while so many of the
    /// [`Write::acceptors`] have not gone as it takes to read it.
    Overtaken {
        /// The version that was accepted.
        version: Version,
    },
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
    layout: Layout,
    group: Group,
    version: Version,
    /// It stands on promises of its version, and goes above nothing (rule 10).
    is_promised: bool,
    acceptors: ArrayVec<ServerId, OWNERS_MAX>,
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
        let version = clock.next(now);
        let write = Write::new(redundancy, fencing, form, group, version);
        write.begun(actions)
    }

    /// Begins a write for whose version all members of the group have given their promise (see
    /// [`Read::begin_for_change`](super::Read::begin_for_change)): it takes effect only where
    /// nothing else was stored since, and so in place of what they told (rule 10).
    pub fn begin_promised(
        redundancy: Redundancy,
        fencing: Fencing,
        form: Form,
        group: Group,
        version: Version,
        actions: &mut Actions,
    ) -> Write {
        let write = Write::new(redundancy, fencing, form, group, version);
        let write = Write {
            is_promised: true,
            ..write
        };
        write.begun(actions)
    }

    fn new(
        redundancy: Redundancy,
        fencing: Fencing,
        form: Form,
        group: Group,
        version: Version,
    ) -> Write {
        Write {
            redundancy,
            fencing,
            layout: Layout::new(form),
            group,
            version,
            is_promised: false,
            acceptors: ArrayVec::new(),
            requests: Requests::default(),
            stage: Stage::AwaitsMap,
            is_accepted: false,
            is_doubtful: false,
            was_present: false,
            is_encoded: false,
            is_told: false,
        }
    }

    fn begun(mut self, actions: &mut Actions) -> Write {
        if matches!(self.layout.form(), Form::Shards(_)) {
            // Parity is computed while the data travels.
            actions.push(Action::Encode);
        }
        self.go_by_map(actions);
        self
    }

    /// Servers of which each has accepted the version so that whoever writes above it has met it.
    pub fn acceptors(&self) -> impl Iterator<Item = ServerId> {
        self.acceptors.iter().copied()
    }

    /// Whether nothing more will be asked.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// The version that it goes by now.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Takes note of what has happened. `above` makes a version above another one, as
    /// [`Clock::above`] does, where it has to go above that.
    pub fn handle(
        &mut self,
        event: Event,
        above: impl FnOnce(Version) -> Result<Version, TooFarAhead>,
        actions: &mut Actions,
    ) {
        match event {
            Event::Map(group) if group.epoch() > self.group.epoch() => {
                if let Stage::Accepting(accepting) = &self.stage {
                    self.is_doubtful |= accepting.may_be_held();
                }
                // Who has been sent a shard would take another one for another write.
                self.layout = self.layout.after(&self.group, &group);
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
            Event::Reply(id, reply) => self.settle(id, Some(reply), above, actions),
            Event::Lost(id) => self.settle(id, None, above, actions),
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
            let storing = Storing::new(self.version, self.layout.clone(), Positions::default());
            self.store(storing, actions);
        } else {
            self.ask_to_accept(actions);
        }
    }

    /// Asks all members at once: what nobody has seen may be refused by all (rule 3).
    fn ask_to_accept(&mut self, actions: &mut Actions) {
        let quorum = match self.fencing {
            Fencing::Kept => 1,
            Fencing::None => self.redundancy.accepted_min(),
        };
        let readable = self.redundancy.needed();
        let wanted = Wanted { quorum, readable };
        let begin = match self.is_promised {
            true => Accepting::on_promises,
            false => Accepting::new,
        };
        let mut accepting = begin(self.version, self.layout.clone(), wanted, self.is_encoded);
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
        above: impl FnOnce(Version) -> Result<Version, TooFarAhead>,
        actions: &mut Actions,
    ) {
        let (group, requests) = (&self.group, &mut self.requests);
        match &mut self.stage {
            Stage::Accepting(accepting) => {
                let verdict = accepting.settle(id, reply.as_ref(), group, requests, actions);
                self.note_verdict(verdict, above, actions);
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
        above: impl FnOnce(Version) -> Result<Version, TooFarAhead>,
        actions: &mut Actions,
    ) {
        match verdict {
            Verdict::Open | Verdict::AwaitsMap => {}
            Verdict::Accepted => self.go_on_accepted(actions),
            Verdict::Doubtful => self.end(WriteOutcome::Unknown, actions),
            _ if self.is_doubtful => self.end(WriteOutcome::Unknown, actions),
            Verdict::NobodyReady => self.end(WriteOutcome::Unavailable, actions),
            Verdict::Refused { current } if self.is_promised => {
                self.end(WriteOutcome::Refused { current }, actions);
            }
            Verdict::Refused { current } => match above(current) {
                Ok(version) => {
                    self.version = version;
                    self.layout = Layout::new(self.layout.form());
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
        // By this map: a newer one may have others at their positions.
        let acceptors = accepting.acceptors().iter();
        self.acceptors = acceptors.map(|at| self.group.owner(at)).collect();
        if self.redundancy.is_async() {
            self.tell_written(actions);
        }
        self.store(accepting.into_storing(), actions);
    }

    fn note_progress(&mut self, progress: Progress, actions: &mut Actions) {
        match progress {
            Progress::Going => {}
            // To a writer what is newer counts as stored, so that nothing supersedes.
            Progress::Stuck | Progress::Superseded => self.end(WriteOutcome::Unknown, actions),
            Progress::Overtaken => {
                let version = self.version;
                self.end(WriteOutcome::Overtaken { version }, actions);
            }
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
