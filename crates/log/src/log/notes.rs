//! The note that a store keeps on its devices: what its owner wants to know after a restart, and
//! the fences, both in one piece.

use super::Log;
use crate::device::{Buffer, Device};
use crate::fence::Fence;
use crate::format::{NOTE_BYTES, NOTE_COPIES, Note};
use crate::options::TierEventKind;
use crate::plan::{Seat, TierPlan};
use crate::schedule::Mutex;
use std::io;

/// What stands on the devices; none before there was one.
#[derive(Default)]
pub(crate) struct Notes {
    note: Mutex<Option<Note>>,
}

impl Notes {
    /// Finds the note that counts among those of a store's devices. One that cannot be read is as
    /// good as none: whoever asks for it then knows nothing.
    pub fn find(log: &Log, plan: &TierPlan) -> Option<Note> {
        let is_member = |seat: &Seat| matches!(seat, Seat::Member { .. });
        let members = plan.seats.iter().zip(&log.devices[..]);
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

impl Log {
    /// Writes what the owner notes, with all fences and the flush floor, which are asked for when no
    /// other note is being written.
    ///
    /// # Errors
    /// The devices', where none could be written. Then a restart may find this note or the one
    /// before.
    pub fn write_note(
        &self,
        tenure: &[u8],
        void: impl FnOnce() -> (u64, Vec<Fence>),
    ) -> io::Result<()> {
        let mut known = self.notes.note.lock().expect("no holder panics");
        let (flush_floor, fences) = void();
        let mut note = Note {
            store_id: self.superblocks.store_id(),
            count: known.as_ref().map_or(0, |note| note.count) + 1,
            flush_floor,
            tenure: tenure.to_vec(),
            fences,
        };
        note.fit();
        let outcome = self.put_note(&note);
        *known = Some(note);
        outcome
    }

    fn put_note(&self, note: &Note) -> io::Result<()> {
        let mut buffer = Buffer::new(NOTE_BYTES);
        note.encode(&mut buffer);
        let place = NOTE_COPIES[(note.count % 2) as usize];
        let mut outcome = Err(io::Error::other("no device is in service"));
        for number in self.devices_in_service() {
            let device = &self.devices[number];
            let written = device.write_at(&buffer, place);
            match written.and_then(|()| device.sync()) {
                Ok(()) => outcome = Ok(()),
                Err(error) => {
                    let name = device.name();
                    self.events
                        .tell_error(TierEventKind::WriteFailed, &name, &error);
                    outcome = outcome.or(Err(error));
                }
            }
        }
        outcome
    }

    /// What the owner noted last, before a restart or after it; none where it never did.
    pub fn noted(&self) -> Option<Vec<u8>> {
        let note = self.notes.note.lock().expect("no holder panics");
        note.as_ref().map(|note| note.tenure.clone())
    }
}
