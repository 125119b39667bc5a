//! The requests that wait for reads, each with its set of them. Sets are kept and used again, so
//! that a read costs no search and hardly any allocation.

use farcache_log::{Arrived, Ticket};

/// The reads of one request, from [`crate::StoreHandle::start_reads`] on.
///
/// | bits | content |
/// |---|---|
/// | 0 to 31 | place of the set |
/// | 32 to 63 | how often the place had been used |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadId(u64);

impl ReadId {
    fn place(self) -> usize {
        self.0 as u32 as usize
    }
}

/// One read of a set: the set's place in the upper half, its number there in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub u64);

impl Token {
    fn new(place: usize, number: usize) -> Token {
        Token((place as u64) << 32 | number as u64)
    }

    fn place(self) -> usize {
        (self.0 >> 32) as usize
    }

    fn number(self) -> usize {
        self.0 as u32 as usize
    }
}

/// How far a set has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nobody's.
    #[default]
    Vacant,
    /// Some of its reads have not ended, or it waits for room.
    UnderWay,
    /// Its request was given up; what is under way still has to end.
    GivenUp,
    /// It has all it needs, and its owner knows.
    Told,
}

/// The reads of one request.
#[derive(Default)]
pub(super) struct Set {
    phase: Phase,
    uses: u32,
    outstanding: usize,
    tickets: Vec<Ticket>,
    pub arrived: Vec<Arrived>,
    /// Free segments that the request needs; 0 where it has the room.
    pub room: u32,
    /// It waited for room in vain.
    pub is_in_vain: bool,
}

/// All sets of one handle.
#[derive(Default)]
pub(super) struct Sets {
    sets: Vec<Set>,
    vacant: Vec<usize>,
    /// Sets whose reads have ended, and that have not been reported yet.
    complete: Vec<usize>,
    outstanding: usize,
}

impl Sets {
    /// A set for these tickets, which it takes. What has `arrived` already belongs to it as well.
    pub fn open(
        &mut self,
        tickets: &mut Vec<Ticket>,
        arrived: impl Iterator<Item = Arrived>,
        room: u32,
    ) -> ReadId {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.sets.push(Set::default());
            self.sets.len() - 1
        });
        let set = &mut self.sets[place];
        set.phase = Phase::UnderWay;
        set.outstanding = tickets.len();
        std::mem::swap(&mut set.tickets, tickets);
        set.arrived.extend(arrived);
        (set.room, set.is_in_vain) = (room, false);
        self.outstanding += set.outstanding;
        if set.outstanding == 0 {
            self.complete.push(place);
        }
        ReadId(u64::from(set.uses) << 32 | place as u64)
    }

    /// The reads of a set just opened.
    pub fn tokens(&self, id: ReadId) -> impl Iterator<Item = Token> + use<> {
        let count = self.sets[id.place()].tickets.len();
        (0..count).map(move |number| Token::new(id.place(), number))
    }

    /// What is to be read; none if nobody wants it any more.
    pub fn wanted(&self, token: Token) -> Option<&Ticket> {
        let set = &self.sets[token.place()];
        (set.phase == Phase::UnderWay).then(|| &set.tickets[token.number()])
    }

    /// What was to be read.
    pub fn ticket(&self, token: Token) -> Ticket {
        self.sets[token.place()].tickets[token.number()]
    }

    /// Whether the read's request keeps something that it has read already.
    pub fn keeps_memory(&self, token: Token) -> bool {
        !self.sets[token.place()].arrived.is_empty()
    }

    /// A read has ended, or will not be made.
    pub fn end(&mut self, token: Token, arrived: Option<Arrived>) {
        let set = &mut self.sets[token.place()];
        set.arrived.extend(arrived);
        set.outstanding -= 1;
        self.outstanding -= 1;
        if set.outstanding == 0 {
            self.complete.push(token.place());
        }
    }

    /// Appends to `done` who has all reads, and the room that `has_room` decides about.
    pub fn tell(&mut self, done: &mut Vec<ReadId>, mut has_room: impl FnMut(&mut Set) -> bool) {
        let mut complete = std::mem::take(&mut self.complete);
        complete.retain(|&place| {
            let set = &mut self.sets[place];
            if set.phase == Phase::GivenUp {
                self.vacate(place);
                return false;
            }
            let is_told = has_room(set);
            if is_told {
                set.phase = Phase::Told;
                done.push(ReadId(u64::from(set.uses) << 32 | place as u64));
            }
            !is_told
        });
        self.complete = complete;
    }

    fn vacate(&mut self, place: usize) {
        let set = &mut self.sets[place];
        set.phase = Phase::Vacant;
        set.uses = set.uses.wrapping_add(1);
        set.tickets.clear();
        set.arrived.clear();
        self.vacant.push(place);
    }

    fn is_in(&self, id: ReadId, phase: Phase) -> bool {
        let set = self.sets.get(id.place());
        set.is_some_and(|set| u64::from(set.uses) == id.0 >> 32 && set.phase == phase)
    }

    /// Whether the request of these reads waits.
    pub fn is_under_way(&self, id: ReadId) -> bool {
        self.is_in(id, Phase::UnderWay)
    }

    /// Takes what has arrived for a request that was told of it, and whether it waited for room in
    /// vain.
    pub fn take(&mut self, id: ReadId, into: &mut Vec<Arrived>) -> bool {
        if !self.is_in(id, Phase::Told) {
            return false;
        }
        let set = &mut self.sets[id.place()];
        into.append(&mut set.arrived);
        let is_in_vain = set.is_in_vain;
        self.vacate(id.place());
        is_in_vain
    }

    /// Gives up the reads of a request.
    pub fn give_up(&mut self, id: ReadId) {
        if self.is_in(id, Phase::Told) {
            self.vacate(id.place());
        } else if self.is_in(id, Phase::UnderWay) {
            let set = &mut self.sets[id.place()];
            set.phase = Phase::GivenUp;
            set.arrived.clear();
        }
    }

    /// Reads that have not ended.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(number: u64) -> Ticket {
        let location = crate::index::Location::on_device(number as u32, 0);
        Ticket::of_nothing(number, location)
    }

    fn open(sets: &mut Sets, count: u64) -> (ReadId, Vec<Token>) {
        let mut tickets = (0..count).map(ticket).collect();
        let id = sets.open(&mut tickets, std::iter::empty(), 0);
        (id, sets.tokens(id).collect())
    }

    fn tell(sets: &mut Sets) -> Vec<ReadId> {
        let mut done = Vec::new();
        sets.tell(&mut done, |set| set.room == 0);
        done
    }

    #[test]
    fn a_set_is_told_once_all_its_reads_have_ended() {
        let mut sets = Sets::default();
        let (id, tokens) = open(&mut sets, 2);
        assert_eq!((tokens.len(), sets.outstanding()), (2, 2));
        assert_eq!(sets.wanted(tokens[1]).map(|ticket| ticket.hash()), Some(1));
        sets.end(tokens[1], None);
        assert!(tell(&mut sets).is_empty() && sets.is_under_way(id));
        sets.end(tokens[0], None);
        assert_eq!(tell(&mut sets), [id]);
        assert!(tell(&mut sets).is_empty() && !sets.is_under_way(id));
        let mut staged = Vec::new();
        sets.take(id, &mut staged);
        let (other, _) = open(&mut sets, 1);
        assert_eq!(other.place(), id.place(), "the place is used again");
        assert!(other != id && !sets.is_under_way(id));
    }

    #[test]
    fn what_is_given_up_is_not_told_and_its_place_free_once_all_has_ended() {
        let mut sets = Sets::default();
        let (id, tokens) = open(&mut sets, 1);
        sets.give_up(id);
        assert!(sets.wanted(tokens[0]).is_none());
        let (other, _) = open(&mut sets, 1);
        assert_ne!(other.place(), id.place(), "a read is still under way there");
        sets.end(tokens[0], None);
        assert!(tell(&mut sets).is_empty());
        assert_eq!(open(&mut sets, 1).0.place(), id.place());
    }

    #[test]
    fn who_waits_for_room_is_told_when_there_is_some() {
        let mut sets = Sets::default();
        let id = sets.open(&mut Vec::new(), std::iter::empty(), 3);
        assert!(tell(&mut sets).is_empty() && sets.is_under_way(id));
        let mut done = Vec::new();
        sets.tell(&mut done, |set| {
            set.is_in_vain = true;
            true
        });
        assert_eq!(done, [id]);
        assert!(sets.take(id, &mut Vec::new()), "in vain");
        assert!(!sets.take(id, &mut Vec::new()), "taken already");
    }
}
