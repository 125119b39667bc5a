//! What is written to the SSD while items are overwritten.

use super::subject::{MEMORY_MEBIBYTES, Subject, tier_stat};
use crate::compare::table::{Table, Wanted};
use crate::load::run_limits::RunLimits;
use crate::load::runner::Plan;
use crate::load::workload::Mix;
use std::io;

/// Data over memory.
const SPILL_FACTOR: f64 = 1.5;
/// Part of the SSD that is alive: see [`Alive`].
const LIVE_SHARE: f64 = 0.75;
/// Share of memory that live items fill while others are overwritten.
const MEMORY_SHARE: f64 = 0.8;
/// How often everything is overwritten before anything counts, until cleaning has become even, and
/// while it counts.
const WARM_UP: u64 = 3;
const MEASURED: u64 = 3;
/// What is wanted of both figures.
const AMPLIFICATION_MAX: f64 = 1.3;

/// Of what the live share is a part.
#[derive(Clone, Copy)]
enum Alive {
    /// All data is so much of the SSD, what lies in memory included.
    Data,
    /// What lies on the SSD is so much of it: it is smaller, and cleaning has more to do.
    OnSsd,
}

impl Alive {
    fn ssd_mebibytes(self) -> u64 {
        let data = MEMORY_MEBIBYTES as f64 * SPILL_FACTOR;
        let alive = match self {
            Alive::Data => data,
            Alive::OnSsd => data - MEMORY_MEBIBYTES as f64 * MEMORY_SHARE,
        };
        (alive / LIVE_SHARE) as u64
    }

    fn title(self) -> &'static str {
        match self {
            Alive::Data => "data 75 % of the SSD",
            Alive::OnSsd => "75 % of the SSD alive",
        }
    }
}

impl Subject<'_> {
    /// Overwrites items in random order.
    pub fn overwriting(&self, table: &mut Table) -> io::Result<()> {
        for alive in [Alive::Data, Alive::OnSsd] {
            for zipf in [None, Some(0.99)] {
                self.overwriting_one(alive, zipf, table)?;
            }
        }
        Ok(())
    }

    fn overwriting_one(
        &self,
        alive: Alive,
        zipf: Option<f64>,
        table: &mut Table,
    ) -> io::Result<()> {
        let server = self.start(alive.ssd_mebibytes())?;
        let plan = self.plan(&server, self.keys(SPILL_FACTOR));
        plan.preload()?;
        let overwriting = |times: u64, seed: u64| {
            let overwriting = Plan {
                mix: Mix {
                    set_ratio: 1.0,
                    multi_get_keys: 1,
                },
                zipf,
                depth: 16,
                seed,
                limits: RunLimits::requests(times * u64::from(plan.keys)),
                ..plan.clone()
            };
            overwriting.run().map(drop)
        };
        let figures = || -> io::Result<[f64; 2]> {
            let figure = |name| tier_stat(&server, name);
            Ok([figure("bytes_written")?, figure("bytes_from_memory")?])
        };
        overwriting(WARM_UP, 2)?;
        let before = figures()?;
        // Other keys, or the same ones would come in the same order again.
        overwriting(MEASURED, 3)?;
        let after = figures()?;
        let [written, from_memory] = [0, 1].map(|which| after[which] - before[which]);
        let stored = MEASURED as f64 * f64::from(plan.keys) * self.value_bytes as f64;
        let how = zipf.map_or("uniform", |_| "zipf 0.99");
        let when = format!("{}, {how}, {} KB", alive.title(), self.kibibytes());
        for (what, bytes) in [("stored", stored), ("left memory", from_memory)] {
            let title = format!("bytes written per byte {what}, {when}");
            let (wanted, figure) = (Wanted::AtMost(AMPLIFICATION_MAX), written / bytes.max(1.0));
            self.add(table, &title, "", wanted, figure);
        }
        let share = tier_stat(&server, "bytes_live")? / (alive.ssd_mebibytes() << 20) as f64;
        let title = format!("  alive on the SSD, {when}");
        self.add(table, &title, "%", Wanted::Nothing, share * 100.0);
        server.stop().map(drop)
    }
}
