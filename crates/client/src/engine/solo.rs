//! One get or store with nothing else under way, whose caller waits for it: the request goes
//! straight to the network, and the answer from where the network has put it to the caller, past
//! slot and queue.
//!
//! The request has the number of the slot that would be taken next, and does not take it. Whatever
//! comes that is not the plain answer, or nothing for a while, makes it an operation like all
//! others: [`Solo::adopt`].

use super::checks::check_key;
use super::server::Stage;
use super::slots::{NO_DEADLINE, Slot};
use super::{Engine, Ticket};
use farcache_fabric::{Frame, Kind, Peer, Whole};
use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_RESPONSE, Opcode, Status};

/// Bytes of a value's packet in front of the value: header and flags.
const VALUE_HEAD_BYTES: usize = HEADER_BYTES + 4;

/// Where a solo request goes, and its number.
#[derive(Clone, Copy, Debug)]
pub struct SoloRoute {
    /// The server's port.
    pub peer: Peer,
    /// To be sent with it.
    pub opaque: u32,
    server: usize,
    slot: usize,
}

/// What is known of a solo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoloStage {
    /// Nothing has come.
    UnderWay,
    /// The value is in its room.
    Found {
        /// The item's flags.
        flags: u32,
        /// Its CAS token.
        cas: u64,
    },
    /// There is none.
    Missing,
    /// The value is stored.
    Stored {
        /// The item's CAS token.
        cas: u64,
    },
    /// It goes on as an operation like others.
    Adopted(Ticket),
}

/// A request that nothing else is under way with.
pub trait Solo {
    /// How far it is.
    fn stage(&self) -> SoloStage;

    /// When it was begun.
    fn begun_us(&self) -> u64;

    /// Ends with this message, if that is nothing but the answer; otherwise nothing has happened.
    fn ends_with(&mut self, engine: &mut Engine, message: &Whole<'_>) -> bool;

    /// Takes a message that has come.
    #[inline]
    fn message(&mut self, engine: &mut Engine, message: Whole<'_>) {
        if self.stage() == SoloStage::UnderWay {
            if self.ends_with(engine, &message) {
                return;
            }
            self.adopt(engine);
        }
        engine.message(message, self.begun_us());
    }

    /// Makes it an operation like all others, if nothing has come.
    fn adopt(&mut self, engine: &mut Engine);
}

/// A get that nothing else is under way with.
#[derive(Debug)]
pub struct SoloGet<'a> {
    route: SoloRoute,
    room: &'a mut Vec<u8>,
    now_us: u64,
    stage: SoloStage,
}

/// What a message says of a solo get.
enum Said<'a> {
    Value {
        flags: u32,
        cas: u64,
        value: &'a [u8],
    },
    Missing,
}

impl Engine {
    /// Begins a request for this key, if nothing else is under way or waits, and its server can be
    /// asked over the fabric at once. It must be sent before anything else happens here.
    #[inline]
    pub fn begin_solo(&mut self, key: &[u8]) -> Option<SoloRoute> {
        let is_quiet = self.outstanding == 0
            && self.arriving == 0
            && self.listed.is_empty()
            && !self.has_actions()
            && !self.has_notices();
        if !is_quiet || check_key(key).is_err() || !self.settings.is_single(key) {
            return None;
        }
        let server = match self.servers.len() {
            1 => 0,
            _ => self.routing.server_of_key(key)?,
        };
        let to = &mut self.servers[server];
        let Stage::Fabric { offered } = &to.stage else {
            return None;
        };
        if to.credits == 0 || !to.outgoing.is_empty() {
            return None;
        }
        let slot = self.slots.next_free()?;
        to.credits -= 1;
        Some(SoloRoute {
            peer: offered.peer,
            opaque: self.slots.opaque(slot),
            server,
            slot,
        })
    }
}

impl SoloRoute {
    /// Header, rest of the head and value of the packet that a message is, if that is nothing but
    /// the answer to this request.
    #[inline]
    pub(super) fn answer<'m>(
        &self,
        engine: &Engine,
        message: &Whole<'m>,
        (opcode, head_bytes_max): (Opcode, usize),
    ) -> Option<(Header, &'m [u8], &'m [u8])> {
        let Whole { frame, head, body } = *message;
        let is_its = frame.kind == Kind::Packets && engine.servers[self.server].sends(frame);
        if !is_its {
            return None;
        }
        let (head, value) = match head {
            [] => body.split_at_checked(head_bytes_max.min(body.len()))?,
            _ => (head, body),
        };
        let (header, extras) = head.split_first_chunk::<HEADER_BYTES>()?;
        let header = Header::decode(header);
        let is_answer = header.magic == MAGIC_RESPONSE
            && header.opcode == opcode as u8
            && header.opaque == self.opaque
            && header.key_len == 0
            && header.body_len as usize == extras.len() + value.len();
        is_answer.then_some((header, extras, value))
    }

    /// The request has been answered by the message with this frame.
    #[inline]
    pub(super) fn conclude(&self, engine: &mut Engine, frame: &Frame, now_us: u64) {
        engine.now_us = engine.now_us.max(now_us);
        engine.hear(self.server, frame);
        engine.slots.renew(self.slot);
    }

    /// Takes the slot whose number the request, begun at `now_us`, has had all along.
    pub(super) fn take_slot<'e>(
        &self,
        engine: &'e mut Engine,
        opcode: Opcode,
        now_us: u64,
    ) -> (&'e mut Slot, Ticket) {
        engine.now_us = engine.now_us.max(now_us);
        let limit_us = now_us.saturating_add(engine.settings.timeout_us);
        let taken = engine.slots.take(limit_us.min(NO_DEADLINE - 1));
        assert_eq!(taken, Some(self.slot), "nobody else has taken it meanwhile");
        engine.expect_answer(self.server);
        let state = engine.slots.at(self.slot);
        state.opcode = opcode;
        state.server = self.server;
        state.answer_due = true;
        (state, Ticket(self.opaque))
    }
}

impl<'a> SoloGet<'a> {
    /// The get that was begun at `now_us`; its value goes to `room`, whose bytes are of no
    /// interest.
    pub fn new(route: SoloRoute, room: &'a mut Vec<u8>, now_us: u64) -> Self {
        SoloGet {
            route,
            room,
            now_us,
            stage: SoloStage::UnderWay,
        }
    }

    /// What the message says, if it is nothing but the answer.
    #[inline]
    fn said<'m>(&self, engine: &Engine, message: &Whole<'m>) -> Option<Said<'m>> {
        let parts = (Opcode::Get, VALUE_HEAD_BYTES);
        let (header, extras, value) = self.route.answer(engine, message, parts)?;
        match (header.status, header.extras_len) {
            (NOT_FOUND, 0) => Some(Said::Missing),
            (SUCCESS, 4) => {
                let flags: &[u8; 4] = extras.try_into().ok()?;
                let (flags, cas) = (u32::from_be_bytes(*flags), header.cas);
                Some(Said::Value { flags, cas, value })
            }
            _ => None,
        }
    }

    #[inline]
    fn end(&mut self, said: Said<'_>) {
        self.stage = match said {
            Said::Value { flags, cas, value } => {
                self.room.clear();
                self.room.extend_from_slice(value);
                SoloStage::Found { flags, cas }
            }
            Said::Missing => SoloStage::Missing,
        };
    }
}

impl Solo for SoloGet<'_> {
    #[inline]
    fn stage(&self) -> SoloStage {
        self.stage
    }

    #[inline]
    fn begun_us(&self) -> u64 {
        self.now_us
    }

    #[inline]
    fn ends_with(&mut self, engine: &mut Engine, message: &Whole<'_>) -> bool {
        let Some(said) = self.said(engine, message) else {
            return false;
        };
        self.route.conclude(engine, message.frame, self.now_us);
        self.end(said);
        true
    }

    #[cold]
    fn adopt(&mut self, engine: &mut Engine) {
        if self.stage == SoloStage::UnderWay {
            let (state, ticket) = self.route.take_slot(engine, Opcode::Get, self.now_us);
            state.room = Some(std::mem::take(self.room).into());
            self.stage = SoloStage::Adopted(ticket);
        }
    }
}

pub(super) const SUCCESS: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
