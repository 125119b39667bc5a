//! One worker's connection to one peer.

use super::Tag;
use super::beside::Beside;
use super::calls::{Calls, News};
use super::desk::Answer;
use super::lane::{Carrier, Lane};
use super::outbox::Outbox;
use crate::dial::Unconnected;
use crate::logging::EVENTS;
use farcache_cluster::ServerId;
use farcache_peers::frame::Kind;
use farcache_peers::link::{self, Limits, Link};
use farcache_session::{FORWARDED_BYTES_MAX, Failure};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Requests of one worker to one peer that may be outstanding.
const OUTSTANDING_MAX: usize = 1024;

/// What may be outstanding on the connection, and as much on the fabric.
const LIMITS: Limits = Limits {
    requests_max: OUTSTANDING_MAX,
    request_bytes_max: FORWARDED_BYTES_MAX as usize,
    reply_bytes_max: FORWARDED_BYTES_MAX as usize,
};

/// How long to wait before a peer is dialled again that could not be reached.
const RETRY_TIME: Duration = Duration::from_millis(250);

/// Reads of one wire in one turn, before others get theirs.
const READS_PER_TURN: usize = 64;

/// What epoll is to tell of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// That something has come.
    Input,
    /// That too, and that there is room.
    InputAndRoom,
}

enum State {
    /// Nothing is to be tried before this instant.
    Down(Instant),
    /// A request is there, and nobody has dialled yet.
    Wanted,
    /// A thread dials.
    Dialling,
    /// There is a connection, since this instant.
    Up(OwnedFd, Instant),
}

/// A connection to a peer, or the wish for one.
pub struct Wire {
    /// The peer.
    pub peer: ServerId,
    /// What it is for.
    pub lane: Lane,
    state: State,
    attempt: u64,
    link: Link<Tag>,
    /// Its session on the fabric.
    pub beside: Beside,
    unsent: Outbox,
    interest: Interest,
    epoch: Instant,
    received: Instant,
    /// The log tells that it cannot be reached.
    is_told_down: bool,
    /// Nobody listened at its addresses when that was last tried.
    is_nobody_there: bool,
}

impl Wire {
    /// No connection yet; times are counted from `epoch`.
    pub fn new(peer: ServerId, lane: Lane, epoch: Instant) -> Wire {
        Wire {
            peer,
            lane,
            state: State::Down(epoch),
            attempt: 0,
            link: Link::new(LIMITS),
            beside: Beside::new(LIMITS),
            unsent: Outbox::default(),
            interest: Interest::Input,
            epoch,
            received: epoch,
            is_told_down: false,
            is_nobody_there: false,
        }
    }

    fn milliseconds(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.epoch).as_millis() as u64
    }

    /// Whether nobody listened at its addresses a moment ago.
    pub fn is_gone(&self, now: Instant) -> bool {
        matches!(self.state, State::Down(until) if self.is_nobody_there && now < until)
    }

    /// Since when there has been a connection, where there is one: to the same process, so long.
    pub fn up_since(&self) -> Option<Instant> {
        match self.state {
            State::Up(_, since) => Some(since),
            State::Down(_) | State::Wanted | State::Dialling => None,
        }
    }

    /// Has the next request dial, however short a time ago that was in vain.
    pub fn end_rest(&mut self, now: Instant) {
        if let State::Down(until) = &mut self.state {
            *until = now.min(*until);
        }
    }

    /// Has it connected ahead of the first request; whether somebody has to dial for that.
    pub fn want(&mut self, now: Instant) -> bool {
        let is_wanted = matches!(self.state, State::Down(until) if until <= now);
        if is_wanted {
            self.state = State::Wanted;
        }
        is_wanted
    }

    /// Has a request sent with the next [`Wire::flush`], whose body is made of these pieces.
    ///
    /// # Errors
    /// Where there is no connection and none is to be tried now, and where too much is outstanding.
    pub fn ask(
        &mut self,
        tag: Tag,
        (kind, pieces): (Kind, &[&[u8]]),
        epoch: u64,
        deadline: Instant,
        now: Instant,
    ) -> Result<Carrier, Failure> {
        if let State::Down(until) = self.state {
            if now < until {
                return Err(Failure::Unreachable);
            }
            self.state = State::Wanted;
        }
        let deadline_ms = self.milliseconds(deadline);
        let body_bytes = pieces.iter().map(|piece| piece.len()).sum();
        let (carrier, (link, unsent)) = match self.beside.way(body_bytes) {
            Some(beside) => (Carrier::Fabric, beside),
            None => (
                Carrier::Connection,
                (&mut self.link, &mut self.unsent.frames),
            ),
        };
        let asked = link.ask(kind, tag, epoch, body_bytes, deadline_ms);
        let head = asked.map_err(|link::Full| Failure::TooMuch)?;
        let mut frame = Vec::with_capacity(head.len() + body_bytes);
        frame.extend_from_slice(&head);
        pieces
            .iter()
            .for_each(|piece| frame.extend_from_slice(piece));
        unsent.push_back(frame);
        Ok(carrier)
    }

    /// Whether a connection is wanted that nobody makes yet.
    pub fn must_dial(&self) -> bool {
        matches!(self.state, State::Wanted)
    }

    /// Somebody dials from now on; returns the number of the attempt.
    pub fn begin_dialling(&mut self) -> u64 {
        self.state = State::Dialling;
        self.attempt += 1;
        self.attempt
    }

    /// That has come to this; whether there is a connection now.
    pub fn on_dialled(
        &mut self,
        attempt: u64,
        result: Result<OwnedFd, Unconnected>,
        now: Instant,
        failed: &mut Vec<Tag>,
    ) -> bool {
        if attempt != self.attempt || !matches!(self.state, State::Dialling) {
            return false;
        }
        match result {
            Ok(socket) => {
                tracing::info!(target: EVENTS, peer = self.peer.0, "connected to a peer");
                self.state = State::Up(socket, now);
                self.received = now;
                self.is_told_down = false;
                self.is_nobody_there = false;
                true
            }
            Err(Unconnected {
                reason,
                is_nobody_there,
            }) => {
                self.is_nobody_there = is_nobody_there;
                if !std::mem::replace(&mut self.is_told_down, true) {
                    let peer = self.peer.0;
                    tracing::warn!(target: EVENTS, peer, reason, "a peer cannot be reached");
                }
                self.fail(now + RETRY_TIME, failed);
                false
            }
        }
    }

    /// Gives the connection up, and all that is outstanding.
    fn fail(&mut self, until: Instant, failed: &mut Vec<Tag>) {
        self.state = State::Down(until);
        self.link.end(|tag| failed.push(tag));
        self.beside.end(failed);
        self.unsent.clear();
        self.interest = Interest::Input;
    }

    /// The connection is of no use any more; another one may be made at once.
    pub fn end(&mut self, now: Instant, failed: &mut Vec<Tag>) {
        self.fail(now, failed);
    }

    /// The socket, where there is a connection.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            State::Up(socket, _) => Some(socket.as_fd()),
            _ => None,
        }
    }

    /// Sends what waits; returns what epoll is to tell from now on, where that changes.
    pub fn flush(&mut self, now: Instant, failed: &mut Vec<Tag>) -> Option<Interest> {
        let State::Up(socket, _) = &self.state else {
            return None;
        };
        if self.unsent.send_to(socket).is_err() {
            self.fail(now, failed);
            return None;
        }
        let interest = match self.unsent.is_empty() {
            true => Interest::Input,
            false => Interest::InputAndRoom,
        };
        let before = std::mem::replace(&mut self.interest, interest);
        (before != interest).then_some(interest)
    }

    /// Reads what has come.
    pub fn receive(&mut self, buffer: &mut [u8], now: Instant, answered: &mut Vec<(Tag, Answer)>) {
        for _ in 0..READS_PER_TURN {
            let State::Up(socket, _) = &self.state else {
                return;
            };
            let count = match rustix::io::read(socket, &mut *buffer) {
                Ok(0) => return self.break_off(now, answered),
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => return self.break_off(now, answered),
            };
            self.received = now;
            let received = self.link.receive(&buffer[..count], |tag, answer| {
                answered.push((tag, settled(answer)));
            });
            if received.is_err() {
                tracing::error!(target: EVENTS, peer = self.peer.0, "a peer sends nonsense");
                return self.break_off(now, answered);
            }
            if count < buffer.len() {
                return;
            }
        }
    }

    /// What has come of its session on the fabric.
    pub fn on_news(
        &mut self,
        news: &News<'_>,
        calls: &Calls,
        now: Instant,
        answered: &mut Vec<(Tag, Answer)>,
    ) {
        self.received = now;
        match news {
            News::Welcome => {
                if let Some(lanes) = self.beside.open(calls) {
                    let peer = self.peer.0;
                    tracing::info!(target: EVENTS, peer, lanes, "a peer is asked over the fabric");
                }
            }
            News::Frames(frame, bytes) => {
                if self.beside.receive(frame, bytes, answered).is_err() {
                    tracing::error!(target: EVENTS, peer = self.peer.0, "a peer sends nonsense");
                    self.break_off(now, answered);
                }
            }
            News::Over => self.break_off(now, answered),
        }
    }

    fn break_off(&mut self, now: Instant, answered: &mut Vec<(Tag, Answer)>) {
        let mut failed = Vec::new();
        self.fail(now, &mut failed);
        answered.extend(
            failed
                .into_iter()
                .map(|tag| (tag, Err(Failure::Unreachable))),
        );
    }

    /// Gives up what is late, and the connection with it if nothing has come for so long. Without a
    /// connection all that waits for one is given up together with the first that is late.
    pub fn expire(&mut self, now: Instant, timeout: Duration, late: &mut Vec<Tag>) {
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        let now_ms = self.milliseconds(now);
        self.link.expire(now_ms, |tag| late.push(tag));
        self.beside.expire(now_ms, late);
        let is_silent = now.saturating_duration_since(self.received) >= timeout;
        match self.state {
            State::Up(..) if is_silent => self.fail(now + RETRY_TIME, late),
            State::Up(..) => {}
            // What has not been sent never will be: the client may have stored something newer.
            State::Down(_) | State::Wanted | State::Dialling => {
                self.link.end(|tag| late.push(tag));
                self.unsent.clear();
            }
        }
    }

    /// Whether neither [`Wire::flush`] nor [`Wire::expire`] has anything to do, until something is
    /// asked or comes.
    pub fn is_at_rest(&self) -> bool {
        let is_told = self.interest == Interest::Input;
        self.unsent.is_empty()
            && is_told
            && self.next_deadline().is_none()
            && self.beside.is_at_rest()
    }

    /// When the next request will be late.
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadlines = [self.link.next_deadline_ms(), self.beside.next_deadline_ms()];
        let deadline_ms = deadlines.into_iter().flatten().min()?;
        Some(self.epoch + Duration::from_millis(deadline_ms))
    }
}

/// What a session is told.
pub(super) fn settled(answer: link::Answer) -> Answer {
    match answer {
        link::Answer::Reply(reply) => Ok(reply),
        link::Answer::NotOwner(_) => Err(Failure::OtherMap),
        link::Answer::NotDurable => Err(Failure::NotDurable),
        link::Answer::TooLarge => Err(Failure::TooLarge),
    }
}
