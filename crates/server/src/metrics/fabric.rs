//! The fabric's metrics.

use super::page::{Page, renamed};
use crate::upgrade::figures::{Figures, Nature};
use crate::upgrade::registry::Registry;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// Figures whose names here end in their units.
const RENAMED: [(&str, &str); 2] = [("bytes_in", "received_bytes"), ("bytes_out", "sent_bytes")];

/// Writes them all.
pub(super) fn write(page: &mut Page<'_>, fabric: &Registry) -> fmt::Result {
    let (granted, refused) = (
        fabric.grants.load(Relaxed),
        fabric.grants_refused.load(Relaxed),
    );
    page.counter(
        "fabric_grants",
        "Sessions on the fabric granted to clients",
        granted,
    )?;
    page.counter(
        "fabric_grants_refused",
        "Requests for a session on the fabric that were refused: nothing in common, no trust, no room",
        refused,
    )?;
    let figures = Figures::sum(fabric.places.iter().map(|place| &*place.figures));
    figures.into_iter().try_for_each(|figure| {
        let name = renamed(&RENAMED, figure.name.trim_end_matches("_total"));
        let name = format!("fabric_{name}");
        let help = format!("{}, on the fabric", figure.meaning);
        match figure.nature {
            // Two levels have a total beside them, which is named apart.
            Nature::Level => page.gauge(&format!("{name}_now"), &help, figure.value),
            Nature::Count => page.counter(&name, &help, figure.value),
        }
    })
}
