//! When a run's measured part begins and when the run ends.

/// Length of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Nanoseconds before anything counts.
    pub warmup_ns: u64,
    /// Nanoseconds that count.
    pub measure_ns: u64,
    /// Most requests in all; all that are sent are answered before the run ends.
    pub requests_max: u64,
}

impl RunLimits {
    /// A run of so many requests, however long it takes.
    pub fn requests(requests_max: u64) -> Self {
        RunLimits {
            warmup_ns: 0,
            measure_ns: u64::MAX,
            requests_max,
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    limits: RunLimits,
    measured_from_ns: Option<u64>,
}

/// What the passing of time brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing.
    On,
    /// The warm-up is over: forget what was recorded.
    Measure,
    /// The time is up.
    End,
}

impl Progress {
    /// A run at its start, at time 0.
    pub fn new(limits: RunLimits) -> Self {
        Progress {
            limits,
            measured_from_ns: None,
        }
    }

    /// Looks at the time.
    pub fn turn(&mut self, now_ns: u64) -> Turn {
        match self.measured_from_ns {
            None if now_ns >= self.limits.warmup_ns => {
                self.measured_from_ns = Some(now_ns);
                Turn::Measure
            }
            Some(from_ns) if now_ns - from_ns >= self.limits.measure_ns => Turn::End,
            _ => Turn::On,
        }
    }

    /// Nanoseconds that have counted so far.
    pub fn measured_ns(&self, now_ns: u64) -> u64 {
        self.measured_from_ns.map_or(0, |from_ns| now_ns - from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_part_starts_after_the_warm_up_and_has_its_length() {
        let limits = RunLimits {
            warmup_ns: 100,
            measure_ns: 50,
            requests_max: u64::MAX,
        };
        let mut progress = Progress::new(limits);
        assert_eq!(progress.turn(99), Turn::On);
        assert_eq!(progress.measured_ns(99), 0);
        assert_eq!(progress.turn(110), Turn::Measure);
        assert_eq!(progress.turn(159), Turn::On);
        assert_eq!(progress.turn(160), Turn::End);
        assert_eq!(progress.measured_ns(160), 50);
    }
}
