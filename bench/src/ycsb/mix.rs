//! YCSB's workloads: which operations, on which records.

use super::distribution::Choice;
use rand::Rng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Which workload. E, short scans, is left out: memcached's protocols have no order of keys, and so
/// no scan, and YCSB's own binding for memcached refuses it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads.
    C,
    /// 95 % reads of what is newest, 5 % inserts.
    D,
    /// Half reads, half reads with an update of what was read.
    F,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 5] = [
        Workload::A,
        Workload::B,
        Workload::C,
        Workload::D,
        Workload::F,
    ];

    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Workload::A => "A",
            Workload::B => "B",
            Workload::C => "C",
            Workload::D => "D",
            Workload::F => "F",
        }
    }

    /// Its operations, in words.
    pub fn mix(self) -> &'static str {
        match self {
            Workload::A => "50 % reads, 50 % updates",
            Workload::B => "95 % reads, 5 % updates",
            Workload::C => "reads",
            Workload::D => "95 % reads of the newest, 5 % inserts",
            Workload::F => "50 % reads, 50 % read-modify-writes",
        }
    }

    /// Parts of a hundred that are reads, and what the others are. Source: YCSB 0.17, `workloads`.
    fn shares(self) -> (u32, Kind) {
        match self {
            Workload::A => (50, Kind::Update),
            Workload::B => (95, Kind::Update),
            Workload::C => (100, Kind::Update),
            Workload::D => (95, Kind::Insert),
            Workload::F => (50, Kind::ReadModifyWrite),
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Writes a record anew, whole.
    Update,
    /// Writes a record that was not there.
    Insert,
    /// Reads a record, then writes it anew.
    ReadModifyWrite,
}

/// An operation on a record, whose index counts the records that this process knows: those that
/// are there from the beginning, then those that it inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// On which record.
    pub index: u64,
}

/// The operations of one process.
#[derive(Clone, Debug)]
pub struct Stream {
    workload: Workload,
    choice: Choice,
    records: u64,
    /// Inserts from the first that has not ended: whether each has.
    inserts: VecDeque<bool>,
}

impl Stream {
    /// On so many records.
    pub fn new(workload: Workload, records: u64) -> Self {
        let choice = match workload {
            Workload::D => Choice::latest(records),
            _ => Choice::scrambled(),
        };
        Stream {
            workload,
            choice,
            records,
            inserts: VecDeque::new(),
        }
    }

    /// The next operation.
    pub fn draw(&mut self, random: &mut SmallRng) -> Operation {
        let (reads, other) = self.workload.shares();
        let kind = if random.random_range(0..100) < reads {
            Kind::Read
        } else {
            other
        };
        if kind == Kind::Insert {
            self.inserts.push_back(false);
            let index = self.records + self.inserts.len() as u64 - 1;
            return Operation { kind, index };
        }
        let index = self.choice.draw(self.records, random);
        Operation { kind, index }
    }

    /// An insert has ended: once all before it have, too, its record is read.
    pub fn inserted(&mut self, index: u64) {
        if let Some(ended) = self.inserts.get_mut((index - self.records) as usize) {
            *ended = true;
        }
        while self.inserts.front() == Some(&true) {
            self.inserts.pop_front();
            self.records += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn draws(workload: Workload, count: usize) -> Vec<Operation> {
        let mut random = SmallRng::seed_from_u64(1);
        let mut stream = Stream::new(workload, 1000);
        (0..count).map(|_| stream.draw(&mut random)).collect()
    }

    #[test]
    fn each_workload_has_its_mix() {
        let expected = [
            (Workload::A, 0.5, Kind::Update),
            (Workload::B, 0.95, Kind::Update),
            (Workload::C, 1.0, Kind::Update),
            (Workload::D, 0.95, Kind::Insert),
            (Workload::F, 0.5, Kind::ReadModifyWrite),
        ];
        for (workload, reads, other) in expected {
            let drawn = draws(workload, 20_000);
            let found = drawn.iter().filter(|one| one.kind == Kind::Read).count();
            let found = found as f64 / drawn.len() as f64;
            assert!((found - reads).abs() < 0.02, "{workload:?}: {found}");
            let is_known = |one: &Operation| one.kind == Kind::Read || one.kind == other;
            assert!(drawn.iter().all(is_known), "{workload:?}");
        }
    }

    #[test]
    fn a_record_is_read_once_it_and_all_before_it_are_inserted() {
        let mut random = SmallRng::seed_from_u64(2);
        let mut stream = Stream::new(Workload::D, 10);
        let mut inserts = Vec::new();
        while inserts.len() < 3 {
            let one = stream.draw(&mut random);
            match one.kind {
                Kind::Insert => inserts.push(one.index),
                _ => assert!(one.index < 10),
            }
        }
        assert_eq!(inserts, [10, 11, 12]);
        stream.inserted(11);
        assert_eq!(stream.records, 10);
        stream.inserted(10);
        assert_eq!(stream.records, 12);
        let newest = (0..100).map(|_| stream.draw(&mut random));
        assert!(
            newest
                .filter(|one| one.kind == Kind::Read)
                .any(|one| one.index == 11)
        );
        stream.inserted(12);
        assert_eq!(stream.records, 13);
    }
}
