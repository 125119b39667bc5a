//! The end of a connection that asks: numbers its requests, knows which are outstanding, puts their
//! replies together.
//!
//! Replies are matched with requests by the number that they repeat. Over a connection a server
//! answers in the order of the requests; over the fabric one that waits holds up no other. A
//! request whose deadline has passed stays outstanding, and its reply is thrown away.

use crate::frame::{HEAD_BYTES, Head, Kind};
use std::collections::VecDeque;

/// Most that is set aside for a reply before its bytes have come.
const RESERVED_BYTES_MAX: usize = 1 << 20;

/// How much may be outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests without a reply.
    pub requests_max: usize,
    /// Bytes of such requests.
    pub request_bytes_max: usize,
    /// Bytes of one reply; the rest of a longer one is thrown away.
    pub reply_bytes_max: usize,
}

/// As much is outstanding as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What came is not what a server sends: the connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// What a server has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What the client is to get, which may be nothing.
    Reply(Vec<u8>),
    /// It does not own the key in its map, which has this epoch.
    NotOwner(u64),
    /// What was to be changed will not become durable.
    NotDurable,
    /// The reply is longer than is taken.
    TooLarge,
}

#[derive(Debug)]
struct Outstanding<T> {
    number: u32,
    bytes: usize,
    deadline_ms: u64,
    /// None once nobody waits for it any more.
    tag: Option<T>,
    /// What has come of its reply.
    reply: Vec<u8>,
    is_too_large: bool,
    /// It has been answered, and one before it has not.
    is_answered: bool,
}

/// The asking end; `T` is who asks.
#[derive(Debug)]
pub struct Link<T> {
    limits: Limits,
    next_number: u32,
    outstanding: VecDeque<Outstanding<T>>,
    outstanding_bytes: usize,
    /// The beginning of a head.
    head: Vec<u8>,
    /// The frame that is arriving, and how much of its body is missing.
    arriving: Option<(Head, usize)>,
}

impl<T> Link<T> {
    /// Nothing is outstanding.
    #[must_use]
    pub fn new(limits: Limits) -> Link<T> {
        Link {
            limits,
            next_number: 0,
            outstanding: VecDeque::new(),
            outstanding_bytes: 0,
            head: Vec::new(),
            arriving: None,
        }
    }

    /// Notes a request of this kind and so many bytes; returns the head that is sent before it. One
    /// request is taken whatever its length.
    ///
    /// # Errors
    /// [`Full`]
    pub fn ask(
        &mut self,
        kind: Kind,
        tag: T,
        epoch: u64,
        bytes: usize,
        deadline_ms: u64,
    ) -> Result<[u8; HEAD_BYTES], Full> {
        let body_bytes = u32::try_from(bytes).map_err(|_| Full)?;
        let bytes_with_it = self.outstanding_bytes.saturating_add(bytes);
        let is_first = self.outstanding.is_empty();
        let is_full = self.outstanding.len() >= self.limits.requests_max
            || bytes_with_it > self.limits.request_bytes_max;
        if is_full && !is_first {
            return Err(Full);
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.outstanding_bytes = bytes_with_it;
        self.outstanding.push_back(Outstanding {
            number,
            bytes,
            deadline_ms,
            tag: Some(tag),
            reply: Vec::new(),
            is_too_large: false,
            is_answered: false,
        });
        Ok(Head {
            kind,
            number,
            epoch,
            body_bytes,
        }
        .encode())
    }

    /// Takes bytes that have come; `answered` is told of each request that has its reply.
    ///
    /// # Errors
    /// [`Broken`]
    pub fn receive(
        &mut self,
        mut input: &[u8],
        mut answered: impl FnMut(T, Answer),
    ) -> Result<(), Broken> {
        loop {
            let Some((head, missing)) = &mut self.arriving else {
                if !self.receive_head(&mut input)? {
                    return Ok(());
                }
                continue;
            };
            let taken = (*missing).min(input.len());
            let (body, rest) = input.split_at(taken);
            input = rest;
            *missing -= taken;
            let (head, missing) = (*head, *missing);
            let request = self.find(head.number).ok_or(Broken)?;
            if !request.is_too_large {
                request.reply.extend_from_slice(body);
            }
            if missing > 0 {
                return Ok(());
            }
            self.arriving = None;
            if head.kind != Kind::Part {
                self.finish(head, &mut answered)?;
            }
        }
    }

    /// Takes what it can of a head; false where that is not all of it.
    fn receive_head(&mut self, input: &mut &[u8]) -> Result<bool, Broken> {
        let taken = (HEAD_BYTES - self.head.len()).min(input.len());
        self.head.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
        let Some(bytes) = self.head.first_chunk() else {
            return Ok(false);
        };
        let head = Head::decode(bytes).ok_or(Broken)?;
        self.head.clear();
        self.begin(head)?;
        Ok(true)
    }

    /// The request of this number that has not been answered.
    fn find(&mut self, number: u32) -> Option<&mut Outstanding<T>> {
        let first = self.outstanding.front()?.number;
        let index = number.wrapping_sub(first) as usize;
        let request = self.outstanding.get_mut(index)?;
        (!request.is_answered).then_some(request)
    }

    fn begin(&mut self, head: Head) -> Result<(), Broken> {
        let reply_bytes_max = self.limits.reply_bytes_max;
        let request = self.find(head.number).ok_or(Broken)?;
        let is_refusal = matches!(head.kind, Kind::NotOwner | Kind::NotDurable);
        if head.kind.asks() || (is_refusal && head.body_bytes > 0) {
            return Err(Broken);
        }
        let body_bytes = head.body_bytes as usize;
        let is_too_long = request.reply.len() + body_bytes > reply_bytes_max;
        if is_too_long || request.tag.is_none() {
            request.is_too_large = true;
            request.reply = Vec::new();
        } else {
            request.reply.reserve(body_bytes.min(RESERVED_BYTES_MAX));
        }
        self.arriving = Some((head, body_bytes));
        Ok(())
    }

    fn finish(&mut self, head: Head, answered: &mut impl FnMut(T, Answer)) -> Result<(), Broken> {
        let request = self.find(head.number).ok_or(Broken)?;
        request.is_answered = true;
        let (bytes, reply) = (request.bytes, std::mem::take(&mut request.reply));
        let answer = match head.kind {
            Kind::NotOwner => Answer::NotOwner(head.epoch),
            Kind::NotDurable => Answer::NotDurable,
            _ if request.is_too_large => Answer::TooLarge,
            _ => Answer::Reply(reply),
        };
        let tag = request.tag.take();
        self.outstanding_bytes -= bytes;
        while self
            .outstanding
            .pop_front_if(|first| first.is_answered)
            .is_some()
        {}
        if let Some(tag) = tag {
            answered(tag, answer);
        }
        Ok(())
    }

    /// Gives up the requests whose deadline is not after `now_ms`.
    pub fn expire(&mut self, now_ms: u64, mut expired: impl FnMut(T)) {
        let late = self.outstanding.iter_mut();
        for request in late.take_while(|request| request.deadline_ms <= now_ms) {
            request.tag.take().into_iter().for_each(&mut expired);
        }
    }

    /// The next instant at which [`Link::expire`] has something to give up.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let mut waiting = self
            .outstanding
            .iter()
            .filter(|request| request.tag.is_some());
        waiting.next().map(|request| request.deadline_ms)
    }

    /// Requests that have not been answered, those that were given up among them, and those that
    /// were answered before an older one. 0 where nothing is to come any more.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// The connection has ended: gives up everything, and begins anew for the next one.
    pub fn end(&mut self, mut ended: impl FnMut(T)) {
        let outstanding = std::mem::take(&mut self.outstanding);
        *self = Link {
            next_number: self.next_number,
            ..Link::new(self.limits)
        };
        let waiting = outstanding.into_iter().filter_map(|request| request.tag);
        waiting.for_each(&mut ended);
    }
}

#[cfg(test)]
mod tests;
