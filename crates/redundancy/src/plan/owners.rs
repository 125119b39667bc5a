//! What the runner of a plan knows of a key's owners: which are down, and what the plan has been
//! told of that.

use super::{Event, Group, Question, Reply, Request};
use crate::Redundancy;
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};

/// The owners of a key, and which of them are down.
#[derive(Clone, Debug)]
pub struct KnownOwners {
    /// In the ring's order, each with whether it is live.
    owners: ArrayVec<(ServerId, bool), OWNERS_MAX>,
    /// Rises with every owner that is found to be down: to the plan, a map of its own.
    epoch: u64,
    told_epoch: u64,
    passes_over: bool,
}

impl KnownOwners {
    /// All live. Owners beyond [`OWNERS_MAX`] are left out.
    pub fn new(owners: impl IntoIterator<Item = ServerId>) -> KnownOwners {
        let owners = owners.into_iter().take(OWNERS_MAX);
        KnownOwners {
            owners: owners.map(|server| (server, true)).collect(),
            epoch: 1,
            told_epoch: 1,
            passes_over: false,
        }
    }

    /// Before a plan begins: leaves out the owners that were down a moment ago, if the others are
    /// as many as a write must reach. They know all that was acknowledged.
    pub fn leave_out(&mut self, redundancy: Redundancy, is_down: impl FnMut(ServerId) -> bool) {
        let down: ArrayVec<bool, OWNERS_MAX> = self.iter().map(is_down).collect();
        let others = down.iter().filter(|is_down| !**is_down).count();
        if others == self.owners.len() || others < redundancy.stored_min() {
            return;
        }
        for (owner, is_down) in self.owners.iter_mut().zip(down) {
            owner.1 = !is_down;
        }
        self.passes_over = true;
    }

    /// Before a plan begins: an owner has been looked at, and is down.
    pub fn begin_without(&mut self, server: ServerId) {
        self.take_out(server);
    }

    /// Whether an owner was left out without a look at it.
    pub fn passes_over(&self) -> bool {
        self.passes_over
    }

    /// The owners, in the ring's order.
    pub fn iter(&self) -> impl Iterator<Item = ServerId> + '_ {
        self.owners.iter().map(|owner| owner.0)
    }

    /// Whether this owner is down.
    pub fn is_down(&self, server: ServerId) -> bool {
        self.owners.contains(&(server, false))
    }

    /// The map by which a plan begins, or goes on.
    pub fn group(&self) -> Group {
        Group::new(self.epoch, self.owners.iter().copied())
    }

    /// Another plan begins by [`KnownOwners::group`].
    pub fn begin_next(&mut self) {
        self.told_epoch = self.epoch;
    }

    /// The key has these owners now, all live as far as is known; owners that are down are told
    /// again. [`KnownOwners::event_of_new`] follows.
    pub fn replace(&mut self, owners: impl IntoIterator<Item = ServerId>) {
        let epoch = self.epoch + 1;
        *self = KnownOwners {
            epoch,
            told_epoch: epoch,
            ..KnownOwners::new(owners)
        };
    }

    /// What a plan is told when the key has other owners.
    pub fn event_of_new(&self) -> Event {
        Event::Map(self.group())
    }

    /// The process of an owner has been found to have ended, and its memory with it.
    pub fn note_down(&mut self, server: ServerId) {
        if self.take_out(server) {
            self.epoch += 1;
        }
    }

    /// What a plan is told that asks an owner which is down: one that was to accept has not, and
    /// the others that are live are asked by a new map.
    pub fn event_of_down(&mut self, asked: &Request) -> Event {
        match asked.question {
            Question::Accept(..) | Question::AcceptPromised(..) => {
                Event::Reply(asked.id, Reply::NotReady)
            }
            _ if self.told_epoch < self.epoch => {
                self.told_epoch = self.epoch;
                Event::Map(self.group())
            }
            // With the new map that is on its way it begins anew.
            _ => Event::Lost(asked.id),
        }
    }

    /// Whether it was live.
    fn take_out(&mut self, server: ServerId) -> bool {
        let owner = self.owners.iter_mut().find(|owner| owner.0 == server);
        owner.is_some_and(|owner| std::mem::replace(&mut owner.1, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RequestId;

    const OWNERS: [ServerId; 3] = [ServerId(7), ServerId(9), ServerId(3)];

    fn read_of(server: ServerId) -> Request {
        Request {
            id: RequestId(5),
            to: server,
            epoch: 1,
            question: Question::Read(None),
        }
    }

    fn two_of_three() -> Redundancy {
        "replicate:3".parse().expect("a redundancy")
    }

    #[test]
    fn a_plan_is_told_once_of_an_owner_that_is_down() {
        let mut known = KnownOwners::new(OWNERS);
        known.note_down(OWNERS[1]);
        known.note_down(OWNERS[1]);
        let told = known.event_of_down(&read_of(OWNERS[1]));
        assert_eq!(told, Event::Map(known.group()));
        assert_eq!((known.group().epoch(), known.group().live_count()), (2, 2));
        let again = known.event_of_down(&read_of(OWNERS[1]));
        assert_eq!(again, Event::Lost(RequestId(5)));
    }

    #[test]
    fn what_a_plan_begins_without_makes_no_new_map() {
        let mut known = KnownOwners::new(OWNERS);
        known.begin_without(OWNERS[0]);
        assert!(known.is_down(OWNERS[0]) && !known.passes_over());
        assert_eq!((known.group().epoch(), known.group().live_count()), (1, 2));
    }

    #[test]
    fn owners_are_left_out_only_where_the_others_suffice() {
        let mut known = KnownOwners::new(OWNERS);
        known.leave_out(two_of_three(), |_| false);
        known.leave_out(two_of_three(), |server| server != OWNERS[0]);
        assert!(!known.passes_over() && known.group().live_count() == 3);
        known.leave_out(two_of_three(), |server| server == OWNERS[0]);
        assert!(known.passes_over() && known.is_down(OWNERS[0]));
        assert_eq!(known.group().live_count(), 2);
    }
}
