//! What is not worth a write to a full device.
//!
//! Where a device is full, whatever is written takes the place of something that is there. Of items
//! that nobody has read since they were stored most are never read again, in many kinds of traffic
//! (scans, one-hit wonders), so writing them wears the device for nothing and pushes out what is
//! read. In others they are read once, later. Which it is here shows a sample: an eighth of all
//! hashes, whose items are always written. As long as enough of them are read on the device, the
//! others are written too; else they are dropped, and leave a ghost, so that what comes back is
//! written the next time. (CacheLib, OSDI 2020, and Flashield, NSDI 2019, decide per item; the
//! sample decides for all unread items, at no cost for those in memory.)

use crate::ghosts::is_of_sample;
use crate::item::State;
use crate::schedule::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Items of the sample written before they are judged; half as many count again the next time.
const SAMPLE_ITEMS: u64 = 512;
/// Unread items are worth writing if one of so many is read on the device.
const WORTH_PART: u64 = 4;

/// Whether items that nobody has read are written to a full device.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// Items of the sample written since the last judgement, and half of those before; and how
    /// often such items were read.
    written: AtomicU64,
    read: AtomicU64,
    declines: AtomicBool,
}

impl Admission {
    /// Whether an item that leaves the probation queue for a full device is written.
    pub fn admits(&self, hash: u64, state: State) -> bool {
        state.was_fetched() || is_of_sample(hash) || !self.declines.load(Relaxed)
    }

    /// Notes an item that was written.
    pub fn note_written(&self, hash: u64, state: State) {
        if state.was_fetched() || !is_of_sample(hash) {
            return;
        }
        let written = self.written.fetch_add(1, Relaxed) + 1;
        if written >= SAMPLE_ITEMS {
            self.judge(written);
        }
    }

    /// Notes an item that was read on a device; `state` is what it was written with.
    pub fn note_read(&self, hash: u64, state: State) {
        if !state.was_fetched() && is_of_sample(hash) {
            self.read.fetch_add(1, Relaxed);
        }
    }

    fn judge(&self, written: u64) {
        let read = self.read.load(Relaxed);
        self.declines.store(read * WORTH_PART < written, Relaxed);
        self.written.store(written / 2, Relaxed);
        // What is read in this moment may go uncounted.
        self.read.store(read / 2, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of the sample, and one that is not.
    const SAMPLE: u64 = 0;
    const OTHER: u64 = 0b001 << 45;

    /// Writes the sample once, and reads so many of it.
    fn judge(admission: &Admission, read: u64) {
        let unread = State::with_frequency(0);
        (0..read).for_each(|_| admission.note_read(SAMPLE, unread));
        (0..SAMPLE_ITEMS).for_each(|_| admission.note_written(SAMPLE, unread));
    }

    #[test]
    fn unread_items_are_admitted_while_a_quarter_of_the_sample_is_read() {
        let admission = Admission::default();
        let unread = State::with_frequency(0);
        assert!(admission.admits(OTHER, unread), "nothing was judged yet");
        judge(&admission, SAMPLE_ITEMS / WORTH_PART);
        assert!(admission.admits(OTHER, unread));
        (0..4).for_each(|_| judge(&admission, 0));
        assert!(!admission.admits(OTHER, unread));
        assert!(admission.admits(SAMPLE, unread), "the sample always is");
        (0..4).for_each(|_| judge(&admission, SAMPLE_ITEMS));
        assert!(admission.admits(OTHER, unread), "it is read again");
    }

    #[test]
    fn what_is_not_of_the_sample_decides_nothing() {
        let admission = Admission::default();
        let unread = State::with_frequency(0);
        (0..10 * SAMPLE_ITEMS).for_each(|_| admission.note_written(OTHER, unread));
        assert!(admission.admits(OTHER, unread));
        judge(&admission, 0);
        (0..10 * SAMPLE_ITEMS).for_each(|_| admission.note_read(OTHER, unread));
        judge(&admission, 0);
        assert!(!admission.admits(OTHER, unread));
    }
}
