//! Gets: those that follow each other in the input are looked up together, which overlaps their
//! cache misses.

use super::dispatch::Request;
use super::{Context, Flow, reply};
use crate::session::Replies;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::binary::{Head, Header, MAGIC_REQUEST, Opcode, Status};
use farcache_store::{Access, BATCH_MAX, Item};

/// Looks up the get at the start of the input and those right behind it.
pub(super) fn run(request: Request<'_, '_>, requests_max: usize) -> Flow {
    let Request {
        head,
        input,
        context,
        replies,
    } = request;
    let is_alone = requests_max == 1 || next_get(&input[head.head_len()..]).is_none();
    if is_alone {
        let item = context.store.get(head.key, Access::Use);
        if context.store.needs_reads() {
            return Flow::NeedInput;
        }
        answer(&head.header, head.key, item.as_ref(), context, replies);
        return Flow::one(head.head_len());
    }
    let mut batch = Batch::new(head);
    batch.gather(input, requests_max.min(BATCH_MAX));
    batch.run(context, replies);
    Flow::Done {
        bytes: batch.bytes,
        requests: batch.count,
    }
}

struct Batch<'a> {
    headers: [Header; BATCH_MAX],
    keys: [&'a [u8]; BATCH_MAX],
    count: usize,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(first: Head<'a>) -> Self {
        let mut batch = Batch {
            headers: [Header::default(); BATCH_MAX],
            keys: [&[]; BATCH_MAX],
            count: 0,
            bytes: 0,
        };
        batch.push(first);
        batch
    }

    fn push(&mut self, head: Head<'a>) {
        self.headers[self.count] = head.header;
        self.keys[self.count] = head.key;
        self.count += 1;
        self.bytes += head.head_len();
    }

    /// Adds the gets behind those that it has, as far as they are whole.
    fn gather(&mut self, input: &'a [u8], count_max: usize) {
        while self.count < count_max {
            let Some(head) = next_get(&input[self.bytes..]) else {
                return;
            };
            self.push(head);
        }
    }

    fn run(&self, context: &Context<'_>, replies: &mut Replies) {
        let mut found = Vec::with_capacity(self.count);
        context
            .store
            .get_batch(&self.keys[..self.count], Access::Use, &mut found);
        if context.store.needs_reads() {
            return;
        }
        for ((header, key), item) in self.headers.iter().zip(self.keys).zip(&found) {
            answer(header, key, item.as_ref(), context, replies);
        }
    }
}

/// The packet at the start of `input`, if it is a well-formed get.
fn next_get(input: &[u8]) -> Option<Head<'_>> {
    let [MAGIC_REQUEST, opcode, ..] = *input else {
        return None;
    };
    if !matches!(
        Opcode::from_byte(opcode)?.loud(),
        Opcode::Get | Opcode::GetK
    ) {
        return None;
    }
    let head = Head::decode(input).ok()??;
    let is_well_formed = head.extras.is_empty() && head.value_len == 0;
    (is_well_formed && (1..=KEY_BYTES_MAX).contains(&head.key.len())).then_some(head)
}

fn answer(
    header: &Header,
    key: &[u8],
    item: Option<&Item<'_>>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    context.shared.watch.fetched(key, item);
    count(key, item.is_some(), context);
    let with_key = matches!(header.opcode, GETK | GETKQ);
    match item {
        Some(item) => reply::value(
            header,
            if with_key { key } else { &[] },
            item,
            context,
            replies,
        ),
        None if matches!(header.opcode, GETQ | GETKQ) => {}
        None if with_key => miss_with_key(header, key, replies),
        None => reply::error(header, Status::NotFound, replies),
    }
}

const GETQ: u8 = Opcode::GetQ as u8;
const GETK: u8 = Opcode::GetK as u8;
const GETKQ: u8 = Opcode::GetKQ as u8;

fn count(key: &[u8], hit: bool, context: &Context<'_>) {
    context.counters.cmd_get.bump();
    if hit {
        context.counters.get_hits.bump()
    } else {
        context.counters.get_misses.bump()
    }
    context.shared.detail.get(key, hit);
}

/// A miss of a command that returns the key: the key stands in place of the error's text.
pub(super) fn miss_with_key(header: &Header, key: &[u8], replies: &mut Replies) {
    let header = reply::header(header, Status::NotFound, 0);
    farcache_proto::binary::encode_head(header, &[], key, 0, replies.buffer());
}
