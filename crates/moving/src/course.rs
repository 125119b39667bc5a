//! What the new owner asks the old one next, and when it gives up.

use crate::stream::{Stage, Stream};
use farcache_peers::moves::{Acknowledged, Place, Pull, PulledHead};
use std::sync::Arc;

/// How long an old owner may take to acknowledge, in milliseconds, where its right to decide does
/// not end by itself later than that. Then its keys count as absent.
pub const ACKNOWLEDGE_MS: u64 = 5_000;
/// How long an old owner that has acknowledged may be out of reach, in milliseconds.
pub const OUT_OF_REACH_MS: u64 = 10_000;
/// Wait before an old owner is asked once more whether it acknowledges, in milliseconds.
const ASK_AGAIN_MS: u64 = 5;
/// Wait after a connection was lost or a request refused, in milliseconds.
const RETRY_MS: u64 = 100;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask which map the old owner goes by.
    Acknowledge,
    /// Ask for the next items.
    Pull(Pull),
    /// Ask for the item of this key, which is too large to come with others.
    Fetch(Vec<u8>),
    /// Nothing before this instant, in milliseconds.
    Wait(u64),
    /// Nothing more.
    Over,
}

/// Why a step came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody listens there: that server does not run.
    NobodyThere,
    /// It does not answer, or the connection was lost.
    Silent,
    /// Its map is another one.
    Refused,
}

/// How one stream goes on.
#[derive(Debug)]
pub struct Course {
    /// What is brought.
    pub stream: Arc<Stream>,
    place: Place,
    by_key: Vec<Vec<u8>>,
    swept: bool,
    acknowledged_by_ms: u64,
    /// Since when nothing has come.
    silent_since_ms: Option<u64>,
    not_before_ms: u64,
}

impl Course {
    /// A stream that begins, whose old owner has so many milliseconds to acknowledge.
    #[must_use]
    pub fn new(stream: Arc<Stream>, now_ms: u64, acknowledge_ms: u64) -> Course {
        Course {
            stream,
            place: Place::default(),
            by_key: Vec::new(),
            swept: false,
            acknowledged_by_ms: now_ms + acknowledge_ms,
            silent_since_ms: None,
            not_before_ms: 0,
        }
    }

    /// What to do now.
    pub fn next(&mut self, now_ms: u64) -> Step {
        let limit_ms = match self.stream.stage() {
            Stage::Awaiting => self.acknowledged_by_ms,
            Stage::Moving => self.silent_since_ms.unwrap_or(now_ms) + OUT_OF_REACH_MS,
            Stage::Done | Stage::Lost => return Step::Over,
        };
        if now_ms >= limit_ms {
            self.stream.lose();
            return Step::Over;
        }
        if now_ms < self.not_before_ms {
            return Step::Wait(self.not_before_ms.min(limit_ms));
        }
        if self.stream.stage() == Stage::Awaiting {
            return Step::Acknowledge;
        }
        if let Some(key) = self.by_key.last() {
            return Step::Fetch(key.clone());
        }
        if self.swept {
            self.stream.finish();
            return Step::Over;
        }
        Step::Pull(Pull {
            instance: self.stream.instance(),
            place: self.place,
        })
    }

    /// The old owner has said what it goes by.
    pub fn on_acknowledged(&mut self, said: Acknowledged, now_ms: u64) {
        self.silent_since_ms = None;
        if !self.stream.acknowledge(said.instance, said.epoch) {
            self.not_before_ms = now_ms + ASK_AGAIN_MS;
        }
    }

    /// Items have come, and have been stored as far as they may be; `by_key` are those to be asked
    /// for one by one.
    pub fn on_pulled(&mut self, head: PulledHead, by_key: Vec<Vec<u8>>) {
        self.silent_since_ms = None;
        match head {
            PulledHead::OtherInstance => self.stream.lose(),
            PulledHead::Items { next, progress } => {
                self.stream.figures.reached(progress);
                self.by_key = by_key;
                match next {
                    Some(place) => self.place = place,
                    None => self.swept = true,
                }
            }
        }
    }

    /// The item of a key has come, or there is none; `is_its` says whether of the run of the old
    /// owner that has acknowledged.
    pub fn on_fetched(&mut self, is_its: bool) {
        self.silent_since_ms = None;
        self.by_key.pop();
        if !is_its {
            self.stream.lose();
        }
    }

    /// The last step came to nothing. It is taken again: whatever has come already is refused or
    /// the same.
    pub fn on_trouble(&mut self, trouble: Trouble, now_ms: u64) {
        if trouble == Trouble::NobodyThere && self.stream.stage() == Stage::Awaiting {
            // Nobody decides there, nor will: when it starts, it finds this map or a later one.
            return self.stream.lose();
        }
        self.silent_since_ms.get_or_insert(now_ms);
        self.not_before_ms = now_ms + RETRY_MS;
    }
}

/// Lets through so many bytes a second.
#[derive(Debug)]
pub struct Pace {
    /// 0 is no limit.
    bytes_per_second: u64,
    free_at_ms: u64,
}

impl Pace {
    /// So many bytes a second; 0 is no limit.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Pace {
        Pace {
            bytes_per_second,
            free_at_ms: 0,
        }
    }

    /// So many bytes have come.
    pub fn spend(&mut self, bytes: u64, now_ms: u64) {
        if self.bytes_per_second > 0 {
            let begins_ms = self.free_at_ms.max(now_ms);
            self.free_at_ms = begins_ms + (bytes * 1000).div_ceil(self.bytes_per_second);
        }
    }

    /// When the next may come, in milliseconds.
    #[must_use]
    pub fn next_ms(&self) -> u64 {
        self.free_at_ms
    }
}

#[cfg(test)]
mod tests;
