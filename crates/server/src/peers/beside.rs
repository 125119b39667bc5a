//! A wire's session on the fabric, beside its connection: requests that are short enough go there.
//! The connection stays its life line and carries the others.

use super::Tag;
use super::calls::{Call, Calls};
use super::desk::Answer;
use super::wire::settled;
use farcache_fabric::Frame;
use farcache_peers::frame::HEAD_BYTES;
use farcache_peers::link::{Broken, Limits, Link};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Most bytes of a message: as many as the shared memory of a host takes in one piece.
const MESSAGE_BYTES_MAX: usize = 32 << 10;

/// How long a server may take to let this one in, which it has granted a session.
const GREETING_TIME_MAX: Duration = Duration::from_secs(10);

/// How far it has come.
#[derive(Clone, Copy)]
enum Stage {
    /// There is none.
    None,
    /// The other server has not let this one in yet.
    Greeted(Call, Instant),
    /// It is used.
    Open(Call),
    /// It is there, but a connection of one's own does it faster.
    Unused(Call),
}

/// A session, or none.
pub struct Beside {
    stage: Stage,
    link: Link<Tag>,
    /// Frames that wait for the next flush, or for credit.
    frames: VecDeque<Vec<u8>>,
    /// One that has ended here and must be closed at the port.
    ended: Option<Call>,
}

impl Beside {
    /// None yet.
    pub fn new(limits: Limits) -> Beside {
        Beside {
            stage: Stage::None,
            link: Link::new(limits),
            frames: VecDeque::new(),
            ended: None,
        }
    }

    /// The other server has been greeted.
    pub fn begin(&mut self, call: Call, now: Instant) {
        self.stage = Stage::Greeted(call, now);
    }

    /// The session that there is.
    pub fn call(&self) -> Option<&Call> {
        match &self.stage {
            Stage::None => None,
            Stage::Greeted(call, _) | Stage::Open(call) | Stage::Unused(call) => Some(call),
        }
    }

    /// The other server has let this one in; what carries the session, if it is used.
    pub fn open(&mut self, calls: &Calls) -> Option<String> {
        let Stage::Greeted(call, _) = self.stage else {
            return None;
        };
        if calls.runs_on_sockets(&call) {
            self.stage = Stage::Unused(call);
            return None;
        }
        self.stage = Stage::Open(call);
        Some(calls.lanes(&call))
    }

    /// Where requests with bodies of so many bytes are noted that go this way.
    pub fn way(&mut self, body_bytes: usize) -> Option<(&mut Link<Tag>, &mut VecDeque<Vec<u8>>)> {
        let Stage::Open(call) = &self.stage else {
            return None;
        };
        let bytes_max = call.message_bytes_max.min(MESSAGE_BYTES_MAX);
        (HEAD_BYTES + body_bytes <= bytes_max).then_some((&mut self.link, &mut self.frames))
    }

    /// Sends what waits, as far as there is credit, and closes what has ended.
    pub fn flush(&mut self, calls: &mut Calls, now: Instant) {
        if let Stage::Greeted(_, at) = self.stage
            && now.saturating_duration_since(at) >= GREETING_TIME_MAX
        {
            self.leave();
        }
        if let Some(call) = self.ended.take() {
            calls.close(&call);
        }
        if let Stage::Open(call) = &mut self.stage {
            let bytes_max = call.message_bytes_max.min(MESSAGE_BYTES_MAX);
            while call.credits > 0
                && let Some(message) = next_message(&mut self.frames, bytes_max)
            {
                calls.send(call, &message);
            }
        }
    }

    /// Whether [`Beside::flush`] has nothing to do, until something is asked or comes.
    pub fn is_at_rest(&self) -> bool {
        let is_greeting = matches!(self.stage, Stage::Greeted(..));
        !is_greeting && self.ended.is_none() && self.frames.is_empty()
    }

    /// A message has come; `answered` is told of each request that has its reply.
    ///
    /// # Errors
    /// [`Broken`]
    pub fn receive(
        &mut self,
        frame: &Frame,
        frames: &[u8],
        answered: &mut Vec<(Tag, Answer)>,
    ) -> Result<(), Broken> {
        if let Stage::Open(call) = &mut self.stage {
            call.credits = call.credits.saturating_add(frame.credits);
        }
        self.link
            .receive(frames, |tag, answer| answered.push((tag, settled(answer))))
    }

    /// Gives up what is late.
    pub fn expire(&mut self, now_ms: u64, late: &mut Vec<Tag>) {
        self.link.expire(now_ms, |tag| late.push(tag));
    }

    /// The next instant at which something is late.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.link.next_deadline_ms()
    }

    /// The session is over, with all that is outstanding on it.
    pub fn end(&mut self, failed: &mut Vec<Tag>) {
        self.leave();
        self.link.end(|tag| failed.push(tag));
        self.frames.clear();
    }

    fn leave(&mut self) {
        if let Some(call) = self.call().copied() {
            debug_assert!(self.ended.is_none(), "closed with every flush");
            self.ended = Some(call);
        }
        self.stage = Stage::None;
    }
}

/// As many of the frames as make one message.
fn next_message(frames: &mut VecDeque<Vec<u8>>, bytes_max: usize) -> Option<Vec<u8>> {
    let mut message = frames.pop_front()?;
    while let Some(frame) = frames.pop_front_if(|next| message.len() + next.len() <= bytes_max) {
        message.extend_from_slice(&frame);
    }
    Some(message)
}
