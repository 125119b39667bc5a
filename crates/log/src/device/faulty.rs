//! A device in memory that fails in the ways that devices fail.

use super::{BUFFER_ALIGNMENT, Device};
use crate::schedule::{Mutex, MutexGuard};
use std::io;

/// What goes wrong with the write whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Only the first so many blocks arrive, and an error is returned.
    Torn {
        /// Blocks that arrive.
        blocks: usize,
    },
    /// Nothing arrives, and the device says that it is full.
    Full,
    /// Nothing arrives, and an error is returned.
    Error,
    /// One bit arrives inverted, and nobody notices.
    Flipped {
        /// Number of the bit among those written.
        bit: usize,
    },
    /// Nothing arrives, and nobody notices.
    Lost,
    /// The device is gone, from this write on.
    Vanishes,
}

struct State {
    bytes: Vec<u8>,
    /// What was there before each write since the last sync, newest last.
    unsynced: Vec<(usize, Vec<u8>)>,
    writes: u64,
    faults: Vec<(u64, Fault)>,
    reads_fail: bool,
    /// So many further reads succeed before reads are to fail.
    reads_to_spare: u32,
    /// So many further reads fail.
    reads_to_fail: u32,
    is_gone: bool,
    fails_sync: bool,
}

/// A device in memory with faults to order.
///
/// Writes are counted from 0. A power loss undoes, in blocks, any part of what was written since
/// the last sync.
pub struct FaultyDevice {
    state: Mutex<State>,
    bytes: u64,
}

/// Unit in which writes are torn, in bytes.
const BLOCK_BYTES: usize = 512;

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the device is gone")
}

fn failed() -> io::Error {
    io::Error::other("the device failed")
}

impl FaultyDevice {
    /// A device of zeros.
    pub fn new(bytes: u64) -> FaultyDevice {
        FaultyDevice::with_contents(vec![0; bytes as usize])
    }

    /// A device with these contents.
    pub fn with_contents(bytes: Vec<u8>) -> FaultyDevice {
        FaultyDevice {
            bytes: bytes.len() as u64,
            state: Mutex::new(State {
                bytes,
                unsynced: Vec::new(),
                writes: 0,
                faults: Vec::new(),
                reads_fail: false,
                reads_to_spare: 0,
                reads_to_fail: 0,
                is_gone: false,
                fails_sync: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Orders a fault for a write.
    pub fn fail_write(&self, write: u64, fault: Fault) {
        self.state().faults.push((write, fault));
    }

    /// Has all reads fail, or succeed again.
    pub fn fail_reads(&self, fails: bool) {
        self.state().reads_fail = fails;
    }

    /// Has the next so many reads fail.
    pub fn fail_next_reads(&self, count: u32) {
        self.state().reads_to_fail = count;
    }

    /// Has so many reads succeed, and then so many fail.
    pub fn fail_reads_after(&self, spared: u32, count: u32) {
        let mut state = self.state();
        (state.reads_to_spare, state.reads_to_fail) = (spared, count);
    }

    /// Has syncs fail, or succeed again.
    pub fn fail_syncs(&self, fails: bool) {
        self.state().fails_sync = fails;
    }

    /// Takes the device away, or brings it back.
    pub fn set_gone(&self, is_gone: bool) {
        self.state().is_gone = is_gone;
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// What is on the device.
    pub fn contents(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// Inverts one bit.
    pub fn flip(&self, bit: u64) {
        self.state().bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    }

    /// What is on the device after a power loss: of each block written since the last sync,
    /// `survives` says whether it arrived. It is asked from the newest to the oldest write.
    pub fn contents_after_power_loss(&self, mut survives: impl FnMut() -> bool) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.bytes.clone();
        for (offset, before) in state.unsynced.iter().rev() {
            for (number, block) in before.chunks(BLOCK_BYTES).enumerate() {
                if !survives() {
                    let start = offset + number * BLOCK_BYTES;
                    bytes[start..start + block.len()].copy_from_slice(block);
                }
            }
        }
        bytes
    }
}

impl State {
    fn put(&mut self, buffer: &[u8], offset: usize) {
        let place = offset..offset + buffer.len();
        self.unsynced
            .push((offset, self.bytes[place.clone()].to_vec()));
        self.bytes[place].copy_from_slice(buffer);
    }

    fn next_fault(&mut self) -> Option<Fault> {
        let write = self.writes;
        self.writes += 1;
        let position = self.faults.iter().position(|(at, _)| *at == write)?;
        Some(self.faults.swap_remove(position).1)
    }

    fn write_with(&mut self, fault: Fault, buffer: &[u8], offset: usize) -> io::Result<()> {
        match fault {
            Fault::Torn { blocks } => {
                let arrived = (blocks * BLOCK_BYTES).min(buffer.len());
                self.put(&buffer[..arrived], offset);
                Err(failed())
            }
            Fault::Full => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fault::Error => Err(failed()),
            Fault::Flipped { bit } => {
                let mut copy = buffer.to_vec();
                let bit = bit % (copy.len() * 8);
                copy[bit / 8] ^= 1 << (bit % 8);
                self.put(&copy, offset);
                Ok(())
            }
            Fault::Lost => Ok(()),
            Fault::Vanishes => {
                self.is_gone = true;
                Err(gone())
            }
        }
    }
}

impl Device for FaultyDevice {
    fn name(&self) -> String {
        "a faulty device".into()
    }

    fn bytes(&self) -> u64 {
        self.bytes / BUFFER_ALIGNMENT as u64 * BUFFER_ALIGNMENT as u64
    }

    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        if state.is_gone {
            return Err(gone());
        }
        let is_spared = state.reads_to_spare > 0;
        state.reads_to_spare = state.reads_to_spare.saturating_sub(1);
        let fails_once = !is_spared && state.reads_to_fail > 0;
        state.reads_to_fail -= u32::from(fails_once);
        if state.reads_fail || fails_once {
            return Err(failed());
        }
        let start = offset as usize;
        let part = state.bytes.get(start..start + buffer.len());
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        if state.is_gone {
            return Err(gone());
        }
        if offset as usize + buffer.len() > state.bytes.len() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        match state.next_fault() {
            Some(fault) => state.write_with(fault, buffer, offset as usize),
            None => {
                state.put(buffer, offset as usize);
                Ok(())
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.is_gone {
            return Err(gone());
        }
        if state.fails_sync {
            return Err(failed());
        }
        state.unsynced.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_when_ordered_and_only_then() {
        let device = FaultyDevice::new(8192);
        device.fail_write(1, Fault::Torn { blocks: 1 });
        device.fail_write(2, Fault::Flipped { bit: 8 });
        device.fail_write(3, Fault::Vanishes);
        assert!(device.write_at(&[1; 1024], 0).is_ok());
        assert!(device.write_at(&[2; 1024], 0).is_err());
        assert!(device.write_at(&[0; 512], 4096).is_ok());
        let contents = device.contents();
        assert_eq!((contents[0], contents[511], contents[512]), (2, 2, 1));
        assert_eq!(contents[4097], 1);
        assert!(device.write_at(&[3; 512], 0).is_err());
        assert!(device.read_at(&mut [0; 512], 0).is_err() && device.sync().is_err());
        device.set_gone(false);
        assert!(device.read_at(&mut [0; 512], 0).is_ok());
        device.fail_next_reads(1);
        assert!(device.read_at(&mut [0; 512], 0).is_err());
        assert!(device.read_at(&mut [0; 512], 0).is_ok());
    }

    #[test]
    fn a_power_loss_undoes_only_what_was_not_synced() {
        let device = FaultyDevice::new(8192);
        device.write_at(&[1; 1024], 0).unwrap();
        device.sync().unwrap();
        device.write_at(&[2; 1024], 0).unwrap();
        assert_eq!(device.contents_after_power_loss(|| true)[0], 2);
        let mut first = true;
        let contents = device.contents_after_power_loss(|| std::mem::take(&mut first));
        assert_eq!((contents[0], contents[512]), (2, 1));
    }
}
