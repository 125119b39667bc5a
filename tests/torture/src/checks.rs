//! What a server held before, and whether it holds more after.

use farcache_bench::load::measurement::LatencyUs;
use farcache_harness::control::Control;
use farcache_harness::server_process::ServerProcess;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Gauges that must return to where they were; those that a server does not have are passed over.
const GAUGES: [&str; 2] = ["curr_connections", "values_pinned"];

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the server must stay within.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Resident memory above the empty server's and the memory limit (index, buffers), in bytes.
    pub slack_bytes: u64,
    /// Longest that the well-behaved client may wait for one answer.
    pub wait_max: Duration,
    /// How long the server may take to let go of what dead clients held.
    pub settle_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            slack_bytes: 48 << 20,
            wait_max: Duration::from_secs(1),
            settle_max: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// A fault if the longest wait was too long.
    pub fn judge_latency(&self, latency: LatencyUs) -> Option<String> {
        let too_long = latency.max > self.wait_max.as_secs_f64() * 1e6;
        too_long.then(|| format!("a well-behaved client waited {:.0} us", latency.max))
    }
}

/// What a server held at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    descriptors: usize,
    resident_bytes: u64,
    gauges: BTreeMap<&'static str, u64>,
}

impl Baseline {
    /// Asks the server and the system.
    ///
    /// # Errors
    /// Those of the connection, or if the server is gone.
    pub fn take(server: &ServerProcess) -> io::Result<Self> {
        // The connection that asks is open both times, and so counts alike.
        let stats = Control::connect(&server.target())?.stats("")?;
        let gauge = |name: &'static str| Some((name, stats.get(name)?.parse().ok()?));
        Ok(Baseline {
            descriptors: server.descriptors()?,
            resident_bytes: server.resident_bytes()?,
            gauges: GAUGES.into_iter().filter_map(gauge).collect(),
        })
    }

    /// Takes the baseline of a server that may refuse connections until those that have ended are
    /// closed.
    fn take_until(deadline: Instant, server: &ServerProcess) -> io::Result<Self> {
        loop {
            let taken = Baseline::take(server);
            if taken.is_ok() || Instant::now() >= deadline {
                return taken;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// What the server still holds above the baseline once it has had time to settle, and whether
    /// its memory is above the limit.
    ///
    /// # Errors
    /// Those of the connection, or if the server is gone.
    pub fn faults_now(
        &self,
        server: &ServerProcess,
        megabytes: u32,
        limits: &Limits,
    ) -> io::Result<Vec<String>> {
        let deadline = Instant::now() + limits.settle_max;
        let mut now = Baseline::take_until(deadline, server)?;
        while !self.leaks(&now).is_empty() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
            now = Baseline::take_until(deadline, server)?;
        }
        let mut faults = self.leaks(&now);
        let allowed_bytes = self.resident_bytes + (u64::from(megabytes) << 20) + limits.slack_bytes;
        if now.resident_bytes > allowed_bytes {
            let (found, allowed) = (now.resident_bytes >> 20, allowed_bytes >> 20);
            faults.push(format!("{found} MiB resident, {allowed} allowed"));
        }
        Ok(faults)
    }

    fn leaks(&self, now: &Baseline) -> Vec<String> {
        let mut leaks = Vec::new();
        // The asking connection may or may not have its descriptor at the moment of the count.
        if now.descriptors > self.descriptors + 1 {
            leaks.push(format!(
                "{} descriptors, before {}",
                now.descriptors, self.descriptors
            ));
        }
        for (name, before) in &self.gauges {
            match now.gauges.get(name) {
                Some(after) if after > before => {
                    leaks.push(format!("{name} {after}, before {before}"))
                }
                _ => {}
            }
        }
        leaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(descriptors: usize, connections: u64) -> Baseline {
        let gauges = BTreeMap::from([("curr_connections", connections)]);
        Baseline {
            descriptors,
            resident_bytes: 0,
            gauges,
        }
    }

    #[test]
    fn what_is_held_above_the_baseline_is_a_leak() {
        let before = baseline(20, 2);
        assert!(before.leaks(&baseline(21, 2)).is_empty());
        assert!(before.leaks(&baseline(15, 1)).is_empty());
        assert_eq!(before.leaks(&baseline(22, 3)).len(), 2);
    }

    #[test]
    fn a_long_wait_is_a_fault() {
        let limits = Limits {
            wait_max: Duration::from_millis(10),
            ..Limits::default()
        };
        let latency = |max| LatencyUs {
            max,
            ..LatencyUs::default()
        };
        assert_eq!(limits.judge_latency(latency(9_999.0)), None);
        assert!(limits.judge_latency(latency(10_001.0)).is_some());
    }
}
