//! The figures of all runs.

use crate::run::Report;
use std::collections::BTreeMap;
use std::fmt;

/// Runs of which one may have a key whose operations have too many orders to try them all.
const UNDECIDED_ONE_IN: usize = 100;

/// What all runs together have shown.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    runs: usize,
    refused: Vec<u64>,
    failed: Vec<u64>,
    faults: BTreeMap<&'static str, usize>,
    ends: BTreeMap<String, usize>,
    unreadable: usize,
    undone: Vec<u64>,
    undecided: Vec<u64>,
}

impl Summary {
    /// Takes a run in.
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        if !report.violations.is_empty() {
            self.refused.push(report.seed);
        }
        for (&fault, count) in &report.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (end, count) in &report.ends {
            *self.ends.entry(end.clone()).or_default() += count;
        }
        self.unreadable += report.unreadable;
        if !report.undecided.is_empty() {
            self.undecided.push(report.seed);
        }
        if !report.undone.is_empty() {
            self.undone.push(report.seed);
        }
    }

    /// A run that has not been one.
    pub fn add_failed(&mut self, seed: u64) {
        self.failed.push(seed);
    }

    /// Whether all were runs, none was refused, and hardly any was not judged.
    #[must_use]
    pub fn is_success(&self) -> bool {
        let undecided_max = self.runs.div_ceil(UNDECIDED_ONE_IN);
        let are_judged = self.undecided.len() <= undecided_max;
        self.refused.is_empty() && self.failed.is_empty() && are_judged
    }

    /// How many were refused.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.refused.len()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: usize = self.ends.values().sum();
        let (runs, refused) = (self.runs, self.refused.len());
        writeln!(
            out,
            "{runs} runs, {operations} operations, {refused} runs refused"
        )?;
        let counts = self
            .faults
            .iter()
            .map(|(fault, count)| format!("{count} {fault}"));
        writeln!(out, "faults: {}", counts.collect::<Vec<_>>().join(", "))?;
        for (end, count) in &self.ends {
            writeln!(out, "{count:9} {end}")?;
        }
        if self.unreadable > 0 {
            let count = self.unreadable;
            writeln!(
                out,
                "{count} keys could not be read after a writer of shards had died"
            )?;
        }
        if !self.undone.is_empty() {
            let (count, seeds) = (self.undone.len(), &self.undone);
            writeln!(
                out,
                "{count} runs in which a write that was read, and never acknowledged, was lost with a \
                 server: {seeds:?}"
            )?;
        }
        if !self.undecided.is_empty() {
            let (count, seeds) = (self.undecided.len(), &self.undecided);
            writeln!(
                out,
                "{count} runs with a key that was not judged: {seeds:?}"
            )?;
        }
        if refused > 0 {
            writeln!(out, "refused seeds: {:?}", self.refused)?;
        }
        if !self.failed.is_empty() {
            writeln!(out, "seeds without a run: {:?}", self.failed)?;
        }
        Ok(())
    }
}
