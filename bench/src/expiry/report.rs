//! What was found, for people, for programs and as a picture.

use super::Bench;
use super::cluster::Cluster;
use super::player::{Counts, Held};
use crate::markdown;
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::statistics::{Ratio, median};
use farcache_harness::server_process::Product;
use serde::Serialize;

/// Bytes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds from the beginning.
    pub seconds: f64,
    /// Bytes.
    pub bytes: u64,
}

/// What was measured of one server.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Which.
    pub product: Product,
    /// What was counted in the second half.
    pub counts: Counts,
    /// Resident memory after the last request at a fixed time.
    pub resident_bytes: u64,
    /// What it said then that it holds.
    pub held: Held,
    /// Items that were there then and had not expired.
    pub live_items: u64,
    /// What it said that it holds, and its live items, some time after that without a request in
    /// between.
    pub idle: Option<(Held, u64)>,
    /// Requests a second of the turns.
    pub rates: Vec<f64>,
    /// Reads of the turns that found what they should not.
    pub wrong_in_turns: u64,
    /// What it said that it holds, over time.
    pub samples: Vec<Sample>,
}

/// Bytes of items that have expired: those that the server counts and that do not answer, of the
/// mean size that it tells.
fn expired_bytes(held: &Held, live_items: u64) -> u64 {
    let expired = held.items.saturating_sub(live_items);
    (held.bytes * expired).checked_div(held.items).unwrap_or(0)
}

impl Measured {
    /// Nothing yet.
    pub fn new(product: Product) -> Measured {
        Measured {
            product,
            counts: Counts::default(),
            resident_bytes: 0,
            held: Held::default(),
            live_items: 0,
            idle: None,
            rates: Vec::new(),
            wrong_in_turns: 0,
            samples: Vec::new(),
        }
    }

    /// Reads that found what they should not.
    pub fn faults(&self) -> u64 {
        self.counts.wrong + self.counts.late + self.wrong_in_turns
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let share = |part: u64, of: u64| match of {
            0 => "-".to_owned(),
            of => format!("{:.3}", part as f64 / of as f64),
        };
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        let idle = self.idle.as_ref();
        let idle = idle.map(|(held, live)| megabytes(expired_bytes(held, *live)));
        let rates = |one: &Measured| one.rates.clone();
        let base = row
            .measured
            .iter()
            .find(|one| one.product == Product::Memcached);
        let ratio = base.and_then(|base| Ratio::of(&rates(self), &rates(base)));
        let rate = median(rates(self)).unwrap_or(f64::NAN);
        vec![
            row.cluster.name().to_owned(),
            self.product.name().to_owned(),
            share(self.counts.hits, self.counts.gets),
            share(self.counts.hits, self.counts.gets_of_live),
            megabytes(self.resident_bytes),
            megabytes(self.held.bytes),
            megabytes(expired_bytes(&self.held, self.live_items)),
            idle.unwrap_or("-".into()),
            format!("{:.0}", rate / 1e3),
            ratio.map_or("-".into(), |ratio| ratio.to_string()),
            self.counts.refused.to_string(),
        ]
    }
}

/// What was measured of one cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which.
    pub cluster: Cluster,
    /// How many times faster than there time passed.
    pub speed: u32,
    /// How many keys there were.
    pub keys: u32,
    /// Requests a second at fixed times.
    pub rate: f64,
    /// Keys and values that had been stored and had not expired.
    pub live: Vec<Sample>,
    /// By server.
    pub measured: Vec<Measured>,
}

/// The heads of the columns.
const HEADS: [&str; 11] = [
    "cluster",
    "server",
    "hits / gets",
    "hits / gets of what is live",
    "resident MB",
    "held MB",
    "expired MB",
    "expired MB, idle",
    "1,000/s",
    "/ memcached",
    "refused",
];

/// Everything that one run has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Seconds in which requests came at fixed times.
    pub seconds: f64,
    /// Turns in which they came as fast as they went, and seconds of each.
    pub turns: (usize, f64),
    /// What was found.
    pub rows: Vec<Row>,
}

impl Report {
    /// Nothing yet.
    pub fn of(bench: &Bench) -> Report {
        Report {
            memory_bytes: bench.memory_bytes,
            seconds: bench.seconds,
            turns: (bench.turns, bench.turn_seconds),
            rows: Vec::new(),
        }
    }

    /// Reads that found what they should not.
    pub fn faults(&self) -> u64 {
        let measured = self.rows.iter().flat_map(|row| &row.measured);
        measured.map(Measured::faults).sum()
    }

    /// The conditions and the table, as Markdown.
    pub fn markdown(&self) -> String {
        let rows = self.rows.iter();
        let rows = rows.flat_map(|row| row.measured.iter().map(|one| one.cells(row)));
        let mut text = format!(
            "`-m {}` for both. Requests come to both at the same fixed times for {} s, of which \
             the second half counts; then as fast as they go, in {} turns of {} s. Held: `bytes` \
             of `stats`. Expired: items that `stats` counts and that do not answer a `mg`, of the \
             mean size; idle: the same after {} lives without a request. {} reads were wrong or \
             after a value's time.\n\n{}\n",
            self.memory_bytes >> 20,
            self.seconds,
            self.turns.0,
            self.turns.1,
            super::IDLE_LIVES,
            self.faults(),
            markdown::table(&HEADS, rows),
        );
        for row in &self.rows {
            let statistics = row.cluster.statistics();
            let lives = statistics.ttls.iter();
            let lives = lives.map(|(ttl_s, share)| format!("{ttl_s} s: {share} %"));
            text += &format!(
                "- {}: keys of {} B, values of {} B, {} % sets{}, Zipf {}, {} keys; {}; time \
                 passes {} times faster, {:.0} requests/s.\n",
                row.cluster.name(),
                statistics.key_bytes,
                statistics.value_bytes,
                statistics.sets_percent,
                if statistics.fills { " and fills" } else { "" },
                statistics.zipf,
                row.keys,
                lives.collect::<Vec<_>>().join(", "),
                row.speed,
                row.rate,
            );
        }
        text
    }

    /// What is held over time, a chart for each cluster.
    pub fn picture(&self) -> Picture {
        Picture {
            heading: format!(
                "Bytes held at -m {}, and what had not expired (keys and values)",
                self.memory_bytes >> 20
            ),
            charts: self.rows.iter().map(Row::chart).collect(),
        }
    }
}

impl Row {
    fn chart(&self) -> Chart {
        let points = |samples: &[Sample]| {
            let megabytes = |one: &Sample| (one.seconds, one.bytes as f64 / f64::from(1 << 20));
            samples.iter().map(megabytes).collect()
        };
        let mut series: Vec<Series> = vec![Series {
            name: "not expired".into(),
            is_limit: true,
            points: points(&self.live),
        }];
        series.extend(self.measured.iter().map(|one| Series {
            name: one.product.name().into(),
            is_limit: false,
            points: points(&one.samples),
        }));
        Chart {
            title: format!("cluster {}: MB", self.cluster.name()),
            x: XAxis::Seconds,
            y: YAxis::Even,
            series,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_and_does_not_answer_has_expired() {
        let held = Held {
            items: 100,
            bytes: 5000,
        };
        assert_eq!(expired_bytes(&held, 80), 1000);
        assert_eq!(expired_bytes(&held, 120), 0);
        assert_eq!(expired_bytes(&Held::default(), 0), 0);
    }

    #[test]
    fn each_server_has_a_line_and_each_cluster_a_chart() {
        let measured = |product, rate| Measured {
            rates: vec![rate; 4],
            samples: vec![Sample {
                seconds: 1.0,
                bytes: 1 << 20,
            }],
            counts: Counts {
                gets: 10,
                gets_of_live: 5,
                hits: 4,
                late: 1,
                ..Counts::default()
            },
            ..Measured::new(product)
        };
        let report = Report {
            memory_bytes: 64 << 20,
            seconds: 2.0,
            turns: (4, 0.1),
            rows: vec![Row {
                cluster: Cluster::C12,
                speed: 100,
                keys: 10,
                rate: 1000.0,
                live: Vec::new(),
                measured: vec![
                    measured(Product::Memcached, 1000.0),
                    measured(Product::Farcached, 2000.0),
                ],
            }],
        };
        let text = report.markdown();
        assert!(
            text.contains("| 12 | farcached | 0.400 | 0.800 |"),
            "{text}"
        );
        assert!(text.contains("2.00 (2.00-2.00)") && text.contains("2 reads were wrong"));
        assert!(report.picture().svg().contains("cluster 12: MB"));
    }
}
