//! One get with nothing else under way, whose caller waits for it: the answer goes from where the network has put it to the
//! caller's room, past slot and queue.
//!
//! The get has the number of the slot that would be taken next, and does not take it. Whatever comes that is not the plain
//! answer, or nothing for a while, makes it an operation like all others: [`LoneGet::adopt`].

use super::server::Stage;
use super::slots::NO_DEADLINE;
use super::{Engine, Ticket};
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_fabric::{Kind, Peer, Whole};
use farcache_proto::binary::{HEADER_BYTES, Header, MAGIC_RESPONSE, Opcode, Status};

/// Bytes of a value's packet in front of the value: header and flags.
const VALUE_HEAD_BYTES: usize = HEADER_BYTES + 4;

/// Where a lone get goes, and its number.
#[derive(Clone, Copy, Debug)]
pub struct LoneRoute {
    /// The server's port.
    pub peer: Peer,
    /// To be sent with it.
    pub opaque: u32,
    server: usize,
    slot: usize,
}

/// What is known of a lone get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoneStage {
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
    /// It goes on as an operation like others.
    Adopted(Ticket),
}

/// A get that nothing else is under way with.
#[derive(Debug)]
pub struct LoneGet<'a> {
    route: LoneRoute,
    room: &'a mut Vec<u8>,
    now_us: u64,
    /// How far it is.
    pub stage: LoneStage,
}

/// What a message says of a lone get.
enum Said<'a> {
    Value {
        flags: u32,
        cas: u64,
        value: &'a [u8],
    },
    Missing,
}

impl Engine {
    /// Begins a get, if nothing else is under way or waits, and its server can be asked over the fabric at once. It must be
    /// sent before anything else happens here.
    #[inline]
    pub fn begin_lone_get(&mut self, key: &[u8]) -> Option<LoneRoute> {
        let is_quiet = self.outstanding == 0
            && self.arriving == 0
            && self.listed.is_empty()
            && !self.has_actions()
            && !self.has_notices();
        if !is_quiet || key.is_empty() || key.len() > KEY_BYTES_MAX {
            return None;
        }
        let server = match self.servers.len() {
            1 => 0,
            _ => self.placement.server_of_key(key)?,
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
        Some(LoneRoute {
            peer: offered.peer,
            opaque: self.slots.opaque(slot),
            server,
            slot,
        })
    }
}

impl<'a> LoneGet<'a> {
    /// The get that was begun at `now_us`; its value goes to `room`, whose bytes are of no interest.
    pub fn new(route: LoneRoute, room: &'a mut Vec<u8>, now_us: u64) -> Self {
        LoneGet {
            route,
            room,
            now_us,
            stage: LoneStage::UnderWay,
        }
    }

    /// Takes a message that has come.
    #[inline]
    pub fn message(&mut self, engine: &mut Engine, message: Whole<'_>) {
        if self.stage == LoneStage::UnderWay {
            if let Some(said) = self.said(engine, &message) {
                return self.end(engine, &message, said);
            }
            self.adopt(engine);
        }
        engine.message(message, self.now_us);
    }

    /// What the message says, if it is nothing but the answer.
    #[inline]
    fn said<'m>(&self, engine: &Engine, message: &Whole<'m>) -> Option<Said<'m>> {
        let Whole { frame, head, body } = *message;
        let is_its = frame.kind == Kind::Packets && engine.servers[self.route.server].sends(frame);
        if !is_its {
            return None;
        }
        let (head, value) = match head {
            [] => body.split_at_checked(VALUE_HEAD_BYTES.min(body.len()))?,
            _ => (head, body),
        };
        let header = Header::decode(head.first_chunk()?);
        let is_answer = header.magic == MAGIC_RESPONSE
            && header.opcode == Opcode::Get as u8
            && header.opaque == self.route.opaque
            && header.key_len == 0
            && header.body_len as usize == head.len() - HEADER_BYTES + value.len();
        if !is_answer {
            return None;
        }
        match (header.status, header.extras_len) {
            (NOT_FOUND, 0) => Some(Said::Missing),
            (SUCCESS, 4) => {
                let flags: &[u8; 4] = head.get(HEADER_BYTES..)?.try_into().ok()?;
                let (flags, cas) = (u32::from_be_bytes(*flags), header.cas);
                Some(Said::Value { flags, cas, value })
            }
            _ => None,
        }
    }

    #[inline]
    fn end(&mut self, engine: &mut Engine, message: &Whole<'_>, said: Said<'_>) {
        engine.now_us = engine.now_us.max(self.now_us);
        engine.hear(self.route.server, message.frame);
        engine.slots.renew(self.route.slot);
        self.stage = match said {
            Said::Value { flags, cas, value } => {
                self.room.clear();
                self.room.extend_from_slice(value);
                LoneStage::Found { flags, cas }
            }
            Said::Missing => LoneStage::Missing,
        };
    }

    /// Makes it an operation like all others, if nothing has come.
    #[cold]
    pub fn adopt(&mut self, engine: &mut Engine) {
        if self.stage != LoneStage::UnderWay {
            return;
        }
        let LoneRoute {
            server,
            slot,
            opaque,
            ..
        } = self.route;
        engine.now_us = engine.now_us.max(self.now_us);
        let limit_us = self.now_us.saturating_add(engine.settings.timeout_us);
        let taken = engine.slots.take(limit_us.min(NO_DEADLINE - 1));
        assert_eq!(taken, Some(slot), "nobody else has taken it meanwhile");
        let state = engine.slots.at(slot);
        state.opcode = Opcode::Get;
        state.server = server;
        state.answer_due = true;
        state.room = Some(std::mem::take(self.room).into());
        engine.expect_answer(server);
        self.stage = LoneStage::Adopted(Ticket(opaque));
    }
}

const SUCCESS: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
