//! The note that a store keeps on its devices: what its owner wants to know after a restart, and
//! the fences, both in one piece.

use super::Tier;
use super::format::{NOTE_BYTES, NOTE_COPIES, Note, TENURE_BYTES_MAX};
use super::options::TierEventKind;
use super::plan::{Seat, TierPlan};
use crate::core::Core;
use crate::device::{Buffer, Device};
use crate::schedule::Mutex;
use crate::store::Store;
use std::io;

/// What stands on the devices; none before there was one.
#[derive(Default)]
pub(crate) struct Tenure {
    note: Mutex<Option<Note>>,
}

impl Tenure {
    /// Finds the note that counts among those of a store's devices. One that cannot be read is as
    /// good as none: whoever asks for it then knows nothing.
    pub fn find(tier: &Tier, plan: &TierPlan) -> Option<Note> {
        let is_member = |seat: &Seat| matches!(seat, Seat::Member { .. });
        let members = plan.seats.iter().zip(&tier.devices[..]);
        let members = members.filter(|(seat, _)| is_member(seat));
        let notes = members.flat_map(|(_, device)| notes_on(device.as_ref()));
        let ours = notes.filter(|note| note.store_id == plan.superblock.store_id);
        ours.max_by_key(|note| note.count)
    }

    pub fn restore(&self, note: Note) {
        *self.note.lock().expect("no holder panics") = Some(note);
    }
}

fn notes_on(device: &dyn Device) -> impl Iterator<Item = Note> + use<> {
    let mut buffer = Buffer::new(NOTE_BYTES);
    let read = |offset| {
        device.read_at(&mut buffer, offset).ok()?;
        Note::decode(&buffer)
    };
    NOTE_COPIES.map(read).into_iter().flatten()
}

impl Core {
    /// Writes what the owner notes, with all fences and the flush floor.
    fn write_note(&self, tier: &Tier, tenure: &[u8]) -> io::Result<()> {
        let mut known = tier.tenure.note.lock().expect("no holder panics");
        let mut note = Note {
            store_id: tier.superblocks.store_id(),
            count: known.as_ref().map_or(0, |note| note.count) + 1,
            flush_floor: self.flush.floor(),
            tenure: tenure.to_vec(),
            fences: self.fences.list().to_vec(),
        };
        note.fit();
        let mut buffer = Buffer::new(NOTE_BYTES);
        note.encode(&mut buffer);
        let place = NOTE_COPIES[(note.count % 2) as usize];
        let mut outcome = Err(io::Error::other("no device is in service"));
        for number in tier.devices_in_service() {
            let device = &tier.devices[number];
            let written = device.write_at(&buffer, place);
            match written.and_then(|()| device.sync()) {
                Ok(()) => outcome = Ok(()),
                Err(error) => {
                    let name = device.name();
                    tier.events
                        .tell_error(TierEventKind::WriteFailed, &name, &error);
                    outcome = outcome.or(Err(error));
                }
            }
        }
        *known = Some(note);
        outcome
    }
}

impl Store {
    /// Longest tenure, in bytes.
    pub const TENURE_BYTES_MAX: usize = TENURE_BYTES_MAX;

    /// Whether it holds anything, but for what open handles have stored last.
    pub fn has_items(&self) -> bool {
        self.core.entries() > 0
    }

    /// What [`Store::note_tenure`] wrote down last, before a restart or after it; none where it
    /// never did, and without a tier.
    pub fn tenure(&self) -> Option<Vec<u8>> {
        let tier = self.core.tier.as_ref()?;
        let note = tier.tenure.note.lock().expect("no holder panics");
        note.as_ref().map(|note| note.tenure.clone())
    }

    /// Writes down for how long, and for which keys, what the store holds is good: words of its
    /// owner that the store does not understand. Durable when this returns, and with it all fences
    /// and flushes so far: a restart finds these words only together with what was voided before
    /// they were written. Without a tier there is nothing to do.
    ///
    /// # Errors
    /// The devices', where none could be written. Then a restart may find these words or earlier
    /// ones.
    ///
    /// # Panics
    /// With more than [`Store::TENURE_BYTES_MAX`].
    pub fn note_tenure(&self, tenure: &[u8]) -> io::Result<()> {
        assert!(tenure.len() <= TENURE_BYTES_MAX, "a tenure of this length");
        match &self.core.tier {
            Some(tier) => self.core.write_note(tier, tenure),
            None => Ok(()),
        }
    }

    /// Drops everything stored so far.
    pub fn flush(&self) {
        self.core.flush_now();
    }
}
