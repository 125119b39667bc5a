//! Devices that write down, in one order over all of them, what is done to them: from that, what a
//! crash at any moment leaves can be made afterwards.

use crate::image::Image;
use farcache_store::Device;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Unit in which writes are torn, in bytes.
pub const BLOCK_BYTES: usize = 512;

/// Longest time that is waited for a sync that is to fail late.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that was done to a device.
#[derive(Clone)]
pub enum Entry {
    Write {
        device: usize,
        offset: u64,
        data: Arc<[u8]>,
        /// How many entries there were when it had ended: until then any part of it may have
        /// arrived.
        completed: usize,
    },
    SyncBegun,
    /// What had ended before the entry `begun` is durable.
    SyncEnded {
        device: usize,
        begun: usize,
    },
    /// The device fails everything from here on.
    Gone,
}

/// What was done to all devices of one life of a store.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<Entry>>);

impl Recorder {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().expect("no holder panics")
    }

    /// Number of entries so far.
    pub fn position(&self) -> usize {
        self.entries().len()
    }

    /// Adds an entry; returns its number.
    pub fn push(&self, entry: Entry) -> usize {
        let mut entries = self.entries();
        entries.push(entry);
        entries.len() - 1
    }

    fn complete(&self, number: usize) {
        let mut entries = self.entries();
        let now = entries.len();
        if let Entry::Write { completed, .. } = &mut entries[number] {
            *completed = now;
        }
    }

    /// All entries.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.entries())
    }
}

/// What goes wrong with an operation.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// It fails; of a write the first so many blocks arrive.
    Error { blocks: usize },
    /// It fails, and all that follow do.
    Vanishes,
    /// The first sync of the life takes until the life is over, and fails then.
    LateSync,
}

struct State {
    image: Image,
    operations: u64,
    is_gone: bool,
    has_failed_sync: bool,
    failure: Option<(u64, Failure)>,
}

/// A device in memory that writes down what is done to it.
pub struct RecordedDevice {
    number: usize,
    bytes: u64,
    recorder: Arc<Recorder>,
    state: Mutex<State>,
    late: Mutex<Late>,
    late_changed: Condvar,
}

/// Where a life is that has a [`Failure::LateSync`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    Unlived,
    Living,
    /// The sync is waiting.
    Begun,
    Over,
}

fn failed() -> io::Error {
    io::Error::other("the device failed")
}

impl RecordedDevice {
    pub fn new(number: usize, image: Image, recorder: Arc<Recorder>) -> RecordedDevice {
        RecordedDevice {
            number,
            bytes: image.bytes(),
            recorder,
            state: Mutex::new(State {
                image,
                operations: 0,
                is_gone: false,
                has_failed_sync: false,
                failure: None,
            }),
            late: Mutex::new(Late::Unlived),
            late_changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Orders a failure of a write or sync, these counted from 0.
    pub fn fail(&self, operation: u64, failure: Failure) {
        self.state().failure = Some((operation, failure));
    }

    /// Whether it fails everything.
    pub fn is_gone(&self) -> bool {
        self.state().is_gone
    }

    /// Whether its failures take it out of service: a single write that fails is done again, a sync
    /// is not. True from before the store can know.
    pub fn is_lost(&self) -> bool {
        let state = self.state();
        state.is_gone || state.has_failed_sync
    }

    fn late(&self) -> MutexGuard<'_, Late> {
        self.late.lock().expect("no holder panics")
    }

    /// The store is open: the next sync is the life's first.
    pub fn begin_life(&self) {
        *self.late() = Late::Living;
    }

    /// Nothing more is done in the life. Where its first sync is to fail now, waits for it to
    /// begin.
    pub fn end_life(&self) {
        let has_late = matches!(self.state().failure, Some((_, Failure::LateSync)));
        let is_awaited = |late: &mut Late| has_late && *late == Late::Living;
        let waited = self
            .late_changed
            .wait_timeout_while(self.late(), PATIENCE, is_awaited);
        let (mut late, _) = waited.expect("no holder panics");
        *late = Late::Over;
        self.late_changed.notify_all();
    }

    /// Whether it is the sync that fails late; returns when that has to fail.
    fn fails_late(&self) -> bool {
        let has_late = matches!(self.state().failure, Some((_, Failure::LateSync)));
        let mut late = self.late();
        if !has_late || *late != Late::Living {
            return false;
        }
        *late = Late::Begun;
        self.late_changed.notify_all();
        let waited = self
            .late_changed
            .wait_while(late, |late| *late == Late::Begun);
        drop(waited.expect("no holder panics"));
        true
    }

    /// The failure whose turn it is.
    fn next_failure(&self) -> io::Result<Option<usize>> {
        let mut state = self.state();
        if state.is_gone {
            return Err(failed());
        }
        let operation = state.operations;
        state.operations += 1;
        match state.failure {
            Some((at, Failure::Error { blocks })) if at == operation => Ok(Some(blocks)),
            Some((at, Failure::Vanishes)) if at == operation => {
                state.is_gone = true;
                self.recorder.push(Entry::Gone);
                Err(failed())
            }
            _ => Ok(None),
        }
    }

    fn put(&self, data: &[u8], offset: u64) {
        let number = self.recorder.push(Entry::Write {
            device: self.number,
            offset,
            data: data.into(),
            completed: usize::MAX,
        });
        // Others may get something done meanwhile.
        std::thread::yield_now();
        self.state().image.write(data, offset);
        self.recorder.complete(number);
    }
}

impl Device for RecordedDevice {
    fn name(&self) -> String {
        format!("device {}", self.number)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state();
        if state.is_gone {
            return Err(failed());
        }
        if offset + buffer.len() as u64 > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        state.image.read(buffer, offset);
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        assert!(offset + buffer.len() as u64 <= self.bytes, "beyond the end");
        assert!(offset.is_multiple_of(BLOCK_BYTES as u64));
        assert!(buffer.len().is_multiple_of(BLOCK_BYTES));
        match self.next_failure()? {
            None => {
                self.put(buffer, offset);
                Ok(())
            }
            Some(blocks) => {
                self.put(&buffer[..(blocks * BLOCK_BYTES).min(buffer.len())], offset);
                Err(failed())
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        if self.next_failure()?.is_some() || self.fails_late() {
            self.state().has_failed_sync = true;
            return Err(failed());
        }
        let device = self.number;
        let begun = self.recorder.push(Entry::SyncBegun);
        std::thread::yield_now();
        self.recorder.push(Entry::SyncEnded { device, begun });
        Ok(())
    }
}
