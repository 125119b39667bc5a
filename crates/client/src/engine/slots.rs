//! Single operations that are under way or complete.

use super::ticket::{self, SLOTS_MAX};
use crate::Error;
use crate::completion::{Completion, Notice};
use crate::operation::{Front, Reply};
use crate::part_rooms::PartRooms;
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
use farcache_proto::binary::Opcode;
use farcache_redundancy::stored::HEADER_BYTES;

/// Of a slot that no time limit applies to.
pub(super) const NO_DEADLINE: u64 = u64::MAX;

/// What a slot is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing.
    Free,
    /// The answer has not come, or the network still holds memory of the operation.
    UnderWay,
    /// Everything is there, nobody has fetched it.
    Complete,
    /// Fetched or given up, but the answer may still come: until then the number is taken.
    Haunted,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) generation: u32,
    pub(super) opcode: Opcode,
    pub(super) server: usize,
    /// The answer has not come, and may.
    pub(super) answer_due: bool,
    /// Nobody will fetch the result.
    pub(super) is_abandoned: bool,
    /// Memory of the operation that is queued or held by the network.
    pub(super) held: u8,
    /// The lent value goes back to the caller.
    pub(super) returns_lent: bool,
    pub(super) outcome: Option<Result<Reply, Error>>,
    pub(super) lent: Option<SendBytes>,
    pub(super) room: Option<ReceiveBytes>,
    /// Where a part of a value goes, instead, and the header in front of it.
    pub(super) parts: Option<(PartRooms, Front)>,
    /// Of a value that is being received.
    pub(super) flags: u32,
    pub(super) cas: u64,
    pub(super) statistics: Vec<(String, String)>,
    /// To be called when the result is there.
    pub(super) notice: Option<Notice>,
}

impl Slot {
    fn new() -> Self {
        Slot {
            stage: Stage::Free,
            generation: 0,
            opcode: Opcode::Noop,
            server: 0,
            answer_due: false,
            is_abandoned: false,
            held: 0,
            returns_lent: false,
            outcome: None,
            lent: None,
            room: None,
            parts: None,
            flags: 0,
            cas: 0,
            statistics: Vec::new(),
            notice: None,
        }
    }

    /// The flags and the front of a value that comes with these extras and so many bytes more.
    fn told<'e>(&self, extras: &'e [u8], rest_bytes: usize) -> Option<(u32, &'e [u8])> {
        let (flags, front) = extras.split_first_chunk()?;
        let is_asked_for = match self.parts {
            Some(_) => front.len() == HEADER_BYTES || rest_bytes == 0 && front.len() < HEADER_BYTES,
            // Whether it was about a part is not known any more.
            None => front.is_empty() || self.stage == Stage::Haunted,
        };
        is_asked_for.then_some((u32::from_be_bytes(*flags), front))
    }

    /// The flags of a value with these extras and so many bytes more, and the room for it unless
    /// the operation was given up; none if a value has other extras.
    pub(super) fn take_room(
        &mut self,
        extras: &[u8],
        rest_bytes: usize,
    ) -> Option<(u32, Option<ReceiveBytes>)> {
        let (flags, front) = self.told(extras, rest_bytes)?;
        let room = match &mut self.parts {
            Some((rooms, kept)) if self.outcome.is_none() && !self.is_abandoned => {
                *kept = front.try_into().ok()?;
                Some(rooms.room(front, rest_bytes))
            }
            Some(_) => None,
            None => self.room.take(),
        };
        Some((flags, room))
    }

    /// What a value that has come is to its operation.
    pub(super) fn value(&mut self, value: ReceiveBytes, flags: u32, cas: u64) -> Reply {
        match self.parts.take() {
            Some((_, front)) => Reply::Part {
                front,
                value,
                flags,
                cas,
            },
            None => Reply::Value { value, flags, cas },
        }
    }

    /// Whether an answer from this server may belong to it.
    pub(super) fn expects(&self, generation: u32, server: usize) -> bool {
        self.answer_due && self.generation == generation && self.server == server
    }
}

/// All slots, with their time limits apart, as these are looked through often.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    deadlines_us: Vec<u64>,
    free: Vec<u32>,
    /// Of operations that have ended.
    pub(super) notices: Vec<Notice>,
}

impl Slots {
    /// Takes a free slot; `None` when all are in use.
    pub(super) fn take(&mut self, deadline_us: u64) -> Option<usize> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None if self.slots.len() >= SLOTS_MAX => return None,
            None => {
                self.slots.push(Slot::new());
                self.deadlines_us.push(NO_DEADLINE);
                self.slots.len() - 1
            }
        };
        self.slots[index].stage = Stage::UnderWay;
        self.deadlines_us[index] = deadline_us;
        Some(index)
    }

    /// The slot that is taken next, if one is free.
    pub(super) fn next_free(&self) -> Option<usize> {
        self.free.last().map(|index| *index as usize)
    }

    /// The number of a free slot has been used; the next one who takes it has another.
    pub(super) fn renew(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.generation = ticket::next_generation(slot.generation);
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Slots in use.
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    pub(super) fn at(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    pub(super) fn opaque(&self, index: usize) -> u32 {
        ticket::single(index, self.slots[index].generation)
    }

    /// Slots whose time is up, from `from` on.
    pub(super) fn next_expired(&self, from: usize, now_us: u64) -> Option<usize> {
        let late = |deadline: &u64| *deadline <= now_us;
        let found = self.deadlines_us[from..].iter().position(late)?;
        Some(from + found)
    }

    /// The earliest time limit.
    pub(super) fn deadline_us(&self) -> u64 {
        self.deadlines_us
            .iter()
            .copied()
            .min()
            .unwrap_or(NO_DEADLINE)
    }

    pub(super) fn forget_deadline(&mut self, index: usize) {
        self.deadlines_us[index] = NO_DEADLINE;
    }

    /// Ends the operation if nothing of it is missing any more.
    pub(super) fn settle(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.stage != Stage::UnderWay || slot.held > 0 || slot.outcome.is_none() {
            return;
        }
        if slot.is_abandoned {
            self.release(index);
        } else {
            slot.stage = Stage::Complete;
            self.notices.extend(slot.notice.take());
            self.deadlines_us[index] = NO_DEADLINE;
        }
    }

    /// Takes note that no answer will come any more.
    pub(super) fn answered(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.answer_due = false;
        if slot.stage == Stage::Haunted {
            self.release(index);
        }
    }

    /// Hands the result over, once it is there.
    pub(super) fn fetch(&mut self, index: usize) -> Option<Completion> {
        let slot = &mut self.slots[index];
        if slot.stage != Stage::Complete {
            return None;
        }
        let completion = Completion {
            outcome: slot.outcome.take()?,
            lent: slot.lent.take().filter(|_| slot.returns_lent),
            unused: slot.room.take(),
        };
        self.release(index);
        Some(completion)
    }

    /// Has a notice called when the result is there.
    pub(super) fn notify(&mut self, index: usize, notice: Notice) {
        let slot = &mut self.slots[index];
        match slot.stage {
            Stage::Complete => self.notices.push(notice),
            _ => slot.notice = Some(notice),
        }
    }

    /// Lets the result go, now or when it is there.
    pub(super) fn abandon(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.notice = None;
        match slot.stage {
            Stage::Complete => self.release(index),
            _ => slot.is_abandoned = true,
        }
    }

    /// Frees the slot, or haunts it until its answer has come.
    fn release(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        self.deadlines_us[index] = NO_DEADLINE;
        slot.lent = None;
        slot.room = None;
        slot.parts = None;
        slot.notice = None;
        if slot.answer_due {
            slot.stage = Stage::Haunted;
            return;
        }
        slot.outcome = None;
        slot.stage = Stage::Free;
        slot.is_abandoned = false;
        slot.returns_lent = false;
        slot.generation = ticket::next_generation(slot.generation);
        self.free.push(index as u32);
    }
}
