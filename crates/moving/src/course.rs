//! What the new owner asks the old one next, and when it gives up.
//!
//! Several questions are under way at one time, so that items do not wait for a turn of both
//! servers each time. The old owner answers in the order of the questions. A question that goes on
//! behind another one does not say from where: the old owner knows where its last answer on the
//! connection ended. When the connection ends all that is under way is void, and the next question
//! names the place behind the last answer that has come.
//!
//! Two paces are kept: that of the server, which all its old owners share, and that of the old owner,
//! which the servers that take from it share.

use crate::Pace;
use crate::ease::Ease;
use crate::patience::pause_ms;
use crate::stream::{Stage, Stream};
use farcache_peers::moves::{Acknowledged, Place, Pull, PulledHead, goes_on};
use std::collections::VecDeque;
use std::sync::Arc;

/// How long an old owner may take to acknowledge, in milliseconds, where its right to decide does
/// not end by itself later than that. Then its keys count as absent.
pub const ACKNOWLEDGE_MS: u64 = 5_000;
/// How long an old owner that has acknowledged may be out of reach, in milliseconds.
pub const OUT_OF_REACH_MS: u64 = 10_000;
/// Longest wait before an old owner is asked once more whether it acknowledges, in milliseconds.
/// Nobody decides on its keys meanwhile, so the first waits are shorter.
const ASK_AGAIN_MS_MAX: u64 = 5;
/// Wait after a connection was lost or a request refused, in milliseconds.
const RETRY_MS: u64 = 100;

/// Questions that may be under way to one old owner.
pub const QUESTIONS_MAX: usize = 16;
/// Bytes that their answers may be expected to have. One question is asked whatever its answer.
const ANSWERS_BYTES_MAX: u64 = 1 << 20;
/// What an answer costs an old owner at least, in bytes at its pace: it looks at up to 1,024 items,
/// about as long as it takes to send so much, also where none of them is to be sent.
const COST_BYTES_MIN: u64 = 32 << 10;
/// What the first answer is expected to have, in bytes; then as much as the one before it.
const ANSWER_BYTES: u64 = 64 << 10;

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

/// What an answer is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// [`Step::Acknowledge`]
    Acknowledge,
    /// [`Step::Pull`]
    Pull,
    /// [`Step::Fetch`]
    Fetch,
}

/// A question without an answer yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    asked: Asked,
    /// What its answer is expected to have.
    bytes: u64,
    asked_ms: u64,
}

impl UnderWay {
    /// What an answer of so many bytes costs the old owner.
    fn cost(self, bytes: u64) -> u64 {
        match self.asked {
            Asked::Pull => bytes.max(COST_BYTES_MIN),
            Asked::Acknowledge | Asked::Fetch => bytes,
        }
    }
}

/// How one stream goes on.
#[derive(Debug)]
pub struct Course {
    /// What is brought.
    pub stream: Arc<Stream>,
    /// Behind the last answer.
    place: Place,
    /// Keys that are asked for one by one, those first that are under way.
    by_key: VecDeque<Vec<u8>>,
    swept: bool,
    /// The old owner's, as far as this stream may use it, and does.
    share: Pace,
    share_bytes_per_second: u64,
    ease: Ease,
    under_way: VecDeque<UnderWay>,
    /// The old owner has been told on this connection from where on to answer.
    has_begun: bool,
    /// Bytes of the last answer to a pull, and of the last item asked for by its key.
    answer_bytes: u64,
    item_bytes: u64,
    began_ms: u64,
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
            by_key: VecDeque::new(),
            swept: false,
            share: Pace::new(0),
            share_bytes_per_second: 0,
            ease: Ease::default(),
            under_way: VecDeque::new(),
            has_begun: false,
            answer_bytes: ANSWER_BYTES,
            item_bytes: ANSWER_BYTES,
            began_ms: now_ms,
            acknowledged_by_ms: now_ms + acknowledge_ms,
            silent_since_ms: None,
            not_before_ms: 0,
        }
    }

    /// From now on the old owner may be asked for so many bytes a second; 0 is no limit, and so it
    /// begins.
    pub fn set_share(&mut self, bytes_per_second: u64) {
        self.share_bytes_per_second = bytes_per_second;
        self.share.set(self.ease.of(bytes_per_second));
    }

    /// What to do now. A question counts as under way from now on.
    pub fn next(&mut self, now_ms: u64, pace: &mut Pace) -> Step {
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
            return self.acknowledge(now_ms, limit_ms);
        }
        if self.swept && self.by_key.is_empty() && self.under_way.is_empty() {
            self.stream.finish();
            return Step::Over;
        }
        let Some((step, question)) = self.question(now_ms) else {
            return Step::Wait(limit_ms);
        };
        let free_ms = pace.next_ms().max(self.share.next_ms());
        if free_ms > now_ms {
            return Step::Wait(free_ms.min(limit_ms));
        }
        pace.spend(question.bytes, now_ms);
        self.share.spend(question.cost(question.bytes), now_ms);
        self.has_begun |= question.asked == Asked::Pull;
        self.under_way.push_back(question);
        step
    }

    fn acknowledge(&mut self, asked_ms: u64, limit_ms: u64) -> Step {
        if !self.under_way.is_empty() {
            return Step::Wait(limit_ms);
        }
        self.under_way.push_back(UnderWay {
            asked: Asked::Acknowledge,
            bytes: 0,
            asked_ms,
        });
        Step::Acknowledge
    }

    /// The next question about items; none while as many are under way as may be.
    fn question(&self, asked_ms: u64) -> Option<(Step, UnderWay)> {
        let fetches = self.count(Asked::Fetch);
        let (step, asked, bytes) = match self.by_key.get(fetches) {
            Some(key) => (Step::Fetch(key.clone()), Asked::Fetch, self.item_bytes),
            None => (Step::Pull(self.pull()?), Asked::Pull, self.answer_bytes),
        };
        let expected: u64 = self.under_way.iter().map(|it| it.bytes).sum();
        let has_room =
            self.under_way.len() < QUESTIONS_MAX && expected + bytes <= ANSWERS_BYTES_MAX;
        let may_ask = has_room || self.under_way.is_empty();
        let question = UnderWay {
            asked,
            bytes,
            asked_ms,
        };
        may_ask.then_some((step, question))
    }

    fn pull(&self) -> Option<Pull> {
        let goes_on = self.has_begun && goes_on(&self.place);
        // An older server, or one that has not answered yet, is asked from where its answer ends.
        let may_pull = !self.swept && (goes_on || self.count(Asked::Pull) == 0);
        may_pull.then(|| Pull {
            instance: self.stream.instance(),
            place: (!goes_on).then_some(self.place),
        })
    }

    fn count(&self, asked: Asked) -> usize {
        self.under_way.iter().filter(|it| it.asked == asked).count()
    }

    /// What the next answer is to; none where nothing is under way.
    #[must_use]
    pub fn awaited(&self) -> Option<Asked> {
        self.under_way.front().map(|question| question.asked)
    }

    /// Takes the first question, which has been answered with so many bytes of items.
    fn answered(&mut self, bytes: u64, now_ms: u64, pace: &mut Pace) {
        self.silent_since_ms = None;
        if let Some(question) = self.under_way.pop_front() {
            pace.correct(question.bytes, bytes);
            let expected = question.cost(question.bytes);
            self.share.correct(expected, question.cost(bytes));
            if question.asked == Asked::Pull && self.ease.answered(question.asked_ms, now_ms) {
                self.share.set(self.ease.of(self.share_bytes_per_second));
            }
        }
    }

    /// The old owner has said what it goes by.
    pub fn on_acknowledged(&mut self, said: Acknowledged, now_ms: u64) {
        self.silent_since_ms = None;
        self.under_way.pop_front();
        if !self.stream.acknowledge(said.instance, said.epoch) {
            let waited_ms = now_ms.saturating_sub(self.began_ms);
            self.not_before_ms = now_ms + pause_ms(waited_ms, ASK_AGAIN_MS_MAX);
        }
    }

    /// Items of so many bytes have come now, and have been stored as far as they may be; `by_key`
    /// are those to be asked for one by one.
    pub fn on_pulled(
        &mut self,
        head: PulledHead,
        by_key: Vec<Vec<u8>>,
        (bytes, now_ms): (u64, u64),
        pace: &mut Pace,
    ) {
        self.answered(bytes, now_ms, pace);
        self.answer_bytes = bytes;
        match head {
            PulledHead::OtherInstance => self.stream.lose(),
            PulledHead::Items { next, progress } => {
                self.stream.figures.reached(progress);
                self.by_key.extend(by_key);
                match next {
                    Some(place) => self.place = place,
                    None => self.swept = true,
                }
            }
        }
    }

    /// The item of a key, of so many bytes, has come, or there is none; `is_its` says whether of
    /// the run of the old owner that has acknowledged.
    pub fn on_fetched(&mut self, is_its: bool, (bytes, now_ms): (u64, u64), pace: &mut Pace) {
        self.answered(bytes, now_ms, pace);
        self.item_bytes = bytes;
        self.by_key.pop_front();
        if !is_its {
            self.stream.lose();
        }
    }

    /// The connection has ended, or is given up, with all that is under way. It is asked for again:
    /// whatever has come already is refused or the same.
    pub fn on_trouble(&mut self, trouble: Trouble, now_ms: u64, pace: &mut Pace) {
        for question in self.under_way.drain(..) {
            pace.correct(question.bytes, 0);
            self.share.correct(question.cost(question.bytes), 0);
        }
        self.has_begun = false;
        if trouble == Trouble::NobodyThere && self.stream.stage() == Stage::Awaiting {
            // Nobody decides there, nor will: when it starts, it finds this map or a later one.
            return self.stream.lose();
        }
        self.silent_since_ms.get_or_insert(now_ms);
        self.not_before_ms = now_ms + RETRY_MS;
    }
}

#[cfg(test)]
mod tests;
