//! The engine's row of the table: farcached's store alone, against the memory's own rate.

use super::table::{Row, Table, Wanted};
use crate::engine;
use farcache_harness::server_process::Product;
use std::io;
use std::time::Duration;

/// Items in the store.
const ITEMS: u32 = 20_000_000;
/// Length of each measurement.
const DURATION: Duration = Duration::from_secs(3);

/// Measures the engine's rows.
///
/// # Errors
/// If the memory cannot be had or the store loses an item.
pub fn measure(table: &mut Table) -> io::Result<()> {
    eprintln!("engine: 20 M items");
    let figures = engine::measure(ITEMS, &[16], DURATION)?;
    let lookups_per_s = figures.lookups_per_s(16).unwrap_or_default();
    let limit_per_s = figures.memory_limit.prefetched_per_s;
    let mut add = |title: &str, unit, wanted, figure| {
        table.add(&Row::new(title, unit, wanted), Product::Farcached, figure);
    };
    add(
        "the store alone, without network: GET, 20 M items, 16 at a time",
        "M/s",
        Wanted::Nothing,
        lookups_per_s / 1e6,
    );
    add(
        "what the memory can do: prefetched random reads of 64 B",
        "M/s",
        Wanted::Nothing,
        limit_per_s / 1e6,
    );
    let share = lookups_per_s / limit_per_s;
    add(
        "the store alone, as a share of what the memory can do",
        "",
        Wanted::AtLeast(0.333),
        share,
    );
    Ok(())
}
