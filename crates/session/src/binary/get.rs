//! Gets: several in a row in the input are looked up together, which overlaps their cache misses.

use super::dispatch::Request;
use super::{Context, Flow, State, reply};
use crate::Replies;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::binary::{HEADER_BYTES, Head, Header, MAGIC_REQUEST, Opcode, Status};
use farcache_store::{Access, BATCH_MAX, Item, Suspended};

/// Looks up the get at the start of the input and those right behind it.
pub(super) fn run(request: Request<'_, '_>, requests_max: usize) -> Result<Flow, Suspended> {
    let Request {
        head,
        input,
        context,
        replies,
    } = request;
    let is_solo = requests_max == 1 || next_get(&input[head.head_len()..]).is_none();
    if is_solo {
        let item = context.store.get(head.key, Access::Use)?;
        answer(&head.header, head.key, item.as_ref(), context, replies);
        return Ok(Flow::one(head.head_len()));
    }
    let mut count_max = requests_max.min(BATCH_MAX);
    loop {
        let mut batch = Batch::new(head);
        batch.gather(input, count_max);
        batch.leave_foreign(context);
        match batch.run(context, replies) {
            Ok(()) => {
                return Ok(Flow::Done {
                    bytes: batch.bytes,
                    requests: batch.count,
                });
            }
            Err(_) if batch.count > 1 && context.store.exceeds_read_share() => {
                context.store.forget_reads();
                count_max = batch.count / 2;
            }
            Err(suspended) => return Err(suspended),
        }
    }
}

/// The short way for a get that is all of the input, which is what a client sends that waits for
/// each answer: it does what the long way does, and tells how many bytes are done with. None where
/// the input is anything else.
#[inline]
pub(super) fn run_solo(
    state: &State,
    input: &[u8],
    context: &Context<'_>,
    replies: &mut Replies,
) -> Option<Result<usize, Suspended>> {
    let (head, key) = solo_get(input)?;
    if !state.may_run_solo(GET, key, context, replies) {
        return None;
    }
    Some(context.store.get(key, Access::Use).map(|item| {
        answer(&Header::decode(head), key, item.as_ref(), context, replies);
        input.len()
    }))
}

/// Head and key of a get that is all of the input.
#[inline]
fn solo_get(input: &[u8]) -> Option<(&[u8; HEADER_BYTES], &[u8])> {
    let (head, key) = input.split_first_chunk::<HEADER_BYTES>()?;
    let [MAGIC_REQUEST, GET, key_high, key_low, 0, ..] = *head else {
        return None;
    };
    let key_bytes = usize::from(u16::from_be_bytes([key_high, key_low]));
    let body_bytes = u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize;
    let is_all = key_bytes == key.len() && body_bytes == key.len();
    (is_all && (1..=KEY_BYTES_MAX).contains(&key_bytes)).then_some((head, key))
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

    /// Adds the gets that follow in the input, as far as they are whole.
    fn gather(&mut self, input: &'a [u8], count_max: usize) {
        while self.count < count_max {
            let Some(head) = next_get(&input[self.bytes..]) else {
                return;
            };
            self.push(head);
        }
    }

    /// Leaves the first get whose key another server decides on to the next batch, and those
    /// behind it. That of the first is this server's own.
    fn leave_foreign(&mut self, context: &Context<'_>) {
        let others = &self.keys[1..self.count];
        if context.owns_each(others) {
            return;
        }
        let is_own =
            |key: &&&[u8]| context.owner_elsewhere(key).is_none() && !context.must_bring(key);
        self.count = 1 + others.iter().take_while(is_own).count();
        let keys = self.keys[..self.count].iter();
        self.bytes = keys.map(|key| HEADER_BYTES + key.len()).sum();
    }

    fn run(&self, context: &Context<'_>, replies: &mut Replies) -> Result<(), Suspended> {
        let mut found = Vec::with_capacity(self.count);
        context
            .store
            .get_batch(&self.keys[..self.count], Access::Use, &mut found)?;
        for ((header, key), item) in self.headers.iter().zip(self.keys).zip(&found) {
            answer(header, key, item.as_ref(), context, replies);
        }
        Ok(())
    }
}

/// The packet at the start of `input`, if it is a well-formed get.
pub(super) fn next_get(input: &[u8]) -> Option<Head<'_>> {
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
    context.show_fetched(key, item);
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

const GET: u8 = Opcode::Get as u8;
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
    context.service.detail.get(key, hit);
}

/// A miss of a command that returns the key: the key stands in place of the error's text.
pub(super) fn miss_with_key(header: &Header, key: &[u8], replies: &mut Replies) {
    let header = reply::header(header, Status::NotFound, 0);
    farcache_proto::binary::encode_head(header, &[], key, 0, replies.buffer());
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_proto::binary::encode_head;

    fn packet(opcode: Opcode, extras: &[u8], key: &[u8]) -> Vec<u8> {
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: opcode as u8,
            opaque: 7,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        encode_head(header, extras, key, 0, &mut bytes);
        bytes
    }

    #[test]
    fn only_a_whole_get_with_nothing_behind_it_takes_the_short_way() {
        let get = packet(Opcode::Get, &[], b"key");
        let (head, key) = solo_get(&get).expect("a get alone");
        assert_eq!((&head[..], key), (&get[..HEADER_BYTES], &b"key"[..]));
        let longest = packet(Opcode::Get, &[], &[b'k'; KEY_BYTES_MAX]);
        assert!(solo_get(&longest).is_some());
        let others = [
            [&get[..], &get].concat(),
            get[..get.len() - 1].to_vec(),
            get[..HEADER_BYTES].to_vec(),
            packet(Opcode::Get, &[], &[]),
            packet(Opcode::Get, &[], &[b'k'; KEY_BYTES_MAX + 1]),
            packet(Opcode::Get, &[0], b"key"),
            packet(Opcode::GetQ, &[], b"key"),
            packet(Opcode::GetK, &[], b"key"),
            packet(Opcode::Delete, &[], b"key"),
        ];
        for other in others {
            assert!(solo_get(&other).is_none(), "{other:?}");
        }
        let mut response = get.clone();
        response[0] = 0x81;
        assert!(solo_get(&response).is_none());
        let mut contradicting = get;
        contradicting[11] = 2;
        assert!(solo_get(&contradicting).is_none());
    }
}
