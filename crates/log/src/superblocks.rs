//! The superblocks of the devices in use: what stands in them, and changing that so that a crash at
//! any moment leaves either what was there before or what was to be there.
//!
//! Devices belong to the store by the table of members with the highest epoch that is found on any
//! of them. So a change of the members is done with the first copy that is written whole, and a
//! device that still has the table before it has missed nothing.

use super::format::{SUPERBLOCK_BYTES, SUPERBLOCK_COPIES, Superblock};
use crate::device::{Buffer, Device, Devices};
use crate::format::DeviceId;
use crate::schedule::{Mutex, MutexGuard};
use std::io;

/// What is known of one device's superblock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub device_id: DeviceId,
    /// Which copy is written first: the older one, or the one that is of no use.
    pub first_copy: usize,
}

struct State {
    /// What stands in all of them, or is to stand there; device and size are each one's own.
    common: Superblock,
    own: Box<[Own]>,
}

/// The superblocks of all devices in use.
pub(crate) struct Superblocks {
    ids: Box<[DeviceId]>,
    state: Mutex<State>,
}

/// What became of a superblock that was written: the error of the copy that could not be, where the
/// other could.
pub(crate) type Written = Result<Option<io::Error>, Failure>;

/// A superblock that could not be written.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Number of the device.
    pub device: usize,
    pub error: io::Error,
    /// It is unknown what a failed sync leaves behind, of everything that was written before.
    pub is_sync: bool,
}

impl State {
    fn of(&self, number: usize, device: &dyn Device) -> Superblock {
        Superblock {
            device_id: self.own[number].device_id,
            device_bytes: device.bytes(),
            ..self.common.clone()
        }
    }

    /// Writes both copies, one after the other, so that one is whole whatever happens.
    fn write(&mut self, number: usize, device: &dyn Device, superblock: &Superblock) -> Written {
        let mut buffer = Buffer::new(SUPERBLOCK_BYTES);
        superblock.encode(&mut buffer);
        let own = &mut self.own[number];
        let failure = |error, is_sync| Failure {
            device: number,
            error,
            is_sync,
        };
        let mut failed = Vec::new();
        for copy in [own.first_copy, 1 - own.first_copy] {
            match device.write_at(&buffer, SUPERBLOCK_COPIES[copy]) {
                Ok(()) => device.sync().map_err(|error| failure(error, true))?,
                Err(error) => {
                    failed.push(error);
                    continue;
                }
            }
            own.first_copy = 1 - copy;
        }
        let last = failed.pop();
        match (last, failed.is_empty()) {
            (Some(error), false) => Err(failure(error, false)),
            (last, _) => Ok(last),
        }
    }
}

impl Superblocks {
    /// The superblocks of devices that agree in all but what is each device's own.
    pub fn new(common: Superblock, own: Vec<Own>) -> Superblocks {
        Superblocks {
            ids: own.iter().map(|own| own.device_id).collect(),
            state: Mutex::new(State {
                common,
                own: own.into(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// The store's random number, which all of its devices carry.
    pub fn store_id(&self) -> [u8; 16] {
        self.state().common.store_id
    }

    /// What names a device in the headers of its segments.
    pub fn device_id(&self, device: usize) -> DeviceId {
        self.ids[device]
    }

    /// Says on a device that it is about to join; it does once the superblock of a member says so.
    ///
    /// # Errors
    /// The device's.
    pub fn announce(&self, number: usize, device: &dyn Device) -> io::Result<()> {
        let mut state = self.state();
        let joining = Superblock {
            members: Default::default(),
            ..state.of(number, device)
        };
        match state.write(number, device, &joining) {
            Err(Failure { error, .. }) | Ok(Some(error)) => Err(error),
            Ok(None) => Ok(()),
        }
    }

    /// Writes a device's superblock anew.
    ///
    /// # Errors
    /// The device's, where neither copy could be written.
    pub fn write(&self, number: usize, device: &dyn Device) -> Written {
        let mut state = self.state();
        let superblock = state.of(number, device);
        state.write(number, device, &superblock)
    }

    /// Notes what the next superblocks say: only these devices belong to the store any more, and of
    /// the segments up to the watermark nothing is missing that was not told elsewhere.
    pub fn note(&self, in_service: &[usize], flush_floor: u64, watermark: u64) {
        let state = &mut *self.state();
        let common = &mut state.common;
        common.flush_floor = common.flush_floor.max(flush_floor);
        common.watermark = common.watermark.max(watermark);
        let is_gone = |number: &usize| !in_service.contains(number);
        let gone = (0..state.own.len()).filter(is_gone);
        let gone: Vec<DeviceId> = gone
            .map(|number| state.own[number].device_id)
            .filter(|id| common.members.has(*id))
            .collect();
        if !gone.is_empty() {
            common.epoch += 1;
        }
        gone.into_iter()
            .for_each(|id| common.members.leave(id, common.epoch));
    }

    /// Writes the superblocks of these devices; else tells which one failed. What one copy alone
    /// failed with is given to `tell`.
    ///
    /// # Errors
    /// The device's.
    pub fn write_all(
        &self,
        devices: &Devices,
        numbers: &[usize],
        tell: impl Fn(usize, &io::Error),
    ) -> Result<(), Failure> {
        for &number in numbers {
            if let Some(error) = self.write(number, devices[number].as_ref())? {
                tell(number, &error);
            }
        }
        Ok(())
    }
}
