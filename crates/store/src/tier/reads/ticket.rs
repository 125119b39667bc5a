//! What a read needs to know.

use crate::index::Location;
use crate::tier::Tier;

/// A record to be read.
#[derive(Clone, Copy)]
pub(super) struct Ticket {
    pub hash: u64,
    pub location: Location,
    pub write_number: u64,
    pub device: usize,
    /// The blocks to read.
    pub offset: u64,
    pub bytes: usize,
    /// Where the record lies in them.
    pub lead: usize,
    pub record_bytes: usize,
}

impl Tier {
    /// How to read the item at a location; none if its segment has gone.
    pub(super) fn ticket(&self, hash: u64, location: Location) -> Option<Ticket> {
        let table = self.slots.table(location.slot())?;
        let device = self.slots.device_of(location.slot());
        let record = table.record(location.item());
        let block = self.devices[device].block_bytes() as u64;
        let start = record.start / block * block;
        let end = record.end.next_multiple_of(block);
        Some(Ticket {
            hash,
            location,
            write_number: table.write_number,
            device,
            offset: self.slots.offset_of(location.slot()) + start,
            bytes: (end - start) as usize,
            lead: (record.start - start) as usize,
            record_bytes: (record.end - record.start) as usize,
        })
    }
}
