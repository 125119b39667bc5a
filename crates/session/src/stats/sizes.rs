//! `stats sizes`: how many items of which size there are, in steps of 32 bytes. Off until asked
//! for, as in memcached, because it visits every item.

use super::Context;
use crate::report::Report;
use farcache_store::ScanCursor;
use std::collections::BTreeMap;

const STEP_BYTES: usize = 32;

/// Items visited at a time.
const SCAN_ITEMS: usize = 1024;

/// The histogram, or that it is off.
pub(super) fn collect(context: &Context<'_>, report: &mut Report<'_>) {
    if !context.service.tracks_sizes() {
        return report.stat("sizes_status", "disabled");
    }
    for (steps, count) in histogram(context) {
        report.stat(steps * STEP_BYTES, count);
    }
}

/// Turns it on or off.
pub(super) fn switch(on: bool, context: &Context<'_>, report: &mut Report<'_>) {
    context.service.track_sizes(on);
    report.stat("sizes_status", if on { "enabled" } else { "disabled" });
}

fn histogram(context: &Context<'_>) -> BTreeMap<usize, u64> {
    let mut histogram = BTreeMap::new();
    let mut cursor = ScanCursor::default();
    let mut visit = |item: &farcache_store::Item<'_>| {
        *histogram
            .entry(item.size_bytes().div_ceil(STEP_BYTES))
            .or_default() += 1;
    };
    while context.store.scan(&mut cursor, SCAN_ITEMS, &mut visit) {}
    histogram
}
