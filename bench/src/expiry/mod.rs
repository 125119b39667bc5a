//! Values that expire: traffic after the statistics of Twitter's clusters, on memcached and
//! farcached at equal memory.
//!
//! Both servers get the same requests at the same times, so that as much expires on both, from one
//! thread over one connection each. Where a cache is filled by what it misses, all keys have been
//! stored once before, so that its memory is full. It is counted in the second half. Then the same
//! requests go on as fast as they go, in short turns, for the throughput.

pub mod cluster;
pub mod player;
pub mod report;

use crate::load::keys::KeyId;
use cluster::{Cluster, Request, Stream};
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use player::{Held, Player};
use report::{Measured, Report, Row, Sample};
use std::io;
use std::time::{Duration, Instant};

/// Time between two looks at what is due.
const TICK: Duration = Duration::from_micros(500);
/// Time between two samples of what is held.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
/// Requests that are sent together when they go as fast as they go.
const BURST_REQUESTS: usize = 64;
/// Keys for the memory so many times.
const SPILL: f64 = 4.0;
/// What is stored while most values live, for the memory so many times.
const LIVE_SHARE: f64 = 0.9;
/// Requests a second at most.
const RATE_MAX: f64 = 50_000.0;
/// After the last request it is looked again after so many of most values' lives, where that is
/// soon.
const IDLE_LIVES: u32 = 2;
const IDLE_MAX: Duration = Duration::from_secs(10);

/// How clusters are measured.
#[derive(Clone, Debug)]
pub struct Bench {
    /// How servers are started.
    pub launcher: Launcher,
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Seconds in which requests come at fixed times.
    pub seconds: f64,
    /// Turns in which they come as fast as they go.
    pub turns: usize,
    /// Seconds of each.
    pub turn_seconds: f64,
    /// How many times faster than there time passes; each cluster's own otherwise.
    pub speed: Option<u32>,
}

struct Running {
    measured: Measured,
    server: ServerProcess,
    player: Player,
}

impl Bench {
    /// Measures clusters.
    ///
    /// # Errors
    /// If a server cannot be started, or breaks off.
    pub fn measure(&self, clusters: &[Cluster]) -> io::Result<Report> {
        let mut report = Report::of(self);
        for &cluster in clusters {
            eprintln!("cluster {}", cluster.name());
            report.rows.push(self.row(cluster)?);
        }
        Ok(report)
    }

    fn row(&self, cluster: Cluster) -> io::Result<Row> {
        let statistics = cluster.statistics();
        let speed = self.speed.unwrap_or(cluster.speed()).max(1);
        let item_bytes = statistics.item_bytes() as f64;
        let keys = (SPILL * self.memory_bytes as f64 / item_bytes) as KeyId;
        let lives_s = statistics.most_live_s(speed);
        let sets = f64::from(statistics.sets_percent) / 100.0;
        let rate = LIVE_SHARE * self.memory_bytes as f64 / (sets * f64::from(lives_s) * item_bytes);
        let rate = if statistics.fills {
            RATE_MAX
        } else {
            rate.min(RATE_MAX)
        };
        let mut stream = Stream::new(statistics, speed, keys);
        let mut running = Vec::new();
        for product in [Product::Memcached, Product::Farcached] {
            let memory = (self.memory_bytes >> 20).to_string();
            let server = self.launcher.start(product, &["-m", &memory])?;
            let player = Player::connect(&server.target(), &stream, statistics.fills, keys)?;
            let measured = Measured::new(product);
            running.push(Running {
                measured,
                server,
                player,
            });
        }
        if statistics.fills {
            fill(&stream, &mut running, keys)?;
        }
        let live = self.play(&mut stream, &mut running, rate)?;
        for one in &mut running {
            one.measured.counts = one.player.take_counts();
            one.measured.resident_bytes = one.server.resident_bytes()?;
            // Before it is asked for anything, which may remove what has expired.
            one.measured.held = one.player.held()?;
            one.measured.live_items = one.player.look(&stream)?;
        }
        let idle = Duration::from_secs(u64::from(IDLE_LIVES * lives_s));
        if idle <= IDLE_MAX {
            std::thread::sleep(idle);
            for one in &mut running {
                let held = one.player.held()?;
                one.measured.idle = Some((held, one.player.look(&stream)?));
            }
        }
        self.bursts(&mut stream, &mut running)?;
        Ok(Row {
            cluster,
            speed,
            keys,
            rate,
            live,
            measured: running.into_iter().map(|one| one.measured).collect(),
        })
    }

    /// Requests at fixed times; what is counted of them is that of the second half.
    fn play(
        &self,
        stream: &mut Stream,
        running: &mut [Running],
        rate: f64,
    ) -> io::Result<Vec<Sample>> {
        let (start, mut played) = (Instant::now(), 0_u64);
        let (mut next_sample, mut live, mut is_first_half) = (SAMPLE_EVERY, Vec::new(), true);
        loop {
            let elapsed = start.elapsed();
            if elapsed.as_secs_f64() >= self.seconds {
                break;
            }
            if is_first_half && elapsed.as_secs_f64() >= self.seconds / 2.0 {
                is_first_half = false;
                for one in running.iter_mut() {
                    one.player.take_counts();
                }
            }
            let due = (elapsed.as_secs_f64() * rate) as u64;
            // A client that is late sends in portions, so that it goes on looking at the time.
            let due = due.min(played + BURST_REQUESTS as u64);
            for _ in played..due {
                let request = stream.draw();
                running
                    .iter_mut()
                    .for_each(|one| one.player.queue(request, stream));
            }
            let is_late = due == played + BURST_REQUESTS as u64;
            played = due;
            running
                .iter_mut()
                .try_for_each(|one| one.player.pump(stream))?;
            if elapsed >= next_sample {
                next_sample += SAMPLE_EVERY;
                sample(elapsed, stream, running, &mut live)?;
            }
            if !is_late {
                std::thread::sleep(TICK);
            }
        }
        for one in running {
            one.player.drain(stream)?;
        }
        Ok(live)
    }

    /// Sends the stream's requests to each server as fast as they go, in turns.
    fn bursts(&self, stream: &mut Stream, running: &mut [Running]) -> io::Result<()> {
        for turn in 0..self.turns {
            for at in 0..running.len() {
                // Who went second goes first the next time.
                let at = (at + turn) % running.len();
                let one = &mut running[at];
                one.player.take_counts();
                let start = Instant::now();
                while start.elapsed().as_secs_f64() < self.turn_seconds {
                    for _ in 0..BURST_REQUESTS {
                        let request = stream.draw();
                        one.player.queue(request, stream);
                    }
                    one.player.drain(stream)?;
                }
                let seconds = start.elapsed().as_secs_f64();
                let counts = one.player.take_counts();
                one.measured.rates.push(counts.requests as f64 / seconds);
                one.measured.wrong_in_turns += counts.wrong + counts.late;
            }
        }
        Ok(())
    }
}

/// Stores all keys once, the popular ones anywhere among the others.
fn fill(stream: &Stream, running: &mut [Running], keys: KeyId) -> io::Result<()> {
    for one in running {
        for key in 0..keys {
            let request = Request { key, is_set: true };
            one.player.queue(request, stream);
            if (key as usize).is_multiple_of(BURST_REQUESTS) {
                one.player.pump(stream)?;
            }
        }
        one.player.drain(stream)?;
    }
    Ok(())
}

fn sample(
    elapsed: Duration,
    stream: &Stream,
    running: &mut [Running],
    live: &mut Vec<Sample>,
) -> io::Result<()> {
    let seconds = elapsed.as_secs_f64();
    for one in running.iter_mut() {
        let Held { bytes, .. } = one.player.held()?;
        one.measured.samples.push(Sample { seconds, bytes });
    }
    if let Some(one) = running.first() {
        let bytes = one.player.live_bytes(stream);
        live.push(Sample { seconds, bytes });
    }
    Ok(())
}
