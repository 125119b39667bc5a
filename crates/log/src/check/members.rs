//! Which devices hold segments of the store.

use super::report::{CheckKind, CheckReport};
use crate::device::{Buffer, Device};
use crate::format::{SUPERBLOCK_BYTES, SUPERBLOCK_COPIES, Superblock};
use std::io;
use std::sync::Arc;

/// A device, and what its superblock says.
pub(super) struct Disk {
    pub device: Arc<dyn Device>,
    pub superblock: Superblock,
}

impl Disk {
    /// Slots, the first of which holds the superblock.
    pub fn slots(&self) -> u32 {
        let bytes = self.device.bytes().min(self.superblock.device_bytes);
        (bytes / u64::from(self.superblock.segment_bytes)).min(u64::from(u32::MAX)) as u32
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Reads the superblocks; returns the devices that count.
///
/// # Errors
/// The devices', where no superblock can be read; `InvalidInput` for devices that hold none, or
/// that belong to different stores.
pub(super) fn disks(
    devices: &[Arc<dyn Device>],
    report: &mut CheckReport,
) -> io::Result<Vec<Disk>> {
    let disks = devices.iter().map(|device| {
        let superblock = superblock_of(device.as_ref(), report)?;
        Ok(Disk {
            device: Arc::clone(device),
            superblock,
        })
    });
    let mut disks = disks.collect::<io::Result<Vec<_>>>()?;
    let Some(first) = disks.first() else {
        return Err(invalid("no device was named".into()));
    };
    let (store_id, segment_bytes) = (first.superblock.store_id, first.superblock.segment_bytes);
    for disk in &disks {
        let (name, one) = (disk.device.name(), &disk.superblock);
        if one.store_id != store_id || one.segment_bytes != segment_bytes {
            return Err(invalid(format!("{name} belongs to another store")));
        }
    }
    let full = disks.iter().map(|disk| &disk.superblock);
    let full = full.filter(|superblock| !superblock.is_joining());
    let Some(newest) = full.max_by_key(|superblock| superblock.epoch).cloned() else {
        return Err(invalid("the devices hold nothing of a store yet".into()));
    };
    disks.retain(|disk| {
        let is_member = newest.members.has(disk.superblock.device_id);
        if !is_member {
            let detail = "the store goes on without this device".to_owned();
            report.add(CheckKind::Behind, &disk.device.name(), 0, detail);
        }
        is_member
    });
    if disks.is_empty() {
        return Err(invalid("no device belongs to the store any more".into()));
    }
    let missing = newest.members.present().count().saturating_sub(disks.len());
    if missing > 0 {
        return Err(invalid(format!(
            "{missing} more devices belong to the store"
        )));
    }
    Ok(disks)
}

fn superblock_of(device: &dyn Device, report: &mut CheckReport) -> io::Result<Superblock> {
    let name = device.name();
    let mut buffer = Buffer::new(SUPERBLOCK_BYTES);
    let mut copies = Vec::new();
    let mut bad = Vec::new();
    for offset in SUPERBLOCK_COPIES {
        match device.read_at(&mut buffer, offset) {
            Ok(()) => match Superblock::decode(&buffer) {
                Some(copy) => copies.push((offset, copy)),
                None => bad.push((CheckKind::Superblock, offset, String::from("it is damaged"))),
            },
            Err(error) => bad.push((CheckKind::Unreadable, offset, error.to_string())),
        }
    }
    let age = |(_, copy): &&(u64, Superblock)| (copy.epoch, !copy.is_joining(), copy.watermark);
    let Some((_, newest)) = copies.iter().max_by_key(age).cloned() else {
        return Err(invalid(format!(
            "{name} holds no superblock of this version"
        )));
    };
    for (kind, offset, detail) in bad {
        report.add(
            kind,
            &name,
            offset,
            format!("copy of the superblock: {detail}"),
        );
    }
    for (offset, copy) in copies {
        if copy != newest {
            let detail = "a copy of the superblock is older than the other".to_owned();
            report.add(CheckKind::Outdated, &name, offset, detail);
        }
    }
    Ok(newest)
}
