//! The figures of repair, as `stats redundancy` and the metrics tell them.

use super::Status;
use std::time::UNIX_EPOCH;

/// A figure.
pub struct Told {
    /// Its name, without `repair_`.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Now.
    pub value: u64,
    /// Whether it only rises.
    pub is_count: bool,
}

fn count(name: &'static str, help: &'static str, value: u64) -> Told {
    Told {
        name,
        help,
        value,
        is_count: true,
    }
}

fn level(name: &'static str, help: &'static str, value: u64) -> Told {
    Told {
        is_count: false,
        ..count(name, help, value)
    }
}

impl Status {
    /// All of them; `is_catching_up` is whether this server does.
    pub fn told(&self, is_catching_up: bool) -> Vec<Told> {
        let figures = &self.figures;
        let finished = self.last_finished.map_or(0, |when| {
            let since = when.duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_secs()
        });
        let left = self.progress.map_or(0, |progress| {
            // As long as what is done took, in proportion.
            let milliseconds = self.duration.as_millis() as u64;
            milliseconds * 1024u64.saturating_sub(progress) / progress.max(1) / 1000
        });
        vec![
            level(
                "catching_up",
                "Whether this server may lack what others have, or have what was overwritten",
                is_catching_up.into(),
            ),
            level(
                "running",
                "Whether a repair pass is under way",
                self.progress.is_some().into(),
            ),
            level(
                "progress_permille",
                "How much of the pass that is under way is done",
                self.progress.unwrap_or(1024) * 1000 / 1024,
            ),
            level(
                "left_seconds",
                "Estimated rest of the pass that is under way",
                left,
            ),
            level(
                "bytes_per_second",
                "Bytes fetched a second, in the present pass or the last one",
                self.bytes_per_second(),
            ),
            level(
                "last_finished",
                "When the last pass ended, in Unix time; 0 before there was one",
                finished,
            ),
            level(
                "complete",
                "Whether the last pass reached all servers and left nothing undone",
                self.is_complete.into(),
            ),
            level(
                "servers_unreachable",
                "Servers that the last pass could not ask",
                self.unreachable,
            ),
            level(
                "full",
                "Whether keys were passed over because memory is full",
                self.is_full.into(),
            ),
            count("passes", "Repair passes that have ended", self.passes),
            count(
                "keys_examined",
                "Keys that other servers have listed",
                figures.keys_examined,
            ),
            count(
                "parts_rebuilt",
                "Copies and shards stored that this server lacked",
                figures.parts_rebuilt,
            ),
            count(
                "bytes_fetched",
                "Bytes of parts fetched from other servers",
                figures.bytes_fetched,
            ),
            count(
                "tombstones_stored",
                "Deletions learnt from other servers",
                figures.tombstones_stored,
            ),
            count(
                "parts_dropped",
                "Parts from before this server was away that others had overwritten or deleted",
                figures.parts_dropped,
            ),
            count(
                "keys_short",
                "How often a value was met of which too few servers have a part",
                figures.keys_short,
            ),
            count(
                "errors",
                "Servers lost, parts found damaged and parts that could not be stored",
                figures.errors,
            ),
        ]
    }
}
