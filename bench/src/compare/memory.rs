//! Resident memory per item when the memory is full.

use super::table::{Row, Table, Wanted};
use super::{Scope, plan};
use farcache_harness::control::Control;
use farcache_harness::server_process::{Launcher, ServerProcess};
use std::io;

/// Sizes of the stored keys and values together, in bytes.
const ITEM_BYTES: f64 = 16.0 + 64.0;
/// Servers that are filled one after the other, at most: of two that hold the same, one may have a
/// huge page more.
const TURNS_MAX: usize = 3;

/// A server that was filled until it evicted.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Items that it holds.
    pub items: u64,
    /// Its resident memory before, in bytes.
    pub empty_bytes: u64,
    /// Its resident memory when full, in bytes.
    pub full_bytes: u64,
}

impl Filled {
    /// Resident bytes per item above key and value.
    pub fn overhead_bytes(&self) -> f64 {
        self.full_bytes as f64 / self.items as f64 - ITEM_BYTES
    }

    /// Resident bytes per item above key and value, without what the server takes when empty.
    pub fn growth_overhead_bytes(&self) -> f64 {
        (self.full_bytes - self.empty_bytes) as f64 / self.items as f64 - ITEM_BYTES
    }
}

/// Measures the memory rows.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    // What an empty server takes weighs more in a small memory: there, only the ratio can be told.
    let (megabytes, wanted) = match scope.short {
        true => (256, Wanted::RatioAtMost(0.34)),
        false => (1024, Wanted::AtMost(24.0)),
    };
    let total = Row::new(
        format!("full with -m {megabytes}: resident memory per item beside key and value"),
        "B/item",
        wanted,
    );
    let growth = Row::new(
        "the same without what the empty server takes",
        "B/item",
        Wanted::Nothing,
    );
    for turn in 0..scope.turns.min(TURNS_MAX) {
        for &product in &scope.products {
            eprintln!("memory, turn {}: {}", turn + 1, product.name());
            let server = launcher.start(product, &["-m", &megabytes.to_string()])?;
            let filled = fill(&server, megabytes)?;
            table.add(&total, product, filled.overhead_bytes());
            table.add(&growth, product, filled.growth_overhead_bytes());
        }
    }
    Ok(())
}

/// Stores items of 16 and 64 bytes until a good part of the memory has been evicted again.
///
/// # Errors
/// Those of the connections, and a server that never evicts.
pub fn fill(server: &ServerProcess, megabytes: u32) -> io::Result<Filled> {
    let empty_bytes = server.resident_bytes()?;
    let mut control = Control::connect(&server.target())?;
    // More items than fit, even if an item took no more than its key and value.
    let items_most = ((u64::from(megabytes) << 20) as f64 / ITEM_BYTES) as u32;
    let step = items_most / 8;
    let plan = plan(server.target());
    for first in (0..).step_by(step as usize).take(24) {
        plan.store(first, step)?;
        let evicted = control.stat("evictions")?;
        if evicted >= u64::from(items_most / 4) {
            let (items, full_bytes) = (control.stat("curr_items")?, server.resident_bytes()?);
            return Ok(Filled {
                items,
                empty_bytes,
                full_bytes,
            });
        }
    }
    Err(io::Error::other(format!(
        "{}: never full",
        server.product().name()
    )))
}
