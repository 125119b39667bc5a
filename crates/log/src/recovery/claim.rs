//! Writing down what a start has found out, so that a start which does not finish leaves things as
//! they were.

use crate::device::{BUFFER_ALIGNMENT, Buffer, Device, EDGE_BYTES};
use crate::format::SUPERBLOCK_COPIES;
use crate::log::Log;
use crate::options::TierEventKind;
use crate::plan::{Seat, TierPlan};
use crate::scan::Scan;
use crate::superblocks::Failure;
use std::io;

/// The slots in which segments may lie, after those that hold superblocks.
pub(super) fn slots_in_use(log: &Log, plan: &TierPlan) -> Vec<u32> {
    let slots = plan.seats.iter().enumerate();
    let slots = slots.flat_map(|(device, seat)| {
        let all = log.slots.of_device(device);
        let end = match seat {
            Seat::Member { bytes_before, .. } => all.end.min(end_of(log, device, *bytes_before)),
            Seat::New { .. } => all.start,
        };
        (all.start..end).skip(1)
    });
    slots.collect()
}

/// The first slot that a device of this size does not have.
fn end_of(log: &Log, device: usize, bytes: u64) -> u32 {
    log.slots.of_device(device).start + (bytes / log.slots.segment_bytes()) as u32
}

/// What lay at the end of a device that was smaller meanwhile does not count any more.
pub(super) fn erase_behind_old_end(log: &Log, plan: &TierPlan) -> io::Result<()> {
    for (device, seat) in plan.seats.iter().enumerate() {
        let Seat::Member { bytes_before, .. } = seat else {
            continue;
        };
        let start = end_of(log, device, *bytes_before);
        let slots: Vec<u32> = (start..log.slots.of_device(device).end).collect();
        if !slots.is_empty() {
            let found = Scan::headers(log, &slots)?;
            erase(log, found.segments.iter().map(|segment| segment.slot))?;
        }
    }
    Ok(())
}

/// Makes what lies in these slots look like nothing, durably.
pub(super) fn erase(log: &Log, slots: impl Iterator<Item = u32>) -> io::Result<()> {
    let zeros = Buffer::new(BUFFER_ALIGNMENT);
    let mut written = vec![false; log.devices.len()];
    for slot in slots {
        let device = log.slots.device_of(slot);
        log.devices[device].write_at(&zeros, log.slots.offset_of(slot))?;
        written[device] = true;
    }
    let written = log.devices.iter().zip(written);
    written
        .filter(|(_, is_written)| *is_written)
        .try_for_each(|(device, _)| device.sync())
}

/// Makes durable what was found: the process that wrote it may have ended before it was, and from
/// now on it counts.
pub(super) fn make_found_durable(log: &Log, plan: &TierPlan) -> io::Result<()> {
    for (number, seat) in plan.seats.iter().enumerate() {
        if matches!(seat, Seat::Member { .. }) {
            log.devices[number].sync()?;
        }
    }
    Ok(())
}

/// Brings the superblocks up to date. Where nothing has changed since the last start, that is
/// nothing, unless it is due anyway.
///
/// Devices that are new get ready first, which changes nothing for the others. Then the first
/// superblock with the new table of members that is written whole makes the change, for all of
/// them.
pub(super) fn claim(log: &Log, plan: &TierPlan, is_due_anyway: bool) -> io::Result<()> {
    let seats = || plan.seats.iter().enumerate();
    for (number, seat) in seats() {
        if let Seat::New { is_wiped } = seat {
            let device = log.devices[number].as_ref();
            if *is_wiped {
                wipe(device)?;
            }
            log.superblocks.announce(number, device)?;
        }
    }
    let is_due = |(_, seat): &(usize, &Seat)| {
        let is_current = matches!(seat, Seat::Member { is_current, .. } if *is_current);
        plan.is_changed() || !is_current || is_due_anyway
    };
    let is_new = |seat: &Seat| matches!(seat, Seat::New { .. });
    let members = seats().filter(|(_, seat)| !is_new(seat)).filter(is_due);
    let new = seats().filter(|(_, seat)| is_new(seat));
    let numbers: Vec<usize> = members.chain(new).map(|(number, _)| number).collect();
    let tell = |number: usize, error: &io::Error| {
        let name = log.devices[number].name();
        log.events
            .tell_error(TierEventKind::WriteFailed, &name, error);
    };
    let written = log.superblocks.write_all(&log.devices, &numbers, tell);
    written.map_err(|Failure { device, error, .. }| {
        let message = format!("{} cannot be written: {error}", log.devices[device].name());
        io::Error::new(error.kind(), message)
    })
}

/// Takes the marks away by which others would know what lay there: they stand at the beginning and
/// the end. The places of the superblocks are written anyway.
fn wipe(device: &dyn Device) -> io::Result<()> {
    let zeros = Buffer::new(EDGE_BYTES as usize);
    let behind_superblocks = 2 * SUPERBLOCK_COPIES[1];
    let bytes = device.bytes();
    let edge = EDGE_BYTES.min(bytes);
    for (start, end) in [
        (behind_superblocks, edge),
        ((bytes - edge).max(edge), bytes),
    ] {
        device.write_at(&zeros[..(end - start) as usize], start)?;
    }
    device.sync()
}
