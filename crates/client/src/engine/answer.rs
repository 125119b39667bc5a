//! Packets that arrive end operations.

use super::Engine;
use super::slots::{Slot, Slots};
use super::ticket::{self, Named, QUIET};
use crate::Error;
use crate::operation::Reply;
use crate::values::Place;
use farcache_fabric::{Frame, Kind, Whole};
use farcache_proto::binary::{
    Head, MAGIC_RESPONSE, ONLY_PROMISED, Opcode, Packet, Status, decode_u32,
};

/// An answer that fits no question.
const UNASKED: &str = "an answer to no question";

/// Packets that are none.
const CONTRADICTION: &str = "lengths that contradict each other";
const CUT_OFF: &str = "a packet that is cut off";

impl Engine {
    /// A message has arrived. One that belongs to no session is dropped.
    pub fn message(&mut self, message: Whole<'_>, now_us: u64) {
        let Whole { frame, head, body } = message;
        self.now_us = self.now_us.max(now_us);
        let Some(server) = self.speaker(frame) else {
            return;
        };
        match frame.kind {
            Kind::Packets => {
                self.hear(server, frame);
                let handled = match head {
                    [] => self.packets(server, body),
                    _ => self.packet_in_parts(server, head, body),
                };
                if let Err(rule) = handled {
                    self.end_session(server, &Error::Protocol(rule));
                }
            }
            Kind::Welcome => self.welcomed(server),
            Kind::Goodbye => {
                let reason = String::from_utf8_lossy(body);
                self.dismissed(server, &format!("the server ended the session: {reason}"));
            }
            Kind::Hello | Kind::Retire => {
                self.end_session(server, &Error::Protocol("a greeting from a server"));
            }
        }
    }

    /// The server that sends messages with this frame.
    pub(super) fn speaker(&mut self, frame: &Frame) -> Option<usize> {
        let last = self.servers.get(self.speaker);
        if !last.is_some_and(|server| server.sends(frame)) {
            self.speaker = self.servers.iter().position(|server| server.sends(frame))?;
        }
        Some(self.speaker)
    }

    /// Takes note of a sign of life.
    pub(super) fn hear(&mut self, server: usize, frame: &Frame) {
        let from = &mut self.servers[server];
        from.heard_us = self.now_us;
        from.has_answered = true;
        from.credits = from.credits.saturating_add(u32::from(frame.credits));
        if frame.credits > 0 && !from.outgoing.is_empty() && !from.is_listed {
            from.is_listed = true;
            self.listed.push(server);
        }
    }

    fn packets(&mut self, server: usize, mut packets: &[u8]) -> Result<(), &'static str> {
        while !packets.is_empty() {
            let decoded = Packet::decode(packets);
            let decoded = decoded.map_err(|_| CONTRADICTION)?;
            let (packet, bytes) = decoded.ok_or(CUT_OFF)?;
            self.answer(server, &packet)?;
            packets = &packets[bytes..];
        }
        Ok(())
    }

    /// One packet, whose value came apart from it.
    fn packet_in_parts(
        &mut self,
        server: usize,
        head: &[u8],
        value: &[u8],
    ) -> Result<(), &'static str> {
        let decoded = Head::decode(head).map_err(|_| CONTRADICTION)?;
        let decoded = decoded.filter(|decoded| decoded.head_len() == head.len());
        let decoded = decoded.ok_or(CUT_OFF)?;
        if decoded.value_len != value.len() {
            return Err("a value of another length than said");
        }
        let Head {
            header,
            extras,
            key,
            ..
        } = decoded;
        let packet = Packet {
            header,
            extras,
            key,
            value,
        };
        self.answer(server, &packet)
    }

    /// Takes a packet, if it is an answer.
    fn answer(&mut self, server: usize, packet: &Packet<'_>) -> Result<(), &'static str> {
        if packet.header.magic != MAGIC_RESPONSE {
            return Err("a packet that is no answer");
        }
        self.packet(server, packet)
    }

    fn packet(&mut self, server: usize, packet: &Packet<'_>) -> Result<(), &'static str> {
        let opaque = packet.header.opaque;
        match ticket::named(opaque) {
            // Something went wrong with an operation that nobody asks after.
            _ if opaque == QUIET => Ok(()),
            Named::Single { slot, generation } => {
                let state = self.slots.get(slot).ok_or(UNASKED)?;
                if !state.expects(generation, server) || packet.header.opcode != state.opcode as u8
                {
                    return Err(UNASKED);
                }
                self.single(server, slot, packet)
            }
            Named::Key {
                batch,
                generation,
                key,
            } => {
                let state = self.batches.get(batch).ok_or(UNASKED)?;
                if !state.expects(generation, key, server)
                    || packet.header.opcode != Opcode::Get as u8
                {
                    return Err(UNASKED);
                }
                let values = &mut state.values;
                match packet.header.status {
                    SUCCESS => {
                        let flags = decode_u32(packet.extras).ok_or(BAD_VALUE)?;
                        values.keep(key, packet.value, flags, packet.header.cas);
                    }
                    NOT_FOUND => values.entries[key].place = Place::Missing,
                    _ => values.fail(key, refusal(packet)),
                }
                self.batches.known(batch, 1);
                self.answered(server);
                Ok(())
            }
        }
    }

    fn single(
        &mut self,
        server: usize,
        slot: usize,
        packet: &Packet<'_>,
    ) -> Result<(), &'static str> {
        if conclude(&mut self.slots, slot, packet)? {
            self.slots.answered(slot);
            self.slots.settle(slot);
            self.answered(server);
            if packet.header.opcode == Opcode::ClusterMap as u8 {
                self.take_map();
            }
        }
        Ok(())
    }

    /// One answer fewer is to come from this server.
    pub(super) fn answered(&mut self, server: usize) {
        self.servers[server].outstanding -= 1;
        self.outstanding -= 1;
    }
}

const SUCCESS: u16 = Status::Success as u16;
const NOT_FOUND: u16 = Status::NotFound as u16;
pub(super) const BAD_VALUE: &str = "a value with other extras than its flags";

/// Takes one packet of an operation's answer; returns whether it was the last.
fn conclude(slots: &mut Slots, index: usize, packet: &Packet<'_>) -> Result<bool, &'static str> {
    let slot = slots.at(index);
    let is_statistic = slot.opcode == Opcode::Stat && packet.header.status == SUCCESS;
    if is_statistic && !packet.key.is_empty() {
        if slot.outcome.is_none() {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            slot.statistics.push((text(packet.key), text(packet.value)));
        }
        return Ok(false);
    }
    let outcome = match packet.header.status {
        SUCCESS => success(slot, packet)?,
        _ => of_version(slot.opcode, packet).ok_or_else(|| refusal(packet)),
    };
    // A request that has timed out keeps that outcome.
    slot.outcome.get_or_insert(outcome);
    Ok(true)
}

fn success(slot: &mut Slot, packet: &Packet<'_>) -> Result<Result<Reply, Error>, &'static str> {
    let cas = packet.header.cas;
    Ok(Ok(match slot.opcode {
        Opcode::Get | Opcode::Gat | Opcode::GetVersioned | Opcode::GetSpread => {
            let taken = slot.take_room(packet.extras, packet.value.len());
            let (flags, room) = taken.ok_or(BAD_VALUE)?;
            return Ok(match room {
                Some(mut value) => match value.fill(packet.value) {
                    true => Ok(slot.value(value, flags, cas)),
                    false => {
                        slot.room = Some(value);
                        let value_bytes = packet.value.len();
                        Err(Error::BufferTooSmall { value_bytes })
                    }
                },
                // Given up.
                None => Err(Error::Timeout),
            });
        }
        Opcode::Increment | Opcode::Decrement => {
            let number = packet
                .value
                .try_into()
                .map_err(|_| "a number that is none")?;
            let number = u64::from_be_bytes(number);
            Reply::Number { number, cas }
        }
        Opcode::Version | Opcode::ClusterMap => {
            Reply::Text(String::from_utf8_lossy(packet.value).into_owned())
        }
        Opcode::Stat => Reply::Statistics(std::mem::take(&mut slot.statistics)),
        _ => Reply::Done { cas },
    }))
}

/// What an answer says of a version, where the request was about one.
fn of_version(opcode: Opcode, packet: &Packet<'_>) -> Option<Reply> {
    let version = packet.header.cas;
    match (opcode, Status::from_code(packet.header.status)?) {
        (Opcode::SetVersioned | Opcode::DeleteVersioned, Status::Exists) => {
            Some(Reply::Older { current: version })
        }
        (Opcode::SetVersioned | Opcode::DeleteVersioned, Status::InDoubt) => {
            Some(Reply::Unsure { current: version })
        }
        (Opcode::DeleteVersioned | Opcode::GetVersioned, Status::NotFound) => {
            Some(Reply::Absent { version })
        }
        (
            Opcode::SetVersioned | Opcode::DeleteVersioned | Opcode::GetVersioned,
            Status::Promised,
        ) => Some(Reply::Promised {
            current: version,
            has_newer: packet.header.data_type & ONLY_PROMISED == 0,
        }),
        (Opcode::GetVersioned, Status::Deleted) => Some(Reply::Deleted { version }),
        _ => None,
    }
}

/// The error that a status stands for.
pub(super) fn refusal(packet: &Packet<'_>) -> Error {
    let text = || String::from_utf8_lossy(packet.value).into_owned().into();
    let status = packet.header.status;
    match Status::from_code(status) {
        Some(Status::NotFound) => Error::NotFound,
        Some(Status::Exists) => Error::Exists,
        Some(Status::TooLarge) => Error::TooLarge,
        Some(Status::InvalidArguments) => Error::InvalidArguments("the server says so"),
        Some(Status::NotStored) => Error::NotStored,
        Some(Status::NotNumeric) => Error::NotNumeric,
        Some(Status::AuthenticationError | Status::AuthenticationContinue) => {
            Error::AuthFailed(text())
        }
        Some(Status::UnknownCommand) => Error::Unsupported,
        Some(Status::OutOfMemory) => Error::OutOfMemory,
        Some(
            Status::Success
            | Status::NotDurable
            | Status::TemporaryFailure
            | Status::NotSupported
            | Status::Deleted
            | Status::Promised
            | Status::InDoubt
            | Status::OtherOwners,
        )
        | None => Error::Server {
            status,
            message: text(),
        },
    }
}
