//! `stats redundancy`: what this server does to have its copies and shards; Farcache's own.

use crate::shared::Shared;
use farcache_session::stats::Report;

/// All of it; where the server does not repair, only that.
pub(super) fn collect(shared: &Shared, report: &mut Report<'_>) {
    for (name, _, value) in shared.coding.told() {
        report.stat(format_args!("coding_{name}"), value);
    }
    report.stat("repair", if shared.repairs() { "on" } else { "off" });
    if !shared.repairs() {
        return;
    }
    let is_catching_up = shared.store.is_catching_up();
    for told in shared.repairs.status().told(is_catching_up) {
        report.stat(format_args!("repair_{}", told.name), told.value);
    }
}
