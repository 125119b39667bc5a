//! One call's work: the input being taken, the replies being written.

use super::batch::Batch;
use super::ownership::Ownership;
use super::{Context, Replies, State, Status};
use crate::{COPIED_BYTES_PER_REQUEST, HIGH_WATER_BYTES};
use farcache_proto::text::{LINE_BYTES_MAX, Reject, split_line};
use farcache_store::{Access, BATCH_MAX, Suspended};

/// What to do after a stage.
pub(super) enum Flow {
    /// Go on in this state.
    Enter(State),
    /// Return to the driver, staying in the present state.
    Stop(Status),
    /// Return to the driver until the wait is over, then go on in this state. The position has gone
    /// back to where that begins.
    Wait(State, Suspended),
}

/// The work of one call of `advance`.
pub(super) struct Run<'r, 'i> {
    input: &'i [u8],
    /// Bytes of the input done with.
    pub(super) position: usize,
    pub(super) context: &'r Context<'r>,
    pub(super) replies: &'r mut Replies,
    /// Reads waiting to be looked up together.
    pub(super) batch: Batch<'i, 'r>,
    requests_left: usize,
    /// What is known of whose keys have come.
    pub(super) ownership: Ownership<'i>,
    /// Storage commands before this position have been prefetched.
    pub(super) prefetched: usize,
    /// Some command may have changed something.
    pub(super) has_changed: bool,
}

impl<'r, 'i> Run<'r, 'i> {
    pub(super) fn new(input: &'i [u8], context: &'r Context<'r>, replies: &'r mut Replies) -> Self {
        // Requests are so cheap in batches that the quota of `-R` counts batches.
        let requests_left = context
            .service
            .options
            .requests_per_event
            .max(1)
            .saturating_mul(BATCH_MAX);
        Run {
            input,
            position: 0,
            context,
            replies,
            batch: Batch::new(),
            requests_left,
            ownership: Ownership::new(context),
            prefetched: 0,
            has_changed: false,
        }
    }

    /// The input not yet done with.
    pub(super) fn rest(&self) -> &'i [u8] {
        &self.input[self.position..]
    }

    /// Position of `tail`, which must be a tail of the line of `line_bytes` that starts at `start`.
    pub(super) fn position_of(start: usize, line_bytes: usize, tail: &[u8]) -> usize {
        start + line_bytes - tail.len()
    }

    /// Counts a request; false once the quota of one event is used up.
    pub(super) fn take_quota(&mut self) -> bool {
        let has_quota = self.requests_left > 0;
        self.requests_left = self.requests_left.saturating_sub(1);
        has_quota
    }

    /// Counts the copying of a value of this length against the quota.
    pub(super) fn charge_copy(&mut self, value_bytes: usize) {
        let requests = value_bytes / COPIED_BYTES_PER_REQUEST;
        self.requests_left = self.requests_left.saturating_sub(requests);
    }

    /// Counts a change to the item of this key, which will copy its value. Comes before the change,
    /// which must not be made twice should the look at the item need a device.
    pub(super) fn charge_change(&mut self, key: &[u8]) -> Result<(), Suspended> {
        let item = self.context.store.get(key, Access::Peek)?;
        self.charge_copy(item.map_or(0, |item| item.value().len()));
        Ok(())
    }

    /// Looks up the reads that wait and answers them, unless some of them are suspended.
    #[must_use]
    pub(super) fn flush(&mut self) -> Option<Flow> {
        if self.ownership.may_be_foreign && !self.batch.owns_each(self.context) {
            return Some(self.gather_one_by_one());
        }
        let Err(suspended) = self.batch.flush(self.context, self.replies) else {
            return None;
        };
        let (start, store) = (self.batch.start(), self.context.store);
        self.position = start.position;
        if start.position > 0 {
            // What is staged was for requests that have been answered.
            store.unstage();
        }
        if let Some(given_up) = self.batch.halve_if(|| store.exceeds_read_share()) {
            store.forget_reads();
            // They are counted again, and must come to something however small the quota is.
            self.requests_left += given_up;
            return Some(Flow::Enter(start.state()));
        }
        Some(Flow::Wait(start.state(), suspended))
    }

    /// Some of the reads that wait are for keys of other servers: forgets all, and looks at the key
    /// of each of them from now on.
    #[cold]
    fn gather_one_by_one(&mut self) -> Flow {
        let start = self.batch.start();
        let given_up = self.batch.give_up();
        self.position = start.position;
        self.ownership.look_at_each_of(given_up);
        // They are counted again.
        self.requests_left += given_up;
        Flow::Enter(start.state())
    }

    /// Whether the replies should be sent before more are made.
    pub(super) fn is_full(&self) -> bool {
        self.replies.len() >= HIGH_WATER_BYTES
    }

    /// Appends bytes to the replies.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.replies.buffer().extend_from_slice(bytes);
    }

    /// Appends a line to the replies.
    pub(super) fn push_line(&mut self, line: &str) {
        let buffer = self.replies.buffer();
        buffer.extend_from_slice(line.as_bytes());
        buffer.extend_from_slice(b"\r\n");
    }

    /// Answers with this line unless no reply is wanted.
    pub(super) fn answer(&mut self, line: &str, quiet: bool) {
        if !quiet {
            self.push_line(line);
        }
    }

    /// Answers a malformed request.
    pub(super) fn reject(&mut self, reject: Reject) {
        self.context.counters.protocol_errors.bump();
        self.answer(reject.message, reject.quiet);
    }

    /// Throws the rest of a line away.
    pub(super) fn skip_line(&mut self) -> Flow {
        match split_line(self.rest()) {
            Some((_, bytes)) => {
                self.position += bytes;
                Flow::Enter(State::Command)
            }
            None => self.discard(),
        }
    }

    /// Throws `bytes` away, as far as they have arrived.
    pub(super) fn skip_bytes(&mut self, bytes: &mut usize) -> Flow {
        let arrived = self.rest().len().min(*bytes);
        self.position += arrived;
        *bytes -= arrived;
        if *bytes == 0 {
            Flow::Enter(State::Command)
        } else {
            Flow::Stop(Status::NeedInput)
        }
    }

    /// Throws all input away.
    pub(super) fn discard(&mut self) -> Flow {
        self.position = self.input.len();
        Flow::Stop(Status::NeedInput)
    }

    /// What to do about a command whose line has not ended.
    pub(super) fn incomplete_line(&mut self) -> Flow {
        if let Some(wait) = self.flush() {
            return wait;
        }
        if self.rest().len() <= LINE_BYTES_MAX {
            return Flow::Stop(Status::NeedInput);
        }
        match super::get::open_ended(self.rest()) {
            Some((prefix_bytes, retrieval)) => {
                self.position += prefix_bytes;
                Flow::Enter(State::Keys(retrieval))
            }
            None => {
                self.context.counters.protocol_errors.bump();
                Flow::Stop(Status::Close)
            }
        }
    }
}
