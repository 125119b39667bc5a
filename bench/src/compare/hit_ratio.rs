//! Hit ratio at equal memory: with the same `-m`, and with the same resident memory.

use super::table::{Row, Table, Wanted};
use super::{Scope, plan};
use crate::load::keys::KeyId;
use crate::load::runner::Plan;
use crate::load::values::ValueSizes;
use crate::replay::{Hits, replay};
use crate::trace::{Pattern, Trace};
use farcache_harness::server_process::{Launcher, Product};
use std::io;

/// Popular keys of each trace.
const OBJECTS: KeyId = 2_000_000;
/// Requests of each trace; the first half fills the cache and does not count.
const REQUESTS: usize = 6_000_000;
/// Memory limit of memcached for small values, in megabytes: about a fifth of the keys.
const SMALL_MEGABYTES: u32 = 64;
/// Memory limit of memcached for mixed values, in megabytes: about a fifth of the keys.
const MIXED_MEGABYTES: u32 = 256;
/// How far farcached's resident memory may lie above memcached's and count as equal.
const RESIDENT_TOLERANCE: f64 = 1.01;
/// Attempts to find the `-m` of equal resident memory.
const ATTEMPTS: usize = 6;
/// Bytes in a megabyte of `-m`.
const MEGABYTE: f64 = (1 << 20) as f64;

/// One replay of a trace.
struct Replay {
    hits: Hits,
    resident_bytes: u64,
}

struct Case {
    pattern: Pattern,
    sizes: ValueSizes,
    size_name: &'static str,
    megabytes: u32,
}

/// Measures the hit-ratio rows.
///
/// # Errors
/// If a server cannot be started or breaks off.
pub fn measure(launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
    let small = (ValueSizes::fixed(64), "64 B", SMALL_MEGABYTES);
    let mixed = (
        ValueSizes {
            bytes_min: 32,
            bytes_max: 1024,
        },
        "32-1024 B",
        MIXED_MEGABYTES,
    );
    for (sizes, size_name, megabytes) in [small, mixed] {
        for pattern in Pattern::ALL {
            let case = Case {
                pattern,
                sizes,
                size_name,
                megabytes,
            };
            case.measure(launcher, scope, table)?;
        }
    }
    Ok(())
}

impl Case {
    fn row(&self, equal: &str) -> Row {
        let wanted = match self.pattern {
            Pattern::ZipfScans => Wanted::RatioAbove(1.0),
            _ => Wanted::RatioAtLeast(1.0),
        };
        Row::new(
            format!("hits, {}, {}, {equal}", self.pattern.name(), self.size_name),
            "",
            wanted,
        )
    }

    fn measure(&self, launcher: &Launcher, scope: &Scope, table: &mut Table) -> io::Result<()> {
        let (same_limit, same_resident) = (self.row("same -m"), self.row("same RSS"));
        let mut theirs_resident = None;
        for product in [Product::Memcached, Product::Farcached] {
            if !scope.products.contains(&product) {
                continue;
            }
            eprintln!("{}: {}", same_limit.title, product.name());
            let first = self.replay(launcher, product, self.megabytes)?;
            table.add(&same_limit, product, first.hits.ratio());
            match (product, theirs_resident) {
                (Product::Memcached, _) => {
                    theirs_resident = Some(first.resident_bytes);
                    table.add(&same_resident, product, first.hits.ratio());
                }
                (Product::Farcached, Some(resident_bytes)) => {
                    let equal = self.replay_at(launcher, resident_bytes, first)?;
                    table.add(&same_resident, product, equal.hits.ratio());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Finds the limit at which farcached's resident memory is memcached's, from a first replay.
    fn replay_at(
        &self,
        launcher: &Launcher,
        wanted_bytes: u64,
        first: Replay,
    ) -> io::Result<Replay> {
        let mut megabytes = f64::from(self.megabytes);
        let mut last = first;
        for _ in 0..ATTEMPTS {
            // Not in proportion: the server itself, and its index, take their part whatever the
            // limit.
            megabytes += (wanted_bytes as f64 - last.resident_bytes as f64) / MEGABYTE;
            last = self.replay(launcher, Product::Farcached, megabytes as u32)?;
            if last.resident_bytes as f64 <= wanted_bytes as f64 * RESIDENT_TOLERANCE {
                return Ok(last);
            }
        }
        let text = format!("no -m gives {wanted_bytes} resident bytes, {megabytes:.0} is nearest");
        Err(io::Error::other(text))
    }

    fn replay(&self, launcher: &Launcher, product: Product, megabytes: u32) -> io::Result<Replay> {
        let server = launcher.start(product, &["-m", &megabytes.to_string()])?;
        let plan = Plan {
            values: self.sizes,
            ..plan(server.target())
        };
        let trace = Trace::new(self.pattern, OBJECTS, 1);
        let hits = replay(&plan, trace, REQUESTS, REQUESTS / 2)?;
        Ok(Replay {
            hits,
            resident_bytes: server.resident_bytes()?,
        })
    }
}
