//! Reads that are looked up together, which overlaps their cache misses.

use super::meta_get::push_plain;
use super::{Context, Replies, Retrieval, State};
use arrayvec::ArrayVec;
use farcache_proto::meta::PlainRead;
use farcache_proto::number;
use farcache_store::{Access, BATCH_MAX, Item, Suspended};

/// How the answer to one key is written.
#[derive(Clone, Copy)]
enum Answer<'i> {
    /// A `VALUE` line, if the item is there.
    Value { with_cas: bool },
    /// A `VALUE` line, if the item is there, and the `END` of its command.
    LastValue { with_cas: bool },
    /// The answer to an `mg`.
    Meta(PlainRead<'i>),
}

/// Where the requests of a batch begin.
#[derive(Clone, Copy, Default)]
pub(super) struct Start {
    /// Position in the input.
    pub(super) position: usize,
    /// The retrieval command within whose keys that is; none at the start of a command.
    retrieval: Option<Retrieval>,
}

impl Start {
    /// The state in which the batch can be gathered anew.
    pub(super) fn state(self) -> State {
        self.retrieval.map_or(State::Command, State::Keys)
    }
}

/// Reads waiting to be looked up, in the order of their requests.
pub(super) struct Batch<'i, 'h> {
    keys: ArrayVec<&'i [u8], BATCH_MAX>,
    answers: ArrayVec<Answer<'i>, BATCH_MAX>,
    start: Start,
    /// Kept from one lookup to the next for its memory.
    found: Vec<Option<Item<'h>>>,
    /// Reads that are looked up together at most.
    count_max: usize,
    /// Of these, those whose owners are known one by one.
    looked_at: usize,
}

impl<'i, 'h> Batch<'i, 'h> {
    pub(super) fn new() -> Self {
        Batch {
            keys: ArrayVec::new(),
            answers: ArrayVec::new(),
            start: Start::default(),
            found: Vec::new(),
            count_max: BATCH_MAX,
            looked_at: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.keys.len() >= self.count_max
    }

    /// Where its reads are several and together too much, forgets them and takes half as many from
    /// now on; returns how many it has forgotten.
    pub(super) fn halve_if(&mut self, is_too_much: impl FnOnce() -> bool) -> Option<usize> {
        let count = self.keys.len();
        if count <= 1 || !is_too_much() {
            return None;
        }
        self.count_max = count / 2;
        Some(self.give_up())
    }

    /// Forgets its reads; returns how many these were.
    pub(super) fn give_up(&mut self) -> usize {
        let count = self.keys.len();
        self.keys.clear();
        self.answers.clear();
        self.looked_at = 0;
        count
    }

    /// The last key has been looked at alone, or has not: it is this server's own.
    pub(super) fn note_looked_at(&mut self, is_looked_at: bool) {
        self.looked_at += usize::from(is_looked_at);
    }

    /// Whether no other server decides on one of its keys, or has anything of it.
    pub(super) fn owns_each(&self, context: &Context<'_>) -> bool {
        self.looked_at == self.keys.len() || context.owns_each(&self.keys)
    }

    /// Where the first of its requests begins.
    pub(super) fn start(&self) -> Start {
        self.start
    }

    fn begin(&mut self, position: usize, retrieval: Option<Retrieval>) {
        if self.keys.is_empty() {
            self.start = Start {
                position,
                retrieval,
            };
        }
    }

    /// Adds a key of a `get` that stands at this position. The batch must not be full.
    pub(super) fn push_key(&mut self, key: &'i [u8], retrieval: Retrieval, position: usize) {
        self.begin(position, Some(retrieval));
        self.keys.push(key);
        self.answers.push(Answer::Value {
            with_cas: retrieval.with_cas,
        });
    }

    /// Adds an `mg` that begins at this position. The batch must not be full.
    pub(super) fn push_meta(&mut self, read: PlainRead<'i>, position: usize) {
        self.begin(position, None);
        self.keys.push(read.key);
        self.answers.push(Answer::Meta(read));
    }

    /// The `get` to which the last key belongs has no more keys; false if no key waits, and the
    /// caller must write the `END`.
    pub(super) fn end_retrieval(&mut self) -> bool {
        match self.answers.last_mut() {
            Some(Answer::Value { with_cas }) => {
                let with_cas = *with_cas;
                self.answers.pop();
                self.answers.push(Answer::LastValue { with_cas });
                true
            }
            _ => false,
        }
    }

    /// Looks the keys up and answers them.
    ///
    /// # Errors
    /// [`Suspended`], where some of them must wait; nothing has been done then.
    pub(super) fn flush(
        &mut self,
        context: &'h Context<'h>,
        replies: &mut Replies,
    ) -> Result<(), Suspended> {
        match self.keys.len() {
            0 => return Ok(()),
            1 => {
                let item = context.store.get(self.keys[0], Access::Use)?;
                record(&self.answers[0], self.keys[0], item.as_ref(), context);
                answer(
                    &self.answers[0],
                    self.keys[0],
                    item.as_ref(),
                    context,
                    replies,
                );
                count(context, 1, usize::from(item.is_some()));
            }
            _ => self.flush_many(context, replies)?,
        }
        self.keys.clear();
        self.answers.clear();
        self.looked_at = 0;
        Ok(())
    }

    fn flush_many(
        &mut self,
        context: &'h Context<'h>,
        replies: &mut Replies,
    ) -> Result<(), Suspended> {
        context
            .store
            .get_batch(&self.keys, Access::Use, &mut self.found)?;
        let mut hits = 0;
        for ((item, key), how) in self.found.iter().zip(&self.keys).zip(&self.answers) {
            record(how, key, item.as_ref(), context);
            answer(how, key, item.as_ref(), context, replies);
            hits += usize::from(item.is_some());
        }
        count(context, self.keys.len(), hits);
        self.found.clear();
        Ok(())
    }
}

/// Shows a read to watchers and counts it by the key's prefix, as memcached does for the classic
/// commands only.
fn record(how: &Answer<'_>, key: &[u8], item: Option<&Item<'_>>, context: &Context<'_>) {
    context.show_fetched(key, item);
    if !matches!(how, Answer::Meta(_)) {
        context.service.detail.get(key, item.is_some());
    }
}

/// Counts reads.
pub(super) fn count(context: &Context<'_>, reads: usize, hits: usize) {
    context.counters.cmd_get.add(reads as u64);
    context.counters.get_hits.add(hits as u64);
    context.counters.get_misses.add((reads - hits) as u64);
}

#[inline]
fn answer(
    how: &Answer<'_>,
    key: &[u8],
    item: Option<&Item<'_>>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    match how {
        Answer::Meta(read) => push_plain(read, item, context, replies),
        Answer::Value { with_cas } => push_value(key, *with_cas, item, replies),
        Answer::LastValue { with_cas } => {
            push_value(key, *with_cas, item, replies);
            replies.buffer().extend_from_slice(b"END\r\n");
        }
    }
}

/// Writes `VALUE <key> <flags> <bytes> [<cas>]` and the value, if the item is there.
#[inline]
pub(super) fn push_value(
    key: &[u8],
    with_cas: bool,
    item: Option<&Item<'_>>,
    replies: &mut Replies,
) {
    let Some(item) = item else { return };
    let buffer = replies.buffer();
    buffer.extend_from_slice(b"VALUE ");
    buffer.extend_from_slice(key);
    buffer.push(b' ');
    number::push(buffer, item.flags());
    buffer.push(b' ');
    number::push(buffer, item.value().len());
    if with_cas {
        buffer.push(b' ');
        number::push(buffer, item.cas());
    }
    buffer.extend_from_slice(b"\r\n");
    replies.push_value(item);
    replies.buffer().extend_from_slice(b"\r\n");
}
