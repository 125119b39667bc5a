//! The SSD tier's metrics: a name with its unit for each figure of `stats tier`, and what it tells.

use super::page::{Kind, Page};
use farcache_session::stats::tier;
use farcache_store::TierStats;
use std::fmt;

/// How a figure of `stats tier` is shown.
struct Shown {
    /// Its name in `stats tier`.
    figure: &'static str,
    /// Its name here, without prefix and `_total`.
    name: &'static str,
    /// What it is.
    kind: Kind,
    /// What it tells.
    help: &'static str,
}

macro_rules! shown {
    ($($figure:ident => $name:ident $kind:ident $help:literal;)*) => {
        /// Every figure that is shown.
        const SHOWN: &[Shown] = &[$(Shown {
            figure: stringify!($figure),
            name: concat!("tier_", stringify!($name)),
            kind: Kind::$kind,
            help: $help,
        },)*];
    };
}

shown! {
    device_bytes => device_bytes Gauge "Size of all SSDs in service";
    devices_failed => devices_failed Gauge "SSDs out of service; anything but 0 needs an operator";
    segment_bytes => segment_bytes Gauge "Size of a segment, the unit in which SSDs are written and reclaimed";
    segments => segments Gauge "Segments on the SSDs in all";
    segments_free => segments_free Gauge "Segments on the SSDs that can be written";
    segments_waiting => segments_waiting Gauge "Empty segments that wait until what left them is durable elsewhere";
    segments_written => segments_written Counter "Segments written to the SSDs";
    segments_cleaned => segments_cleaned Counter "Segments whose live items were moved away so that they can be written anew";
    segments_evicted => segments_evicted Counter "Segments whose items were dropped to make room on the SSDs";
    segments_recovered => segments_recovered Counter "Segments found on the SSDs at the start";
    segments_dropped => segments_dropped Counter "Segments that were torn or damaged at the start, and were dropped";
    items => items Gauge "Items on the SSDs, copies of items in memory included";
    items_written => items_written Counter "Items written to the SSDs";
    items_moved => items_moved Counter "Items moved by cleaning";
    items_lost => items_lost Counter "Items lost to faults of an SSD";
    items_recovered => items_recovered Gauge "Items found on the SSDs at the start";
    evictions => evictions Counter "Live items dropped because the SSDs were full";
    evictions_device_slow => evictions_device_slow Counter "Live items dropped because the SSDs could not keep up with the stores";
    evictions_unread => evictions_unread Counter "Live items that nobody had read, dropped instead of written because the SSDs are full";
    promoted => promoted Counter "Items brought back to memory because they were read again";
    buffer_hits => buffer_hits Counter "Items served from a segment that was still being written";
    bytes_live => live_bytes Gauge "Bytes of live items on the SSDs";
    bytes_from_memory => from_memory_bytes Counter "Bytes of items that came from memory; written bytes over these are the write amplification";
    bytes_written => written_bytes Counter "Bytes written to the SSDs, everything included";
    bytes_moved => moved_bytes Counter "Bytes of items moved by cleaning";
    bytes_read => read_bytes Counter "Bytes read from the SSDs";
    reads => reads Counter "Items read from the SSDs";
    read_errors => read_errors Counter "Reads that an SSD failed";
    checksum_errors => checksum_errors Counter "Reads that returned wrong bytes, told by their checksums and answered as misses";
    write_errors => write_errors Counter "Writes that an SSD failed";
    write_queue => write_queue_segments Gauge "Segments that wait to be written; a queue that stays means the SSDs are too slow";
    waits => waits Counter "Times that a store waited for the SSDs";
    table_bytes => table_bytes Gauge "Memory of the tables of items on the SSDs";
    buffer_bytes => buffer_bytes Gauge "Memory of the buffers for reading and writing the SSDs";
    read_bytes_held => read_held_bytes Gauge "Memory of values from the SSDs that clients have yet to take";
    recovery_us => recovery_seconds Micros "How long the last start took to find what is on the SSDs";
}

/// Writes them all.
pub(super) fn write(page: &mut Page<'_>, stats: &TierStats) -> fmt::Result {
    let figures = tier::named(stats);
    SHOWN.iter().try_for_each(|shown| {
        let found = figures.iter().find(|(name, _)| *name == shown.figure);
        let value = found.map_or(0, |(_, value)| *value);
        page.figure(shown.kind, shown.name, shown.help, value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_shown_once() {
        let mut shown: Vec<_> = SHOWN.iter().map(|shown| shown.figure).collect();
        let figures = tier::named(&TierStats::default());
        let mut figures: Vec<_> = figures.iter().map(|(name, _)| *name).collect();
        shown.sort_unstable();
        figures.sort_unstable();
        assert_eq!(shown, figures);
    }
}
