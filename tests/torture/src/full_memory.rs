//! A memory that is full and must not evict (`-M`).

use farcache_bench::load::runner::Plan;
use farcache_bench::load::values::ValueSizes;
use farcache_harness::control::Control;
use farcache_harness::target::Target;
use std::io;

/// Sizes of the values stored.
const VALUES: ValueSizes = ValueSizes {
    bytes_min: 64,
    bytes_max: 4096,
};
/// Share of the items that may be refused before the memory counts as full.
const REFUSED_SHARE: f64 = 0.5;
/// Keys of each pass.
const STEP: u32 = 20_000;

/// Stores until most sets are refused; what was stored must all be there, and a delete must make
/// room again.
///
/// # Errors
/// Those of the connections, and any of that not being so.
pub fn run(target: &Target, megabytes: u32) -> io::Result<String> {
    let plan = Plan {
        target: target.clone(),
        values: VALUES,
        ..Plan::default()
    };
    let mut control = Control::connect(target)?;
    // Four times as many as fit: if the server never refuses, it does not keep its limit.
    let passes = (u64::from(megabytes) << 22) / (u64::from(STEP) * VALUES.mean_bytes() as u64) + 2;
    let (mut stored, mut refused) = (0, 0);
    for pass in 0..passes as u32 {
        let counts = plan.store(pass * STEP, STEP)?.counts;
        stored += counts.stored;
        refused += counts.errors;
        if counts.errors as f64 > f64::from(STEP) * REFUSED_SHARE {
            check_kept(&mut control, stored)?;
            check_room_after_flush(&plan, &mut control)?;
            return Ok(format!("{stored} items stored, {refused} refused"));
        }
    }
    Err(io::Error::other(format!(
        "{stored} items stored and the memory never full"
    )))
}

fn check_kept(control: &mut Control, stored: u64) -> io::Result<()> {
    let (items, evictions) = (control.stat("curr_items")?, control.stat("evictions")?);
    if evictions == 0 && items >= stored {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{items} items of {stored} kept, {evictions} evicted"
    )))
}

fn check_room_after_flush(plan: &Plan, control: &mut Control) -> io::Result<()> {
    let answer = control.ask("flush_all")?;
    let counts = plan.store(0, STEP)?.counts;
    if answer == "OK" && counts.errors == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{answer}; {} sets refused after the flush",
        counts.errors
    )))
}
