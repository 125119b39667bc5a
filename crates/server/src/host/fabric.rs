//! `stats fabric`: sessions over the fabric and what they have under way; Farcache's own.

use crate::shared::Shared;
use crate::upgrade::figures::Figures;
use farcache_session::stats::Report;
use std::sync::atomic::Ordering::Relaxed;

/// All of it; where there is no fabric, only that.
pub(super) fn collect(shared: &Shared, report: &mut Report<'_>) {
    let Some(fabric) = shared.fabric.get() else {
        return report.stat("network", "none");
    };
    report.stat("network", fabric.name());
    report.stat("grants", fabric.grants.load(Relaxed));
    report.stat("grants_refused", fabric.grants_refused.load(Relaxed));
    let figures = fabric.places.iter().map(|place| &*place.figures);
    for figure in Figures::sum(figures) {
        report.stat(figure.name, figure.value);
    }
    report.stat("pins", shared.store.stats().values_pinned);
    for (index, (lanes, sessions)) in fabric.lanes().into_iter().enumerate() {
        report.stat(format_args!("lanes:{index}:networks"), lanes);
        report.stat(format_args!("lanes:{index}:sessions"), sessions);
    }
}
