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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        requests_max: 4,
        request_bytes_max: 100,
        reply_bytes_max: 50,
    };

    fn link(requests: u32) -> Link<u32> {
        let mut link = Link::new(LIMITS);
        for tag in 0..requests {
            link.ask(Kind::Request, tag, 1, 10, u64::from(tag))
                .expect("room");
        }
        link
    }

    fn frame(kind: Kind, number: u32, body: &[u8]) -> Vec<u8> {
        let head = Head {
            kind,
            number,
            epoch: 9,
            body_bytes: body.len() as u32,
        };
        [&head.encode()[..], body].concat()
    }

    fn received(link: &mut Link<u32>, input: &[u8]) -> Result<Vec<(u32, Answer)>, Broken> {
        let mut answers = Vec::new();
        link.receive(input, |tag, answer| answers.push((tag, answer)))?;
        Ok(answers)
    }

    #[test]
    fn a_request_is_numbered_and_sent_with_the_epoch() {
        let mut link = link(1);
        let head = link.ask(Kind::Request, 1, 7, 11, 0).expect("room");
        let expected = Head {
            kind: Kind::Request,
            number: 1,
            epoch: 7,
            body_bytes: 11,
        };
        assert_eq!(head, expected.encode());
    }

    #[test]
    fn no_more_is_outstanding_than_may_be() {
        let mut link = link(4);
        assert_eq!(link.ask(Kind::Request, 9, 1, 1, 0), Err(Full));
        received(&mut link, &frame(Kind::Reply, 0, b"")).expect("a reply");
        assert!(link.ask(Kind::Request, 9, 1, 70, 0).is_ok());
        received(&mut link, &frame(Kind::Reply, 1, b"")).expect("a reply");
        assert_eq!(
            link.ask(Kind::Request, 9, 1, 11, 0),
            Err(Full),
            "90 and 11 bytes are too many"
        );
        // However long: it would never be sent otherwise.
        assert!(Link::new(LIMITS).ask(Kind::Request, 0, 1, 101, 0).is_ok());
    }

    #[test]
    fn an_answer_goes_to_who_asked() {
        let mut link = link(4);
        let input = [
            frame(Kind::Part, 0, b"a"),
            frame(Kind::Reply, 0, b"b"),
            frame(Kind::NotOwner, 1, b""),
            frame(Kind::NotDurable, 2, b""),
            frame(Kind::Reply, 3, &[b'x'; 51]),
        ];
        let expected = vec![
            (0, Answer::Reply(b"ab".to_vec())),
            (1, Answer::NotOwner(9)),
            (2, Answer::NotDurable),
            (3, Answer::TooLarge),
        ];
        assert_eq!(received(&mut link, &input.concat()), Ok(expected));
        assert_eq!(link.outstanding(), 0);
    }

    #[test]
    fn answers_may_come_in_any_order_and_in_parts() {
        let mut link = link(4);
        let input = [
            frame(Kind::Part, 2, b"a"),
            frame(Kind::Reply, 1, b"one"),
            frame(Kind::Reply, 2, b"b"),
        ];
        let expected = vec![
            (1, Answer::Reply(b"one".to_vec())),
            (2, Answer::Reply(b"ab".to_vec())),
        ];
        assert_eq!(received(&mut link, &input.concat()), Ok(expected));
        assert_eq!(link.next_deadline_ms(), Some(0));
        let expected = vec![(0, Answer::Reply(Vec::new()))];
        assert_eq!(
            received(&mut link, &frame(Kind::Reply, 0, b"")),
            Ok(expected)
        );
        assert_eq!(link.outstanding(), 1);
        // A request is answered once.
        for number in 0..3 {
            let mut again = super::tests::link(4);
            let input = [
                frame(Kind::Reply, number, b""),
                frame(Kind::Reply, number, b""),
            ];
            assert_eq!(
                received(&mut again, &input.concat()),
                Err(Broken),
                "{number}"
            );
        }
    }

    #[test]
    fn who_has_given_up_gets_nothing_and_the_others_get_theirs() {
        let mut link = link(3);
        let mut expired = Vec::new();
        assert_eq!(link.next_deadline_ms(), Some(0));
        link.expire(1, |tag| expired.push(tag));
        assert_eq!((expired, link.next_deadline_ms()), (vec![0, 1], Some(2)));
        let input = [0, 1, 2].map(|number| frame(Kind::Reply, number, b"late"));
        let expected = vec![(2, Answer::Reply(b"late".to_vec()))];
        assert_eq!(received(&mut link, &input.concat()), Ok(expected));
    }

    #[test]
    fn an_end_is_told_to_all_who_wait() {
        let mut link = link(3);
        received(&mut link, &frame(Kind::Part, 0, b"half")[..26]).expect("a beginning");
        link.expire(0, |_| {});
        let mut ended = Vec::new();
        link.end(|tag| ended.push(tag));
        assert_eq!((ended, link.outstanding()), (vec![1, 2], 0));
        link.ask(Kind::Request, 7, 1, 1, 0).expect("room");
        let expected = vec![(7, Answer::Reply(b"new".to_vec()))];
        assert_eq!(
            received(&mut link, &frame(Kind::Reply, 3, b"new")),
            Ok(expected)
        );
    }

    #[test]
    fn what_no_server_sends_breaks_the_connection() {
        for input in [
            frame(Kind::Reply, 2, b""),
            frame(Kind::Reply, u32::MAX, b""),
            frame(Kind::Request, 0, b""),
            frame(Kind::Fabric, 0, b""),
            frame(Kind::Pull, 0, b""),
            frame(Kind::NotOwner, 0, b"x"),
            vec![0; HEAD_BYTES],
        ] {
            assert_eq!(received(&mut link(2), &input), Err(Broken), "{input:?}");
        }
        assert_eq!(
            received(&mut link(0), &frame(Kind::Reply, 0, b"")),
            Err(Broken)
        );
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_makes_no_difference(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..4),
            cuts in prop::collection::vec(1_usize..40, 1..60),
        ) {
            let frames = bodies.iter().enumerate();
            let frames = frames.map(|(number, body)| frame(Kind::Reply, number as u32, body));
            let input: Vec<u8> = frames.flatten().collect();
            let whole = received(&mut link(4), &input);
            let (mut cut_link, mut rest, mut answers) = (link(4), &input[..], Vec::new());
            for cut in cuts.iter().cycle() {
                let (piece, later) = rest.split_at((*cut).min(rest.len()));
                answers.extend(received(&mut cut_link, piece).expect("as before"));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(whole, Ok(answers));
        }
    }
}
